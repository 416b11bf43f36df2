//! Eggs and the places of a team: one egg, one place.
//!
//! An agent joins by hatching an egg of its team. Eggs never die by themselves; only an eject breaks them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use trantor_model::agent::{EGGS_MAX, EGGS_PER_TEAM_MAX};
use trantor_model::{AgentId, Change, Counts, Direction, EggId, EggState, Level, Resource, TeamId, Tile};
use trantor_time::GameTime;

use crate::event::GameEvent;
use crate::rules::Events;
use crate::rules::agents::{Agent, CommandQueue};
use crate::rules::hunger::{self, Digestion};
use crate::rules::world::{World, insert_sorted, remove_all_sorted, remove_sorted};

/// A free place of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Egg {
    /// Its number.
    pub id: EggId,
    /// The team of the place.
    pub team: TeamId,
    /// Where it lies.
    pub tile: Tile,
    /// The agent that laid it, alive or not; `None` for those of the start, of an operator, and those given back.
    pub layer: Option<AgentId>,
    /// When it can be hatched, if it cannot yet.
    pub matures: Option<GameTime>,
}

/// A team and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// The name with which agents join it.
    pub name: String,
    /// Agents alive.
    pub living: u32,
    /// All its eggs, those that cannot be hatched yet included.
    pub(crate) eggs: u32,
    /// Eggs that can be hatched, in ascending order.
    pub(crate) hatchable: SmallVec<[EggId; 2]>,
    /// Whether an operator has closed it: it gives no place.
    pub(crate) is_closed: bool,
}

impl Team {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            living: 0,
            eggs: 0,
            hatchable: SmallVec::new(),
            is_closed: false,
        }
    }

    /// Places left: eggs that can be hatched now.
    pub fn places(&self) -> u32 {
        if self.is_closed {
            return 0;
        }
        u32::try_from(self.hatchable.len()).expect("a world has at most EGGS_MAX eggs")
    }
}

/// The eggs of the start: each team's places on random tiles, in order of team.
pub(crate) fn lay_first_eggs(world: &mut World, places_per_team: u32, events: &mut Events) {
    for team in 0..world.teams.len() {
        let team = TeamId(u16::try_from(team).expect("there are at most TEAMS_MAX teams"));
        for _ in 0..places_per_team {
            lay_anywhere(world, team, events);
        }
    }
}

/// Lays an egg that can be hatched at once on a random tile.
pub(crate) fn lay_anywhere(world: &mut World, team: TeamId, events: &mut Events) -> Option<EggId> {
    let area = u32::try_from(world.size.area()).expect("a map has at most a million tiles");
    let tile = world.size.tile_at(world.egg_rng.below(area) as usize);
    lay(world, team, tile, None, None, events)
}

/// Lays one egg more for a team, if the team has fewer than [`EGGS_PER_TEAM_MAX`]; otherwise as [`lay`].
pub(crate) fn lay_another(
    world: &mut World,
    team: TeamId,
    tile: Tile,
    layer: Option<AgentId>,
    matures: Option<GameTime>,
    events: &mut Events,
) -> Option<EggId> {
    let is_full = world.team(team)?.eggs >= EGGS_PER_TEAM_MAX;
    let egg = match is_full {
        true => None,
        false => lay(world, team, tile, layer, matures, events),
    };
    world.eggs_refused += u64::from(egg.is_none());
    egg
}

/// Lays an egg that can be hatched from `matures` on; `None` if the world holds as many as it may, or numbers are used up.
pub(crate) fn lay(
    world: &mut World,
    team: TeamId,
    tile: Tile,
    layer: Option<AgentId>,
    matures: Option<GameTime>,
    events: &mut Events,
) -> Option<EggId> {
    if world.eggs.len() >= EGGS_MAX || world.next_egg == u32::MAX {
        return None;
    }
    let id = EggId(world.next_egg);
    world.place_egg(Egg {
        id,
        team,
        tile,
        layer,
        matures,
    });
    let egg = EggState { egg: id, team, tile };
    events.push_for_viewers(|| Change::EggLaid { egg, layer });
    Some(id)
}

