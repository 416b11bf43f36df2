//! The first frame each way: versions, and the shared clock.

use serde::{Deserialize, Serialize};
use trantor_model::MapSize;

/// The line with which a peer asks to speak frames. No team may have this name.
pub const WIRE_WORD: &str = "TRANTOR";

/// Raised with every change to a message; both sides must have the same.
pub const WIRE_VERSION: u16 = 9;

/// What a viewer says first. Its layout never changes, so that any version can refuse any other in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientHello {
    /// See [`WIRE_VERSION`].
    pub version: u16,
    /// Name and version of the program, for logs.
    pub program: String,
}

/// What the server answers to a hello it accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerHello {
    /// See [`WIRE_VERSION`].
    pub version: u16,
    /// Name and version of the program, for logs and the HUD.
    pub program: String,
    /// This connection's reference instant was taken this many microseconds ago, when the hello was read.
    /// All instants on this connection are microseconds after the reference.
    pub since_reference_us: i64,
    /// Length of a tick in microseconds.
    pub tick_period_us: u32,
    /// Number of the last tick that ran, if any did, and its instant in microseconds after the reference.
    pub last_tick: Option<(u64, i64)>,
    /// The next tick's scheduled instant in microseconds after the reference.
    pub next_tick_us: i64,
    /// The map.
    pub size: MapSize,
    /// Team names in the order of their ids.
    pub teams: Vec<String>,
    /// Whether this viewer's requests for speed, pause and step will be listened to.
    pub may_control: bool,
    /// How much later than it happens this viewer is sent the game, in milliseconds; what it is sent first comes
    /// so long after this.
    pub delay_ms: u32,
}
