//! The shapes of the picture and their meshes: seven things to find, a character, an egg, a crown, grass.
//!
//! Each resource has a shape of its own, so that the map can be read without colours. What only grows is pale, so that
//! none of it is taken for a find. Sizes are in tiles and chosen so that a tile holds a few of everything and still shows
//! its ground.

use std::f32::consts::{FRAC_PI_2, TAU};

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
    /// A phiras of which only outline and colours can be seen.
    PhirasPlain,
    /// A thystame of which only outline and colours can be seen.
    ThystamePlain,
    /// A speck that stands for any resource far away.
    Speck,
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
    /// Width of a [`Self::Speck`].
    pub const SPECK_ACROSS: f32 = 0.18;

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

    pub const COUNT: usize = Self::ALL.len();

    /// The shape of a resource seen from near.
    pub fn of(resource: Resource) -> Self {
        Self::ALL[resource.index()]
    }

    /// The shape with fewer triangles, for a few pixels; most shapes are simple enough as they are.
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

    pub fn mesh(self) -> Vec<Vertex> {
        let mut mesh = MeshBuilder::new();
        let m = &mut mesh;
        match self {
            Self::Food => food(m),
            Self::Linemate => linemate(m),
            Self::Deraumere => gem(m, 3, [(0.125, 0.0), (0.118, 0.025), (0.0, 0.215)], [0.75, 1.0]),
            Self::Sibur => gem(m, 4, [(0.0, 0.01), (0.1, 0.12), (0.0, 0.235)], [0.8, 1.08]),
            Self::Mendiane => {
                let profile = [(0.115, 0.0), (0.115, 0.085), (0.085, 0.115)];
                gem(m, 6, profile, [0.88, 1.12]);
            }
            Self::Phiras => phiras(m),
            Self::Thystame => thystame(m),
            Self::FoodPlain => food_plain(m),
            Self::PhirasPlain => gem(m, 4, [(0.075, 0.0), (0.085, 0.17), (0.0, 0.3)], [0.92, 1.15]),
            Self::ThystamePlain => thystame_plain(m),
            Self::Speck => {
                let profile = [(Self::SPECK_ACROSS / 2.0, 0.0), (0.06, 0.14)];
                m.turned(4, &profile, &[Paint::instance(1.0)]);
            }
            Self::Character => character(m),
            Self::Figurine => figurine(m),
            Self::Pawn => {
                m.turned(4, &[(0.17, 0.0), (0.07, 0.38)], &[Paint::instance(0.95)]);
                gem(m, 4, [(0.0, 0.34), (0.15, 0.5), (0.0, 0.66)], [1.1; 2]);
            }
            Self::Egg => egg(m),
            Self::Crown => crown(m),
            Self::Tuft => tuft(m),
            Self::Pebble => {
                m.at(Mat4::from_scale(Vec3::new(0.06, 0.035, 0.05)))
                    .ball(false, |_| Paint::instance(1.0));
            }
            Self::Flower => flower(m),
        }
        mesh.finish()
    }
}

/// Moves a piece to a place.
fn at(x: f32, y: f32, z: f32) -> Mat4 {
    Mat4::from_translation(Vec3::new(x, y, z))
}

/// Scales a piece and moves it to a place.
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
    let berries = [0.88, 1.08].map(Paint::instance);
    mesh.turned(5, &[(0.07, 0.0), (0.115, 0.06), (0.03, 0.15)], &berries);
    mesh.turned(3, &[(0.07, 0.14), (0.0, 0.2)], &[Paint::fixed(0x5F_B3_4C)]);
}

fn linemate(mesh: &mut MeshBuilder) {
    mesh.at(placed(Vec3::Y * 0.08, Vec3::ONE) * Mat4::from_rotation_y(0.35))
        .cuboid(Vec3::splat(0.08), Paint::instance(1.0));
    mesh.at(at(0.0, 0.165, 0.0) * Mat4::from_rotation_y(0.35))
        .cuboid(Vec3::new(0.062, 0.008, 0.062), Paint::instance(1.2));
}

