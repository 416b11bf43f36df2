//! The shapes of the picture and their meshes: seven things to find, a character, an egg, a crown, grass.
//!
//! Each resource has a shape of its own, so that the map can be read without colours. Sizes are in tiles and
//! chosen so that a tile holds a few of everything and still shows its ground.

use glam::{Mat4, Quat, Vec3};
use trantor_model::Resource;

use super::mesh::{MeshBuilder, Paint, Part, Vertex};

/// A mesh that can be drawn many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Shape {
    /// Berries under a leaf.
    Food,
    /// A cube.
    Linemate,
    /// A pyramid of three sides.
    Deraumere,
    /// An eight-sided gem.
    Sibur,
    /// A low prism of six sides.
    Mendiane,
    /// A tall crystal with two spires.
    Phiras,
    /// A star with spikes all round.
    Thystame,
    /// Food of which only outline and colours can be seen.
    FoodPlain,
    /// The same of a phiras.
    PhirasPlain,
    /// The same of a thystame.
    ThystamePlain,
    /// A speck that stands for any resource far away.
    Speck,
    /// An agent.
    Character,
    /// An agent far away.
    Figurine,
    /// An agent of a few pixels.
    Pawn,
    /// An egg, its band in the team's colour.
    Egg,
    /// What the highest level wears.
    Crown,
    /// A tuft of grass: decoration, so never in a bright colour.
    Tuft,
    /// A pebble: decoration.
    Pebble,
    /// A tuft in bloom: decoration.
    Flower,
}

impl Shape {
    /// All of them, in the order of their numbers.
    pub const ALL: [Shape; 19] = [
        Self::Food,
        Self::Linemate,
        Self::Deraumere,
        Self::Sibur,
        Self::Mendiane,
        Self::Phiras,
        Self::Thystame,
        Self::FoodPlain,
        Self::PhirasPlain,
        Self::ThystamePlain,
        Self::Speck,
        Self::Character,
        Self::Figurine,
        Self::Pawn,
        Self::Egg,
        Self::Crown,
        Self::Tuft,
        Self::Pebble,
        Self::Flower,
    ];

    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The shape of a resource seen from near.
    pub fn of(resource: Resource) -> Self {
        Self::ALL[resource.index()]
    }

    /// The same of fewer triangles, for a few pixels; most shapes are simple enough as they are.
    pub fn plain(self) -> Self {
        match self {
            Self::Food => Self::FoodPlain,
            Self::Phiras => Self::PhirasPlain,
            Self::Thystame => Self::ThystamePlain,
            simple => simple,
        }
    }

    /// Whether it has parts that move; the others only stand, turned and stretched.
    pub fn is_posed(self) -> bool {
        matches!(self, Self::Character | Self::Egg)
    }

    /// Its triangles.
    pub fn mesh(self) -> Vec<Vertex> {
        let mut mesh = MeshBuilder::new();
        match self {
            Self::Food => food(&mut mesh),
            Self::Linemate => linemate(&mut mesh),
            Self::Deraumere => deraumere(&mut mesh),
            Self::Sibur => sibur(&mut mesh),
            Self::Mendiane => mendiane(&mut mesh),
            Self::Phiras => phiras(&mut mesh),
            Self::Thystame => thystame(&mut mesh),
            Self::FoodPlain => food_plain(&mut mesh),
            Self::PhirasPlain => {
                mesh.turned(4, &[(0.075, 0.0), (0.085, 0.17), (0.0, 0.3)], |ring| {
                    Paint::instance(if ring == 0 { 0.92 } else { 1.15 })
                });
            }
            Self::ThystamePlain => thystame_plain(&mut mesh),
            Self::Speck => {
                mesh.turned(4, &[(0.09, 0.0), (0.06, 0.14)], |_| Paint::instance(1.0));
            }
            Self::Character => character(&mut mesh),
            Self::Figurine => figurine(&mut mesh),
            Self::Pawn => {
                mesh.turned(4, &[(0.17, 0.0), (0.07, 0.38)], |_| Paint::instance(0.95));
                mesh.turned(4, &[(0.0, 0.34), (0.15, 0.5), (0.0, 0.66)], |_| {
                    Paint::instance(1.1)
                });
            }
            Self::Egg => egg(&mut mesh),
            Self::Crown => crown(&mut mesh),
            Self::Tuft => tuft(&mut mesh),
            Self::Pebble => {
                mesh.at(Mat4::from_scale(Vec3::new(0.06, 0.035, 0.05)))
                    .ball(false, |_| Paint::instance(1.0));
            }
            Self::Flower => flower(&mut mesh),
        }
        mesh.finish()
    }
}

fn placed(at: Vec3, scale: Vec3) -> Mat4 {
    Mat4::from_translation(at) * Mat4::from_scale(scale)
}

