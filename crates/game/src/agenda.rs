//! What is due when: every deadline of the game, in one total order.
//!
//! Ranks at one instant are part of the rules. What ends comes first, so that an agent whose `Take food` ends
//! as it would starve has eaten in time; then hunger; then the refill, which sees what was taken; starts come
//! last, so that whoever starts at an instant sees all that happened at it, however passes were cut.

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, EggId};
use trantor_time::{DeadlineHeap, GameTime};

use crate::rules::RitualId;

/// Pending deadlines.
pub(crate) type Agenda = DeadlineHeap<Moment, Due>;

/// The key of a deadline. Equal keys go by order of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: GameTime,
    pub(crate) rank: Rank,
    /// The agent's number in lock-step, else 0: there, nothing may depend on the order of arrival.
    pub(crate) tie: u32,
}

/// The order of kinds at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Complete,
    Hunger,
    Refill,
    Start,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Due {
    /// An agent's action is over.
    Action(AgentId),
    /// An elevation is over.
    Ritual(RitualId),
    /// An egg can be hatched from now on.
    Hatch(EggId),
    /// An agent has digested its food.
    Hunger(AgentId),
    /// The ground is topped up.
    Refill,
    /// An agent turns to its next command.
    Start(AgentId),
}

impl Due {
    pub(crate) fn rank(self) -> Rank {
        match self {
            Self::Action(_) | Self::Ritual(_) | Self::Hatch(_) => Rank::Complete,
            Self::Hunger(_) => Rank::Hunger,
            Self::Refill => Rank::Refill,
            Self::Start(_) => Rank::Start,
        }
    }

    pub(crate) fn kind(self) -> DueKind {
        match self {
            Self::Action(_) => DueKind::Action,
            Self::Ritual(_) => DueKind::Ritual,
            Self::Hatch(_) => DueKind::Hatch,
            Self::Hunger(_) => DueKind::Hunger,
            Self::Refill => DueKind::Refill,
            Self::Start(_) => DueKind::Start,
        }
    }
}

/// What kind of deadline fired; for metrics by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DueKind {
    /// An agent's action was over.
    Action,
    /// An elevation was over.
    Ritual,
    /// An egg matured.
    Hatch,
    /// An agent had digested its food.
    Hunger,
    /// The ground was topped up.
    Refill,
    /// An agent turned to its next command.
    Start,
}

impl DueKind {
    /// All kinds, in order of declaration.
    pub const ALL: [Self; 6] = [
        Self::Action,
        Self::Ritual,
        Self::Hatch,
        Self::Hunger,
        Self::Refill,
        Self::Start,
    ];

    /// A word for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Ritual => "ritual",
            Self::Hatch => "hatch",
            Self::Hunger => "hunger",
            Self::Refill => "refill",
            Self::Start => "start",
        }
    }
}

/// A deadline that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// Its nominal instant; the game's time now.
    pub at: GameTime,
    /// What it was.
    pub kind: DueKind,
}
