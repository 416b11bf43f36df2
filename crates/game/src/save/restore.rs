//! From a snapshot back to a game, believing nothing.
//!
//! A snapshot may come from a damaged or a hostile file. Each part is checked before it is used, so that no
//! assertion of the game can be reached with what it holds; `Game::check` then finds nothing to object to.

use std::collections::{BTreeMap, BTreeSet};

use trantor_model::{AgentId, Command, Counts, TeamId, Tile};
use trantor_time::{GameSpan, GameTime};

use super::{Body, Orders, SaveError, Snapshot};
use crate::agenda::{Agenda, Due};
use crate::chance::{Chance, Purpose};
use crate::config::GameConfig;
use crate::desk::{Desk, Running};
use crate::game::Game;
use crate::lag::{Air, SavedAir};
use crate::rules::agents::Agent;
use crate::rules::hatching::Egg;
use crate::rules::hunger::Digestion;
use crate::rules::incantation::Ritual;
use crate::rules::roster::insert_sorted;
use crate::rules::spawning::Dealer;
use crate::rules::{World, spawning};

/// The latest moment a snapshot may be taken at: 10¹³ years at the highest frequency. Adding to what lies
/// below cannot overflow.
const NOW_MAX: GameTime = GameTime::from_nanounits(1 << 100);

/// The furthest a deadline may lie ahead: beyond the longest maturing of an egg, 2³² units.
const AHEAD_MAX: GameSpan = GameSpan::from_nanounits(1 << 64);

/// The most of one thing in one place. No game comes near, and below it one more never overflows.
const COUNT_MAX: u32 = u32::MAX / 2;

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

        put_ground(&mut world, &ground)?;
        ensure(
            bodies.len() == orders.len(),
            "bodies and orders are not of the same agents",
        )?;
        for (body, orders) in bodies.into_iter().zip(orders) {
            put_agent(&mut world, now, body, orders)?;
        }
        ensure(
            world.agents.next_number() <= course.next_agent,
            "an agent has a number to come",
        )?;
        world.agents.skip_to(course.next_agent);
        for egg in eggs {
            put_egg(&mut world, now, egg)?;
        }
        ensure(world.next_egg <= course.next_egg, "an egg has a number to come")?;
        world.next_egg = course.next_egg;
        ensure(course.next_ritual <= NUMBER_MAX, "the rituals are out of range")?;
        put_rituals(&mut world, now, rituals, course.next_ritual)?;
        put_air(&mut world, now, air)?;
        check_end(&world)?;

        let mut game = Self {
            agenda: Agenda::new(config.rules.lock_step),
            config,
            world,
            now,
            steps: course.steps,
            events: Vec::new(),
            polled: 0,
            hatch_timers: BTreeMap::new(),
            delivery_timers: BTreeMap::new(),
            refill_timer: None,
            refilled_at: course.refilled_at,
        };
        ensure(
            course
                .refilled_at
                .is_none_or(|last| (GameTime::ZERO..=now).contains(&last)),
            "the last refill is not in the past",
        )?;
        game.put_agenda(&agenda, course.refill_at)?;
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

fn put_ground(world: &mut World, ground: &[Counts]) -> Result<(), SaveError> {
    ensure(
        ground.len() == world.size.area(),
        "the ground is not that of the map",
    )?;
    for (index, ground) in ground.iter().enumerate() {
        ensure_counts(ground)?;
        world.set_ground(world.size.tile_at(index), *ground);
    }
    Ok(())
}

fn put_agent(world: &mut World, now: GameTime, body: Body, orders: Orders) -> Result<(), SaveError> {
    ensure_place(world, body.team, body.tile)?;
    ensure_counts(&body.inventory)?;
    ensure(
        body.id.0 >= world.agents.next_number() && body.id.0 < u32::MAX,
        "agents are not in order",
    )?;
    match body.digestion {
        Digestion::Until(end) => {
            ensure(world.hunger_enabled, "an agent digests where there is no hunger")?;
            ensure(end <= now + AHEAD_MAX, "a meal is out of range")?;
        }
        Digestion::Stopped(left) => {
            ensure(
                !world.hunger_enabled,
                "an agent does not digest where there is hunger",
            )?;
            ensure(
                (GameSpan::ZERO..=AHEAD_MAX).contains(&left),
                "a meal is out of range",
            )?;
        }
    }
    let mut desk = Desk::new();
    if let Some(running) = orders.running {
        ensure_running(&running, now, body.ritual.is_some())?;
        desk.running = Some(running);
    }
    for command in orders.waiting {
        desk.push(command)
            .map_err(|_full| SaveError::Inconsistent("an agent has too many commands"))?;
    }
    world.place_agent(Agent {
        id: body.id,
        team: body.team,
        tile: body.tile,
        facing: body.facing,
        level: body.level,
        inventory: body.inventory,
        digestion: body.digestion,
        ritual: body.ritual,
        desk,
    });
    Ok(())
}

fn ensure_running(running: &Running, now: GameTime, is_held: bool) -> Result<(), SaveError> {
    let takes_time = running.command.duration_units() > 0;
    ensure(takes_time, "an action that takes no time is under way")?;
    ensure(running.start <= now, "an action under way has not begun")?;
    let is_elevation = running.command == Command::Incantation;
    ensure(is_held || !is_elevation, "an agent elevates outside of a ritual")?;
    if running.withheld {
        ensure(is_held && !is_elevation, "an effect is withheld for no reason")?;
        ensure(running.end <= now, "an effect is withheld before its time")
    } else {
        ensure(is_ahead(now, running.end), "an action under way is over")
    }
}

