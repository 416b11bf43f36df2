//! Icons drawn with polygons: resources, an egg, a crown, a person, events, and the controls of time and sound.
//!
//! Resources have the outlines of the shapes on the board. Coordinates are -1 to 1 around the middle.

use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, vec2};
use trantor_model::Resource;
use trantor_render::picture::palette;

use super::theme::{Colors, color};

/// Corners: x and y in turn.
type Points<'a> = &'a [f32];

/// Where an icon is drawn.
#[derive(Clone, Copy)]
pub(super) struct Pen<'a> {
    painter: &'a Painter,
    middle: Pos2,
    /// Half of the icon's height.
    half: f32,
}

impl<'a> Pen<'a> {
    pub(super) fn new(painter: &'a Painter, middle: Pos2, size: f32) -> Self {
        let half = size / 2.0;
        Self {
            painter,
            middle,
            half,
        }
    }

    fn at(&self, (x, y): (f32, f32)) -> Pos2 {
        self.middle + vec2(x, y) * self.half
    }

    fn points(&self, points: Points<'_>) -> Vec<Pos2> {
        let points = points.as_chunks().0.iter();
        points.map(|&[x, y]| self.at((x, y))).collect()
    }

    fn fill(&self, points: Points<'_>, fill: Color32, rim: Stroke) {
        self.painter
            .add(Shape::convex_polygon(self.points(points), fill, rim));
    }

    fn rect(&self, from: (f32, f32), to: (f32, f32)) -> Rect {
        Rect::from_min_max(self.at(from), self.at(to))
    }

    fn line(&self, points: Points<'_>, width: f32, fill: Color32) {
        let stroke = Stroke::new(width * 2.0 * self.half, fill);
        self.painter.add(Shape::line(self.points(points), stroke));
    }

    pub(super) fn resource(&self, resource: Resource) {
        let fill = color(palette::resource(resource));
        let (outline, shade): (Points<'_>, Points<'_>) = match resource {
            Resource::Food => {
                for berry in self.points(&[-0.42, 0.4, 0.42, 0.4, 0.0, -0.2]) {
                    self.painter.circle_filled(berry, self.half * 0.5, fill);
                }
                let leaf = Color32::from_rgb(0x5F, 0xB3, 0x4C);
                return self.fill(&[0.0, -0.5, 0.55, -1.0, 0.35, -0.45], leaf, Stroke::NONE);
            }
            Resource::Linemate => (
                &[
                    -0.75, -0.55, 0.0, -0.95, 0.75, -0.55, 0.75, 0.45, 0.0, 0.9, -0.75, 0.45,
                ],
                &[-0.75, -0.55, 0.0, -0.15, 0.0, 0.9, -0.75, 0.45],
            ),
            Resource::Deraumere => (
                &[0.0, -0.95, 0.95, 0.75, -0.95, 0.75],
                &[0.0, -0.95, -0.15, 0.75, -0.95, 0.75],
            ),
            Resource::Sibur => (
                &[0.0, -1.0, 0.7, 0.0, 0.0, 1.0, -0.7, 0.0],
                &[0.7, 0.0, 0.0, 1.0, -0.7, 0.0],
            ),
            Resource::Mendiane => (
                &[
                    -0.5, -0.85, 0.5, -0.85, 0.98, 0.0, 0.5, 0.85, -0.5, 0.85, -0.98, 0.0,
                ],
                &[],
            ),
            Resource::Phiras => (
                &[0.0, -1.0, 0.42, -0.45, 0.34, 0.95, -0.34, 0.95, -0.42, -0.45],
                &[0.0, -1.0, -0.05, 0.95, -0.34, 0.95, -0.42, -0.45],
            ),
            Resource::Thystame => {
                for turn in 0..3u8 {
                    let along = Vec2::angled(f32::from(turn) * std::f32::consts::PI / 3.0);
                    let across = along.rot90() * 0.28;
                    let ray = [along, across, -along, -across].map(|point| [point.x, point.y]);
                    self.fill(ray.as_flattened(), fill, Stroke::NONE);
                }
                return;
            }
        };
        self.fill(outline, fill, Stroke::NONE);
        self.fill(shade, fill.lerp_to_gamma(Color32::BLACK, 0.22), Stroke::NONE);
    }

    /// An egg in a team's colour.
    pub(super) fn egg(&self, team: Color32, colors: &Colors) {
        let shell = Color32::from_rgb(0xF2, 0xE8, 0xD6);
        for (scale, fill, rim) in [(1.0, shell, colors.rim(shell)), (0.52, team, Stroke::NONE)] {
            let outline = (0..20u8).map(|step| {
                let angle = f32::from(step) / 20.0 * std::f32::consts::TAU;
                let narrow = if angle.sin() < 0.0 { 0.62 } else { 0.72 };
                [angle.cos() * narrow * scale, angle.sin() * scale]
            });
            self.fill(outline.collect::<Vec<_>>().as_flattened(), fill, rim);
        }
    }

