//! Small signs drawn by lines: the seven resources, an egg, a crown, and the marks on buttons.
//!
//! The outlines are those of the shapes on the board, so that what is learnt there is known here.

use egui::{Color32, Painter, Pos2, Shape, Stroke, Vec2, pos2, vec2};
use trantor_model::Resource;

use super::theme::{Colors, color};
use trantor_render::picture::palette;

/// Draws a resource's sign, `size` points high, around `middle`.
pub fn resource(painter: &Painter, middle: Pos2, size: f32, resource: Resource) {
    let fill = color(palette::resource(resource));
    let polygon = |points: &[(f32, f32)]| {
        let points = points
            .iter()
            .map(|&(x, y)| middle + vec2(x, y) * (size / 2.0))
            .collect();
        painter.add(Shape::convex_polygon(points, fill, Stroke::NONE));
    };
    let shaded = |points: &[(f32, f32)]| {
        let points = points
            .iter()
            .map(|&(x, y)| middle + vec2(x, y) * (size / 2.0))
            .collect();
        painter.add(Shape::convex_polygon(points, darker(fill), Stroke::NONE));
    };
    match resource {
        Resource::Food => {
            for (x, y) in [(-0.42, 0.4), (0.42, 0.4), (0.0, -0.2)] {
                painter.circle_filled(middle + vec2(x, y) * (size / 2.0), size * 0.25, fill);
            }
            let leaf = Color32::from_rgb(0x5F, 0xB3, 0x4C);
            let points = [(0.0, -0.5), (0.55, -1.0), (0.35, -0.45)]
                .map(|(x, y)| middle + vec2(x, y) * (size / 2.0))
                .to_vec();
            painter.add(Shape::convex_polygon(points, leaf, Stroke::NONE));
        }
        Resource::Linemate => {
            polygon(&[
                (-0.75, -0.55),
                (0.0, -0.95),
                (0.75, -0.55),
                (0.75, 0.45),
                (0.0, 0.9),
                (-0.75, 0.45),
            ]);
            shaded(&[(-0.75, -0.55), (0.0, -0.15), (0.0, 0.9), (-0.75, 0.45)]);
        }
        Resource::Deraumere => {
            polygon(&[(0.0, -0.95), (0.95, 0.75), (-0.95, 0.75)]);
            shaded(&[(0.0, -0.95), (-0.15, 0.75), (-0.95, 0.75)]);
        }
        Resource::Sibur => {
            polygon(&[(0.0, -1.0), (0.7, 0.0), (0.0, 1.0), (-0.7, 0.0)]);
            shaded(&[(0.7, 0.0), (0.0, 1.0), (-0.7, 0.0)]);
        }
        Resource::Mendiane => {
            polygon(&[
                (-0.5, -0.85),
                (0.5, -0.85),
                (0.98, 0.0),
                (0.5, 0.85),
                (-0.5, 0.85),
                (-0.98, 0.0),
            ]);
        }
        Resource::Phiras => {
            polygon(&[
                (0.0, -1.0),
                (0.42, -0.45),
                (0.34, 0.95),
                (-0.34, 0.95),
                (-0.42, -0.45),
            ]);
            shaded(&[(0.0, -1.0), (-0.05, 0.95), (-0.34, 0.95), (-0.42, -0.45)]);
        }
        Resource::Thystame => star(painter, middle, size, fill),
    }
}

fn star(painter: &Painter, middle: Pos2, size: f32, fill: Color32) {
    for turn in 0..3u8 {
        let angle = f32::from(turn) * std::f32::consts::PI / 3.0;
        let along = Vec2::angled(angle) * (size / 2.0);
        let across = along.rot90() * 0.28;
        let points = vec![middle + along, middle + across, middle - along, middle - across];
        painter.add(Shape::convex_polygon(points, fill, Stroke::NONE));
    }
}

fn darker(color: Color32) -> Color32 {
    color.lerp_to_gamma(Color32::BLACK, 0.22)
}

