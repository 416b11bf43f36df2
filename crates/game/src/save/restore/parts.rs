//! The parts of a snapshot, each checked as it is put into the world.

use std::collections::BTreeSet;

use trantor_model::{AgentId, Command, Counts, TeamId, Tile};
use trantor_time::{GameSpan, GameTime};

use super::{AHEAD_MAX, ensure, is_ahead};
use crate::config::GameConfig;
use crate::desk::{Desk, Running};
use crate::input::OPERATOR_COUNT_MAX;
use crate::lag::{Air, SavedAir};
use crate::rules::World;
use crate::rules::agents::Agent;
use crate::rules::hatching::Egg;
use crate::rules::hunger::Digestion;
use crate::rules::incantation::Ritual;
use crate::rules::roster::insert_sorted;
use crate::save::{Body, Orders, SaveError};

/// The most of one thing in one place or with one agent. An operator makes a pile of at most a sixteenth of it; agents,
/// who put down one thing in seven units, would take a hundred million units for the rest.
const COUNT_MAX: u32 = 16 * OPERATOR_COUNT_MAX;

pub(super) fn put_ground(world: &mut World, ground: &[Counts]) -> Result<(), SaveError> {
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

pub(super) fn put_agent(
    world: &mut World,
    now: GameTime,
    body: Body,
    orders: Orders,
) -> Result<(), SaveError> {
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

pub(super) fn put_egg(world: &mut World, now: GameTime, egg: Egg) -> Result<(), SaveError> {
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
    world.team_mut(egg.team).eggs += 1;
    if egg.matures.is_none() {
        insert_sorted(&mut world.team_mut(egg.team).hatchable, egg.id);
    }
    world.eggs.insert(egg.id, egg);
    Ok(())
}

pub(super) fn put_rituals(
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

pub(super) fn put_air(world: &mut World, now: GameTime, saved: SavedAir) -> Result<(), SaveError> {
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
pub(super) fn check_end(world: &World) -> Result<(), SaveError> {
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

#[cfg(test)]
mod tests {
    use trantor_model::MapSize;

    use super::*;
    use crate::{Game, Rules};

    #[test]
    fn piles_that_no_game_makes_are_refused() {
        let config = GameConfig {
            size: MapSize::new(5, 5).unwrap(),
            teams: vec!["red".to_owned()],
            places_per_team: 1,
            seed: 1,
            rules: Rules::default(),
        };
        let mut snapshot = Game::new(config).snapshot();
        snapshot.ground[7].0[3] = COUNT_MAX;
        assert!(Game::restore(snapshot.clone()).is_ok());
        snapshot.ground[7].0[3] += 1;
        let refused = Game::restore(snapshot).err();
        assert_eq!(refused, Some(SaveError::Inconsistent("a count is out of range")));
    }
}
