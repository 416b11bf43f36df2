//! What to pick up, and the way there: a short tour over the tiles in sight.

use rand_core::Rng;
use trantor_model::{Command, Counts, Resource, Sight, Turn};

use crate::body::Pose;

/// Commands of one tour, so that an agent that is called can come soon.
const TOUR_COMMANDS_MAX: usize = 10;

/// So many agents on a tile are there for an elevation: what lies there is for it.
pub(crate) const MEETING_AGENTS: u32 = 6;

/// What an agent would like to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// How many more of each are worth picking up.
    pub(crate) wanted: Counts,
    /// How much one of each is worth, compared with the others.
    pub(crate) worth: Counts,
}

/// A tour over what is in sight, best things first; or, where nothing is worth a step, a way to elsewhere.
pub(crate) fn tour(sights: &[Sight], demand: &Demand, rng: &mut impl Rng) -> Vec<Command> {
    let mut tiles: Vec<(i32, i32, Counts)> = sights
        .iter()
        .enumerate()
        .map(|(index, sight)| {
            let (ahead, right) = place_in_sight(index);
            let is_meeting = sight.agents >= MEETING_AGENTS;
            (ahead, right, if is_meeting { Counts::ZERO } else { sight.ground })
        })
        .collect();
    let mut wanted = demand.wanted;
    let mut pose = Pose::default();
    let mut commands = Vec::new();
    while commands.len() < TOUR_COMMANDS_MAX {
        let best = (0..tiles.len())
            .filter_map(|at| stop(&tiles[at], pose, &wanted, demand).map(|stop| (at, stop)))
            .max_by(|(_, a), (_, b)| a.compare(b));
        let Some((at, stop)) = best else { break };
        commands.extend(stop.route);
        pose = stop.pose;
        for resource in Resource::ALL {
            for _ in 0..stop.take[resource] {
                commands.push(Command::Take(resource));
                wanted[resource] -= 1;
                tiles[at].2[resource] -= 1;
            }
        }
    }
    if commands.is_empty() {
        wander(sights.len(), rng)
    } else {
        commands
    }
}

/// Where the tile at `index` of a look lies: tiles ahead, and tiles to the right.
pub(crate) fn place_in_sight(index: usize) -> (i32, i32) {
    let row = index.isqrt();
    (row as i32, index as i32 - (row * row + row) as i32)
}

/// One tile of a tour: the way there, what to take, and what it is worth.
struct Stop {
    route: Vec<Command>,
    pose: Pose,
    take: Counts,
    worth: u64,
    commands: u64,
}

impl Stop {
    /// More worth per command first; without fractions.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let mine = self.worth * other.commands;
        let theirs = other.worth * self.commands;
        mine.cmp(&theirs).then(other.commands.cmp(&self.commands))
    }
}

/// What a visit to a tile would be; `None` if there is nothing to take.
fn stop(tile: &(i32, i32, Counts), from: Pose, wanted: &Counts, demand: &Demand) -> Option<Stop> {
    let &(ahead, right, ground) = tile;
    let mut take = Counts::ZERO;
    let mut worth = 0;
    for resource in Resource::ALL {
        take[resource] = ground[resource].min(wanted[resource]);
        worth += u64::from(take[resource]) * u64::from(demand.worth[resource]);
    }
    if worth == 0 {
        return None;
    }
    let (route, pose) = from.route_to(ahead, right);
    let commands = route.len() as u64 + take.total();
    Some(Stop {
        route,
        pose,
        take,
        worth,
        commands,
    })
}

/// A way out of what is in sight: straight on, with a turn now and then.
fn wander(tiles_in_sight: usize, rng: &mut impl Rng) -> Vec<Command> {
    let rows = tiles_in_sight
        .isqrt()
        .saturating_sub(1)
        .clamp(1, TOUR_COMMANDS_MAX);
    let mut commands = vec![Command::Forward; rows];
    match rng.next_u32() % 6 {
        0 => commands.push(Command::Turn(Turn::Left)),
        1 => commands.push(Command::Turn(Turn::Right)),
        _ => {}
    }
    commands
}
