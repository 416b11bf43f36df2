//! Forward, right, left. All three always succeed; agents do not block one another.

use trantor_model::{AgentId, Turn};

use crate::event::{GameEvent, MoveKind, Reply};
use crate::rules::agents::Agent;
use crate::rules::world::World;
use crate::rules::{Events, reply};

/// One tile in the facing direction, round the torus.
pub(crate) fn forward(world: &mut World, id: AgentId, events: &mut Events) {
    let agent = &mut world.agents[id];
    let from = agent.tile;
    agent.tile = world.size.step(from, agent.facing);
    moved(agent, MoveKind::Walked, events);
    let to = agent.tile;
    world.relist(id, from, to);
    reply(events, id, Reply::Ok);
}

pub(crate) fn turn(world: &mut World, id: AgentId, turn: Turn, events: &mut Events) {
    let agent = &mut world.agents[id];
    agent.facing = agent.facing.turned(turn);
    moved(agent, MoveKind::Turned, events);
    reply(events, id, Reply::Ok);
}

/// Tells where an agent stands and faces now.
pub(crate) fn moved(agent: &Agent, how: MoveKind, events: &mut Events) {
    events.push_for_viewers(|| GameEvent::Moved {
        agent: agent.id,
        tile: agent.tile,
        facing: agent.facing,
        how,
    });
}
