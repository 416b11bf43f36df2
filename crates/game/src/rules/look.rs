//! What an agent sees: a cone of `(level + 1)²` tiles.
//!
//! ```text
//!  9 10 11 12 13 14 15
//!     4  5  6  7  8
//!        1  2  3
//!           0            the agent looks up the page
//! ```
//!
//! Row `k` has `2k + 1` tiles, read from the agent's left to its right, the nearest row first. Where the cone
//! is wider than the map, a tile is listed each time it is reached, so the length never varies.

use std::sync::Arc;

use trantor_model::{AgentId, Direction, Level, MapSize, Sight, Tile, Turn};

use crate::rules::agents::Agent;
use crate::rules::world::World;

/// Looks that are kept for those who see the same: from one tile in all directions at two levels.
const LOOKS_KEPT_MAX: usize = 8;

/// The latest looks. However many agents see the same from one tile, it is computed once for as long as the world stays
/// as it is, and shared. No part of the state: what it answers is what would be computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct LooksKept {
    looks: Vec<Look>,
    /// The place in the list that is used next once it is full.
    next: usize,
    /// What was just computed.
    fresh: Vec<Sight>,
    /// Looks that were computed, for tests.
    #[cfg(test)]
    computed: u64,
}

#[derive(Clone, Debug)]
struct Look {
    from: (Tile, Direction, Level),
    /// [`World::tile_changes`] when it was as `sights` say.
    changes: u64,
    sights: Arc<[Sight]>,
}

/// What an agent sees now, shared with all that see the same.
pub(crate) fn look_shared(world: &mut World, id: AgentId) -> Arc<[Sight]> {
    let mut kept = std::mem::take(&mut world.looks_kept);
    let sights = kept.look(world, &world.agents[id]);
    world.looks_kept = kept;
    sights
}

impl LooksKept {
    fn look(&mut self, world: &World, agent: &Agent) -> Arc<[Sight]> {
        let (from, changes) = ((agent.tile, agent.facing, agent.level), world.tile_changes);
        let place = self.looks.iter().position(|look| look.from == from);
        if let Some(look) = place.and_then(|place| self.looks.get(place))
            && look.changes == changes
        {
            return Arc::clone(&look.sights);
        }
        #[cfg(test)]
        {
            self.computed += 1;
        }
        self.fresh.clear();
        self.fresh.extend(look(world, agent));
        let place = place.unwrap_or_else(|| self.begin(from));
        let seen = &mut self.looks[place];
        seen.changes = changes;
        // What changed may be out of sight.
        if *seen.sights != *self.fresh {
            seen.sights = Arc::from(&self.fresh[..]);
        }
        Arc::clone(&seen.sights)
    }

    /// Makes a place for another look, once the list is full in that of the oldest.
    fn begin(&mut self, from: (Tile, Direction, Level)) -> usize {
        let (changes, sights) = (0, Arc::from([]));
        let look = Look {
            from,
            changes,
            sights,
        };
        let place = self.next;
        self.next = (place + 1) % LOOKS_KEPT_MAX;
        match self.looks.get_mut(place) {
            Some(oldest) => *oldest = look,
            None => self.looks.push(look),
        }
        place
    }

    /// Whether all that would be answered without computing it is what would be computed.
    pub(crate) fn are_exact(&self, world: &World) -> bool {
        let mut valid = self
            .looks
            .iter()
            .filter(|look| look.changes == world.tile_changes);
        valid.all(|look| {
            let (tile, facing, level) = look.from;
            sights(world, tile, facing, level).eq(look.sights.iter().copied())
        })
    }
}

/// What an agent sees now.
pub(crate) fn look<'a>(world: &'a World, agent: &Agent) -> impl Iterator<Item = Sight> + use<'a> {
    sights(world, agent.tile, agent.facing, agent.level)
}

fn sights(
    world: &World,
    from: Tile,
    facing: Direction,
    level: Level,
) -> impl Iterator<Item = Sight> + use<'_> {
    cone(world.size, from, facing, level.get()).map(|tile| {
        let tile = world.tile(tile);
        Sight {
            agents: count(&tile.agents),
            ground: tile.ground,
            eggs: if world.rules.eggs_in_sight {
                count(&tile.eggs)
            } else {
                0
            },
        }
    })
}

/// The tiles in sight at `level`, in the order they are listed.
fn cone(size: MapSize, from: Tile, facing: Direction, level: u8) -> impl Iterator<Item = Tile> {
    let (ahead_x, ahead_y) = facing.vector();
    let (right_x, right_y) = facing.turned(Turn::Right).vector();
    (0..=i32::from(level)).flat_map(move |row| {
        (-row..=row).map(move |side| {
            size.offset(
                from,
                row * ahead_x + side * right_x,
                row * ahead_y + side * right_y,
            )
        })
    })
}

fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("agents and eggs are numbered with 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Game, GameConfig, GameEvent, GameInput, Handled, Rules};
    use trantor_model::{AdminAction, Command, Percept, TeamId};
    use trantor_time::GameTime;

    /// Forty agents on one tile look at one instant, and again after something changed out of their sight.
    #[test]
    fn what_many_see_from_one_tile_is_computed_once_and_shared() {
        let mut game = Game::new(GameConfig {
            size: MapSize::new(20, 20).unwrap(),
            teams: vec!["a".to_owned()],
            places_per_team: 41,
            seed: 1,
            rules: Rules::default(),
        });
        let tile = Tile { x: 4, y: 4 };
        for number in 0..40 {
            let joined = game.handle(GameInput::Join { team: TeamId(0) }, GameTime::ZERO);
            let Handled::Joined(agent) = joined else {
                panic!("there are places");
            };
            let facing = Some(Direction::ALL[number % 2]);
            let level = Level::new(7).unwrap();
            for action in [
                AdminAction::Teleport { agent, tile, facing },
                AdminAction::SetLevel { agent, level },
            ] {
                assert_eq!(
                    game.handle(GameInput::Admin(action), GameTime::ZERO),
                    Handled::Done
                );
            }
        }
        let far_away = Tile { x: 14, y: 14 };
        let mut kept: Vec<Arc<[Sight]>> = Vec::new();
        for round in 1..=2 {
            let now = game.now();
            for agent in game.idle_agents().collect::<Vec<_>>() {
                let command = Command::Look;
                let _ = game.handle(GameInput::Command { agent, command }, now);
            }
            while game.idle_agents().count() < 40 {
                game.fire_next(GameTime::from_units(100)).unwrap();
            }
            let mut seen = 0;
            while let Some(event) = game.poll_event() {
                if let GameEvent::To {
                    agent,
                    percept: Percept::Look(sights),
                } = event
                {
                    let agent = game.world().agent(agent).unwrap();
                    assert!(game.world().sights(agent).eq(sights.iter().copied()));
                    seen += 1;
                    if !kept.iter().any(|kept| Arc::ptr_eq(kept, &sights)) {
                        kept.push(sights);
                    }
                }
            }
            assert_eq!((seen, kept.len()), (40, 2), "in round {round}");
            assert_eq!(game.world().looks_kept.computed, 2 * round);
            let ground = *game.world().ground(far_away);
            let action = AdminAction::SetGround {
                tile: far_away,
                ground,
            };
            let _ = game.handle(GameInput::Admin(action), game.now());
        }
    }

    /// Entry `n` in sight of one facing north, found without rows: it lies in row ⌊√n⌋, and the rows before it
    /// have ⌊√n⌋² entries. The other directions are that turned a quarter at a time.
    fn entry(size: MapSize, from: Tile, facing: Direction, n: u32) -> Tile {
        let row = n.isqrt() as i32;
        let (mut dx, mut dy) = (n as i32 - row * row - row, -row);
        for _ in 1..facing.number() {
            (dx, dy) = (-dy, dx);
        }
        let wrap =
            |from: u16, by: i32, side: u16| (i32::from(from) + by + 100 * i32::from(side)) % i32::from(side);
        Tile {
            x: wrap(from.x, dx, size.width()) as u16,
            y: wrap(from.y, dy, size.height()) as u16,
        }
    }

    /// All levels and directions, on maps wider and narrower than the cone, from a corner and from inside.
    #[test]
    fn cones_agree_with_an_independent_formula() {
        for (width, height) in [(30, 30), (17, 17), (10, 13), (5, 4), (1, 1)] {
            let size = MapSize::new(width, height).unwrap();
            for from in [
                Tile { x: 0, y: 0 },
                size.tile_at(size.area() / 2),
                size.tile_at(size.area() - 1),
            ] {
                for facing in Direction::ALL {
                    for level in 1..=8u8 {
                        let tiles: Vec<Tile> = cone(size, from, facing, level).collect();
                        let entries = (u32::from(level) + 1).pow(2);
                        let expected: Vec<Tile> =
                            (0..entries).map(|n| entry(size, from, facing, n)).collect();
                        assert_eq!(
                            tiles, expected,
                            "level {level} facing {facing:?} on {width} x {height}"
                        );
                    }
                }
            }
        }
    }
}