/// A turned profile of three rings in two shades.
fn gem(mesh: &mut MeshBuilder, sides: u32, profile: [(f32, f32); 3], shades: [f32; 2]) {
    mesh.turned(sides, &profile, &shades.map(Paint::instance));
}

fn phiras(mesh: &mut MeshBuilder) {
    mesh.at(Mat4::from_rotation_z(-0.1));
    gem(mesh, 5, [(0.05, 0.0), (0.066, 0.2), (0.0, 0.32)], [0.95, 1.15]);
    mesh.at(at(0.062, 0.0, 0.03) * Mat4::from_rotation_z(-0.45));
    gem(mesh, 5, [(0.034, 0.0), (0.042, 0.1), (0.0, 0.175)], [0.85; 2]);
    mesh.at(at(-0.058, 0.0, -0.02) * Mat4::from_rotation_z(0.4));
    gem(mesh, 5, [(0.03, 0.0), (0.036, 0.07), (0.0, 0.13)], [0.8; 2]);
}

fn thystame(mesh: &mut MeshBuilder) {
    let middle = Vec3::Y * 0.15;
    let spikes = Paint::instance(1.0).glowing(0.3);
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
            mesh.at(pointing(middle, towards))
                .turned(3, &[(0.036, 0.035), (0.0, 0.15)], &[spikes]);
        }
    }
}

fn thystame_plain(mesh: &mut MeshBuilder) {
    let middle = Vec3::Y * 0.15;
    let spikes = Paint::instance(1.0).glowing(0.3);
    for spike in [Vec3::Y, Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z] {
        // A quarter of a turn between the axes, so that no spike points straight at an eye in the south.
        let towards = Quat::from_rotation_y(0.5) * spike;
        mesh.at(pointing(middle, towards))
            .turned(3, &[(0.055, -0.02), (0.0, 0.15)], &[spikes]);
    }
}

/// From `from`, with `y` in this direction.
fn pointing(from: Vec3, towards: Vec3) -> Mat4 {
    Mat4::from_translation(from) * Mat4::from_quat(Quat::from_rotation_arc(Vec3::Y, towards))
}

const FACE: u32 = 0xFB_E9_D2;
const PACK: u32 = 0xD9_C3_A0;

/// The middle of the head.
const HEAD: Vec3 = Vec3::new(0.0, 0.475, 0.0);

/// A place beside the middle of the head.
fn at_head(x: f32, y: f32, z: f32) -> Mat4 {
    Mat4::from_translation(HEAD + Vec3::new(x, y, z))
}

/// Where the character's parts turn; the vertex shader has the same heights (`HIP`, `SHOULDER`).
fn character(mesh: &mut MeshBuilder) {
    for (side, foot, arm) in [
        (-1.0, Part::LeftFoot, Part::LeftArm),
        (1.0, Part::RightFoot, Part::RightArm),
    ] {
        let shoe = Paint::fixed(0x3B_34_46).on(foot);
        mesh.at(at(0.07 * side, 0.045, -0.018))
            .cuboid(Vec3::new(0.045, 0.045, 0.07), shoe);
        let profile = [(0.028, -0.1), (0.044, -0.06), (0.038, 0.08), (0.0, 0.11)];
        let paints = [Paint::fixed(FACE), Paint::instance(0.86)].map(|paint| paint.on(arm));
        mesh.at(at(0.175 * side, 0.265, -0.01) * Mat4::from_rotation_z(0.22 * side))
            .turned(5, &profile, &paints);
    }
    // A coat that widens to its hem, with a belt.
    let hem = [(0.15, 0.075), (0.172, 0.12), (0.158, 0.2)];
    let chest = [(0.15, 0.235), (0.125, 0.34), (0.06, 0.39)];
    let [dark, coat, light] = [0.7, 1.0, 1.05].map(Paint::instance);
    let paints = [dark, coat, Paint::accent(0.95), light, coat];
    mesh.at(Mat4::from_scale(Vec3::new(1.0, 1.0, 0.86)))
        .turned(8, &[hem, chest].concat(), &paints);
    mesh.at(at(0.0, 0.275, 0.148))
        .cuboid(Vec3::new(0.085, 0.085, 0.045), Paint::fixed(PACK));
    mesh.at(at(0.0, 0.378, 0.148) * Mat4::from_rotation_z(FRAC_PI_2))
        .turned(6, &[(0.032, -0.1), (0.032, 0.1)], &[Paint::accent(0.9)]);

    // The head: a hood, a face turned forward, a tip that hangs back and so shows where front is.
    let [hood, rim, tip] = [1.0, 1.2, 0.92].map(|shade| Paint::instance(shade).on(Part::Head));
    let [face, eye] = [FACE, 0x2A_22_33].map(|rgb| Paint::fixed(rgb).on(Part::Head));
    mesh.at(placed(HEAD, Vec3::new(0.145, 0.138, 0.14)))
        .ball(true, |_| hood);
    let front = at_head(0.0, -0.008, -0.088) * Mat4::from_rotation_x(-FRAC_PI_2);
    mesh.at(front * Mat4::from_scale(Vec3::new(1.0, 1.0, 0.92)))
        .turned(10, &[(0.118, 0.0), (0.112, 0.034), (0.096, 0.05)], &[rim])
        .turned(10, &[(0.092, 0.03), (0.09, 0.056), (0.06, 0.066)], &[face]);
    mesh.at(at_head(0.0, 0.08, 0.045) * Mat4::from_rotation_x(0.85))
        .turned(6, &[(0.108, 0.0), (0.064, 0.1), (0.0, 0.215)], &[tip]);
    for side in [-1.0, 1.0] {
        mesh.at(at_head(0.036 * side, 0.004, -0.152))
            .cuboid(Vec3::new(0.0135, 0.026, 0.008), eye);
    }
}