fn food(mesh: &mut MeshBuilder) {
    for (x, z, radius, brightness) in [
        (-0.05, 0.02, 0.062, 1.0),
        (0.05, 0.03, 0.056, 0.86),
        (0.0, -0.045, 0.06, 0.93),
    ] {
        mesh.at(placed(Vec3::new(x, radius * 0.95, z), Vec3::splat(radius)))
            .ball(false, |_| Paint::instance(brightness));
    }
    mesh.at(placed(Vec3::new(0.0, 0.105, 0.0), Vec3::splat(0.058)))
        .ball(false, |_| Paint::instance(1.12));
    let leaf = Paint::fixed(0x5F_B3_4C);
    for (turn, length) in [(0.4f32, 0.1), (2.6, 0.085), (4.5, 0.09)] {
        let tip = Vec3::new(turn.sin() * length, 0.185, turn.cos() * length);
        let side = Vec3::new(turn.cos(), 0.0, -turn.sin()) * 0.032;
        let base = Vec3::new(0.0, 0.15, 0.0);
        let middle = tip * 0.55 + Vec3::Y * 0.085;
        mesh.at(Mat4::IDENTITY)
            .quad([base, middle - side, tip, middle + side], leaf)
            .quad([base, middle + side, tip, middle - side], leaf);
    }
}

fn food_plain(mesh: &mut MeshBuilder) {
    mesh.turned(5, &[(0.07, 0.0), (0.115, 0.06), (0.03, 0.15)], |ring| {
        Paint::instance(if ring == 0 { 0.88 } else { 1.08 })
    });
    mesh.turned(3, &[(0.07, 0.14), (0.0, 0.2)], |_| Paint::fixed(0x5F_B3_4C));
}

fn linemate(mesh: &mut MeshBuilder) {
    let paint = Paint::instance(1.0);
    mesh.at(placed(Vec3::Y * 0.08, Vec3::ONE) * Mat4::from_rotation_y(0.35))
        .cuboid(Vec3::splat(0.08), paint);
    mesh.at(Mat4::from_translation(Vec3::new(0.0, 0.165, 0.0)) * Mat4::from_rotation_y(0.35))
        .cuboid(Vec3::new(0.062, 0.008, 0.062), Paint::instance(1.2));
}

fn deraumere(mesh: &mut MeshBuilder) {
    mesh.turned(3, &[(0.125, 0.0), (0.118, 0.025), (0.0, 0.215)], |ring| {
        Paint::instance(if ring == 0 { 0.75 } else { 1.0 })
    });
}

fn sibur(mesh: &mut MeshBuilder) {
    mesh.turned(4, &[(0.0, 0.01), (0.1, 0.12), (0.0, 0.235)], |ring| {
        Paint::instance(if ring == 0 { 0.8 } else { 1.08 })
    });
}

fn mendiane(mesh: &mut MeshBuilder) {
    mesh.turned(6, &[(0.115, 0.0), (0.115, 0.085), (0.085, 0.115)], |ring| {
        Paint::instance(if ring == 0 { 0.88 } else { 1.12 })
    });
}

fn phiras(mesh: &mut MeshBuilder) {
    mesh.at(Mat4::from_rotation_z(-0.1))
        .turned(5, &[(0.05, 0.0), (0.066, 0.2), (0.0, 0.32)], |ring| {
            Paint::instance(if ring == 0 { 0.95 } else { 1.15 })
        });
    mesh.at(Mat4::from_translation(Vec3::new(0.062, 0.0, 0.03)) * Mat4::from_rotation_z(-0.45))
        .turned(5, &[(0.034, 0.0), (0.042, 0.1), (0.0, 0.175)], |_| {
            Paint::instance(0.85)
        });
    mesh.at(Mat4::from_translation(Vec3::new(-0.058, 0.0, -0.02)) * Mat4::from_rotation_z(0.4))
        .turned(5, &[(0.03, 0.0), (0.036, 0.07), (0.0, 0.13)], |_| {
            Paint::instance(0.8)
        });
}

fn thystame(mesh: &mut MeshBuilder) {
    let middle = Vec3::Y * 0.15;
    mesh.at(placed(middle, Vec3::splat(0.058)))
        .ball(false, |_| Paint::instance(1.1).glowing(0.55));
    let golden = (1.0 + 5f32.sqrt()) / 2.0;
    // The spikes stand on the corners of an icosahedron.
    for (one, other) in [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)] {
        for spike in [
            Vec3::new(0.0, one, other),
            Vec3::new(one, other, 0.0),
            Vec3::new(other, 0.0, one),
        ] {
            let towards = spike.normalize();
            mesh.at(
                Mat4::from_translation(middle) * Mat4::from_quat(Quat::from_rotation_arc(Vec3::Y, towards))
            )
            .turned(3, &[(0.036, 0.035), (0.0, 0.15)], |_| {
                Paint::instance(1.0).glowing(0.3)
            });
        }
    }
}