fn put_egg(world: &mut World, now: GameTime, egg: Egg) -> Result<(), SaveError> {
    ensure_place(world, egg.team, egg.tile)?;
    ensure(world.eggs.len() < GameConfig::EGGS_MAX, "there are too many eggs")?;
    ensure(
        egg.id.0 >= world.next_egg && egg.id.0 < u32::MAX,
        "eggs are not in order",
    )?;
    ensure(
        egg.matures.is_none_or(|at| at <= now + AHEAD_MAX),
        "an egg matures out of range",
    )?;
    world.next_egg = egg.id.0 + 1;
    world.tile_mut(egg.tile).eggs.insert(egg.id);
    if egg.matures.is_none() {
        insert_sorted(&mut world.team_mut(egg.team).hatchable, egg.id);
    }
    world.eggs.insert(egg.id, egg);
    Ok(())
}

fn put_rituals(
    world: &mut World,
    now: GameTime,
    rituals: Vec<Ritual>,
    next_id: u64,
) -> Result<(), SaveError> {
    let mut last = None;
    let mut held = 0;
    for ritual in &rituals {
        ensure(
            last < Some(ritual.id) && ritual.id.0 < next_id,
            "rituals are not in order",
        )?;
        last = Some(ritual.id);
        ensure(world.size.contains(ritual.tile), "a ritual is off the map")?;
        ensure(ritual.level.next().is_some(), "a ritual is above the last level")?;
        ensure(is_ahead(now, ritual.end), "a ritual is over")?;
        let unique: BTreeSet<_> = ritual.participants.iter().collect();
        ensure(
            unique.len() == ritual.participants.len(),
            "a ritual holds somebody twice",
        )?;
        for &participant in &ritual.participants {
            let agent = world.agents.get(participant);
            let is_held = agent.is_some_and(|agent| agent.ritual == Some(ritual.id));
            ensure(is_held, "a ritual's participant is not held by it")?;
        }
        let is_askers = |&id: &AgentId| {
            let running = world.agents[id].desk.running.as_ref();
            let elevates = running.is_some_and(|running| running.command == Command::Incantation);
            elevates == (id == ritual.asker)
        };
        let is_known = world
            .agents
            .get(ritual.asker)
            .is_none_or(|asker| asker.ritual == Some(ritual.id));
        ensure(
            is_known && ritual.participants.iter().all(is_askers),
            "a ritual is not its asker's",
        )?;
        let withheld = |&id: &_| {
            world.agents[id]
                .desk
                .running
                .as_ref()
                .is_some_and(|running| running.withheld)
        };
        let expected: BTreeSet<_> = ritual.participants.iter().copied().filter(withheld).collect();
        let listed: BTreeSet<_> = ritual.withheld.iter().copied().collect();
        ensure(
            listed == expected && listed.len() == ritual.withheld.len(),
            "a ritual withholds other effects than its participants have",
        )?;
        held += ritual.participants.len();
    }
    let claimed = world.agents().filter(|agent| agent.ritual.is_some()).count();
    ensure(
        claimed == held,
        "an agent is held by a ritual that does not know it",
    )?;
    world.rituals.restore(rituals, next_id);
    Ok(())
}

fn put_air(world: &mut World, now: GameTime, saved: SavedAir) -> Result<(), SaveError> {
    let seed = world.air.seed();
    let air = Air::restore(saved, seed);
    let air = air.ok_or(SaveError::Inconsistent("what is under way contradicts itself"))?;
    for message in air.messages() {
        ensure(
            world.agent(message.to).is_some(),
            "a message is under way to nobody",
        )?;
        ensure(
            message.from.0 < world.agents.next_number(),
            "a message is from nobody",
        )?;
        ensure(
            world.size.contains(message.source),
            "a message comes from off the map",
        )?;
        ensure(is_ahead(now, message.at), "a message arrives out of range")?;
    }
    for (from, to, _) in air.links() {
        let are_alive = world.agent(from).is_some() && world.agent(to).is_some();
        ensure(
            are_alive && from != to,
            "a link is between agents that are not there",
        )?;
    }
    world.air = air;
    Ok(())
}

/// After the end of a game nothing is under way.
fn check_end(world: &World) -> Result<(), SaveError> {
    let Some(winner) = world.winner else { return Ok(()) };
    ensure(world.team(winner).is_some(), "there is no such winner")?;
    let is_idle = |agent: &Agent| agent.ritual.is_none() && agent.desk.outstanding() == 0;
    ensure(world.agents().all(is_idle), "an agent is busy after the end")?;
    ensure(world.rituals().len() == 0, "a ritual goes on after the end")?;
    ensure(
        world.air.messages().len() == 0,
        "a message is under way after the end",
    )
}

fn ensure_place(world: &World, team: TeamId, tile: Tile) -> Result<(), SaveError> {
    ensure(world.team(team).is_some(), "there is no such team")?;
    ensure(world.size.contains(tile), "something is off the map")
}

fn ensure_counts(counts: &Counts) -> Result<(), SaveError> {
    ensure(
        counts.0.iter().all(|&count| count <= COUNT_MAX),
        "a count is out of range",
    )
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
