//! Eject: pushing all other agents off a tile, and breaking the eggs on it.

use trantor_model::{AgentId, Direction, EggId};

use crate::event::{GameEvent, MoveKind};
use crate::rules::world::World;
use crate::rules::{Events, hatching, movement, reply_done};

/// Moves every other agent on the tile one step in the direction the pusher faces. Their actions
/// continue, and a ritual that holds them still does.
///
/// It succeeds if it moved an agent or broke an egg. Where eggs are kept it always succeeds, as on the
/// reference server in that mode. Returns the broken eggs that were not mature.
pub(crate) fn eject(world: &mut World, id: AgentId, events: &mut Events) -> Vec<EggId> {
    let (tile, direction) = (world.agents[id].tile, world.agents[id].facing);
    let target = world.size.step(tile, direction);
    let others = world.agents_on(tile).iter().copied();
    let victims: Vec<AgentId> = others.filter(|&other| other != id).collect();
    world.move_others(id, target);
    for &victim in &victims {
        movement::moved(&world.agents[victim], MoveKind::Pushed, events);
        events.push(GameEvent::PushedFrom {
            agent: victim,
            direction: pushed_from(direction, world.agents[victim].facing),
        });
    }
    let breaks_eggs = world.rules.eject_eggs && !world.eggs_on(tile).is_empty();
    let unripe = match breaks_eggs {
        true => hatching::destroy_all_on(world, tile, events),
        false => Vec::new(),
    };
    let done = !victims.is_empty() || breaks_eggs || !world.rules.eject_eggs;
    if done {
        events.push_for_viewers(|| GameEvent::Ejected { agent: id });
    }
    reply_done(events, id, done);
    unripe
}

/// From where one facing `facing` was pushed in direction `push`: 1 from ahead, 3 from the left, 5 from
/// behind, 7 from the right.
fn pushed_from(push: Direction, facing: Direction) -> u8 {
    let quarter_turns_left = (facing.number() + 4 - push.reversed().number()) % 4;
    1 + 2 * quarter_turns_left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows: where the pusher faces; columns: where the victim faces; north, east, south, west.
    #[test]
    fn the_sixteen_cells() {
        let cells = [[5, 7, 1, 3], [3, 5, 7, 1], [1, 3, 5, 7], [7, 1, 3, 5]];
        for (push, row) in Direction::ALL.into_iter().zip(cells) {
            for (facing, expected) in Direction::ALL.into_iter().zip(row) {
                assert_eq!(
                    pushed_from(push, facing),
                    expected,
                    "pushed {push:?}, facing {facing:?}"
                );
            }
        }
    }
}
