//! Hunger: food into life, and death at the exact unit (R-000-44).
//!
//! One food is being digested from birth on, for 126 units; the stock does not count it. When it is used up
//! the next is taken from the stock, and where there is none, the agent starves: 1,260 units after birth if
//! it never ate. Nothing stops digestion but an operator: not an action, and not a ritual.

use serde::{Deserialize, Serialize};
use trantor_model::{AgentId, Resource};
use trantor_time::{GameSpan, GameTime};

use crate::event::GameEvent;
use crate::rules::Events;
use crate::rules::agents::Agent;
use crate::rules::world::World;

/// Units of life in one food.
pub(crate) const FOOD_LIFE_UNITS: i64 = 126;

/// Food an agent is born with, the one being digested included.
pub(crate) const FOOD_AT_BIRTH: u32 = 10;

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

    /// Stops it or lets it go on, without losing a fraction.
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

/// What became of an agent whose food was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It digests the next one.
    Fed,
    /// It had none left.
    Starved,
}

/// The food being digested is used up.
pub(crate) fn digest(world: &mut World, id: AgentId, now: GameTime, events: &mut Events) -> Fate {
    let agent = &mut world.agents[id];
    if !agent.inventory.take_one(Resource::Food) {
        return Fate::Starved;
    }
    agent.digestion = Digestion::begin(true, now);
    events.show(|| GameEvent::Ate {
        agent: id,
        tile: agent.tile,
        inventory: agent.inventory,
    });
    Fate::Fed
}

/// Units of life left with what the agent carries, rounded up.
pub(crate) fn life_units(agent: &Agent, now: GameTime) -> u32 {
    let digesting_nu = agent.digestion.left(now).as_nanounits().max(0);
    let unit_nu = GameSpan::from_units(1).as_nanounits();
    let digesting_units = (digesting_nu + unit_nu - 1) / unit_nu;
    let stock_units = i128::from(agent.inventory[Resource::Food]) * i128::from(FOOD_LIFE_UNITS);
    u32::try_from(digesting_units + stock_units).unwrap_or(u32::MAX)
}
