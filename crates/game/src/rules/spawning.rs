//! How much lies on the ground, and how it is topped up.
//!
//! Each resource has a target that follows from the size of the map. A refill brings what lies on the ground
//! up to it; what is carried does not count, and surplus is never removed. Resources are dealt like cards from
//! a shuffled list of all tiles, shuffled anew when it is used up: the same totals as with independent draws,
//! but even to the eye, and fair.

use trantor_model::{Change, GroundChange, MapSize, Resource};
use trantor_time::{GameSpan, GameTime};

use crate::rng::Rng;
use crate::rules::Events;
use crate::rules::world::World;

/// Units between refills, counted from the beginning of the world.
pub(crate) const REFILL_UNITS: i64 = 20;

/// Hundredths of a unit of each resource to a tile, in the order of [`Resource::ALL`].
const DENSITY_PERCENT: [u64; Resource::COUNT] = [50, 30, 15, 10, 10, 8, 5];

/// How much of `resource` a map of that size should have on the ground: at least one.
pub(crate) fn target(size: MapSize, resource: Resource) -> u64 {
    (size.area() as u64 * DENSITY_PERCENT[resource.index()] / 100).max(1)
}

/// Whether a refill would change anything.
pub(crate) fn is_short(world: &World) -> bool {
    let mut counts = world.ground_totals.iter().zip(&world.ground_targets);
    counts.any(|(total, target)| total < target)
}

/// Tops up every resource, with an event for each changed tile, row by row.
pub(crate) fn refill(world: &mut World, events: &mut Events) {
    let mut changed: Vec<u32> = Vec::new();
    for resource in Resource::ALL {
        while world.ground_totals[resource.index()] < world.ground_targets[resource.index()] {
            let index = world.dealer.deal();
            world.ground_add_one(world.size.tile_at(index as usize), resource);
            changed.push(index);
        }
    }
    changed.sort_unstable();
    changed.dedup();
    for index in changed {
        let tile = world.size.tile_at(index as usize);
        events.push_for_viewers(|| Change::Ground {
            tile,
            ground: *world.ground(tile),
            why: GroundChange::Refill,
        });
    }
    events.push_for_viewers(|| Change::Refilled);
}

/// The first moment of the refill's grid that is not before `now` and comes after `last`, the last one used. The
/// first ground was the round of the beginning.
pub(crate) fn next_round(now: GameTime, last: GameTime) -> GameTime {
    let period_nu = GameSpan::from_units(REFILL_UNITS).as_nanounits();
    let round_up = |nanounits: i128| (nanounits + period_nu - 1).div_euclid(period_nu) * period_nu;
    let earliest_nu = now.as_nanounits().max(last.as_nanounits() + 1);
    GameTime::from_nanounits(round_up(earliest_nu))
}

/// A shuffled list of all tiles, dealt one by one.
///
/// It is shuffled while it is dealt: shuffling a million tiles at once would hold the loop for milliseconds.
/// Each round begins with the list in order, so that a round is known by the state of its generator at its
/// beginning and by how far it has come, and a snapshot needs no list.
#[derive(Clone, Debug)]
pub(crate) struct Dealer {
    order: Vec<u32>,
    dealt: u32,
    /// What the generator had drawn when the round began.
    drawn_before_round: u64,
    rng: Rng,
}

impl Dealer {
    /// A dealer at the beginning of a round.
    pub(crate) fn new(size: MapSize, rng: Rng) -> Self {
        let tiles = u32::try_from(size.area()).expect("a map has at most a million tiles");
        Self {
            order: (0..tiles).collect(),
            dealt: 0,
            drawn_before_round: rng.drawn(),
            rng,
        }
    }

    /// The dealer that has dealt so many in the round that began with `rng`. `None` if a round has not so
    /// many tiles.
    pub(crate) fn resume(size: MapSize, rng: Rng, dealt: u32) -> Option<Self> {
        let mut dealer = Self::new(size, rng);
        if dealt as usize > dealer.order.len() {
            return None;
        }
        for _ in 0..dealt {
            dealer.deal();
        }
        Some(dealer)
    }

    /// What the generator had drawn when the round began, and how many tiles were dealt since; see
    /// [`Self::resume`].
    pub(crate) fn round(&self) -> (u64, u32) {
        (self.drawn_before_round, self.dealt)
    }

    /// The place of the next tile in the list of all tiles.
    pub(crate) fn deal(&mut self) -> u32 {
        let tiles = self.order.len() as u32;
        if self.dealt == tiles {
            self.order.clear();
            self.order.extend(0..tiles);
            self.dealt = 0;
            self.drawn_before_round = self.rng.drawn();
        }
        let chosen = self.dealt + self.rng.below(tiles - self.dealt);
        self.order.swap(self.dealt as usize, chosen as usize);
        self.dealt += 1;
        self.order[self.dealt as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn targets(width: u32, height: u32) -> [u64; 7] {
        let size = MapSize::new(width, height).unwrap();
        Resource::ALL.map(|resource| target(size, resource))
    }

    #[test]
    fn targets_follow_from_the_size_and_are_at_least_one() {
        assert_eq!(targets(10, 10), [50, 30, 15, 10, 10, 8, 5]);
        assert_eq!(targets(17, 13), [110, 66, 33, 22, 22, 17, 11]);
        assert_eq!(targets(10, 13), [65, 39, 19, 13, 13, 10, 6]);
        assert_eq!(targets(1, 1), [1; 7]);
    }

    /// Each round deals every tile once, and no two rounds alike.
    #[test]
    fn tiles_are_dealt_evenly() {
        let size = MapSize::new(7, 5).unwrap();
        let mut dealer = Dealer::new(size, Rng::new(3, Purpose::Refill));
        let rounds: Vec<Vec<u32>> = (0..20)
            .map(|_| (0..35).map(|_| dealer.deal()).collect())
            .collect();
        for (index, round) in rounds.iter().enumerate() {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..35).collect::<Vec<u32>>());
            assert!(!rounds[..index].contains(round));
        }
    }

    /// What ends at a round is part of it, but no round is held twice; the first ground was the round of the beginning.
    #[test]
    fn rounds_are_every_twenty_units_from_the_beginning() {
        const UNIT: i128 = 1_000_000_000;
        for (now_nu, last, next) in [
            (0, 0, 20),
            (1, 0, 20),
            (20 * UNIT, 0, 20),
            (20 * UNIT, 20, 40),
            (20 * UNIT + 1, 20, 40),
            (59 * UNIT, 20, 60),
        ] {
            let (now, last) = (GameTime::from_nanounits(now_nu), GameTime::from_units(last));
            assert_eq!(next_round(now, last), GameTime::from_units(next), "{now:?}");
        }
    }
}
