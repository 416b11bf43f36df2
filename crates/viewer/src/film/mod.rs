//! Films of what is watched, as animated GIFs.
//!
//! [`recording`] takes the pictures of a while as the window shows them; [`crate::offscreen::film`] draws those of a recorded
//! game, or of a demo, one by one at exact moments. [`gif`] is the format.

pub mod gif;
pub mod recording;
