//! Events of the game, in order.
//!
//! An event carries all that a message about it needs, so that no reader has to look at a world that has since
//! changed. Which peer sees which event is for the engine to decide; how it is written, for the protocol.
//!
//! Some are for agents, and most for viewers alone. A game without viewers, such as a leap, makes none of the second
//! kind, and no directions of messages: of a thousand recipients, few need them.

#![allow(missing_docs, reason = "most fields are what their names say")]

use std::sync::Arc;

use serde::{Serialize, Serializer};
use trantor_model::{
    AgentId, AgentView, CommandKind, Counts, Direction, EggId, Lag, Level, Percept, Resource, TeamId, Tile,
};
use trantor_time::GameTime;
use trantor_time::link::Delivery;

use crate::input::LeaveCause;
use crate::rules::RitualId;

/// One thing that happened, or one line for an agent.
///
/// It can be serialized for people and scripts; no recording holds events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum GameEvent {
    // For one agent alone.
    /// An agent perceives something: the answer to its oldest open request, a sound, a push, or its part in an elevation.
    #[serde(skip)]
    To { agent: AgentId, percept: Percept },
    /// A sound reached all other agents at once: instead of a [`Percept::Message`] for each, for drivers that ask for directions.
    #[serde(skip)]
    HeardByAll {
        speaker: AgentId,
        /// The message, byte for byte.
        text: Arc<[u8]>,
    },

    // For all viewers.
    /// An agent hatched; here as it is born.
    #[serde(skip)]
    Joined { agent: AgentView, egg: EggId },
    /// An agent starved or was killed. Its own line is `dead`.
    Died { agent: AgentId },
    /// An agent is gone without having died.
    Left { agent: AgentId, cause: LeaveCause },
    /// An agent began something that takes time.
    ActionStarted {
        agent: AgentId,
        kind: CommandKind,
        /// When, nominally.
        #[serde(skip)]
        start: GameTime,
        /// When it will end, unless the agent is held or dies.
        #[serde(rename = "ends_units", serialize_with = "in_units")]
        end: GameTime,
        /// Whether the line was refused: it takes its time, and nothing but `ko` comes of it.
        refused: bool,
    },
    /// An agent is somewhere else, or faces elsewhere.
    Moved {
        agent: AgentId,
        tile: Tile,
        facing: Direction,
        how: MoveKind,
    },
    /// An agent picked one up.
    Took(Carry),
    /// An agent put one down.
    Put(Carry),
    /// An agent began to digest the next food.
    Ate {
        agent: AgentId,
        tile: Tile,
        /// What it carries now.
        inventory: Counts,
    },
    /// An operator changed what an agent carries.
    InventorySet {
        agent: AgentId,
        tile: Tile,
        /// What it carries now.
        inventory: Counts,
    },
    /// An agent broadcast a message.
    Said {
        agent: AgentId,
        /// What, byte for byte.
        #[serde(serialize_with = "all")]
        text: Arc<[u8]>,
    },
    /// While messages take time: what becomes of a broadcast. Its `Said` comes just before.
    #[serde(skip)]
    Transmitted {
        agent: AgentId,
        /// Where it was sent.
        tile: Tile,
        /// How the sender's links behave. Boxed, so that no other event is larger for it.
        lag: Box<Lag>,
        /// By recipient, in ascending order. What finds too many links or messages in flight counts as a full line.
        deliveries: Arc<[(AgentId, Delivery)]>,
    },
    /// An agent's push took effect; its victims' moves and the broken eggs came just before.
    Ejected { agent: AgentId },
    /// An agent began to lay an egg.
    ForkStarted { agent: AgentId },
    /// There is a new egg.
    EggLaid {
        egg: EggId,
        /// `None` for those of the start, of an operator, and those given back.
        layer: Option<AgentId>,
        team: TeamId,
        tile: Tile,
    },
    /// An egg can be hatched from now on (older rules only).
    EggMatured { egg: EggId },
    /// An egg is gone without having hatched.
    EggDestroyed { egg: EggId },
    /// An elevation began.
    RitualStarted {
        #[serde(skip)]
        ritual: RitualId,
        tile: Tile,
        /// The level before it.
        level: Level,
        /// The agents it holds: the one that asked first, the others by number.
        #[serde(serialize_with = "all")]
        participants: Arc<[AgentId]>,
        /// When it will end.
        #[serde(rename = "ends_units", serialize_with = "in_units")]
        end: GameTime,
    },
    /// An elevation ended. `LevelChanged` of those that rose comes just before.
    RitualEnded {
        #[serde(skip)]
        ritual: RitualId,
        /// Where it was begun.
        tile: Tile,
        /// The level before it.
        level: Level,
        success: bool,
        /// All that were held by it and still live.
        #[serde(serialize_with = "all")]
        participants: Arc<[AgentId]>,
    },
    /// An agent has another level.
    LevelChanged { agent: AgentId, level: Level },
    /// What lies on a tile changed other than by `Took` or `Put`.
    GroundChanged {
        tile: Tile,
        /// All seven counts.
        ground: Counts,
        why: GroundChange,
    },
    /// A refill round is over; its `GroundChanged` came just before. Sent even if nothing changed.
    Refilled,
    /// A team won, or it is [`TeamId::DRAW`]; the game is over.
    Won { team: TeamId },
}

