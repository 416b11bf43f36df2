//! The other end of the wire, without window or socket.
//!
//! Bytes from a server go in; what to draw comes out, as a [`scene::Scene`] for any instant of real time:
//!
//! ```text
//! bytes ─> client ─> decoder ─> frame_session ──────────────┐
//!                            └> text_session ─> text_world ─┴> session: timeline ─> display ─> Scene
//!
//! clock_sync: the server's clock ─> display_clock: the moment shown
//! control: what the user requested, shown at once
//! ```
//!
//! Must not know: the rules of the game, windows, graphics, sockets, or the machine's clock; time is handed
//! in. It believes nothing a server says before it is checked, and holds no more of it than it has limits for.

#![expect(
    missing_docs,
    reason = "names that say it all need no sentence; only our own programs build on this"
)]

// From the top to the leaves: no group uses one above it.
mod client;
mod decoder;

mod frame_session;
mod text_session;
mod text_world;

mod control;
mod session;

mod display;
mod motion;
pub mod timeline;

pub mod clock_sync;
pub mod display_clock;
mod interface;

mod error;
mod readable;
pub mod scene;

pub use client::Client;
pub use control::Recording;
pub use error::ProtocolError;
pub use interface::{ClientConfig, ClientEvent, ClientStats, Language};
pub use scene::{
    EffectKind, LinkState, Scene, SceneAction, SceneAgent, SceneClock, SceneEffect, SceneElevation,
    SceneGround, SceneTeam, Span, Spread,
};
pub use session::write_first_line;
pub use trantor_model::{ElevationOutcome, FeedKind, Who};
pub use trantor_protocol::wire::FeedEntry;

/// Adds an item to a queue that holds at most `max`; the oldest makes room.
fn push_bounded<T>(queue: &mut std::collections::VecDeque<T>, item: T, max: usize) {
    if queue.len() >= max {
        queue.pop_front();
    }
    queue.push_back(item);
}
