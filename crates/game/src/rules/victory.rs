//! Winning: six living agents of one team at the last level, or the lead when a match's time is over.

use std::cmp::Reverse;

use trantor_model::{Level, TeamId, WINNING_AGENTS};

use crate::event::GameEvent;
use crate::rules::Events;
use crate::rules::world::World;

/// Ends the game if a team has won by level; returns whether one has.
///
/// An elevation can lift two teams at once; then the one that leads wins.
pub(crate) fn check(world: &mut World, events: &mut Events) -> bool {
    let leader = leader(world);
    let last = usize::from(Level::LAST.get()) - 1;
    let won = standing(world, leader)[last] >= WINNING_AGENTS;
    if won {
        declare(world, leader, events);
    }
    won
}

/// Ends the game in favour of the team that leads.
pub(crate) fn declare_leader(world: &mut World, events: &mut Events) {
    let leader = leader(world);
    declare(world, leader, events);
}

/// The team that leads the race: the one whose six best agents have the greatest sum of levels ([`Level::score`]); of equal
/// ones the one with more agents at the highest level, then at the next lower one, and so on. A tie goes to the team named first.
fn leader(world: &World) -> TeamId {
    (0..world.teams.len())
        .map(|team| TeamId(u16::try_from(team).expect("there are at most TEAMS_MAX teams")))
        .max_by_key(|&team| {
            let mut standing = standing(world, team);
            let score = Level::score(&standing);
            standing.reverse();
            (score, standing, Reverse(team))
        })
        .expect("a game has at least one team")
}

/// Living agents of a team at each level, the first level first.
fn standing(world: &World, team: TeamId) -> [u32; Level::LAST.get() as usize] {
    let mut standing = [0; Level::LAST.get() as usize];
    for agent in world.agents().filter(|agent| agent.team == team) {
        standing[usize::from(agent.level.get()) - 1] += 1;
    }
    standing
}

/// Ends the game in favour of a team, or in a draw.
pub(crate) fn declare(world: &mut World, team: TeamId, events: &mut Events) {
    world.winner = Some(team);
    events.push(GameEvent::Won { team });
}
