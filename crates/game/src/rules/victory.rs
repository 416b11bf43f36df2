//! Winning: six living agents of one team at the last level, or the lead when a match's time is over.

use std::cmp::Reverse;

use trantor_model::{Level, TeamId, WINNING_AGENTS};

use crate::rules::world::World;

/// The team that has won by level, if one has.
///
/// An elevation can lift two teams at once; then the one that leads wins.
pub(crate) fn by_level(world: &World) -> Option<TeamId> {
    let leader = leader(world);
    let last = usize::from(Level::LAST.get()) - 1;
    (standing(world, leader)[last] >= WINNING_AGENTS).then_some(leader)
}

/// The team that leads the race: the one whose six best agents have the greatest sum of levels ([`Level::score`]); of equal
/// ones the one with more agents at the highest level, then at the next lower one, and so on. A tie goes to the team named first.
pub(crate) fn leader(world: &World) -> TeamId {
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
