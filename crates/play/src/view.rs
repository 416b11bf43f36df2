//! How a match proceeds and who is connected, as operators and scenarios see it.
//!
//! What runs a match answers this; a match without a server has no connections.

use std::fmt;
use std::net::IpAddr;

use trantor_model::AgentId;
use trantor_time::{Frequency, GameSpan, GameTime};

/// How a game proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceState {
    /// `None` in a leap, which has no speed.
    pub frequency: Option<Frequency>,
    /// `None` unless it is in lock-step.
    pub lock_step: Option<LockStepState>,
    /// Whether it was started.
    pub is_started: bool,
    /// Whether it is paused.
    pub is_paused: bool,
    /// When its sprint ends.
    pub sprint_until: Option<GameTime>,
    /// Its time.
    pub now: GameTime,
    /// Game time that was given up since the machine could not keep up, if any was.
    pub slipped: Option<GameSpan>,
}

/// How a game in lock-step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStepState {
    /// It is yet to begin.
    Gathering {
        /// Free places of the start.
        free: usize,
    },
    /// An operator or viewer has frozen it, before its beginning or later.
    Frozen,
    /// It continues when no agent is awaited.
    Playing {
        /// Awaited agents.
        awaited: usize,
    },
}

/// A connected peer, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its connection.
    pub conn: ConnId,
    /// Where it comes from.
    pub peer: IpAddr,
    /// What it is.
    pub kind: ClientKind,
    /// Whether it may control the server.
    pub may_control: bool,
    /// Bytes sent or queued that the peer has not read.
    pub unread_bytes: usize,
}

/// The kind of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// It waits for the start.
    Waiting,
    /// It was greeted, but has not identified itself.
    Greeted,
    /// Plays.
    Agent(AgentId),
    /// Watches in text.
    TextViewer,
    /// Watches in frames.
    Viewer,
    /// Operates.
    Operator,
    /// Is on its way out.
    Leaving,
}

/// Names one connection, for the shell and the engine alike. Chosen by the shell.
///
/// `slot` is the connection's place in the shell's table, the smallest free one: the engine keeps its own
/// table by it. `generation` is raised each time a place is taken again, so that a late event of a closed
/// connection is not applied to its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    /// Place in the shell's table.
    pub slot: u32,
    /// How often that place was taken before.
    pub generation: u32,
}

impl fmt::Display for ConnId {
    /// As it stands in logs, and is typed by operators: `3.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}
