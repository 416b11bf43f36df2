//! From a snapshot back to a game.
//!
//! A snapshot may come from a damaged or a hostile file. What a part needs to be put into the world is checked on the
//! way, and that the whole is consistent at the end, by the invariants that every game keeps.

use std::collections::BTreeMap;

use trantor_model::{Counts, TeamId, Tile};
use trantor_time::{GameSpan, GameTime};

use super::{SaveError, Snapshot};
use crate::agenda::{Agenda, Due};
use crate::check::ensure;
use crate::config::GameConfig;
use crate::events::Events;
use crate::game::Game;
use crate::input::OPERATOR_COUNT_MAX;
use crate::lag::{InFlight, SavedInFlight};
use crate::rng::{Purpose, Rng};
use crate::rules::hatching::Egg;
use crate::rules::hunger::{Digestion, StarvationBound};
use crate::rules::spawning::Dealer;
use crate::rules::{Agent, World};

/// The latest moment a snapshot may be taken at: 10¹³ years at the highest frequency. Adding to what lies
/// below cannot overflow.
const NOW_MAX: GameTime = GameTime::from_nanounits(1 << 100);

/// The furthest a deadline may lie ahead: beyond the longest maturing of an egg, 2³² units.
const AHEAD_MAX: GameSpan = GameSpan::from_nanounits(1 << 64);

/// The most steps and rituals counted; one more never overflows.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// The most of one thing in one place or with one agent. An operator makes a pile of at most a sixteenth of it; agents,
/// that put down one thing in seven units, would take a hundred million units for the rest.
const COUNT_MAX: u32 = 16 * OPERATOR_COUNT_MAX;

impl Game {
    /// The game that a snapshot was taken of, ready to go on. No event waits.
    ///
    /// # Errors
    /// If it contradicts itself.
    pub fn restore(snapshot: Snapshot) -> Result<Self, SaveError> {
        snapshot.config.check()?;
        rebuild(snapshot).map_err(SaveError::Inconsistent)
    }
}

fn rebuild(snapshot: Snapshot) -> Result<Game, &'static str> {
    let Snapshot {
        config,
        now,
        progress,
        ground,
        agents,
        commands,
        eggs,
        rituals,
        agenda,
        rngs,
        in_flight,
        extension,
    } = snapshot;
    let is_in_range = (GameTime::ZERO..=NOW_MAX).contains(&now) && progress.steps <= NUMBER_MAX;
    ensure(is_in_range, "the time is out of range")?;
    let seed = config.seed;
    let mut world = World::empty(&config);
    world.hunger_enabled = progress.hunger_enabled;
    world.refill_enabled = progress.refill_enabled;
    world.winner = progress.winner;
    for team in extension.closed {
        ensure(world.team(team).is_some(), "there is no such closed team")?;
        world.team_mut(team).is_closed = true;
    }
    world.birth_rng = Rng::resume(seed, Purpose::Birth, rngs.birth);
    world.egg_rng = Rng::resume(seed, Purpose::Egg, rngs.egg);
    let (drawn, dealt) = rngs.dealer;
    let dealer = Dealer::resume(config.size, Rng::resume(seed, Purpose::Refill, drawn), dealt);
    world.dealer = dealer.ok_or("more is dealt than there are tiles")?;

    ensure(
        ground.len() == world.size.area(),
        "the ground is not that of the map",
    )?;
    for (index, ground) in ground.iter().enumerate() {
        ensure_counts(ground)?;
        world.set_ground(world.size.tile_at(index), *ground);
    }
    ensure(
        agents.len() == commands.len(),
        "agents and commands are not of the same agents",
    )?;
    for (agent, commands) in agents.into_iter().zip(commands) {
        put_agent(&mut world, now, Agent { commands, ..agent })?;
    }
    let are_given_out =
        world.agents.next_number() <= progress.next_agent && progress.next_ritual <= NUMBER_MAX;
    ensure(are_given_out, "an agent or a ritual has a number to come")?;
    world.agents.skip_to(progress.next_agent);
    for egg in eggs {
        put_egg(&mut world, now, egg)?;
    }
    ensure(world.next_egg <= progress.next_egg, "an egg has a number to come")?;
    world.next_egg = progress.next_egg;
    world.rituals.restore(rituals, progress.next_ritual);
    put_in_flight(&mut world, in_flight)?;

    let mut game = Game {
        agenda: Agenda::new(config.rules.lock_step),
        config,
        starvation: StarvationBound::find(&world),
        world,
        now,
        steps: progress.steps,
        events: Events::default(),
        hatch_timers: BTreeMap::new(),
        delivery_timers: BTreeMap::new(),
        refill_timer: None,
        refilled_at: progress.refilled_at,
    };
    let is_past = (GameTime::ZERO..=now).contains(&progress.refilled_at);
    ensure(is_past, "the last refill is not in the past")?;
    put_agenda(&mut game, &agenda, progress.refill_at)?;
    game.find_contradiction()?;
    Ok(game)
}

fn put_agent(world: &mut World, now: GameTime, agent: Agent) -> Result<(), &'static str> {
    ensure_place(world, agent.team, agent.tile)?;
    ensure_counts(&agent.inventory)?;
    let is_next = agent.id.0 >= world.agents.next_number() && agent.id.0 < u32::MAX;
    ensure(is_next, "agents are not in order")?;
    let is_in_range = match agent.digestion {
        Digestion::Until(end) => end <= now + AHEAD_MAX,
        Digestion::Stopped(left) => (GameSpan::ZERO..=AHEAD_MAX).contains(&left),
    };
    ensure(is_in_range, "a meal is out of range")?;
    world.place_agent(agent);
    Ok(())
}

