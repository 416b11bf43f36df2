//! Changes of a world as viewers see them, and the states of what is in it.
//!
//! The game emits a [`Change`] for each thing that happens, our frames carry it as it is, and [`crate::FeedKind`] and
//! Zappy's lines are derived from it. A change carries all that a message about it needs, so that no reader has to look
//! at a world that has since changed.

#![allow(missing_docs, reason = "most fields are what their names say")]

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trantor_time::GameTime;
use trantor_time::link::Delivery;

use crate::{
    ActionState, AgentId, AgentView, Counts, Direction, EggId, Lag, Level, MatchTotals, Resource, TeamId,
    Tile,
};

/// One change of a world.
///
/// Its layout is part of our wire format. Games make many of them: no variant is larger than [`Change::Joined`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// An agent hatched from an egg.
    Joined {
        /// As it is born.
        agent: AgentView,
        /// The egg, gone now.
        egg: EggId,
        /// When its first food is used up; `None` where hunger is off.
        food_ends: Option<GameTime>,
    },
    /// An agent starved or was killed.
    Died { agent: AgentId },
    /// An agent is gone without having died.
    Left { agent: AgentId, cause: LeaveCause },
    /// An agent began something that takes time; until its end it can be drawn on its way, unless the line was refused.
    ActionStarted { agent: AgentId, action: ActionState },
    /// An agent is somewhere else, or faces elsewhere.
    Moved {
        agent: AgentId,
        tile: Tile,
        facing: Direction,
        how: MoveKind,
    },
    /// An agent picked up (`taken`) or put down one of a resource. The counts are those after it.
    Carried {
        agent: AgentId,
        resource: Resource,
        /// Picked up, or else put down.
        taken: bool,
        tile: Tile,
        inventory: Counts,
        ground: Counts,
    },
    /// What an agent carries changed otherwise.
    Inventory {
        agent: AgentId,
        tile: Tile,
        inventory: Counts,
        /// When the food being digested is used up; `None` where hunger is off.
        food_ends: Option<GameTime>,
        why: InventoryChange,
    },
    /// An operator stopped or resumed hunger.
    Hunger {
        agent: AgentId,
        /// When the food being digested is used up; `None` where hunger is off.
        food_ends: Option<GameTime>,
    },
    /// An agent broadcast a message.
    Said {
        agent: AgentId,
        /// What, byte for byte; in our frames cut after 256 bytes.
        text: Arc<[u8]>,
    },
    /// While messages take time: what becomes of a broadcast. Its [`Change::Said`] comes just before.
    Sent {
        agent: AgentId,
        /// Where it was sent.
        tile: Tile,
        /// How the sender's links behave. Boxed, so that no other change is larger for it.
        settings: Box<Lag>,
        /// By recipient, in ascending order. What finds too many links or messages in flight counts as a full line.
        deliveries: Arc<[(AgentId, Delivery)]>,
        /// Recipients that are left out, since a frame has room for so many only.
        left_out: u32,
    },
    /// An agent's push took effect; its victims' moves and the broken eggs came just before.
    Ejected { agent: AgentId },
    /// There is a new egg.
    EggLaid {
        egg: EggState,
        /// `None` for those of the start, of an operator, and those given back.
        layer: Option<AgentId>,
    },
    /// An egg can be hatched from now on (older rules only).
    EggMatured { egg: EggId },
    /// An egg is gone without having hatched.
    EggDestroyed { egg: EggId },
    /// An elevation began.
    ElevationStarted(ElevationState),
    /// An elevation ended. [`Change::LevelChanged`] of those that rose comes just before.
    ElevationEnded {
        elevation: ElevationId,
        /// Where it began.
        tile: Tile,
        /// The level before it.
        level: Level,
        success: bool,
        /// All that were held by it and still live.
        participants: Arc<[AgentId]>,
    },
    /// An agent has another level.
    LevelChanged { agent: AgentId, level: Level },
    /// What lies on a tile changed other than by [`Change::Carried`].
    Ground {
        tile: Tile,
        /// All seven counts.
        ground: Counts,
        why: GroundChange,
    },
    /// A refill round is over; its [`Change::Ground`] came just before. Sent even if nothing changed.
    Refilled,
    /// A team won, or it is [`TeamId::DRAW`]; the game is over.
    Won {
        team: TeamId,
        /// What the match came to; boxed, so that no other change is larger for it. `None` where no viewer watches and
        /// from text servers.
        totals: Option<Box<MatchTotals>>,
    },
}

/// An agent in a world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    pub view: AgentView,
    /// What it does.
    pub action: Option<ActionState>,
    /// When the food being digested is used up; `None` where hunger is off.
    pub food_ends: Option<GameTime>,
}

/// An egg in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EggState {
    pub egg: EggId,
    /// Whose place it is.
    pub team: TeamId,
    pub tile: Tile,
}

/// An elevation's number: counted from 0, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ElevationId(pub u64);

/// An elevation under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElevationState {
    pub elevation: ElevationId,
    pub tile: Tile,
    /// The level before it.
    pub level: Level,
    /// The agents that it holds: the one that asked first, the others by number.
    pub participants: Arc<[AgentId]>,
    pub start: GameTime,
    pub end: GameTime,
}

/// Why an agent left without dying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeaveCause {
    /// The peer closed its connection, or the connection broke.
    Disconnected,
    /// The server closed it: a limit was exceeded or an operator disconnected it.
    Dismissed,
}

/// How an agent came to be elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MoveKind {
    /// It walked a tile ahead.
    Walked,
    /// It turned where it stood.
    Turned,
    /// Another agent pushed it.
    Pushed,
    /// An operator put it there.
    Placed,
}

/// Why what an agent carries changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InventoryChange {
    /// It began to digest the next food.
    Ate,
    /// Set by an operator, or listed by a text server, which gives no reason.
    Set,
}

/// Why what lies on a tile changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroundChange {
    /// Topped up to the target.
    Refill,
    /// Used up by an elevation.
    Elevation,
    /// Set by an operator, or listed by a text server, which gives no reason.
    Admin,
}

impl MoveKind {
    /// Whether something else than its own command moved the agent.
    pub const fn is_forced(self) -> bool {
        matches!(self, Self::Pushed | Self::Placed)
    }
}

const _: () = assert!(
    size_of::<Change>() <= 80,
    "events of a busy game are moved about by the million"
);
