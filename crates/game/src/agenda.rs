//! What is due when: every deadline of the game, in one total order.
//!
//! Ranks at one instant are part of the rules. What ends comes first, so that an agent whose `Take food` ends
//! as it would starve has eaten in time; then hunger; then the refill, which sees what was taken; starts come
//! last, so that whoever starts at an instant sees all that happened at it, however passes were cut.

mod places;
mod queue;

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, EggId};
use trantor_time::GameTime;

use crate::lag::MessageId;
use crate::rules::{Ritual, RitualId};

pub(crate) use queue::{Agenda, Ticket};

/// The key of a deadline. Equal keys go by order of registration; in lock-step by the agents' numbers first, since
/// there nothing may depend on the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: GameTime,
    pub(crate) rank: Rank,
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
    Ritual {
        /// Which.
        ritual: RitualId,
        /// Who began it.
        asker: AgentId,
    },
    /// An egg can be hatched from now on.
    Hatch(EggId),
    /// An agent has digested its food.
    Hunger(AgentId),
    /// The ground is topped up.
    Refill,
    /// An agent turns to its next command.
    Start(AgentId),
    /// Something said reaches an agent.
    Delivery {
        /// What.
        message: MessageId,
        /// Whom.
        to: AgentId,
    },
}

impl Due {
    /// The end of a ritual.
    pub(crate) fn end_of(ritual: &Ritual) -> Self {
        Self::Ritual {
            ritual: ritual.id,
            asker: ritual.asker,
        }
    }

    /// When it is due, and in which place among others of that instant.
    fn moment(self, at: GameTime) -> Moment {
        Moment {
            at,
            rank: self.rank(),
        }
    }

    /// The agent it belongs to, as a number that breaks ties in lock-step; 0 if it belongs to none.
    fn owner(self) -> u32 {
        match self {
            Self::Action(agent) | Self::Hunger(agent) | Self::Start(agent) => agent.0,
            Self::Ritual { asker, .. } => asker.0,
            Self::Delivery { to, .. } => to.0,
            Self::Hatch(_) | Self::Refill => 0,
        }
    }

    /// The agent whose command leads to it, if one does.
    pub(crate) fn actor(self) -> Option<AgentId> {
        match self {
            Self::Action(agent) | Self::Start(agent) | Self::Ritual { asker: agent, .. } => Some(agent),
            Self::Hatch(_) | Self::Hunger(_) | Self::Refill | Self::Delivery { .. } => None,
        }
    }

    pub(crate) fn rank(self) -> Rank {
        match self {
            Self::Action(_) | Self::Ritual { .. } | Self::Hatch(_) | Self::Delivery { .. } => Rank::Complete,
            Self::Hunger(_) => Rank::Hunger,
            Self::Refill => Rank::Refill,
            Self::Start(_) => Rank::Start,
        }
    }

    pub(crate) fn kind(self) -> DueKind {
        match self {
            Self::Action(_) => DueKind::Action,
            Self::Ritual { .. } => DueKind::Ritual,
            Self::Hatch(_) => DueKind::Hatch,
            Self::Hunger(_) => DueKind::Hunger,
            Self::Refill => DueKind::Refill,
            Self::Start(_) => DueKind::Start,
            Self::Delivery { .. } => DueKind::Delivery,
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
    /// Something said reached an agent, late.
    Delivery,
}

impl DueKind {
    /// All kinds, in order of declaration.
    pub const ALL: [Self; 7] = [
        Self::Action,
        Self::Ritual,
        Self::Hatch,
        Self::Hunger,
        Self::Refill,
        Self::Start,
        Self::Delivery,
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
            Self::Delivery => "delivery",
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
    /// The agent whose action or elevation it was; `None` for what comes by itself.
    pub agent: Option<AgentId>,
}