fn put_egg(world: &mut World, now: GameTime, egg: Egg) -> Result<(), &'static str> {
    ensure_place(world, egg.team, egg.tile)?;
    ensure(world.eggs.len() < GameConfig::EGGS_MAX, "there are too many eggs")?;
    let is_next = egg.id.0 >= world.next_egg && egg.id.0 < u32::MAX;
    ensure(is_next, "eggs are not in order")?;
    let is_in_range = egg.matures.is_none_or(|at| at <= now + AHEAD_MAX);
    ensure(is_in_range, "an egg matures out of range")?;
    world.place_egg(egg);
    Ok(())
}

fn put_in_flight(world: &mut World, saved: SavedInFlight) -> Result<(), &'static str> {
    let in_flight = InFlight::restore(saved, world.in_flight.seed());
    let in_flight = in_flight.ok_or("the messages in flight are inconsistent")?;
    let is_from_map = in_flight
        .messages()
        .all(|message| message.from.0 < world.agents.next_number() && world.size.contains(message.source));
    ensure(is_from_map, "a message has no sender, or is from off the map")?;
    let is_alive = |agent| world.agents.get(agent).is_some();
    let are_teams = in_flight.own_lags().all(|(team, _)| world.team(team).is_some());
    ensure(are_teams, "a team with lag does not exist")?;
    let is_linked = in_flight
        .links()
        .all(|(from, to, ..)| is_alive(from) && is_alive(to) && from != to);
    ensure(is_linked, "a link is between agents that are not there")?;
    world.in_flight = in_flight;
    Ok(())
}

/// Schedules what was pending, in its order, at the moments that follow from the rest of the snapshot.
fn put_agenda(game: &mut Game, agenda: &[Due], refill_at: Option<GameTime>) -> Result<(), &'static str> {
    let pending = game.pending(refill_at);
    for &due in agenda {
        let place = pending.binary_search_by_key(&due, |(due, _)| *due);
        let (_, at) = pending[place.map_err(|_| "what is due does not follow from the rest")?];
        let is_ahead = (game.now..=game.now + AHEAD_MAX).contains(&at);
        ensure(is_ahead, "a deadline is out of range")?;
        let timer = game.agenda.schedule(at, due);
        match due {
            Due::Action(agent) | Due::Start(agent) => {
                game.world.agents[agent].commands.timer = Some(timer);
            }
            Due::Hunger(agent) => game.world.agents[agent].hunger_timer = Some(timer),
            Due::Hatch(egg) => {
                game.hatch_timers.insert(egg, timer);
            }
            Due::Refill => game.refill_timer = Some(timer),
            Due::Delivery { message, .. } => {
                game.delivery_timers.insert(message, timer);
            }
            Due::Ritual { .. } => {}
        }
    }
    let in_order = game.agenda.in_order().map(|(_, due)| due);
    ensure(in_order.eq(agenda.iter().copied()), "what is due is not in order")
}

fn ensure_place(world: &World, team: TeamId, tile: Tile) -> Result<(), &'static str> {
    ensure(world.team(team).is_some(), "there is no such team")?;
    ensure(world.size.contains(tile), "something is off the map")
}

fn ensure_counts(counts: &Counts) -> Result<(), &'static str> {
    let is_in_range = counts.0.iter().all(|&count| count <= COUNT_MAX);
    ensure(is_in_range, "a count is out of range")
}

#[cfg(test)]
mod tests {
    use trantor_model::{AgentId, Command, MapSize};

    use super::*;
    use crate::{GameInput, Rules};

    fn game() -> Game {
        Game::new(GameConfig {
            size: MapSize::new(5, 5).unwrap(),
            teams: vec!["red".to_owned()],
            places_per_team: 1,
            seed: 1,
            rules: Rules::default(),
        })
    }

    #[test]
    fn actions_that_end_too_late_are_refused() {
        let mut game = game();
        let _joined = game.handle(GameInput::Join { team: TeamId(0) }, GameTime::ZERO);
        let (agent, command) = (AgentId(0), Command::Forward);
        let _done = game.handle(GameInput::Command { agent, command }, GameTime::ZERO);
        game.fire_next(GameTime::ZERO);
        let mut snapshot = game.snapshot();
        let action = Due::Action(agent);
        snapshot.agenda.retain(|due| *due != action);
        snapshot.agenda.push(action);
        let refused_with = |end| {
            let mut snapshot = snapshot.clone();
            snapshot.commands[0].running.as_mut().expect("it walks").end = end;
            Game::restore(snapshot).err()
        };
        let latest = GameTime::ZERO + AHEAD_MAX;
        assert_eq!(refused_with(latest), None);
        let late = SaveError::Inconsistent("a deadline is out of range");
        assert_eq!(refused_with(latest + GameSpan::from_nanounits(1)), Some(late));
    }

    #[test]
    fn piles_that_no_game_makes_are_refused() {
        let mut snapshot = game().snapshot();
        snapshot.ground[7].0[3] = COUNT_MAX;
        assert!(Game::restore(snapshot.clone()).is_ok());
        snapshot.ground[7].0[3] += 1;
        let refused = Game::restore(snapshot).err();
        assert_eq!(refused, Some(SaveError::Inconsistent("a count is out of range")));
    }
}
