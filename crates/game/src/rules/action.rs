//! What a command does when its time is over.
//!
//! Here are moves, pushes, and what an agent picks up and puts down; the others are in modules of their own. How long each
//! takes is `trantor_model::Command::duration_units`; what happens at a start (elevations, and commands that take no time)
//! is `game.rs`'s.

use trantor_model::{AgentId, Change, Command, Direction, EggId, MoveKind, Percept, Resource, Turn};
use trantor_time::{GameSpan, GameTime};

use crate::lag::MessageId;
use crate::rules::agents::Agent;
use crate::rules::world::World;
use crate::rules::{Events, broadcast, hatching, hunger, look, reply_done, send};

/// What an action leaves for the agenda.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "the caller sets the deadlines"]
pub(crate) enum Effect {
    /// Nothing.
    Done,
    /// The ground may hold less than before.
    GroundTaken,
    /// There is an egg that matures later.
    Unripe(EggId, GameTime),
    /// These eggs were to mature, and are broken.
    Broken(Vec<EggId>),
    /// Messages in flight, with their arrivals.
    Sent(Vec<(MessageId, GameTime)>),
}

/// Carries out `command` for `id` at `now`, with a reply to the agent.
pub(crate) fn apply(
    world: &mut World,
    id: AgentId,
    command: &Command,
    now: GameTime,
    events: &mut Events,
) -> Effect {
    match command {
        Command::Forward => forward(world, id, events),
        Command::Turn(way) => turn(world, id, *way, events),
        Command::Look => {
            let sights = look::look_shared(world, id);
            send(events, id, Percept::Look(sights));
        }
        Command::Inventory => {
            let agent = &world.agents[id];
            let (inventory, life_units) = (agent.inventory, hunger::life_units(agent, now));
            send(
                events,
                id,
                Percept::Inventory {
                    inventory,
                    life_units,
                },
            );
        }
        Command::Broadcast(text) => {
            return Effect::Sent(broadcast::broadcast(world, id, text, now, events));
        }
        Command::ConnectNbr => {
            let places = world.teams[usize::from(world.agents[id].team.0)].places();
            send(events, id, Percept::Places(places));
        }
        Command::Fork => return fork(world, id, now, events),
        Command::Eject => return Effect::Broken(eject(world, id, events)),
        Command::Take(resource) => {
            take(world, id, *resource, events);
            return Effect::GroundTaken;
        }
        Command::Set(resource) => set(world, id, *resource, events),
        Command::Refused(_) => send(events, id, Percept::Ko),
        Command::Incantation => unreachable!("an elevation ends as an elevation"),
    }
    Effect::Done
}

/// Lays an egg where the agent stands now. It fails only if the team or the world is full of eggs.
fn fork(world: &mut World, id: AgentId, now: GameTime, events: &mut Events) -> Effect {
    let (team, tile) = (world.agents[id].team, world.agents[id].tile);
    let matures = matures(world, now);
    let egg = hatching::lay_another(world, team, tile, Some(id), matures, events);
    reply_done(events, id, egg.is_some());
    unripe(egg, matures)
}

/// When an egg laid at `now` can be hatched; `None` if at once.
pub(crate) fn matures(world: &World, now: GameTime) -> Option<GameTime> {
    let units = world.rules.egg_hatch_units;
    (units > 0).then(|| now + GameSpan::from_units(i64::from(units)))
}

/// The effect of having laid `egg`.
pub(crate) fn unripe(egg: Option<EggId>, matures: Option<GameTime>) -> Effect {
    egg.zip(matures)
        .map_or(Effect::Done, |(egg, at)| Effect::Unripe(egg, at))
}

/// One tile in the facing direction, round the torus. It always succeeds: agents do not block one another.
fn forward(world: &mut World, id: AgentId, events: &mut Events) {
    let agent = &mut world.agents[id];
    let from = agent.tile;
    agent.tile = world.size.step(from, agent.facing);
    moved(agent, MoveKind::Walked, events);
    let to = agent.tile;
    world.relist(id, from, to);
    send(events, id, Percept::Ok);
}

fn turn(world: &mut World, id: AgentId, turn: Turn, events: &mut Events) {
    let agent = &mut world.agents[id];
    agent.facing = agent.facing.turned(turn);
    moved(agent, MoveKind::Turned, events);
    send(events, id, Percept::Ok);
}

/// Tells where an agent stands and faces now.
pub(crate) fn moved(agent: &Agent, how: MoveKind, events: &mut Events) {
    events.push_for_viewers(|| Change::Moved {
        agent: agent.id,
        tile: agent.tile,
        facing: agent.facing,
        how,
    });
}

/// Picks one up, if the tile holds one when the action ends.
fn take(world: &mut World, id: AgentId, resource: Resource, events: &mut Events) {
    let taken = world.ground_take_one(world.agents[id].tile, resource);
    if taken {
        world.agents[id].inventory.add_one(resource);
        events.push_for_viewers(|| carried(world, id, resource, true));
    }
    reply_done(events, id, taken);
}

/// Puts one down, if the agent holds one. Food too: the stock, never the one being digested.
fn set(world: &mut World, id: AgentId, resource: Resource, events: &mut Events) {
    let held = world.agents[id].inventory.take_one(resource);
    if held {
        world.ground_add_one(world.agents[id].tile, resource);
        events.push_for_viewers(|| carried(world, id, resource, false));
    }
    reply_done(events, id, held);
}

fn carried(world: &World, id: AgentId, resource: Resource, taken: bool) -> Change {
    let agent = &world.agents[id];
    Change::Carried {
        agent: id,
        resource,
        taken,
        tile: agent.tile,
        inventory: agent.inventory,
        ground: *world.ground(agent.tile),
    }
}

/// Moves every other agent on the tile one step in the direction the pusher faces. Their actions
/// continue, and an elevation that holds them still does.
///
/// It succeeds if it moved an agent or broke an egg. Where eggs are kept it always succeeds, as on the
/// reference server in that mode. Returns the broken eggs that were not mature.
fn eject(world: &mut World, id: AgentId, events: &mut Events) -> Vec<EggId> {
    let (tile, direction) = (world.agents[id].tile, world.agents[id].facing);
    let target = world.size.step(tile, direction);
    let others = world.agents_on(tile).iter().copied();
    let victims: Vec<AgentId> = others.filter(|&other| other != id).collect();
    world.move_others(id, target);
    for &victim in &victims {
        moved(&world.agents[victim], MoveKind::Pushed, events);
        let direction = pushed_from(direction, world.agents[victim].facing);
        send(events, victim, Percept::Pushed { direction });
    }
    let breaks_eggs = world.rules.eject_eggs && !world.eggs_on(tile).is_empty();
    let unripe = match breaks_eggs {
        true => hatching::destroy_all_on(world, tile, events),
        false => Vec::new(),
    };
    let done = !victims.is_empty() || breaks_eggs || !world.rules.eject_eggs;
    if done {
        events.push_for_viewers(|| Change::Ejected { agent: id });
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
