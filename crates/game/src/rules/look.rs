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

use trantor_model::{AgentId, Direction, MapSize, Sight, Tile, Turn};

use crate::rules::world::World;

/// What `id` sees now.
pub(crate) fn look(world: &World, id: AgentId) -> Vec<Sight> {
    let agent = &world.agents[id];
    cone(world.size, agent.tile, agent.facing, agent.level.get())
        .map(|tile| {
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
        .collect()
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
