//! The other end of the wire, without window or socket.
//!
//! Bytes from a server go in; what to draw comes out, as a [`scene::Scene`] for any instant of real time:
//!
//! ```text
//! bytes ─> client ─> frame_session ──────────────┐
//!                 └> text_session ─> text_world ─┴> session: timeline ─> world ─> display ─> Scene
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

mod client;
mod control;
mod error;
mod session;

mod frame_session;
mod text_session;
mod text_world;

pub mod clock_sync;
pub mod display_clock;

mod display;
mod motion;
pub mod scene;
mod table;
pub mod timeline;
pub mod world;

pub use client::{Client, ClientConfig, ClientEvent, ClientStats, Language};
pub use control::Recording;
pub use error::ProtocolError;
pub use scene::{
    EffectKind, LinkState, Scene, SceneAction, SceneAgent, SceneClock, SceneEffect, SceneGround, SceneRitual,
    SceneTeam, Span, Spread,
};
pub use session::write_first_line;
pub use trantor_model::{FeedKind, RitualOutcome, Who};
pub use trantor_protocol::wire::FeedEntry;

/// Adds an item to a queue that holds at most `max`; the oldest makes room.
fn push_bounded<T>(queue: &mut std::collections::VecDeque<T>, item: T, max: usize) {
    if queue.len() >= max {
        queue.pop_front();
    }
    queue.push_back(item);
}