fn thystame_plain(mesh: &mut MeshBuilder) {
    let middle = Vec3::Y * 0.15;
    for spike in [Vec3::Y, Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z] {
        // A quarter of a turn between the axes, so that no spike points straight at an eye in the south.
        let towards = Quat::from_rotation_y(0.5) * spike;
        mesh.at(Mat4::from_translation(middle) * Mat4::from_quat(Quat::from_rotation_arc(Vec3::Y, towards)))
            .turned(3, &[(0.055, -0.02), (0.0, 0.15)], |_| {
                Paint::instance(1.0).glowing(0.3)
            });
    }
}

/// Where the character's parts turn; the vertex shader has the same heights (`HIP`, `SHOULDER`).
fn character(mesh: &mut MeshBuilder) {
    let shoe = 0x3B_34_46;
    let face = 0xFB_E9_D2;
    let pack = 0xD9_C3_A0;
    for (side, foot, arm) in [
        (-1.0, Part::LeftFoot, Part::LeftArm),
        (1.0, Part::RightFoot, Part::RightArm),
    ] {
        mesh.at(Mat4::from_translation(Vec3::new(0.07 * side, 0.045, -0.018)))
            .cuboid(Vec3::new(0.045, 0.045, 0.07), Paint::fixed(shoe).on(foot));
        mesh.at(Mat4::from_translation(Vec3::new(0.175 * side, 0.265, -0.01))
            * Mat4::from_rotation_z(0.22 * side))
            .turned(
                5,
                &[(0.028, -0.1), (0.044, -0.06), (0.038, 0.08), (0.0, 0.11)],
                |ring| {
                    if ring == 0 {
                        Paint::fixed(face).on(arm)
                    } else {
                        Paint::instance(0.86).on(arm)
                    }
                },
            );
    }
    // A coat that widens to its hem, with a belt.
    mesh.at(Mat4::from_scale(Vec3::new(1.0, 1.0, 0.86))).turned(
        8,
        &[
            (0.15, 0.075),
            (0.172, 0.12),
            (0.158, 0.2),
            (0.15, 0.235),
            (0.125, 0.34),
            (0.06, 0.39),
        ],
        |ring| match ring {
            0 => Paint::instance(0.7),
            2 => Paint::accent(0.95),
            3 => Paint::instance(1.05),
            _ => Paint::instance(1.0),
        },
    );
    mesh.at(Mat4::from_translation(Vec3::new(0.0, 0.275, 0.148)))
        .cuboid(Vec3::new(0.085, 0.085, 0.045), Paint::fixed(pack));
    mesh.at(Mat4::from_translation(Vec3::new(0.0, 0.378, 0.148))
        * Mat4::from_rotation_z(std::f32::consts::FRAC_PI_2))
        .turned(6, &[(0.032, -0.1), (0.032, 0.1)], |_| Paint::accent(0.9));

    // The head: a hood, a face turned forward, a tip that hangs back and so shows where front is.
    let head = Vec3::new(0.0, 0.475, 0.0);
    mesh.at(placed(head, Vec3::new(0.145, 0.138, 0.14)))
        .ball(true, |_| Paint::instance(1.0).on(Part::Head));
    let front = Mat4::from_translation(head + Vec3::new(0.0, -0.008, -0.088))
        * Mat4::from_rotation_x(-std::f32::consts::FRAC_PI_2);
    mesh.at(front * Mat4::from_scale(Vec3::new(1.0, 1.0, 0.92)))
        .turned(10, &[(0.118, 0.0), (0.112, 0.034), (0.096, 0.05)], |_| {
            Paint::instance(1.2).on(Part::Head)
        });
    mesh.at(front * Mat4::from_scale(Vec3::new(1.0, 1.0, 0.92)))
        .turned(10, &[(0.092, 0.03), (0.09, 0.056), (0.06, 0.066)], |_| {
            Paint::fixed(face).on(Part::Head)
        });
    mesh.at(Mat4::from_translation(head + Vec3::new(0.0, 0.08, 0.045)) * Mat4::from_rotation_x(0.85))
        .turned(6, &[(0.108, 0.0), (0.064, 0.1), (0.0, 0.215)], |_| {
            Paint::instance(0.92).on(Part::Head)
        });
    for side in [-1.0, 1.0] {
        mesh.at(Mat4::from_translation(
            head + Vec3::new(0.036 * side, 0.004, -0.152),
        ))
        .cuboid(
            Vec3::new(0.0135, 0.026, 0.008),
            Paint::fixed(0x2A_22_33).on(Part::Head),
        );
    }
}

