//! The world: ground, agents, eggs and elevations, and the bookkeeping that keeps them consistent.
//!
//! Everything that changes where something lies or stands goes through here, so that the lists per tile and
//! the totals are right by construction. What happens and why is in the other rules.

use std::collections::BTreeMap;

use smallvec::{Array, SmallVec};
use trantor_model::{AgentId, Counts, EggId, ElevationId, MapSize, Resource, Sight, TeamId, Tile};
use trantor_time::link::LinkCounts;

use crate::config::{GameConfig, Rules};
use crate::lag::{Delays, InFlight, Lag, LagTotals};
use crate::rng::{Purpose, Rng};
use crate::rules::agents::{Agent, Agents};
use crate::rules::broadcast;
use crate::rules::hatching::{Egg, Team};
use crate::rules::incantation::{self, Elevation, Elevations};
use crate::rules::look::{self, LooksKept};
use crate::rules::spawning::{self, Dealer};

/// Everything that exists in a game.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) rules: Rules,
    pub(crate) size: MapSize,
    /// Changed by [`World::tile_mut`] alone.
    pub(crate) tiles: Vec<TileState>,
    /// What lies on all tiles together; kept up with every change, since the refill asks for nothing else.
    pub(crate) ground_totals: [u64; Resource::COUNT],
    /// What the refill tops it up to.
    pub(crate) ground_targets: [u64; Resource::COUNT],
    pub(crate) agents: Agents,
    pub(crate) eggs: BTreeMap<EggId, Egg>,
    pub(crate) next_egg: u32,
    /// See [`World::eggs_refused`].
    pub(crate) eggs_refused: u64,
    pub(crate) teams: Vec<Team>,
    pub(crate) elevations: Elevations,
    pub(crate) hunger_enabled: bool,
    pub(crate) refill_enabled: bool,
    pub(crate) winner: Option<TeamId>,
    pub(crate) birth_rng: Rng,
    pub(crate) egg_rng: Rng,
    pub(crate) dealer: Dealer,
    pub(crate) in_flight: InFlight,
    /// How often what is on a tile may have changed. No part of the state.
    pub(crate) tile_changes: u64,
    pub(crate) looks_kept: LooksKept,
}

/// What is on one tile. Both lists are in ascending order, whatever the order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct TileState {
    pub(crate) ground: Counts,
    pub(crate) agents: SmallVec<[AgentId; 4]>,
    pub(crate) eggs: SmallVec<[EggId; 2]>,
}

impl World {
    /// A world without ground, agents or eggs.
    pub(crate) fn empty(config: &GameConfig) -> Self {
        Self {
            rules: config.rules.clone(),
            size: config.size,
            tiles: vec![TileState::default(); config.size.area()],
            ground_totals: [0; Resource::COUNT],
            ground_targets: Resource::ALL.map(|resource| spawning::target(config.size, resource)),
            agents: Agents::default(),
            eggs: BTreeMap::new(),
            next_egg: 0,
            eggs_refused: 0,
            teams: config.teams.iter().map(|name| Team::new(name.clone())).collect(),
            elevations: Elevations::default(),
            hunger_enabled: true,
            refill_enabled: true,
            winner: None,
            birth_rng: Rng::new(config.seed, Purpose::Birth),
            egg_rng: Rng::new(config.seed, Purpose::Egg),
            dealer: Dealer::new(config.size, Rng::new(config.seed, Purpose::Refill)),
            in_flight: InFlight::new(config.rules.lag, config.seed),
            tile_changes: 0,
            looks_kept: LooksKept::default(),
        }
    }

    /// The sides of the map.
    pub fn size(&self) -> MapSize {
        self.size
    }

    /// All living agents in ascending order of number.
    pub fn agents(&self) -> impl ExactSizeIterator<Item = &Agent> {
        self.agents.iter()
    }

    /// Those of them with this number or a higher one.
    pub fn agents_from(&self, id: AgentId) -> impl Iterator<Item = &Agent> {
        self.agents.iter_from(id)
    }

    /// A living agent.
    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// All eggs in ascending order of number.
    pub fn eggs(&self) -> impl ExactSizeIterator<Item = &Egg> {
        self.eggs.values()
    }

    /// Those of them with this number or a higher one.
    pub fn eggs_from(&self, id: EggId) -> impl Iterator<Item = &Egg> {
        self.eggs.range(id..).map(|(_, egg)| egg)
    }

    /// An egg that has neither hatched nor been destroyed.
    pub fn egg(&self, id: EggId) -> Option<&Egg> {
        self.eggs.get(&id)
    }

    /// Eggs that agents and operators wanted laid and that a limit did not allow, since this world was made or restored.
    pub fn eggs_refused(&self) -> u64 {
        self.eggs_refused
    }

    /// The running elevations, in order of their start.
    pub fn elevations(&self) -> impl ExactSizeIterator<Item = &Elevation> {
        self.elevations.iter()
    }

    /// Those of them with this number or a higher one.
    pub fn elevations_from(&self, id: ElevationId) -> impl Iterator<Item = &Elevation> {
        self.elevations.iter_from(id)
    }

