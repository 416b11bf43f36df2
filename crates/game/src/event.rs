//! What was seen to happen, in order, for whoever tells the peers.
//!
//! An event carries all that a message about it needs, so that nobody has to look at a world that has since
//! moved on. Who may see which event is the engine's to decide; how it is written, the protocol's.

use std::sync::Arc;

use trantor_model::{
    AgentId, AgentView, CommandKind, Counts, Direction, EggId, Level, Resource, Sight, TeamId, Tile,
};
use trantor_time::GameTime;

use crate::input::LeaveCause;
use crate::rules::RitualId;

/// One thing that happened, or one line owed to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameEvent {
    // For one agent alone.
    /// The answer to an agent's oldest open request, or a line of a ritual it takes part in.
    Reply {
        /// To whom.
        agent: AgentId,
        /// What.
        reply: Reply,
    },
    /// A sound reached an agent.
    Heard {
        /// Who hears it.
        agent: AgentId,
        /// From where: 0 here, 1 ahead, then counter-clockwise to 8.
        direction: u8,
        /// What was said, byte for byte.
        text: Arc<[u8]>,
    },
    /// An agent was pushed off its tile.
    PushedFrom {
        /// Who was pushed.
        agent: AgentId,
        /// From where, seen by the one pushed: 1, 3, 5 or 7.
        direction: u8,
    },

    // For everybody who watches.
    /// An agent hatched.
    Joined {
        /// The agent as it is born.
        agent: AgentView,
        /// The egg it hatched from.
        egg: EggId,
    },
    /// An agent starved or was killed. The agent itself is owed `dead`.
    Died {
        /// Who.
        agent: AgentId,
    },
    /// An agent is gone without having died.
    Left {
        /// Who.
        agent: AgentId,
        /// Why.
        cause: LeaveCause,
    },
    /// An agent began something that takes time.
    ActionStarted {
        /// Who.
        agent: AgentId,
        /// What.
        kind: CommandKind,
        /// When, nominally.
        start: GameTime,
        /// When it will end, unless the agent is held or dies.
        end: GameTime,
        /// Whether the line was refused: it takes its time, and nothing but `ko` comes of it.
        refused: bool,
    },
    /// An agent is somewhere else, or faces elsewhere.
    Moved {
        /// Who.
        agent: AgentId,
        /// Where it stands now.
        tile: Tile,
        /// Where it faces now.
        facing: Direction,
        /// How that came about.
        how: MoveKind,
    },
    /// An agent picked one up.
    Took(Carry),
    /// An agent put one down.
    Put(Carry),
    /// An agent began to digest the next food.
    Ate {
        /// Who.
        agent: AgentId,
        /// Where.
        tile: Tile,
        /// What it carries now.
        inventory: Counts,
    },
    /// An operator changed what an agent carries.
    InventorySet {
        /// Who.
        agent: AgentId,
        /// Where.
        tile: Tile,
        /// What it carries now.
        inventory: Counts,
    },
    /// An agent said something.
    Said {
        /// Who.
        agent: AgentId,
        /// What, byte for byte.
        text: Arc<[u8]>,
    },
    /// An agent's push took effect; its victims' moves and the broken eggs came just before.
    Ejected {
        /// Who pushed.
        agent: AgentId,
    },
    /// An agent began to lay an egg.
    ForkStarted {
        /// Who.
        agent: AgentId,
    },
    /// There is a new egg.
    EggLaid {
        /// Its number.
        egg: EggId,
        /// Who laid it; `None` for those of the start, of an operator, and those given back.
        layer: Option<AgentId>,
        /// Whose place it is.
        team: TeamId,
        /// Where it lies.
        tile: Tile,
    },
    /// An egg can be hatched from now on (older rules only).
    EggMatured {
        /// Which.
        egg: EggId,
    },
    /// An egg is gone without having hatched.
    EggDestroyed {
        /// Which.
        egg: EggId,
    },
    /// An elevation began.
    RitualStarted {
        /// Which.
        ritual: RitualId,
        /// Where.
        tile: Tile,
        /// The level before it.
        level: Level,
        /// Who is held by it: the one who asked first, the others by number.
        participants: Arc<[AgentId]>,
        /// When it will end.
        end: GameTime,
    },
    /// An elevation ended. Those who rose are told by `LevelChanged`, just before.
    RitualEnded {
        /// Which.
        ritual: RitualId,
        /// Where it was begun.
        tile: Tile,
        /// The level before it.
        level: Level,
        /// Whether it succeeded.
        success: bool,
        /// All who were held by it and still live.
        participants: Arc<[AgentId]>,
    },
    /// An agent has another level.
    LevelChanged {
        /// Who.
        agent: AgentId,
        /// The level now.
        level: Level,
    },
    /// What lies on a tile changed other than by `Took` or `Put`.
    GroundChanged {
        /// Where.
        tile: Tile,
        /// All seven counts.
        ground: Counts,
        /// Why.
        why: GroundChange,
    },
    /// A refill round is over; its `GroundChanged` came just before. Sent even if nothing changed.
    Refilled,
    /// A team won, and the game is over.
    Won {
        /// Which.
        team: TeamId,
    },
}

/// What an agent is told, in answer or as part of a ritual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It was done.
    Ok,
    /// It was not, or could not be.
    Ko,
    /// What is in sight: `(level + 1)²` tiles, nearest row first, each from left to right.
    Look(Vec<Sight>),
    /// What is carried.
    Inventory {
        /// All seven counts; the food being digested is not counted.
        inventory: Counts,
        /// Units of life left with that food, rounded up.
        life_units: u32,
    },
    /// Places the team has left.
    ConnectNbr(u32),
    /// An elevation began, with this agent in it.
    ElevationUnderway,
    /// An elevation succeeded.
    CurrentLevel(Level),
}

/// An agent picked something up or put it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// Who.
    pub agent: AgentId,
    /// What.
    pub resource: Resource,
    /// What it carries now.
    pub inventory: Counts,
    /// Where it stands.
    pub tile: Tile,
    /// What lies there now.
    pub ground: Counts,
}

/// How an agent came to be elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Why what lies on a tile changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroundChange {
    /// Topped up to the target.
    Refill,
    /// Used up by an elevation.
    Ritual,
    /// Set by an operator.
    Admin,
}
