//! Films of what is watched: numbered pictures, or an animated GIF.
//!
//! [`recording`] takes the pictures of a while as the window shows them; [`exact`] draws those of a recorded game, or of a
//! demo, one by one at exact moments, without a window and however long each takes. [`gif`] is the format.

pub mod exact;
pub mod gif;
pub mod recording;
