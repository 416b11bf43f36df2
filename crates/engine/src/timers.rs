//! The engine's timers in real time, which lie in one queue: limits on sessions, ticks, figures, the end of a match.
//!
//! Nothing here depends on the speed of the game, and the speed of the game moves nothing here. Limits come in masses,
//! are seldom reached and need not be exact, so they are rounded up to a grid of 8 ms
//! ([`round_up`](trantor_time::timers::round_up)); all else is exact.

use trantor_model::AgentId;

use crate::input::ConnId;

/// What may be due in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Limit: a session has not done in time what its phase allows time for: send its first line, play, read its output,
    /// or close the connection.
    SessionLimit(ConnId),
    /// Limit: check whether a peer with a large backlog has read any of it.
    Stall(ConnId),
    /// A throttled peer resumes: it has saved up requests, or read its output.
    Resume(ConnId),
    /// An agent leaves whose peer disconnected while older work was due.
    Leave(AgentId),
    /// Some of many text viewers are sent their updates.
    TextTurns,
    /// All text viewers are sent the next piece of the whole map.
    PublishMap,
    /// The next tick; pending only while a frame viewer is connected.
    Tick,
    /// Figures for frame viewers; pending only while one is connected.
    Stats,
    /// The match's time is over.
    MatchEnd,
}