    /// A running elevation.
    pub fn elevation(&self, id: ElevationId) -> Option<&Elevation> {
        self.elevations.get(id)
    }

    /// The teams in order of number.
    pub fn teams(&self) -> &[Team] {
        &self.teams
    }

    /// A team; `None` if there is no such number.
    pub fn team(&self, id: TeamId) -> Option<&Team> {
        self.teams.get(usize::from(id.0))
    }

    /// The teams that an operator has closed, in order of number.
    pub(crate) fn closed_teams(&self) -> impl Iterator<Item = TeamId> {
        let teams = self.teams.iter().enumerate();
        let closed = teams.filter(|(_, team)| team.is_closed);
        closed.map(|(index, _)| TeamId(u16::try_from(index).expect("there are at most TEAMS_MAX teams")))
    }

    /// What lies on a tile.
    ///
    /// # Panics
    /// If the tile is not on the map.
    pub fn ground(&self, tile: Tile) -> &Counts {
        &self.tile(tile).ground
    }

    /// The agents on a tile, in ascending order of number.
    ///
    /// # Panics
    /// If the tile is not on the map.
    pub fn agents_on(&self, tile: Tile) -> &[AgentId] {
        &self.tile(tile).agents
    }

    /// The eggs on a tile, in ascending order of number.
    ///
    /// # Panics
    /// If the tile is not on the map.
    pub fn eggs_on(&self, tile: Tile) -> &[EggId] {
        &self.tile(tile).eggs
    }

    /// The team that has won, or [`TeamId::DRAW`]; the game is over then.
    pub fn winner(&self) -> Option<TeamId> {
        self.winner
    }

    /// The direction of a message from `speaker` to `hearer` now, if both live: 0 here, 1 ahead, then counter-clockwise to 8.
    pub fn direction_of_sound(&self, hearer: AgentId, speaker: AgentId) -> Option<u8> {
        let (hearer, speaker) = (self.agent(hearer)?, self.agent(speaker)?);
        Some(broadcast::arrival(
            self.size,
            hearer.tile,
            hearer.facing,
            speaker.tile,
        ))
    }

    /// What an agent would see now: the `(level + 1)²` tiles of its cone, nearest row first, each from left to right.
    pub fn sights(&self, agent: &Agent) -> impl Iterator<Item = Sight> + use<'_> {
        look::look(self, agent)
    }

    /// Whether an elevation could begin now if the agent asked for it.
    pub fn can_elevate(&self, agent: &Agent) -> bool {
        incantation::can_begin(self, agent)
    }

    /// The links on which messages travel, of teams without settings of their own; `None` if they arrive at once.
    pub fn lag(&self) -> Option<&Lag> {
        self.in_flight.lag()
    }

    /// The teams with settings of their own.
    pub fn own_lags(&self) -> impl Iterator<Item = (TeamId, Option<&Lag>)> {
        self.in_flight.own_lags()
    }

    /// The links used while messages took time: sender, recipient, and what became of the messages.
    pub fn links(&self) -> impl Iterator<Item = (AgentId, AgentId, &LinkCounts, &Delays)> {
        self.in_flight.links()
    }

    /// What became of all messages that took time.
    pub fn lag_totals(&self) -> LagTotals {
        self.in_flight.totals()
    }

    pub(crate) fn tile(&self, tile: Tile) -> &TileState {
        &self.tiles[self.checked_index(tile)]
    }

    pub(crate) fn tile_mut(&mut self, tile: Tile) -> &mut TileState {
        let index = self.checked_index(tile);
        self.tile_changes += 1;
        &mut self.tiles[index]
    }

    /// A column past the edge would otherwise name a tile of another row.
    fn checked_index(&self, tile: Tile) -> usize {
        assert!(self.size.contains(tile), "{tile:?} is not on the map");
        self.size.index_of(tile)
    }

    pub(crate) fn team_mut(&mut self, id: TeamId) -> &mut Team {
        &mut self.teams[usize::from(id.0)]
    }

    /// Puts an agent that is on no list yet onto those of its tile and its team.
    pub(crate) fn place_agent(&mut self, agent: Agent) {
        insert_sorted(&mut self.tile_mut(agent.tile).agents, agent.id);
        self.team_mut(agent.team).living += 1;
        self.agents.insert(agent);
    }

    /// Puts an egg, whose number is higher than any before, onto all lists.
    pub(crate) fn place_egg(&mut self, egg: Egg) {
        self.next_egg = egg.id.0 + 1;
        insert_sorted(&mut self.tile_mut(egg.tile).eggs, egg.id);
        let team = self.team_mut(egg.team);
        team.eggs += 1;
        if egg.matures.is_none() {
            team.hatchable.push(egg.id);
        }
        self.eggs.insert(egg.id, egg);
    }

    /// Takes an agent off every list, that of its elevation included.
    pub(crate) fn remove_agent(&mut self, id: AgentId) -> Option<Agent> {
        let agent = self.agents.remove(id)?;
        remove_sorted(&mut self.tile_mut(agent.tile).agents, id);
        self.team_mut(agent.team).living -= 1;
        if let Some(elevation) = agent.elevation {
            self.elevations.forget(elevation, id);
        }
        Some(agent)
    }

    /// Moves an agent; facing and all else stay.
    pub(crate) fn move_agent(&mut self, id: AgentId, to: Tile) {
        let from = std::mem::replace(&mut self.agents[id].tile, to);
        self.relist(id, from, to);
    }

    /// Moves all agents but `stays` from its tile to another, in one pass through the lists.
    pub(crate) fn move_others(&mut self, stays: AgentId, to: Tile) {
        let from = self.agents[stays].tile;
        if from == to {
            return;
        }
        let stay = SmallVec::from_iter([stays]);
        let mut moved = std::mem::replace(&mut self.tile_mut(from).agents, stay);
        moved.retain(|id| *id != stays);
        for &id in &moved {
            self.agents[id].tile = to;
        }
        insert_all_sorted(&mut self.tile_mut(to).agents, moved);
    }

    /// Puts an agent that has moved from the list of one tile onto that of another.
    pub(crate) fn relist(&mut self, id: AgentId, from: Tile, to: Tile) {
        if from != to {
            remove_sorted(&mut self.tile_mut(from).agents, id);
            insert_sorted(&mut self.tile_mut(to).agents, id);
        }
    }

    /// Adds to what lies on a tile.
    pub(crate) fn ground_add_one(&mut self, tile: Tile, resource: Resource) {
        self.tile_mut(tile).ground.add_one(resource);
        self.ground_totals[resource.index()] += 1;
    }

    /// Takes one item from a tile; returns whether there was one.
    pub(crate) fn ground_take_one(&mut self, tile: Tile, resource: Resource) -> bool {
        let taken = self.tile_mut(tile).ground.take_one(resource);
        self.ground_totals[resource.index()] -= u64::from(taken);
        taken
    }

    /// Replaces what lies on a tile.
    pub(crate) fn set_ground(&mut self, tile: Tile, ground: Counts) {
        let before = std::mem::replace(&mut self.tile_mut(tile).ground, ground);
        for ((total, before), after) in self.ground_totals.iter_mut().zip(before.0).zip(ground.0) {
            *total = *total - u64::from(before) + u64::from(after);
        }
    }
}

