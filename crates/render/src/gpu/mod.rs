//! How a frame is made.
//!
//! ```text
//! DrawList ── upload ──> instance buffers          GroundPaint ── changed rows ──> one texel a tile
//!   1  shadow    bodies near the target, as the sun sees them, depth only
//!   2  picture   sky, ground, marks, bodies, waves, lights; four samples a pixel; light without upper bound
//!   3  glow      what is brighter than white, halved in size a few times and spread back
//!   4  screen    both together, bent into what a screen can show; a program may draw over that
//! ```
//!
//! Where a processor draws, steps 1, 3 and 4 fall away, and sky and ground are kept from frame to frame.
//!
//! [`Context`] is a device, [`Renderer`] draws, [`Offscreen`] draws into memory, [`surface`] is what a window may answer.
//! Nothing here knows what a scene means: it draws the lists of [`crate::picture`].

mod backdrop;
mod context;
mod light;
mod offscreen;
pub mod pipelines;
mod post;
mod renderer;
pub mod resources;
pub mod surface;

pub use context::{Context, ContextError};
pub use offscreen::{Offscreen, Pixels};
pub use renderer::{Quality, Renderer};