pub(crate) fn all<T: Serialize, S: Serializer>(list: &Arc<[T]>, serializer: S) -> Result<S::Ok, S::Error> {
    (**list).serialize(serializer)
}

fn in_units<S: Serializer>(at: &GameTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_units_f64())
}

/// An agent picked something up or put it down; the counts are those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Carry {
    pub agent: AgentId,
    pub resource: Resource,
    pub inventory: Counts,
    pub tile: Tile,
    #[serde(skip)]
    pub ground: Counts,
}

/// How an agent came to be elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum GroundChange {
    /// Topped up to the target.
    Refill,
    /// Used up by an elevation.
    Ritual,
    /// Set by an operator.
    Admin,
}

/// The events that a game makes. It has no effect on the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventFilter {
    /// All events.
    #[default]
    All,
    /// Lines for agents, births, deaths and leaves, and the victory.
    Agents,
    /// The same, but one [`GameEvent::HeardByAll`] instead of a line for each recipient; the driver of the game asks for
    /// directions by [`crate::World::direction_of_sound`]. Messages that take time to arrive are still lines.
    AgentsShared,
    /// All events, but messages as in [`Self::AgentsShared`].
    AllShared,
}

/// Where the rules put events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// The first `polled` of them are gone.
    waiting: Vec<GameEvent>,
    polled: usize,
    pub(crate) filter: EventFilter,
}

impl Events {
    /// Adds a line for an agent, or a change of the living agents.
    pub(crate) fn push(&mut self, event: GameEvent) {
        self.waiting.push(event);
    }

    /// Adds an event for viewers alone.
    pub(crate) fn push_for_viewers(&mut self, event: impl FnOnce() -> GameEvent) {
        if self.are_for_viewers() {
            self.waiting.push(event());
        }
    }

    /// Whether events for viewers alone are made.
    pub(crate) fn are_for_viewers(&self) -> bool {
        matches!(self.filter, EventFilter::All | EventFilter::AllShared)
    }

    /// Whether a message that reaches all agents at once is one event.
    pub(crate) fn are_messages_shared(&self) -> bool {
        matches!(self.filter, EventFilter::AgentsShared | EventFilter::AllShared)
    }

    /// Whether there is one that was not polled.
    pub(crate) fn has_some(&self) -> bool {
        self.polled < self.waiting.len()
    }

    /// The next one in order.
    pub(crate) fn poll(&mut self) -> Option<GameEvent> {
        let Some(event) = self.waiting.get_mut(self.polled) else {
            self.waiting.clear();
            self.polled = 0;
            return None;
        };
        self.polled += 1;
        Some(std::mem::replace(event, GameEvent::Refilled))
    }

    /// Exchanges all events for `buffer`.
    pub(crate) fn swap(&mut self, buffer: &mut Vec<GameEvent>) {
        assert_eq!(self.polled, 0, "events are polled or swapped");
        std::mem::swap(&mut self.waiting, buffer);
    }
}