/// A character of a fifth of the triangles, with what tells front from back: face, pack and the tip of the hood.
fn figurine(mesh: &mut MeshBuilder) {
    mesh.turned(
        6,
        &[(0.16, 0.0), (0.172, 0.12), (0.15, 0.235), (0.06, 0.39)],
        |ring| match ring {
            0 => Paint::instance(0.72),
            1 => Paint::accent(0.95),
            _ => Paint::instance(1.0),
        },
    );
    mesh.at(Mat4::from_translation(Vec3::new(0.0, 0.275, 0.148)))
        .cuboid(Vec3::new(0.085, 0.095, 0.05), Paint::fixed(0xD9_C3_A0));
    let head = Vec3::new(0.0, 0.475, 0.0);
    mesh.at(placed(head, Vec3::splat(0.145)))
        .ball(false, |_| Paint::instance(1.05));
    mesh.at(Mat4::from_translation(head + Vec3::new(0.0, -0.005, -0.1))
        * Mat4::from_rotation_x(-std::f32::consts::FRAC_PI_2))
        .turned(5, &[(0.1, 0.0), (0.085, 0.055)], |_| Paint::fixed(0xFB_E9_D2));
    mesh.at(Mat4::from_translation(head + Vec3::new(0.0, 0.08, 0.045)) * Mat4::from_rotation_x(0.85))
        .turned(4, &[(0.11, 0.0), (0.0, 0.215)], |_| Paint::instance(0.92));
}

fn egg(mesh: &mut MeshBuilder) {
    let shell = 0xF7_EE_DD;
    mesh.turned(
        8,
        &[
            (0.055, 0.0),
            (0.104, 0.05),
            (0.118, 0.11),
            (0.104, 0.165),
            (0.068, 0.222),
            (0.0, 0.258),
        ],
        |ring| match ring {
            2 => Paint::instance(1.0),
            0 => Paint::fixed(0xD8_CC_B8),
            _ => Paint::fixed(shell),
        },
    );
    // A nest of straw under it.
    mesh.turned(9, &[(0.15, 0.0), (0.165, 0.035), (0.1, 0.045)], |_| {
        Paint::fixed(0xA8_88_55)
    });
}

fn crown(mesh: &mut MeshBuilder) {
    let gold = Paint::instance(1.1).glowing(0.35);
    mesh.turned(8, &[(0.1, 0.0), (0.108, 0.045)], |_| gold);
    for point in 0..8 {
        let angle = std::f32::consts::TAU * point as f32 / 8.0;
        mesh.at(Mat4::from_rotation_y(angle) * Mat4::from_translation(Vec3::new(0.0, 0.035, 0.098)))
            .turned(3, &[(0.036, 0.0), (0.0, 0.085)], |_| gold);
    }
}

fn tuft(mesh: &mut MeshBuilder) {
    for blade in 0..5 {
        let angle = blade as f32 * 2.4;
        let lean = Vec3::new(angle.sin(), 0.0, angle.cos());
        let across = Vec3::new(lean.z, 0.0, -lean.x) * 0.016;
        let base = lean * 0.018;
        let tip = lean * 0.055 + Vec3::Y * (0.09 + 0.03 * (blade % 3) as f32);
        let paint = Paint::instance(0.9 + 0.12 * (blade % 3) as f32);
        mesh.triangle([base - across, base + across, tip], paint);
    }
    // Blades are lit as the meadow is, from whichever side they are seen.
    mesh.light_from_above();
}

/// Three heads of five petals over a tuft.
fn flower(mesh: &mut MeshBuilder) {
    tuft(mesh);
    for (x, z, height) in [(0.0, 0.0, 0.115), (0.055, 0.025, 0.09), (-0.03, 0.05, 0.075)] {
        mesh.at(Mat4::from_translation(Vec3::new(x, height, z))).turned(
            5,
            &[(0.008, -0.012), (0.03, 0.004), (0.006, 0.01)],
            |_| Paint::accent(1.05),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_numbered_in_order_and_start_with_the_resources() {
        for (place, shape) in Shape::ALL.into_iter().enumerate() {
            assert_eq!(shape as usize, place);
        }
        assert_eq!(Shape::of(Resource::Thystame), Shape::Thystame);
    }

    #[test]
    fn every_shape_is_small_whole_and_above_ground() {
        for shape in Shape::ALL {
            let mesh = shape.mesh();
            assert!(!mesh.is_empty() && mesh.len() % 3 == 0, "{shape:?}");
            assert!(mesh.len() / 3 < 480, "{shape:?} has {} triangles", mesh.len() / 3);
            for vertex in &mesh {
                let [x, y, z] = vertex.position;
                assert!(y > -0.04 && y < 0.8, "{shape:?} reaches to height {y}");
                assert!(
                    x.hypot(z) < 0.36,
                    "{shape:?} reaches {} tiles from its middle",
                    x.hypot(z)
                );
            }
        }
    }
}