    pub(super) fn crown(&self, colors: &Colors) {
        let teeth: [Points<'_>; 3] = [
            &[-0.9, 0.7, -0.9, -0.5, -0.2, 0.3, -0.1, 0.7],
            &[-0.55, 0.7, 0.0, -0.85, 0.55, 0.7],
            &[0.1, 0.7, 0.2, 0.3, 0.9, -0.5, 0.9, 0.7],
        ];
        let rim = colors.rim_under(0.0, colors.gold_fill);
        for (fill, stroke) in [(Color32::TRANSPARENT, rim), (colors.gold_fill, Stroke::NONE)] {
            for tooth in teeth {
                self.fill(tooth, fill, stroke);
            }
        }
    }

    pub(super) fn person(&self, fill: Color32, colors: &Colors) {
        let rim = colors.rim(fill);
        self.painter
            .circle(self.at((0.0, -0.45)), self.half * 0.42, fill, rim);
        let shoulders = [
            -0.75, 0.95, -0.6, 0.35, -0.25, 0.1, 0.25, 0.1, 0.6, 0.35, 0.75, 0.95,
        ];
        self.fill(&shoulders, fill, rim);
    }

    /// The icon of an event, in the colour of its team.
    pub(super) fn event(&self, event: EventIcon, fill: Color32, colors: &Colors) {
        let path = |points: Points<'_>| {
            let stroke = Stroke::new(self.half * 0.32, fill);
            for stroke in [colors.rim_under(stroke.width, fill), stroke] {
                self.painter.add(Shape::line(self.points(points), stroke));
            }
        };
        match event {
            EventIcon::Born => self.person(fill, colors),
            EventIcon::Died => {
                path(&[-0.65, -0.65, 0.65, 0.65]);
                path(&[-0.65, 0.65, 0.65, -0.65]);
            }
            EventIcon::Left => {
                path(&[-0.8, 0.0, 0.7, 0.0]);
                path(&[0.15, -0.6, 0.75, 0.0, 0.15, 0.6]);
            }
            EventIcon::Pushed => {
                path(&[-0.7, -0.65, -0.05, 0.0, -0.7, 0.65]);
                path(&[0.1, -0.65, 0.75, 0.0, 0.1, 0.65]);
            }
            EventIcon::Egg => self.egg(fill, colors),
            EventIcon::Talk => {
                let bubble = self.rect((-0.95, -0.75), (0.95, 0.4));
                let rim = colors.rim(fill);
                self.painter
                    .rect(bubble, self.half * 0.44, fill, rim, StrokeKind::Outside);
                self.fill(&[-0.5, 0.3, 0.15, 0.3, -0.55, 0.95], fill, Stroke::NONE);
            }
            EventIcon::Ritual => {
                let ring = Stroke::new(self.half * 0.26, colors.gold);
                self.painter.circle_stroke(self.middle, self.half * 0.85, ring);
                let triangle = [0.0, -0.55, 0.48, 0.3, -0.48, 0.3];
                self.fill(&triangle, colors.gold, Stroke::NONE);
            }
            EventIcon::Rose => {
                path(&[-0.7, 0.05, 0.0, -0.65, 0.7, 0.05]);
                path(&[-0.7, 0.75, 0.0, 0.05, 0.7, 0.75]);
            }
            EventIcon::Won => self.crown(colors),
        }
    }

    /// The icon of a control.
    pub(super) fn control(&self, control: Control, fill: Color32) {
        let bar = |x: f32| {
            let bar = self.rect((x - 0.2, -0.9), (x + 0.2, 0.9));
            self.painter.rect_filled(bar, 1.0, fill);
        };
        let triangle = |x: f32| {
            let points = [x - 0.55, -0.85, x + 0.65, 0.0, x - 0.55, 0.85];
            self.fill(&points, fill, Stroke::NONE);
        };
        match control {
            Control::Pause => [-0.4, 0.4].into_iter().for_each(bar),
            Control::Play => triangle(0.1),
            Control::StepUnit => {
                bar(-0.75);
                triangle(0.35);
            }
            Control::StepEvent => {
                triangle(-0.35);
                bar(0.75);
            }
            Control::StepAction => [-0.45, 0.45].into_iter().for_each(triangle),
            Control::Sound | Control::Muted => {
                let body = self.rect((-1.1, -0.35), (-0.6, 0.35));
                self.painter.rect_filled(body, 0.5, fill);
                let cone = [-0.7, -0.35, -0.1, -0.85, -0.1, 0.85, -0.7, 0.35];
                self.fill(&cone, fill, Stroke::NONE);
                if control == Control::Muted {
                    self.line(&[0.3, -0.4, 1.1, 0.4], 0.13, fill);
                    return self.line(&[0.3, 0.4, 1.1, -0.4], 0.13, fill);
                }
                for radius in [0.55, 0.95] {
                    let angles = (-4..=4i8).map(|step| f32::from(step) / 4.0 * 0.85);
                    let wave: Vec<_> = angles
                        .map(|angle| [radius * angle.cos(), radius * angle.sin()])
                        .collect();
                    self.line(wave.as_flattened(), 0.13, fill);
                }
            }
        }
    }
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventIcon {
    Born,
    Died,
    Left,
    Pushed,
    Egg,
    Talk,
    Ritual,
    Rose,
    Won,
}

/// Controls of time and sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    Pause,
    Play,
    StepUnit,
    StepEvent,
    StepAction,
    Sound,
    Muted,
}
