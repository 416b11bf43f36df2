//! The shapes of the picture and their meshes: seven things to find, a character, an egg, a crown, grass.
//!
//! Each resource has a shape of its own, so that the map can be read without colours. Sizes are in tiles and
//! chosen so that a tile holds a few of everything and still shows its ground.

mod meshes;

use glam::{Mat4, Vec3};
use trantor_model::Resource;

use super::mesh::{MeshBuilder, Paint, Vertex};
use meshes::gem;

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

    pub fn mesh(self) -> Vec<Vertex> {
        let mut mesh = MeshBuilder::new();
        let m = &mut mesh;
        match self {
            Self::Food => meshes::food(m),
            Self::Linemate => meshes::linemate(m),
            Self::Deraumere => gem(m, 3, [(0.125, 0.0), (0.118, 0.025), (0.0, 0.215)], [0.75, 1.0]),
            Self::Sibur => gem(m, 4, [(0.0, 0.01), (0.1, 0.12), (0.0, 0.235)], [0.8, 1.08]),
            Self::Mendiane => {
                let profile = [(0.115, 0.0), (0.115, 0.085), (0.085, 0.115)];
                gem(m, 6, profile, [0.88, 1.12]);
            }
            Self::Phiras => meshes::phiras(m),
            Self::Thystame => meshes::thystame(m),
            Self::FoodPlain => meshes::food_plain(m),
            Self::PhirasPlain => gem(m, 4, [(0.075, 0.0), (0.085, 0.17), (0.0, 0.3)], [0.92, 1.15]),
            Self::ThystamePlain => meshes::thystame_plain(m),
            Self::Speck => {
                let profile = [(Self::SPECK_ACROSS / 2.0, 0.0), (0.06, 0.14)];
                m.turned(4, &profile, &[Paint::instance(1.0)]);
            }
            Self::Character => meshes::character(m),
            Self::Figurine => meshes::figurine(m),
            Self::Pawn => {
                m.turned(4, &[(0.17, 0.0), (0.07, 0.38)], &[Paint::instance(0.95)]);
                gem(m, 4, [(0.0, 0.34), (0.15, 0.5), (0.0, 0.66)], [1.1; 2]);
            }
            Self::Egg => meshes::egg(m),
            Self::Crown => meshes::crown(m),
            Self::Tuft => meshes::tuft(m),
            Self::Pebble => {
                m.at(Mat4::from_scale(Vec3::new(0.06, 0.035, 0.05)))
                    .ball(false, |_| Paint::instance(1.0));
            }
            Self::Flower => meshes::flower(m),
        }
        mesh.finish()
    }
}