/// An egg in a team's colour, in a shell.
pub fn egg(painter: &Painter, middle: Pos2, size: f32, team: Color32, colors: &Colors) {
    let shell = Color32::from_rgb(0xF2, 0xE8, 0xD6);
    let outline = |scale: f32| {
        (0..20u8)
            .map(|step| {
                let angle = f32::from(step) / 20.0 * std::f32::consts::TAU;
                let narrow = if angle.sin() < 0.0 { 0.62 } else { 0.72 };
                middle + vec2(angle.cos() * narrow, angle.sin()) * (size / 2.0) * scale
            })
            .collect::<Vec<_>>()
    };
    painter.add(Shape::convex_polygon(outline(1.0), shell, colors.rim(shell)));
    painter.add(Shape::convex_polygon(outline(0.52), team, Stroke::NONE));
}

/// A crown.
pub fn crown(painter: &Painter, middle: Pos2, size: f32, fill: Color32, colors: &Colors) {
    let half = size / 2.0;
    let at = |x: f32, y: f32| middle + vec2(x, y) * half;
    let teeth = || {
        [
            vec![at(-0.9, 0.7), at(-0.9, -0.5), at(-0.2, 0.3), at(-0.1, 0.7)],
            vec![at(-0.55, 0.7), at(0.0, -0.85), at(0.55, 0.7)],
            vec![at(0.1, 0.7), at(0.2, 0.3), at(0.9, -0.5), at(0.9, 0.7)],
        ]
    };
    // Around all of it: under the teeth, which overlap.
    let rim = colors.rim_under(0.0, fill);
    if rim != Stroke::NONE {
        for points in teeth() {
            painter.add(Shape::closed_line(points, rim));
        }
    }
    for points in teeth() {
        painter.add(Shape::convex_polygon(points, fill, Stroke::NONE));
    }
}

/// Somebody: a head over shoulders.
pub fn person(painter: &Painter, middle: Pos2, size: f32, fill: Color32, colors: &Colors) {
    let half = size / 2.0;
    let rim = colors.rim(fill);
    painter.circle(middle + vec2(0.0, -half * 0.45), half * 0.42, fill, rim);
    let shoulders = [
        (-0.75, 0.95),
        (-0.6, 0.35),
        (-0.25, 0.1),
        (0.25, 0.1),
        (0.6, 0.35),
        (0.75, 0.95),
    ]
    .map(|(x, y)| middle + vec2(x, y) * half)
    .to_vec();
    painter.add(Shape::convex_polygon(shoulders, fill, rim));
}

/// What happened, as a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Somebody came.
    Born,
    /// Somebody died.
    Died,
    /// Somebody went.
    Left,
    /// Somebody pushed.
    Pushed,
    /// An egg was laid or broken.
    Egg,
    /// Somebody said something.
    Words,
    /// An elevation began or ended.
    Ritual,
    /// Somebody reached a level.
    Rose,
    /// A team won.
    Won,
}

/// Draws the sign of what happened, in a team's colour.
pub fn event(painter: &Painter, middle: Pos2, size: f32, event: Event, fill: Color32, colors: &Colors) {
    let half = size / 2.0;
    let rim = colors.rim(fill);
    let at = |x: f32, y: f32| middle + vec2(x, y) * half;
    let line = Stroke::new(size * 0.16, fill);
    let path = |points: &[(f32, f32)]| {
        let points: Vec<Pos2> = points.iter().map(|&(x, y)| at(x, y)).collect();
        let under = colors.rim_under(line.width, fill);
        if under != Stroke::NONE {
            painter.add(Shape::line(points.clone(), under));
        }
        painter.add(Shape::line(points, line));
    };
    match event {
        Event::Born => person(painter, middle, size, fill, colors),
        Event::Died => {
            path(&[(-0.65, -0.65), (0.65, 0.65)]);
            path(&[(-0.65, 0.65), (0.65, -0.65)]);
        }
        Event::Left => {
            path(&[(-0.8, 0.0), (0.7, 0.0)]);
            path(&[(0.15, -0.6), (0.75, 0.0), (0.15, 0.6)]);
        }
        Event::Pushed => {
            path(&[(-0.7, -0.65), (-0.05, 0.0), (-0.7, 0.65)]);
            path(&[(0.1, -0.65), (0.75, 0.0), (0.1, 0.65)]);
        }
        Event::Egg => egg(painter, middle, size, fill, colors),
        Event::Words => {
            let bubble = egui::Rect::from_min_max(at(-0.95, -0.75), at(0.95, 0.4));
            painter.rect(bubble, size * 0.22, fill, rim, egui::StrokeKind::Outside);
            let tail = vec![at(-0.5, 0.3), at(0.15, 0.3), at(-0.55, 0.95)];
            painter.add(Shape::convex_polygon(tail, fill, Stroke::NONE));
        }
        Event::Ritual => {
            // No team's: in the gold of thin lines.
            let fill = colors.gold;
            painter.circle_stroke(middle, half * 0.85, Stroke::new(size * 0.13, fill));
            let points = vec![at(0.0, -0.55), at(0.48, 0.3), at(-0.48, 0.3)];
            painter.add(Shape::convex_polygon(points, fill, Stroke::NONE));
        }
        Event::Rose => {
            path(&[(-0.7, 0.05), (0.0, -0.65), (0.7, 0.05)]);
            path(&[(-0.7, 0.75), (0.0, 0.05), (0.7, 0.75)]);
        }
        Event::Won => crown(painter, middle, size, fill, colors),
    }
}