/// A character of a fifth of the triangles, with what distinguishes front from back: face, pack and the tip of the hood.
fn figurine(mesh: &mut MeshBuilder) {
    let coat = [(0.16, 0.0), (0.172, 0.12), (0.15, 0.235), (0.06, 0.39)];
    let paints = [Paint::instance(0.72), Paint::accent(0.95), Paint::instance(1.0)];
    mesh.turned(6, &coat, &paints);
    mesh.at(at(0.0, 0.275, 0.148))
        .cuboid(Vec3::new(0.085, 0.095, 0.05), Paint::fixed(PACK));
    mesh.at(placed(HEAD, Vec3::splat(0.145)))
        .ball(false, |_| Paint::instance(1.05));
    mesh.at(at_head(0.0, -0.005, -0.1) * Mat4::from_rotation_x(-FRAC_PI_2))
        .turned(5, &[(0.1, 0.0), (0.085, 0.055)], &[Paint::fixed(FACE)]);
    mesh.at(at_head(0.0, 0.08, 0.045) * Mat4::from_rotation_x(0.85))
        .turned(4, &[(0.11, 0.0), (0.0, 0.215)], &[Paint::instance(0.92)]);
}

fn egg(mesh: &mut MeshBuilder) {
    let below = [(0.055, 0.0), (0.104, 0.05), (0.118, 0.11)];
    let above = [(0.104, 0.165), (0.068, 0.222), (0.0, 0.258)];
    let [shade, shell] = [0xD8_CC_B8, 0xF7_EE_DD].map(Paint::fixed);
    mesh.turned(
        8,
        &[below, above].concat(),
        &[shade, shell, Paint::instance(1.0), shell],
    );
    // A nest of straw under it.
    let nest = [(0.15, 0.0), (0.165, 0.035), (0.1, 0.045)];
    mesh.turned(9, &nest, &[Paint::fixed(0xA8_88_55)]);
}

fn crown(mesh: &mut MeshBuilder) {
    let gold = Paint::instance(1.1).glowing(0.35);
    mesh.turned(8, &[(0.1, 0.0), (0.108, 0.045)], &[gold]);
    for point in 0..8 {
        let angle = TAU * point as f32 / 8.0;
        mesh.at(Mat4::from_rotation_y(angle) * at(0.0, 0.035, 0.098))
            .turned(3, &[(0.036, 0.0), (0.0, 0.085)], &[gold]);
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
        let petals = [(0.008, -0.012), (0.03, 0.004), (0.006, 0.01)];
        mesh.at(at(x, height, z))
            .turned(5, &petals, &[Paint::accent(1.05)]);
    }
}
