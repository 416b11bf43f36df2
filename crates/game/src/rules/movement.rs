//! Forward, right, left. All three always succeed; agents do not block one another.

use trantor_model::{AgentId, Turn};

use crate::event::{GameEvent, MoveKind, Reply};
use crate::rules::world::World;
use crate::rules::{Events, reply};

/// One tile in the facing direction, round the torus.
pub(crate) fn forward(world: &mut World, id: AgentId, events: &mut Events) {
    let agent = &world.agents[id];
    let tile = world.size.step(agent.tile, agent.facing);
    world.move_agent(id, tile);
    moved(world, id, MoveKind::Walked, events);
    reply(events, id, Reply::Ok);
}

/// A quarter turn.
pub(crate) fn turn(world: &mut World, id: AgentId, turn: Turn, events: &mut Events) {
    let facing = world.agents[id].facing.turned(turn);
    world.face(id, facing);
    moved(world, id, MoveKind::Turned, events);
    reply(events, id, Reply::Ok);
}

/// Tells where an agent stands and faces now.
pub(crate) fn moved(world: &World, id: AgentId, how: MoveKind, events: &mut Events) {
    let agent = &world.agents[id];
    events.push_back(GameEvent::Moved {
        agent: id,
        tile: agent.tile,
        facing: agent.facing,
        how,
    });
}
