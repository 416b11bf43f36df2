//! What is due when: every deadline of the game, in one total order.
//!
//! Ranks at one instant are part of the rules. What ends comes first, so that an agent whose `Take food` ends
//! as it would starve has eaten in time; then hunger; then the refill, which sees what was taken; starts come
//! last, so that an action that starts at an instant sees all events of it, wherever passes end.
//!
//! Meals are in a store of their own, so that the earliest other deadline is known too: most meals are visible to viewers
//! only, and a server without viewers does not wake up for them.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, EggId, ElevationId};
use trantor_time::GameTime;

use crate::lag::MessageId;

/// Emptied rows kept for reuse. Where no two deadlines share an instant, each needs one.
const SPARE_ROWS_MAX: usize = 64;

/// The order of kinds at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Complete,
    Hunger,
    Refill,
    Start,
}

/// Everything pending, in one order over both stores: no kind in one has the rank of a kind in the other.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    meals: Rows,
    others: Rows,
    is_lock_step: bool,
    next_number: u64,
}

/// Deadlines by instant and rank, those of one instant and rank in a row.
///
/// Agents that started together end together, so in a game that leaps thousands of deadlines fall on few instants. A
/// deadline then costs no more than a push. A heap of single deadlines takes half as long again for a whole leap.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// No row is empty. Each is in order of owner, then number.
    rows: BTreeMap<(GameTime, Rank), VecDeque<Pending>>,
    spare: Vec<VecDeque<Pending>>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    /// In lock-step the agent's number, since there nothing may depend on the order of arrival; otherwise 0.
    owner: u32,
    number: u64,
    due: Due,
}

/// Names a pending deadline by its key in the total order; useless once that was taken or cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket {
    pub(crate) at: GameTime,
    rank: Rank,
    owner: u32,
    /// Of its registration.
    number: u64,
}

impl Agenda {
    /// Nothing pending yet. In lock-step, what is due at one instant goes by the agents' numbers.
    pub(crate) fn new(is_lock_step: bool) -> Self {
        Self {
            meals: Rows::default(),
            others: Rows::default(),
            is_lock_step,
            next_number: 0,
        }
    }

    /// Adds a deadline, behind all of the same instant and rank, in lock-step behind all of the same agent and those
    /// before.
    pub(crate) fn schedule(&mut self, at: GameTime, due: Due) -> Ticket {
        let ticket = Ticket {
            at,
            rank: due.rank(),
            owner: if self.is_lock_step { due.owner() } else { 0 },
            number: self.next_number,
        };
        self.next_number += 1;
        self.rows_of(ticket.rank).schedule(ticket, due);
        ticket
    }

    /// When the first deadline is. O(1).
    pub(crate) fn next_deadline(&self) -> Option<GameTime> {
        match (self.next_meal(), self.next_other()) {
            (Some(meal), Some(other)) => Some(meal.min(other)),
            (meal, other) => meal.or(other),
        }
    }

    /// When the first meal is. O(1).
    pub(crate) fn next_meal(&self) -> Option<GameTime> {
        self.meals.first().map(|(at, _)| at)
    }

    /// When the first deadline is that is not a meal. O(1).
    pub(crate) fn next_other(&self) -> Option<GameTime> {
        self.others.first().map(|(at, _)| at)
    }

    /// What is due first.
    pub(crate) fn first(&self) -> Option<Due> {
        let rows = if self.is_meal_next() {
            &self.meals
        } else {
            &self.others
        };
        let (_, row) = rows.rows.first_key_value()?;
        row.front().map(|pending| pending.due)
    }

    /// Who eats at the instant of the first deadline, if that is a meal before `before`; in order.
    pub(crate) fn next_meals(&self, before: GameTime) -> impl Iterator<Item = AgentId> {
        let row = self.meals.rows.first_key_value();
        let row = row.filter(|((at, _), _)| *at < before && self.is_meal_next());
        row.into_iter()
            .flat_map(|(_, row)| row)
            .filter_map(|meal| match meal.due {
                Due::Hunger(agent) => Some(agent),
                _ => None,
            })
    }

