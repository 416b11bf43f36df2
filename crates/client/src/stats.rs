//! Figures about a connection, for the HUD.

use trantor_protocol::wire::{LinkTotals, ServerStats};

use crate::clock_sync::ClockEstimate;

/// How a connection does. Counters count since it began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientStats {
    /// Bytes received.
    pub bytes_in: u64,
    /// Messages received: frames, or lines of text.
    pub messages_in: u64,
    /// Changes of the world received.
    pub changes_in: u64,
    /// What is known about the server's clock.
    pub clock: ClockEstimate,
    /// How far the picture is behind the server's present, in nanoseconds.
    pub display_delay_ns: i64,
    /// Since anything was received, in nanoseconds.
    pub network_age_ns: i64,
    /// How late the last tick arrived here, counted from its instant on the server's clock, in nanoseconds.
    pub tick_age_ns: i64,
    /// Ticks received.
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