/// What a button does, as a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Stand still.
    Pause,
    /// Go on.
    Play,
    /// One unit.
    StepUnit,
    /// To the next event.
    StepEvent,
    /// To the end of an action.
    StepAction,
    /// Something can be heard.
    Sound,
    /// Nothing can.
    Silence,
}

/// Draws a button's sign.
pub fn sign(painter: &Painter, middle: Pos2, size: f32, sign: Sign, fill: Color32) {
    let half = size / 2.0;
    let bar = |x: f32| {
        let rect = egui::Rect::from_center_size(middle + vec2(x * half, 0.0), vec2(size * 0.2, size * 0.9));
        painter.rect_filled(rect, 1.0, fill);
    };
    let triangle = |x: f32| {
        let at = |dx: f32, dy: f32| pos2(middle.x + (x + dx) * half, middle.y + dy * half);
        let points = vec![at(-0.55, -0.85), at(0.65, 0.0), at(-0.55, 0.85)];
        painter.add(Shape::convex_polygon(points, fill, Stroke::NONE));
    };
    match sign {
        Sign::Pause => {
            bar(-0.4);
            bar(0.4);
        }
        Sign::Play => triangle(0.1),
        Sign::StepUnit => {
            bar(-0.75);
            triangle(0.35);
        }
        Sign::StepEvent => {
            triangle(-0.35);
            bar(0.75);
        }
        Sign::StepAction => {
            triangle(-0.45);
            triangle(0.45);
        }
        Sign::Sound | Sign::Silence => speaker(painter, middle, size, sign == Sign::Sound, fill),
    }
}

/// A speaker, and beside it waves or a cross.
fn speaker(painter: &Painter, middle: Pos2, size: f32, is_heard: bool, fill: Color32) {
    let at = |x: f32, y: f32| middle + vec2(x, y) * (size / 2.0);
    let line = Stroke::new(size * 0.13, fill);
    painter.rect_filled(
        egui::Rect::from_min_max(at(-1.1, -0.35), at(-0.6, 0.35)),
        0.5,
        fill,
    );
    let cone = vec![at(-0.7, -0.35), at(-0.1, -0.85), at(-0.1, 0.85), at(-0.7, 0.35)];
    painter.add(Shape::convex_polygon(cone, fill, Stroke::NONE));
    if is_heard {
        for radius in [0.55, 0.95] {
            let wave = (-4..=4i8).map(|step| {
                let angle = f32::from(step) / 4.0 * 0.85;
                at(radius * angle.cos(), radius * angle.sin())
            });
            painter.add(Shape::line(wave.collect(), line));
        }
    } else {
        painter.line_segment([at(0.3, -0.4), at(1.1, 0.4)], line);
        painter.line_segment([at(0.3, 0.4), at(1.1, -0.4)], line);
    }
}
