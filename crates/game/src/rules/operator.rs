//! An operator reaches into the world: checked, then done at once.
//!
//! What touches deadlines too (killing, hunger and refill on and off, the end of a match) is `game.rs`'s.

use trantor_model::{AgentId, Counts, Direction, Level, Resource, TeamId, Tile};
use trantor_time::GameTime;

use crate::event::{GameEvent, GroundChange, MoveKind};
use crate::input::{OPERATOR_COUNT_MAX, Refusal};
use crate::rules::action::{Effect, ripeness, unripe};
use crate::rules::world::World;
use crate::rules::{Events, hatching, movement};

/// Puts an agent somewhere, facing as it did unless told otherwise.
pub(crate) fn teleport(
    world: &mut World,
    id: AgentId,
    tile: Tile,
    facing: Option<Direction>,
    events: &mut Events,
) -> Result<(), Refusal> {
    world.agents.get(id).ok_or(Refusal::UnknownAgent)?;
    on_map(world, tile)?;
    world.move_agent(id, tile);
    let agent = &mut world.agents[id];
    agent.facing = facing.unwrap_or(agent.facing);
    movement::moved(agent, MoveKind::Placed, events);
    Ok(())
}

/// Gives an agent a level.
pub(crate) fn set_level(
    world: &mut World,
    id: AgentId,
    level: Level,
    events: &mut Events,
) -> Result<(), Refusal> {
    world.agents.get_mut(id).ok_or(Refusal::UnknownAgent)?.level = level;
    events.show(|| GameEvent::LevelChanged { agent: id, level });
    Ok(())
}

/// Sets how much of one thing an agent carries.
pub(crate) fn set_inventory(
    world: &mut World,
    id: AgentId,
    resource: Resource,
    count: u32,
    events: &mut Events,
) -> Result<(), Refusal> {
    let agent = world.agents.get_mut(id).ok_or(Refusal::UnknownAgent)?;
    in_bounds(count)?;
    agent.inventory[resource] = count;
    events.show(|| GameEvent::InventorySet {
        agent: id,
        tile: agent.tile,
        inventory: agent.inventory,
    });
    Ok(())
}

/// Sets what lies on a tile.
pub(crate) fn set_ground(
    world: &mut World,
    tile: Tile,
    ground: Counts,
    events: &mut Events,
) -> Result<(), Refusal> {
    on_map(world, tile)?;
    ground.0.into_iter().try_for_each(in_bounds)?;
    world.set_ground(tile, ground);
    events.show(|| GameEvent::GroundChanged {
        tile,
        ground,
        why: GroundChange::Admin,
    });
    Ok(())
}

/// Lays an egg for a team; it matures as any laid egg does.
pub(crate) fn lay_egg(
    world: &mut World,
    team: TeamId,
    tile: Tile,
    now: GameTime,
    events: &mut Events,
) -> Result<Effect, Refusal> {
    world.team(team).ok_or(Refusal::UnknownTeam)?;
    on_map(world, tile)?;
    let ripeness = ripeness(world, now);
    let egg = hatching::lay_another(world, team, tile, None, ripeness, events).ok_or(Refusal::FullOfEggs)?;
    Ok(unripe(Some(egg), ripeness))
}

fn on_map(world: &World, tile: Tile) -> Result<(), Refusal> {
    if world.size.contains(tile) {
        Ok(())
    } else {
        Err(Refusal::OffMap)
    }
}

fn in_bounds(count: u32) -> Result<(), Refusal> {
    if count <= OPERATOR_COUNT_MAX {
        Ok(())
    } else {
        Err(Refusal::TooMany)
    }
}
