//! What is due when: every deadline of the game, in one total order.
//!
//! Ranks at one instant are part of the rules. What ends comes first, so that an agent whose `Take food` ends
//! as it would starve has eaten in time; then hunger; then the refill, which sees what was taken; starts come
//! last, so that whoever starts at an instant sees all that happened at it, however passes were cut.
//!
//! Meals are in a queue of their own, so that the earliest other deadline is known too: most meals are visible to viewers
//! only, and a server without viewers does not wake up for them.

mod places;
mod queue;

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, EggId};
use trantor_time::GameTime;

use crate::lag::MessageId;
use crate::rules::{Ritual, RitualId};

use queue::Queue;
pub(crate) use queue::Ticket;

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

/// Everything pending, in one order over both queues: no kind in one has the rank of a kind in the other.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    meals: Queue,
    others: Queue,
}

impl Agenda {
    /// Nothing pending yet. In lock-step, what is due at one moment goes by the agents' numbers.
    pub(crate) fn new(lock_step: bool) -> Self {
        Self {
            meals: Queue::new(lock_step),
            others: Queue::new(lock_step),
        }
    }

    /// Adds a deadline, behind all of the same moment and rank, in lock-step behind all of the same agent and those
    /// before. A start must be set for the present instant, that is at or before everything pending.
    pub(crate) fn schedule(&mut self, at: GameTime, due: Due) -> Ticket {
        match due {
            Due::Hunger(_) => self.meals.schedule(at, due),
            _ => self.others.schedule(at, due),
        }
    }

    /// When the first deadline is. O(1).
    pub(crate) fn next_deadline(&self) -> Option<GameTime> {
        match (self.meals.next_deadline(), self.others.next_deadline()) {
            (Some(meal), Some(other)) => Some(meal.min(other)),
            (meal, other) => meal.or(other),
        }
    }

    /// When the first meal is. O(1).
    pub(crate) fn next_meal(&self) -> Option<GameTime> {
        self.meals.next_deadline()
    }

    /// When the first deadline is that is not a meal. O(1).
    pub(crate) fn next_other(&self) -> Option<GameTime> {
        self.others.next_deadline()
    }

    /// Whose meal the first deadline is, if it is one.
    pub(crate) fn first_eater(&self) -> Option<AgentId> {
        match self.meals.first_due().filter(|_| self.is_meal_next()) {
            Some(Due::Hunger(agent)) => Some(agent),
            _ => None,
        }
    }

    /// Whether the first deadline is a start.
    pub(crate) fn is_start_next(&self) -> bool {
        self.others.is_start_next() && !self.is_meal_next()
    }

    /// Takes the first deadline.
    pub(crate) fn take_first(&mut self) -> Option<(GameTime, Due)> {
        match self.is_meal_next() {
            true => self.meals.take_first(),
            false => self.others.take_first(),
        }
    }

    /// Takes a pending deadline off.
    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        match ticket {
            Ticket::Meal(_) => self.meals.cancel(ticket),
            Ticket::Pending(_) | Ticket::Start(_) => self.others.cancel(ticket),
        }
    }

    /// What is due under a ticket.
    pub(crate) fn get(&self, ticket: Ticket) -> Option<Due> {
        self.queue_of(ticket).get(ticket)
    }

    /// When it is due.
    pub(crate) fn deadline_of(&self, ticket: Ticket) -> Option<GameTime> {
        self.queue_of(ticket).deadline_of(ticket)
    }

    /// How many deadlines are pending.
    pub(crate) fn len(&self) -> usize {
        self.meals.len() + self.others.len()
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.meals.clear();
        self.others.clear();
    }

    /// Everything pending, in the order in which it will be taken.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Due> {
        let (mut meals, mut others) = (
            self.meals.in_order().peekable(),
            self.others.in_order().peekable(),
        );
        std::iter::from_fn(move || {
            let is_meal_next = match (meals.peek(), others.peek()) {
                (Some((meal, _)), Some((other, _))) => meal < other,
                (meal, _) => meal.is_some(),
            };
            let next = if is_meal_next { meals.next() } else { others.next() };
            next.map(|(_, due)| due)
        })
    }

    fn is_meal_next(&self) -> bool {
        match (self.meals.next_deadline(), self.others.next_deadline()) {
            // Mostly the instants tell, which are at hand; the ranks take a look at both queues.
            (Some(meal), Some(other)) if meal == other => self.meals.first() < self.others.first(),
            (Some(meal), Some(other)) => meal < other,
            (meal, _) => meal.is_some(),
        }
    }

    fn queue_of(&self, ticket: Ticket) -> &Queue {
        match ticket {
            Ticket::Meal(_) => &self.meals,
            Ticket::Pending(_) | Ticket::Start(_) => &self.others,
        }
    }
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