    pub(crate) fn take_first(&mut self) -> Option<(GameTime, Due)> {
        match self.is_meal_next() {
            true => self.meals.take_first(),
            false => self.others.take_first(),
        }
    }

    /// Takes a pending deadline off.
    pub(crate) fn cancel(&mut self, ticket: Ticket) {
        self.rows_of(ticket.rank).cancel(ticket);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.meals.rows.clear();
        self.others.rows.clear();
    }

    /// Everything pending, in the order in which it will be taken.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (Ticket, Due)> {
        let mut meals = self.meals.rows.iter().peekable();
        let mut others = self.others.rows.iter().peekable();
        let rows = std::iter::from_fn(move || match (meals.peek(), others.peek()) {
            (Some((meal, _)), Some((other, _))) if other < meal => others.next(),
            (Some(_), _) => meals.next(),
            (None, _) => others.next(),
        });
        rows.flat_map(|(&(at, rank), row)| {
            row.iter().map(move |&Pending { owner, number, due }| {
                let ticket = Ticket {
                    at,
                    rank,
                    owner,
                    number,
                };
                (ticket, due)
            })
        })
    }

    fn is_meal_next(&self) -> bool {
        match (self.meals.first(), self.others.first()) {
            (Some(meal), Some(other)) => meal < other,
            (meal, _) => meal.is_some(),
        }
    }

    fn rows_of(&mut self, rank: Rank) -> &mut Rows {
        match rank {
            Rank::Hunger => &mut self.meals,
            Rank::Complete | Rank::Refill | Rank::Start => &mut self.others,
        }
    }
}

impl Rows {
    fn schedule(&mut self, ticket: Ticket, due: Due) {
        let Ticket {
            at,
            rank,
            owner,
            number,
        } = ticket;
        let spare = &mut self.spare;
        let row = self.rows.entry((at, rank));
        let row = row.or_insert_with(|| spare.pop().unwrap_or_default());
        let pending = Pending { owner, number, due };
        // Most callers schedule the agents in the order of their numbers.
        match row.back() {
            Some(last) if last.owner > owner => {
                let place = row.partition_point(|other| other.owner <= owner);
                row.insert(place, pending);
            }
            _ => row.push_back(pending),
        }
    }

    fn first(&self) -> Option<(GameTime, Rank)> {
        self.rows.first_key_value().map(|(key, _)| *key)
    }

    fn take_first(&mut self) -> Option<(GameTime, Due)> {
        let mut first = self.rows.first_entry()?;
        let at = first.key().0;
        let taken = first.get_mut().pop_front()?;
        if first.get().is_empty() {
            self.spare.push(first.remove());
            self.spare.truncate(SPARE_ROWS_MAX);
        }
        Some((at, taken.due))
    }

    fn cancel(&mut self, ticket: Ticket) {
        let key = (ticket.at, ticket.rank);
        let Some(row) = self.rows.get_mut(&key) else {
            return;
        };
        let place = (ticket.owner, ticket.number);
        if let Ok(place) = row.binary_search_by_key(&place, |other| (other.owner, other.number)) {
            row.remove(place);
        }
        if row.is_empty() {
            self.rows.remove(&key);
        }
    }
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Due {
    /// An agent's action is over.
    Action(AgentId),
    /// An elevation is over.
    Elevation { elevation: ElevationId, asker: AgentId },
    /// An egg can be hatched from now on.
    Hatch(EggId),
    /// An agent has digested its food.
    Hunger(AgentId),
    /// The ground is topped up.
    Refill,
    /// An agent turns to its next command.
    Start(AgentId),
    /// A message reaches an agent.
    Delivery { message: MessageId, to: AgentId },
}

impl Due {
    /// The agent it belongs to, as a number that breaks ties in lock-step; 0 if it belongs to none.
    fn owner(self) -> u32 {
        match self {
            Self::Action(agent) | Self::Hunger(agent) | Self::Start(agent) => agent.0,
            Self::Elevation { asker, .. } => asker.0,
            Self::Delivery { to, .. } => to.0,
            Self::Hatch(_) | Self::Refill => 0,
        }
    }

