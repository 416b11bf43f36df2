//! The other end of the wire, without window or socket.
//!
//! Bytes from a server go in; what to draw comes out, as a [`scene::Scene`] for any instant of real time:
//!
//! ```text
//! bytes ─> link, session ─> mirror (checked, newest) ─> timeline ─> display ─> Scene
//!              │                                           ^
//!              ├─> clock_sync: the server's clock ─> display_clock: the moment shown
//!              ├─> stream_time, acks: what the server held to be now, what it has processed
//!              └─> control, recording, prediction: what the user asked for, shown at once
//! ```
//!
//! Must not know: the rules of the game, windows, graphics, sockets, or the machine's clock; time is handed
//! in. It believes nothing a server says before it is checked, and holds no more of it than it has limits for.

pub mod client;
mod joined;
pub mod session;
pub mod show;

pub mod gui_text;
pub mod gui_world;

pub mod link;
pub mod outbox;

pub mod clock_sync;
pub mod display_clock;
pub mod stream_time;

pub mod acks;
pub mod control;
pub mod prediction;
pub mod recording;

pub mod mirror;
pub mod table;
pub mod world;

pub mod display;
pub mod effects;
pub mod feed;
pub mod motion;
pub mod scene;
pub mod speech;
pub mod timeline;

pub mod error;
pub mod stats;

pub use client::{Client, ClientConfig, ClientEvent, Language};
pub use control::{ControlError, ControlRequest};
pub use error::ProtocolError;
pub use feed::{FeedEntry, FeedKind, Who};
pub use recording::Recording;
pub use scene::{
    EffectKind, LinkState, Scene, SceneAction, SceneAgent, SceneClock, SceneEffect, SceneEgg, SceneGround,
    SceneRitual, SceneTeam, Span,
};
pub use stats::ClientStats;
