//! The picture of a game: a [`Scene`](trantor_client::Scene) goes in, pixels come out, on a screen or in memory.
//!
//! ```text
//! Scene, camera ─> picture: what is drawn where (lists) ─> gpu: how it is drawn (wgpu) ─> a surface, or memory
//! ```
//!
//! [`picture`] decides on plain data alone and knows no graphics card; [`gpu`] draws the lists and knows no game. Must
//! not know: windows, panels, options, the network, or the machine's clock.

#![expect(
    missing_docs,
    reason = "names that say it all need no sentence; only our own programs build on this"
)]

pub mod gpu;
pub mod picture;
