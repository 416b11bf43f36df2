//! Take and set: one thing between tile and hand.

use trantor_model::{AgentId, Resource};

use crate::event::{Carry, GameEvent};
use crate::rules::world::World;
use crate::rules::{Events, reply_done};

/// Picks one up, if the tile holds one when the action ends.
pub(crate) fn take(world: &mut World, id: AgentId, resource: Resource, events: &mut Events) {
    let taken = world.ground_take_one(world.agents[id].tile, resource);
    if taken {
        world.agents[id].inventory.add_one(resource);
        events.push_for_viewers(|| GameEvent::Took(carry(world, id, resource)));
    }
    reply_done(events, id, taken);
}

/// Puts one down, if the agent holds one. Food too: the stock, never the one being digested.
pub(crate) fn set(world: &mut World, id: AgentId, resource: Resource, events: &mut Events) {
    let held = world.agents[id].inventory.take_one(resource);
    if held {
        world.ground_add_one(world.agents[id].tile, resource);
        events.push_for_viewers(|| GameEvent::Put(carry(world, id, resource)));
    }
    reply_done(events, id, held);
}

fn carry(world: &World, id: AgentId, resource: Resource) -> Carry {
    let agent = &world.agents[id];
    Carry {
        agent: id,
        resource,
        inventory: agent.inventory,
        tile: agent.tile,
        ground: *world.ground(agent.tile),
    }
}
