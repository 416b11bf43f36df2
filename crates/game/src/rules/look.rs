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

use trantor_model::{Direction, MapSize, Sight, Tile, Turn};

use crate::rules::agents::Agent;
use crate::rules::world::World;

/// What an agent sees now.
pub(crate) fn look<'a>(world: &'a World, agent: &Agent) -> impl Iterator<Item = Sight> + use<'a> {
    cone(world.size, agent.tile, agent.facing, agent.level.get()).map(|tile| {
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
