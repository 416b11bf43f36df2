//! What a connection is opened with and what it reports: its configuration, its events and its figures.

use trantor_model::MapSize;
use trantor_protocol::wire::{LinkTotals, ServerStats};

use crate::clock_sync::ClockEstimate;
use crate::error::ProtocolError;

#[derive(Clone, Debug)]
pub struct ClientConfig {
    pub language: Language,
    /// Name and version, for the server's log.
    pub program: String,
    /// The server's token, which lets a viewer control its time.
    pub token: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Frames of our servers: everything, exactly timed.
    #[default]
    Frames,
    /// The text protocol of every Zappy server.
    Text,
}

/// An event of the connection, for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The server let us in.
    Welcome {
        /// Name and version.
        program: String,
        /// Teams in the order of their ids.
        teams: Vec<String>,
        size: MapSize,
        /// Whether the server accepts requests for speed and pause.
        may_control: bool,
        /// Ticks that the server has run: fewer than before is another run of it. 0 where they are unknown.
        ticks: u64,
    },
    /// The world is there. Comes again if the server sends the world anew, as after a jump in a recording.
    Live,
    /// An announcement of the server or its operator; it is in the feed too.
    Message { text: String },
    /// The server refused a request.
    Refused { reason: String },
    /// The connection is over; this is the last event.
    Ended {
        reason: String,
        /// How the server broke the protocol, if it did.
        error: Option<ProtocolError>,
    },
}

/// Figures about a connection, for the HUD. Counters count since it began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientStats {
    pub bytes_in: u64,
    /// Messages received: frames, or lines of text.
    pub messages_in: u64,
    pub changes_in: u64,
    pub clock: ClockEstimate,
    /// How far the picture is behind the server's present, in nanoseconds.
    pub display_delay_ns: i64,
    /// Since anything was received, in nanoseconds.
    pub network_age_ns: i64,
    /// How late the last tick arrived here, counted from its instant on the server's clock, in nanoseconds.
    pub tick_age_ns: i64,
    pub ticks: u64,
    /// Instants at which no tick ran.
    pub ticks_skipped: u64,
    /// Changes that wait for their moment.
    pub pending: usize,
    /// Changes received after their moment had been shown.
    pub late: u64,
    /// Changes shown early because too many waited.
    pub hurried: u64,
    /// Lines of a text server that contradict the world, and were left out.
    pub ignored: u64,
    /// Lines of a text server that are none of the protocol we know, or say that it does not know ours.
    pub ignored_lines: u64,
    /// Instants that were out of range.
    pub saturated: u64,
    /// Messages sent that the server has not acknowledged.
    pub unacknowledged: u64,
    /// What became of all messages between agents, while they take time.
    pub messages: Option<LinkTotals>,
    /// The latest figures of the server itself.
    pub server: Option<ServerStats>,
}
