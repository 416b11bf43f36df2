//! Hunger: food into life, and death at the exact unit.
//!
//! One food is being digested from birth on, for 126 units; the stock does not count it. When it is used up
//! the next is taken from the stock, and where there is none, the agent starves: 1,260 units after birth if
//! it never ate. Nothing stops digestion but an operator: not an action, and not an elevation.

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, Change, InventoryChange, Resource};
use trantor_time::{GameSpan, GameTime};

use crate::rules::Events;
use crate::rules::agents::Agent;
use crate::rules::world::World;

/// Units of life in one food.
pub(crate) const FOOD_LIFE_UNITS: i64 = 126;

/// Food an agent is born with, the one being digested included.
pub(crate) const FOOD_AT_BIRTH: u32 = 10;

/// About so many meals are overdue at most while no viewer watches: the server carries them out at once, in less than a millisecond.
const OVERDUE_MEALS_MAX: i64 = 2_048;

/// How far an agent is with the food it digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Digestion {
    /// It is used up at this moment.
    Until(GameTime),
    /// An operator has stopped hunger; this much is left.
    Stopped(GameSpan),
}

impl Digestion {
    /// The next food, from `now` on.
    pub(crate) fn begin(hunger_enabled: bool, now: GameTime) -> Self {
        let life = GameSpan::from_units(FOOD_LIFE_UNITS);
        if hunger_enabled {
            Self::Until(now + life)
        } else {
            Self::Stopped(life)
        }
    }

    /// Stops or resumes it, without losing a fraction.
    pub(crate) fn set_enabled(&mut self, enabled: bool, now: GameTime) {
        *self = match *self {
            Self::Until(end) if !enabled => Self::Stopped(end - now),
            Self::Stopped(left) if enabled => Self::Until(now + left),
            unchanged => unchanged,
        };
    }

    /// What is left of it.
    fn left(self, now: GameTime) -> GameSpan {
        match self {
            Self::Until(end) => end - now,
            Self::Stopped(left) => left,
        }
    }
}

/// How long after the first of them the meals of so many agents can be carried out, so that not too many are overdue.
pub(crate) fn overdue_meals_span(agents: usize) -> GameSpan {
    let life_nu = GameSpan::from_units(FOOD_LIFE_UNITS * OVERDUE_MEALS_MAX).as_nanounits();
    GameSpan::from_nanounits(life_nu / (agents as i128).max(1))
}

/// The food being digested is used up. Returns whether the agent has another, which it digests next.
pub(crate) fn digest(world: &mut World, id: AgentId, now: GameTime, events: &mut Events) -> bool {
    let agent = &mut world.agents[id];
    if !agent.inventory.take_one(Resource::Food) {
        return false;
    }
    agent.digestion = Digestion::begin(true, now);
    events.push_for_viewers(|| inventory_changed(agent, InventoryChange::Ate));
    true
}

/// What an agent carries now.
pub(crate) fn inventory_changed(agent: &Agent, why: InventoryChange) -> Change {
    Change::Inventory {
        agent: agent.id,
        tile: agent.tile,
        inventory: agent.inventory,
        food_ends: agent.food_ends(),
        why,
    }
}

/// A lower bound of the instant at which the next agent starves.
///
/// Taking food makes an agent starve later, and the bound stays; it is found anew once it has passed. That scans all
/// agents, but at most once in as many meals as there are agents, so a meal costs O(1).
#[derive(Clone, Debug, Default)]
pub(crate) struct StarvationBound {
    /// No agent starves before; `None` if there was none yet.
    at: Option<GameTime>,
    meals_since_found: usize,
}

impl StarvationBound {
    /// The earliest starvation in the world.
    pub(crate) fn find(world: &World) -> Self {
        Self {
            at: world.agents().filter_map(starves_at).min(),
            meals_since_found: 0,
        }
    }

    /// The bound, if there was an agent.
    pub(crate) fn get(&self) -> Option<GameTime> {
        self.at
    }

    /// An agent came, or may have less food than before.
    pub(crate) fn note_food(&mut self, agent: &Agent) {
        self.at = self.at.into_iter().chain(starves_at(agent)).min();
    }

    /// A meal was due at `now`.
    pub(crate) fn note_meal(&mut self, world: &World, now: GameTime) {
        self.meals_since_found += 1;
        if self.at.is_none_or(|at| at <= now) && self.meals_since_found >= world.agents().len() {
            *self = Self::find(world);
        }
    }
}

/// When an agent starves with what it carries; `None` while hunger is stopped.
pub(crate) fn starves_at(agent: &Agent) -> Option<GameTime> {
    let Digestion::Until(end) = agent.digestion else {
        return None;
    };
    let meals = i64::from(agent.inventory[Resource::Food]);
    Some(end + GameSpan::from_units(meals * FOOD_LIFE_UNITS))
}

/// Units of life left with what the agent carries, rounded up.
pub(crate) fn life_units(agent: &Agent, now: GameTime) -> u32 {
    let digesting_nu = agent.digestion.left(now).as_nanounits().max(0);
    let unit_nu = GameSpan::from_units(1).as_nanounits();
    let digesting_units = (digesting_nu + unit_nu - 1) / unit_nu;
    let stock_units = i128::from(agent.inventory[Resource::Food]) * i128::from(FOOD_LIFE_UNITS);
    u32::try_from(digesting_units + stock_units).unwrap_or(u32::MAX)
}