// Short lists of numbers in ascending order. Most tiles hold no agent, and most others one. So the first few numbers lie in
// the list itself, and walking from tile to tile neither allocates nor leaves the tiles' own memory.

/// Adds a number that is not on the list.
pub(crate) fn insert_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, id: A::Item) {
    let place = list.partition_point(|&other| other < id);
    list.insert(place, id);
}

/// Adds numbers that are not on the list, in ascending order.
fn insert_all_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, added: SmallVec<A>) {
    list.extend(added);
    // Two runs in order, which a stable sort merges.
    list.sort();
}

/// Removes a number from the list.
///
/// # Panics
/// If it is not on it.
pub(crate) fn remove_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, id: A::Item) {
    let place = list.binary_search(&id).expect("what is placed is listed");
    list.remove(place);
}

/// Removes `gone`, in ascending order, from the list. Each run between two of them is moved once, so that the
/// cost is that of one pass through the list however many are gone.
///
/// # Panics
/// If one of them is not on it.
pub(crate) fn remove_all_sorted<A: Array<Item: Copy + Ord>>(list: &mut SmallVec<A>, gone: &[A::Item]) {
    let mut kept = 0;
    let mut run_begin = 0;
    for id in gone {
        // Those that go often lie side by side.
        let place = match list.get(run_begin) == Some(id) {
            true => 0,
            false => list[run_begin..]
                .binary_search(id)
                .expect("what is placed is listed"),
        };
        let run_end = run_begin + place;
        list.copy_within(run_begin..run_end, kept);
        kept += run_end - run_begin;
        run_begin = run_end + 1;
    }
    list.copy_within(run_begin.., kept);
    list.truncate(kept + list.len() - run_begin);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against an ordered set.
        #[test]
        fn a_list_is_an_ordered_set(
            steps in prop::collection::vec((0..12u32, any::<bool>()), 0..200),
            many in 0..9u32,
            gone in prop::collection::btree_set(0..30u32, 0..20),
        ) {
            let mut list = SmallVec::<[u32; 3]>::new();
            let mut model = BTreeSet::new();
            for (id, adds) in steps {
                if adds && model.insert(id) {
                    insert_sorted(&mut list, id);
                } else if !adds && model.remove(&id) {
                    remove_sorted(&mut list, id);
                }
                prop_assert!(list.iter().eq(&model));
            }
            insert_all_sorted(&mut list, (20..20 + many).collect());
            model.extend(20..20 + many);
            prop_assert!(list.iter().eq(&model));
            let gone: Vec<u32> = gone.intersection(&model).copied().collect();
            remove_all_sorted(&mut list, &gone);
            prop_assert!(list.iter().eq(model.iter().filter(|id| !gone.contains(id))));
        }
    }
}
