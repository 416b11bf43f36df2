//! Icons of resources, eggs, events and controls: polygons and lines.
//!
//! Resources have the outlines of the shapes on the board.

use egui::{Color32, Painter, Pos2, Shape, Stroke, vec2};
use trantor_model::Resource;
use trantor_render::picture::palette;

use super::theme::{Colors, color};

/// Corners around the middle, x and y in turn, in hundredths of half the icon's height.
type Points = &'static [i8];

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

    fn points(&self, points: Points) -> Vec<Pos2> {
        let points = points.as_chunks().0.iter();
        let at = |&[x, y]: &[i8; 2]| self.middle + vec2(f32::from(x), f32::from(y)) / 100.0 * self.half;
        points.map(at).collect()
    }

    fn fill(&self, points: Points, fill: Color32, rim: Stroke) {
        self.painter
            .add(Shape::convex_polygon(self.points(points), fill, rim));
    }

    pub(super) fn resource(&self, resource: Resource) {
        let fill = color(palette::resource(resource));
        let (outline, shade): (&[Points], Points) = match resource {
            Resource::Food => {
                for berry in self.points(&[-42, 40, 42, 40, 0, -20]) {
                    self.painter.circle_filled(berry, self.half * 0.5, fill);
                }
                let leaf = Color32::from_rgb(0x5F, 0xB3, 0x4C);
                return self.fill(&[0, -50, 55, -100, 35, -45], leaf, Stroke::NONE);
            }
            Resource::Linemate => (
                &[&[-75, -55, 0, -95, 75, -55, 75, 45, 0, 90, -75, 45]],
                &[-75, -55, 0, -15, 0, 90, -75, 45],
            ),
            Resource::Deraumere => (&[&[0, -95, 95, 75, -95, 75]], &[0, -95, -15, 75, -95, 75]),
            Resource::Sibur => (&[&[0, -100, 70, 0, 0, 100, -70, 0]], &[70, 0, 0, 100, -70, 0]),
            Resource::Mendiane => (&[&[-50, -85, 50, -85, 98, 0, 50, 85, -50, 85, -98, 0]], &[]),
            Resource::Phiras => (
                &[&[0, -100, 42, -45, 34, 95, -34, 95, -42, -45]],
                &[0, -100, -5, 95, -34, 95, -42, -45],
            ),
            Resource::Thystame => (
                &[
                    &[100, 0, 0, 28, -100, 0, 0, -28],
                    &[50, 87, 24, -14, -50, -87, -24, 14],
                    &[-50, 87, 24, 14, 50, -87, -24, -14],
                ],
                &[],
            ),
        };
        for points in outline {
            self.fill(points, fill, Stroke::NONE);
        }
        self.fill(shade, fill.lerp_to_gamma(Color32::BLACK, 0.22), Stroke::NONE);
    }

    pub(super) fn egg(&self, team: Color32, colors: &Colors) {
        let shell = Color32::from_rgb(0xF2, 0xE8, 0xD6);
        self.fill(SHELL, shell, colors.rim(shell));
        let yolk = Pen::new(self.painter, self.middle, self.half * 1.04);
        yolk.fill(SHELL, team, Stroke::NONE);
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

const SHELL: Points = &[
    72, 0, 68, 31, 58, 59, 42, 81, 22, 95, 0, 100, -22, 95, -42, 81, -58, 59, -68, 31, -72, 0, -59, -31, -50,
    -59, -36, -81, -19, -95, 0, -100, 19, -95, 36, -81, 50, -59, 59, -31,
];

/// Lines of a width, and convex areas where that is 0.
pub(super) type Icon = &'static [(f32, Points)];

pub(super) const CROWN: Icon = &[
    (0.0, &[-90, 70, -90, -50, -20, 30, -10, 70]),
    (0.0, &[-55, 70, 0, -85, 55, 70]),
    (0.0, &[10, 70, 20, 30, 90, -50, 90, 70]),
];
pub(super) const PERSON: Icon = &[
    (
        0.0,
        &[
            42, -45, 30, -15, 0, -3, -30, -15, -42, -45, -30, -75, 0, -87, 30, -75,
        ],
    ),
    (0.0, &[-75, 95, -60, 35, -25, 10, 25, 10, 60, 35, 75, 95]),
];
pub(super) const EGG: Icon = &[(0.0, SHELL)];
pub(super) const DIED: Icon = &[(0.32, &[-65, -65, 65, 65]), (0.32, &[-65, 65, 65, -65])];
pub(super) const LEFT: Icon = &[(0.32, &[-80, 0, 70, 0]), (0.32, &[15, -60, 75, 0, 15, 60])];
pub(super) const PUSHED: Icon = &[
    (0.32, &[-70, -65, -5, 0, -70, 65]),
    (0.32, &[10, -65, 75, 0, 10, 65]),
];
pub(super) const ROSE: Icon = &[(0.32, &[-70, 5, 0, -65, 70, 5]), (0.32, &[-70, 75, 0, 5, 70, 75])];
pub(super) const ELEVATION: Icon = &[
    (0.26, &[0, -95, 90, 65, -90, 65, 0, -95, 90, 65]),
    (0.0, &[0, -35, 40, 35, -40, 35]),
];
pub(super) const TALK: Icon = &[
    (
        0.0,
        &[
            -95, -50, -70, -75, 70, -75, 95, -50, 95, 15, 70, 40, -70, 40, -95, 15,
        ],
    ),
    (0.0, &[-50, 30, 15, 30, -55, 95]),
];
pub(super) const RADIO: Icon = &[
    (
        0.0,
        &[
            -38, 60, -44, 76, -60, 82, -76, 76, -82, 60, -76, 44, -60, 38, -44, 44,
        ],
    ),
    (0.28, &[-60, -15, -31, -9, -7, 7, 9, 31, 15, 60]),
    (0.28, &[-60, -80, -6, -69, 39, -39, 69, 6, 80, 60]),
];
pub(super) const PAUSE: Icon = &[(0.4, &[-40, -90, -40, 90]), (0.4, &[40, -90, 40, 90])];
pub(super) const PLAY: Icon = &[(0.0, &[-45, -85, 75, 0, -45, 85])];
pub(super) const STEP_UNIT: Icon = &[(0.4, &[-75, -90, -75, 90]), (0.0, &[-20, -85, 100, 0, -20, 85])];
pub(super) const STEP_EVENT: Icon = &[(0.0, &[-90, -85, 30, 0, -90, 85]), (0.4, &[75, -90, 75, 90])];
pub(super) const STEP_ACTION: Icon = &[
    (0.0, &[-100, -85, 20, 0, -100, 85]),
    (0.0, &[-10, -85, 110, 0, -10, 85]),
];
pub(super) const SPEAKER: Icon = &[
    (0.0, &[-110, -35, -65, -35, -10, -85, -10, 85, -65, 35, -110, 35]),
    (0.26, &[36, -42, 51, -21, 55, 0, 51, 21, 36, 42]),
    (0.26, &[63, -72, 87, -36, 95, 0, 87, 36, 63, 72]),
];
