//! All that may change a game from outside, as one closed enum.
//!
//! An input carries no time of its own: the caller stamps it, and the stamp (deadlines fired so far,
//! game time) goes into the journal with it. Nothing else can reach the world, so the inputs alone replay it.

#![allow(missing_docs, reason = "most fields are what their names say")]

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, Command, Counts, Direction, LeaveCause, Level, Resource, TeamId, Tile};
use trantor_time::Frequency;

use crate::config::GameConfig;
use crate::lag::{Lag, LagError};

/// One input from outside. Its layout is part of the journal's format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GameInput {
    /// A peer asks for a place in a team.
    Join { team: TeamId },
    /// An agent is gone: its peer left, or was disconnected.
    Leave { agent: AgentId, cause: LeaveCause },
    /// An agent asks for something; it waits its turn in the agent's queue.
    Command { agent: AgentId, command: Command },
    /// Speed, pause and steps. They cannot change a game; they are recorded so that a replay can show them.
    Pace(PaceChange),
    /// An operator changes the world.
    Admin(AdminAction),
}

/// A change in how game time follows real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PaceChange {
    /// New units per second.
    Frequency(Frequency),
    Paused,
    Resumed,
    /// While paused, game time was moved on.
    Stepped,
    /// In lock-step, game time had waited long enough and went on without the idle agents.
    WaitEnded,
}

/// What an operator may do to a world. Each is checked; one that does not fit changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdminAction {
    /// Puts an agent somewhere.
    Teleport {
        agent: AgentId,
        tile: Tile,
        /// Where it then faces; `None` leaves it.
        facing: Option<Direction>,
    },
    SetLevel {
        agent: AgentId,
        level: Level,
    },
    /// Sets how much of one thing an agent carries.
    SetInventory {
        agent: AgentId,
        resource: Resource,
        count: u32,
    },
    /// Sets all seven counts of a tile.
    SetGround {
        tile: Tile,
        ground: Counts,
    },
    Kill {
        agent: AgentId,
    },
    LayEgg {
        team: TeamId,
        tile: Tile,
    },
    /// Turns hunger off or on for all agents.
    SetHunger {
        enabled: bool,
    },
    /// Turns the refill of the ground off or on.
    SetRefill {
        enabled: bool,
    },
    /// Changes the links between agents of all teams for later messages; with `None` they arrive at
    /// once.
    SetLag {
        lag: Option<Lag>,
    },
    /// The match's time is over: the leading team wins.
    EndMatch,
    /// The eggs of a closed team can be hatched again.
    OpenTeam {
        team: TeamId,
    },
    /// From now on the team has no free places, whatever eggs it has. Its agents play on.
    CloseTeam {
        team: TeamId,
    },
    /// The match is over: that team wins, or it is a draw.
    EndMatchWith {
        winner: Option<TeamId>,
    },
    /// Changes the links on which agents of one team send; `None` has them behave like those of other teams again.
    SetTeamLag {
        team: TeamId,
        lag: Option<Option<Lag>>,
    },
}

/// The largest count an operator may set, of anything anywhere: far beyond any game, and far from where
/// adding one after the other could overflow.
pub const OPERATOR_COUNT_MAX: u32 = 1_000_000;

/// The result of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refused input changed nothing, and its sender may want to know"]
pub enum Handled {
    /// It took effect, or waits its turn.
    Done,
    /// A place was found; this is the newborn.
    Joined(AgentId),
    /// It changed nothing.
    Refused(Refusal),
}

/// Why an input changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A team has won; nothing more happens.
    #[error("the game is over")]
    GameOver,
    #[error("there is no such team")]
    UnknownTeam,
    /// Every egg of the team has hatched, or the team is closed.
    #[error("the team has no place left")]
    NoPlace,
    /// It never lived, or lives no more. Ordinary where its command and its death cross.
    #[error("there is no such agent")]
    UnknownAgent,
    /// The agent has [`crate::OUTSTANDING_MAX`] commands open; this one is dropped without an answer.
    #[error("the agent's queue is full")]
    QueueFull,
    #[error("the tile is not on the map")]
    OffMap,
    /// A count above [`OPERATOR_COUNT_MAX`].
    #[error("the count is too large")]
    TooMany,
    #[error("messages between agents: {0}")]
    Lag(#[from] LagError),
    /// The team, or the world, has as many eggs as it may.
    #[error(
        "a team may have {} eggs and all together {}",
        GameConfig::EGGS_PER_TEAM_MAX,
        GameConfig::EGGS_MAX
    )]
    FullOfEggs,
}
