//! The other end of the wire, without window or socket.
//!
//! Bytes from a server go in; what to draw comes out, as a [`scene::Scene`] for any instant of real time:
//!
//! ```text
//! bytes ─> client ─> frame_session ──────────────┐
//!                 └> text_session ─> text_world ─┴> session: timeline ─> world ─> display ─> Scene
//!
//! clock_sync, stream_time: the server's clock ─> display_clock: the moment shown
//! control: what the user requested, shown at once
//! ```
//!
//! Must not know: the rules of the game, windows, graphics, sockets, or the machine's clock; time is handed
//! in. It believes nothing a server says before it is checked, and holds no more of it than it has limits for.

mod client;
pub mod session;

pub mod link;

mod frame_session;
mod stream_time;

mod text_session;
mod text_world;

pub mod clock_sync;
pub mod display_clock;

mod control;

mod table;
pub mod world;

mod display;
pub mod feed;
mod motion;
pub mod scene;
pub mod timeline;

mod error;
mod stats;

pub use client::{Client, ClientConfig, ClientEvent, Language};
pub use control::{ControlError, ControlRequest, Recording};
pub use error::ProtocolError;
pub use feed::{FeedEntry, FeedKind, RitualOutcome, Who};
pub use scene::{
    EffectKind, LinkState, Scene, SceneAction, SceneAgent, SceneClock, SceneEffect, SceneEgg, SceneGround,
    SceneRitual, SceneTeam, Span, Spread,
};
pub use stats::ClientStats;

/// Adds an item to a queue that holds at most `max`; the oldest makes room.
fn push_bounded<T>(queue: &mut std::collections::VecDeque<T>, item: T, max: usize) {
    if queue.len() >= max {
        queue.pop_front();
    }
    queue.push_back(item);
}
