//! Icons of resources, eggs, events and controls: polygons and lines.
//!
//! Resources have the outlines of the shapes on the board. Coordinates are -1 to 1 around the middle.

use egui::{Color32, Painter, Pos2, Shape, Stroke, Vec2, vec2};
use trantor_model::Resource;
use trantor_render::picture::palette;

use super::theme::{Colors, color};

/// Corners: x and y in turn.
type Points<'a> = &'a [f32];

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

    pub(super) fn icon(&self, icon: Icon, color: Color32) {
        for &(width, points) in icon {
            match width {
                0.0 => self.fill(points, color, Stroke::NONE),
                _ => {
                    let stroke = Stroke::new(width * self.half, color);
                    self.painter.add(Shape::line(self.points(points), stroke));
                }
            }
        }
    }
}

/// Lines of a width, and convex areas where that is 0.
pub(super) type Icon = &'static [(f32, Points<'static>)];

pub(super) const CROWN: Icon = &[
    (0.0, &[-0.9, 0.7, -0.9, -0.5, -0.2, 0.3, -0.1, 0.7]),
    (0.0, &[-0.55, 0.7, 0.0, -0.85, 0.55, 0.7]),
    (0.0, &[0.1, 0.7, 0.2, 0.3, 0.9, -0.5, 0.9, 0.7]),
];
pub(super) const PERSON: Icon = &[
    (
        0.0,
        &[
            0.42, -0.45, 0.3, -0.15, 0.0, -0.03, -0.3, -0.15, -0.42, -0.45, -0.3, -0.75, 0.0, -0.87, 0.3,
            -0.75,
        ],
    ),
    (
        0.0,
        &[
            -0.75, 0.95, -0.6, 0.35, -0.25, 0.1, 0.25, 0.1, 0.6, 0.35, 0.75, 0.95,
        ],
    ),
];
pub(super) const EGG: Icon = &[(
    0.0,
    &[
        0.7, 0.2, 0.55, 0.7, 0.0, 0.95, -0.55, 0.7, -0.7, 0.2, -0.55, -0.4, 0.0, -0.95, 0.55, -0.4,
    ],
)];
pub(super) const DIED: Icon = &[
    (0.32, &[-0.65, -0.65, 0.65, 0.65]),
    (0.32, &[-0.65, 0.65, 0.65, -0.65]),
];
pub(super) const LEFT: Icon = &[
    (0.32, &[-0.8, 0.0, 0.7, 0.0]),
    (0.32, &[0.15, -0.6, 0.75, 0.0, 0.15, 0.6]),
];
pub(super) const PUSHED: Icon = &[
    (0.32, &[-0.7, -0.65, -0.05, 0.0, -0.7, 0.65]),
    (0.32, &[0.1, -0.65, 0.75, 0.0, 0.1, 0.65]),
];
pub(super) const ROSE: Icon = &[
    (0.32, &[-0.7, 0.05, 0.0, -0.65, 0.7, 0.05]),
    (0.32, &[-0.7, 0.75, 0.0, 0.05, 0.7, 0.75]),
];
pub(super) const RITUAL: Icon = &[
    (0.26, &[0.0, -0.95, 0.9, 0.65, -0.9, 0.65, 0.0, -0.95, 0.9, 0.65]),
    (0.0, &[0.0, -0.35, 0.4, 0.35, -0.4, 0.35]),
];
pub(super) const TALK: Icon = &[
    (
        0.0,
        &[
            -0.95, -0.5, -0.7, -0.75, 0.7, -0.75, 0.95, -0.5, 0.95, 0.15, 0.7, 0.4, -0.7, 0.4, -0.95, 0.15,
        ],
    ),
    (0.0, &[-0.5, 0.3, 0.15, 0.3, -0.55, 0.95]),
];
pub(super) const PAUSE: Icon = &[(0.4, &[-0.4, -0.9, -0.4, 0.9]), (0.4, &[0.4, -0.9, 0.4, 0.9])];
pub(super) const PLAY: Icon = &[(0.0, &[-0.45, -0.85, 0.75, 0.0, -0.45, 0.85])];
pub(super) const STEP_UNIT: Icon = &[
    (0.4, &[-0.75, -0.9, -0.75, 0.9]),
    (0.0, &[-0.2, -0.85, 1.0, 0.0, -0.2, 0.85]),
];
pub(super) const STEP_EVENT: Icon = &[
    (0.0, &[-0.9, -0.85, 0.3, 0.0, -0.9, 0.85]),
    (0.4, &[0.75, -0.9, 0.75, 0.9]),
];
pub(super) const STEP_ACTION: Icon = &[
    (0.0, &[-1.0, -0.85, 0.2, 0.0, -1.0, 0.85]),
    (0.0, &[-0.1, -0.85, 1.1, 0.0, -0.1, 0.85]),
];
const BODY: Points<'_> = &[
    -1.1, -0.35, -0.65, -0.35, -0.1, -0.85, -0.1, 0.85, -0.65, 0.35, -1.1, 0.35,
];
pub(super) const SOUND: Icon = &[
    (0.0, BODY),
    (
        0.26,
        &[0.36, -0.42, 0.51, -0.21, 0.55, 0.0, 0.51, 0.21, 0.36, 0.42],
    ),
    (
        0.26,
        &[0.63, -0.72, 0.87, -0.36, 0.95, 0.0, 0.87, 0.36, 0.63, 0.72],
    ),
];
pub(super) const MUTED: Icon = &[
    (0.0, BODY),
    (0.26, &[0.3, -0.4, 1.1, 0.4]),
    (0.26, &[0.3, 0.4, 1.1, -0.4]),
];
