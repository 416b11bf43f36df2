//! From a scene to lists of things to draw, without a graphics card.
//!
//! A [`trantor_client::Scene`] says what is where. This module decides how that looks: which shape, which
//! colour, how it stands, what glows, what is too small to be worth its triangles. The result, a [`DrawList`],
//! names meshes and instances but no buffer and no device, so that all of it is tested without one; the
//! drawing itself is [`crate::gpu`]'s.
//!
//! ```text
//! Scene ── compose ──> DrawList ── gpu ──> pixels
//!             ^ camera, torus window, mood, options
//! ```
//!
//! World space is right-handed with `y` up: east is `+x`, south is `+z`, and the middle of tile `(3, 5)` lies at
//! `(3, 0, 5)`. Lengths are in tiles.

pub mod camera;
pub mod compose;
pub mod crowd;
pub mod draw_list;
pub mod ground;
pub mod mesh;
pub mod palette;
pub mod shapes;
pub mod torus;

pub use camera::{Camera, CameraPose};
pub use compose::{Compose, Detail, Options};
pub use draw_list::{Decal, DecalKind, DrawList, Glow, GlowKind, Instance};
pub use shapes::Shape;
pub use torus::TorusWindow;