/// From now on the egg is a place of its team.
pub(crate) fn mature(world: &mut World, id: EggId, events: &mut Events) {
    let egg = world
        .eggs
        .get_mut(&id)
        .expect("an egg that is gone has no deadline");
    egg.matures = None;
    let team = egg.team;
    insert_sorted(&mut world.team_mut(team).hatchable, id);
    events.push_for_viewers(|| Change::EggMatured { egg: id });
}

/// Breaks all eggs on a tile; returns those not mature yet. Their places are lost. Each list is gone
/// through once: a tile may hold every egg of the world.
pub(crate) fn destroy_all_on(world: &mut World, tile: Tile, events: &mut Events) -> Vec<EggId> {
    let gone = std::mem::take(&mut world.tile_mut(tile).eggs);
    let mut places_gone: BTreeMap<TeamId, Vec<EggId>> = BTreeMap::new();
    let mut unripe = Vec::new();
    let teams = &mut world.teams;
    remove_all(&mut world.eggs, &gone, |egg| {
        teams[usize::from(egg.team.0)].eggs -= 1;
        match egg.matures {
            None => places_gone.entry(egg.team).or_default().push(egg.id),
            Some(_) => unripe.push(egg.id),
        }
        events.push_for_viewers(|| Change::EggDestroyed { egg: egg.id });
    });
    for (team, places) in places_gone {
        remove_all_sorted(&mut world.team_mut(team).hatchable, &places);
    }
    unripe
}

/// Hatches one of the team's eggs, chosen at random; `None` if the team has no place left.
///
/// The newborn stands where the egg lay, faces anywhere, and has ten food, one of them being digested.
pub(crate) fn hatch(world: &mut World, team: TeamId, now: GameTime, events: &mut Events) -> Option<AgentId> {
    let places = world.team(team)?.places();
    let id = world.agents.next_id()?;
    if places == 0 {
        return None;
    }
    let chosen = world.birth_rng.below(places) as usize;
    let facing = Direction::ALL[world.birth_rng.below(4) as usize];
    let egg = remove(world, world.team(team)?.hatchable[chosen]);
    let mut inventory = Counts::ZERO;
    inventory[Resource::Food] = hunger::FOOD_AT_BIRTH - 1;
    let newborn = Agent {
        id,
        team,
        tile: egg.tile,
        facing,
        level: Level::FIRST,
        inventory,
        digestion: Digestion::begin(world.hunger_enabled, now),
        elevation: None,
        hunger_timer: None,
        commands: CommandQueue::default(),
        counts_as_idle: false,
    };
    events.push(GameEvent::Seen(Change::Joined {
        agent: newborn.view(),
        egg: egg.id,
        food_ends: newborn.food_ends(),
    }));
    world.place_agent(newborn);
    Some(id)
}

/// Takes these eggs, in ascending order, out of those of the world. If they are most of them, a map is made of the others:
/// that takes a tenth of the time that it takes to remove them one by one.
fn remove_all(eggs: &mut BTreeMap<EggId, Egg>, gone: &[EggId], mut removed: impl FnMut(Egg)) {
    if gone.len() < eggs.len() / 2 {
        gone.iter().filter_map(|id| eggs.remove(id)).for_each(removed);
        return;
    }
    let mut gone = gone.iter().peekable();
    let stays = |(id, egg): &(EggId, Egg)| {
        let is_gone = gone.next_if_eq(&id).is_some();
        if is_gone {
            removed(*egg);
        }
        !is_gone
    };
    *eggs = std::mem::take(eggs).into_iter().filter(stays).collect();
}

/// Takes an egg off every list.
fn remove(world: &mut World, id: EggId) -> Egg {
    let egg = world
        .eggs
        .remove(&id)
        .expect("what is listed on a tile or in a team exists");
    remove_sorted(&mut world.tile_mut(egg.tile).eggs, id);
    world.team_mut(egg.team).eggs -= 1;
    if egg.matures.is_none() {
        remove_sorted(&mut world.team_mut(egg.team).hatchable, id);
    }
    egg
}
