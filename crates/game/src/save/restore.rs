//! From a snapshot back to a game, believing nothing.
//!
//! A snapshot may come from a damaged or a hostile file. Each part is checked before it is used, so that no
//! assertion of the game can be reached with what it holds; `Game::check` then finds nothing to object to.

mod parts;

use std::collections::{BTreeMap, BTreeSet};

use trantor_model::Command;
use trantor_time::{GameSpan, GameTime};

use super::{SaveError, Snapshot};
use crate::agenda::{Agenda, Due};
use crate::chance::{Chance, Purpose};
use crate::events::Events;
use crate::game::Game;
use crate::rules::hunger::{Digestion, StarvationBound};
use crate::rules::spawning::Dealer;
use crate::rules::{World, spawning};

/// The latest moment a snapshot may be taken at: 10¹³ years at the highest frequency. Adding to what lies
/// below cannot overflow.
const NOW_MAX: GameTime = GameTime::from_nanounits(1 << 100);

/// The furthest a deadline may lie ahead: beyond the longest maturing of an egg, 2³² units.
const AHEAD_MAX: GameSpan = GameSpan::from_nanounits(1 << 64);

/// The most steps and rituals counted; one more never overflows.
const NUMBER_MAX: u64 = u64::MAX / 2;

impl Game {
    /// The game that a snapshot was taken of, ready to go on. Nothing waits to be told.
    pub fn restore(snapshot: Snapshot) -> Result<Self, SaveError> {
        let Snapshot {
            config,
            now,
            course,
            ground,
            bodies,
            orders,
            eggs,
            rituals,
            agenda,
            chance,
            air,
        } = snapshot;
        config.check()?;
        ensure(
            (GameTime::ZERO..=NOW_MAX).contains(&now),
            "the time is out of range",
        )?;
        ensure(course.steps <= NUMBER_MAX, "the steps are out of range")?;
        let seed = config.seed;
        let mut world = World::empty(&config);
        world.hunger_enabled = course.hunger_enabled;
        world.refill_enabled = course.refill_enabled;
        world.winner = course.winner;
        world.birth_chance = Chance::resume(seed, Purpose::Birth, chance.birth);
        world.egg_chance = Chance::resume(seed, Purpose::Egg, chance.egg);
        let (drawn, dealt) = chance.dealer;
        let dealer = Dealer::resume(config.size, Chance::resume(seed, Purpose::Refill, drawn), dealt);
        world.dealer = dealer.ok_or(SaveError::Inconsistent("more is dealt than there are tiles"))?;

        parts::put_ground(&mut world, &ground)?;
        ensure(
            bodies.len() == orders.len(),
            "bodies and orders are not of the same agents",
        )?;
        for (body, orders) in bodies.into_iter().zip(orders) {
            parts::put_agent(&mut world, now, body, orders)?;
        }
        ensure(
            world.agents.next_number() <= course.next_agent,
            "an agent has a number to come",
        )?;
        world.agents.skip_to(course.next_agent);
        for egg in eggs {
            parts::put_egg(&mut world, now, egg)?;
        }
        ensure(world.next_egg <= course.next_egg, "an egg has a number to come")?;
        world.next_egg = course.next_egg;
        ensure(course.next_ritual <= NUMBER_MAX, "the rituals are out of range")?;
        parts::put_rituals(&mut world, now, rituals, course.next_ritual)?;
        parts::put_air(&mut world, now, air)?;
        parts::check_end(&world)?;

        let mut game = Self {
            agenda: Agenda::new(config.rules.lock_step),
            config,
            world,
            now,
            steps: course.steps,
            events: Events::new(),
            hatch_timers: BTreeMap::new(),
            delivery_timers: BTreeMap::new(),
            refill_timer: None,
            refilled_at: course.refilled_at,
            starvation: StarvationBound::default(),
        };
        ensure(
            (GameTime::ZERO..=now).contains(&course.refilled_at),
            "the last refill is not in the past",
        )?;
        game.put_agenda(&agenda, course.refill_at)?;
        game.starvation = StarvationBound::find(&game.world);
        game.check_in_debug();
        Ok(game)
    }

    /// Schedules what was pending, in its order, at the moments that the rest of the snapshot tells.
    fn put_agenda(&mut self, agenda: &[Due], refill_at: Option<GameTime>) -> Result<(), SaveError> {
        let expected = self.pending(refill_at);
        let listed: BTreeSet<Due> = agenda.iter().copied().collect();
        ensure(listed.len() == agenda.len(), "something is due twice")?;
        ensure(
            listed.iter().eq(expected.keys()),
            "what is due does not follow from the rest",
        )?;
        if self.world.winner.is_none() && self.world.refill_enabled && spawning::is_short(&self.world) {
            ensure(refill_at.is_some(), "the ground is short and no refill is due")?;
        }
        for &due in agenda {
            let at = expected[&due];
            ensure(is_ahead(self.now, at), "a deadline is out of range")?;
            let timer = self.agenda.schedule(at, due);
            match due {
                Due::Action(agent) | Due::Start(agent) => self.world.agents[agent].desk.timer = Some(timer),
                Due::Hunger(agent) => self.world.agents[agent].desk.hunger_timer = Some(timer),
                Due::Hatch(egg) => {
                    self.hatch_timers.insert(egg, timer);
                }
                Due::Refill => self.refill_timer = Some(timer),
                Due::Delivery { message, .. } => {
                    self.delivery_timers.insert(message, timer);
                }
                Due::Ritual { .. } => {}
            }
        }
        ensure(
            self.agenda.in_order().eq(agenda.iter().copied()),
            "what is due is not in order",
        )
    }

    /// Everything that must be pending, and when.
    fn pending(&self, refill_at: Option<GameTime>) -> BTreeMap<Due, GameTime> {
        let mut pending = BTreeMap::new();
        if self.world.winner.is_some() {
            return pending;
        }
        for agent in self.world.agents() {
            if let Digestion::Until(end) = agent.digestion {
                pending.insert(Due::Hunger(agent.id), end);
            }
            match &agent.desk.running {
                Some(running) if running.withheld || running.command == Command::Incantation => {}
                Some(running) => {
                    pending.insert(Due::Action(agent.id), running.end);
                }
                None if agent.ritual.is_none() && agent.desk.waiting().len() > 0 => {
                    pending.insert(Due::Start(agent.id), self.now);
                }
                None => {}
            }
        }
        let unripe = self.world.eggs().filter_map(|egg| Some((egg.id, egg.matures?)));
        pending.extend(unripe.map(|(egg, matures)| (Due::Hatch(egg), matures)));
        pending.extend(
            self.world
                .rituals()
                .map(|ritual| (Due::end_of(ritual), ritual.end)),
        );
        pending.extend(self.world.air.messages().map(|message| {
            let due = Due::Delivery {
                message: message.id,
                to: message.to,
            };
            (due, message.at)
        }));
        pending.extend(refill_at.map(|at| (Due::Refill, at)));
        pending
    }
}

fn is_ahead(now: GameTime, at: GameTime) -> bool {
    (now..=now + AHEAD_MAX).contains(&at)
}

fn ensure(holds: bool, otherwise: &'static str) -> Result<(), SaveError> {
    if holds {
        Ok(())
    } else {
        Err(SaveError::Inconsistent(otherwise))
    }
}