    /// The agent whose command leads to it, if one does.
    pub(crate) fn actor(self) -> Option<AgentId> {
        match self {
            Self::Action(agent) | Self::Start(agent) | Self::Elevation { asker: agent, .. } => Some(agent),
            Self::Hatch(_) | Self::Hunger(_) | Self::Refill | Self::Delivery { .. } => None,
        }
    }

    pub(crate) fn rank(self) -> Rank {
        match self {
            Self::Action(_) | Self::Elevation { .. } | Self::Hatch(_) | Self::Delivery { .. } => {
                Rank::Complete
            }
            Self::Hunger(_) => Rank::Hunger,
            Self::Refill => Rank::Refill,
            Self::Start(_) => Rank::Start,
        }
    }

    pub(crate) fn kind(self) -> DueKind {
        match self {
            Self::Action(_) => DueKind::Action,
            Self::Elevation { .. } => DueKind::Elevation,
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
    Elevation,
    /// An egg matured.
    Hatch,
    /// An agent had digested its food.
    Hunger,
    /// The ground was topped up.
    Refill,
    /// An agent turned to its next command.
    Start,
    /// A delayed message reached an agent.
    Delivery,
}

impl DueKind {
    /// All kinds, in order of declaration.
    pub const ALL: [Self; 7] = [
        Self::Action,
        Self::Elevation,
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
            Self::Elevation => "elevation",
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
    /// The agent whose action or elevation it was; `None` for periodic deadlines.
    pub agent: Option<AgentId>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trantor_time::GameSpan;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Schedule { units: i64, due: Due },
        Cancel(prop::sample::Index),
        Take,
    }

    /// Instant, rank, tie, registration.
    type Key = (GameTime, Rank, u32, u32);

    fn step() -> impl Strategy<Value = Step> {
        let due = (0..4u8, 0..9u32).prop_map(|(kind, agent)| match kind {
            0 => Due::Action(AgentId(agent)),
            1 => Due::Hunger(AgentId(agent)),
            2 => Due::Refill,
            _ => Due::Start(AgentId(agent)),
        });
        prop_oneof![
            4 => (0..4i64, due).prop_map(|(units, due)| Step::Schedule { units, due }),
            1 => any::<prop::sample::Index>().prop_map(Step::Cancel),
            2 => Just(Step::Take),
        ]
    }

    proptest! {
        /// Against a list that is sorted after each step.
        #[test]
        fn deadlines_come_by_instant_and_rank_and_then_by_registration(
            steps in prop::collection::vec(step(), 0..300),
            lock_step: bool,
        ) {
            let mut agenda = Agenda::new(lock_step);
            let mut now = GameTime::ZERO;
            let mut model: Vec<(Key, Due, Ticket)> = Vec::new();
            for (number, step) in (0..).zip(steps) {
                match step {
                    Step::Schedule { units, due } => {
                        let at = now + GameSpan::from_units(units);
                        let tie = if lock_step { due.owner() } else { 0 };
                        model.push(((at, due.rank(), tie, number), due, agenda.schedule(at, due)));
                        model.sort_by_key(|&(key, ..)| key);
                    }
                    Step::Cancel(index) if !model.is_empty() => {
                        agenda.cancel(model.remove(index.index(model.len())).2);
                    }
                    Step::Take if !model.is_empty() => {
                        let ((at, ..), due, _) = model.remove(0);
                        now = at;
                        prop_assert_eq!(agenda.first(), Some(due));
                        prop_assert_eq!(agenda.take_first(), Some((at, due)));
                    }
                    Step::Cancel(_) | Step::Take => prop_assert_eq!(agenda.take_first(), None),
                }
                let expected: Vec<_> = model.iter().map(|&(_, due, ticket)| (ticket, due)).collect();
                prop_assert_eq!(agenda.in_order().collect::<Vec<_>>(), expected);
                prop_assert_eq!(agenda.next_deadline(), model.first().map(|first| first.0.0));
            }
        }
    }
}
