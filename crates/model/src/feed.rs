//! What happened, as a list of events says it.

use serde::{Deserialize, Serialize};

use crate::{AgentId, CommandKind, EggId, Level, Resource, TeamId, Tile};

/// What happened. An agent is named with its team, since it may be gone when the entry is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedKind {
    /// An agent hatched.
    Joined(Who),
    /// An agent died, at this level.
    Died(Who, Level),
    /// An agent left, at this level.
    Left(Who, Level),
    /// An agent began something.
    Started(Who, CommandKind),
    /// An agent sent a line like this that the server refused; it takes as long, and nothing comes of it.
    Refused(Who, CommandKind),
    /// An agent picked up (`true`) or put down one of these.
    Carried(Who, Resource, bool),
    /// An agent said something; cut after 256 bytes, and not always UTF-8.
    Said(Who, Box<[u8]>),
    /// An agent pushed the others off its tile.
    Pushed(Who),
    /// An egg was laid, for this team, on this tile.
    EggLaid(EggId, TeamId, Tile),
    /// An egg was broken that belonged to this team.
    EggBroken(EggId, TeamId, Tile),
    /// An elevation began on this tile, from this level, with so many.
    RitualStarted(Tile, Level, u32),
    /// An elevation ended on this tile, from this level; whether it succeeded.
    RitualEnded(Tile, Level, bool),
    /// An agent rose to this level.
    Rose(Who, Level),
    /// A team won.
    Won(TeamId),
}

/// An agent and its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Its number.
    pub agent: AgentId,
    /// Its team.
    pub team: TeamId,
}
