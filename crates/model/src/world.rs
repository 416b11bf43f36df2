//! The world as viewers see it: tiles, agents, eggs and elevations, filled from a snapshot and then kept up to date by changes.
//!
//! Every value is checked when it is applied: numbers of agents, eggs and teams, tiles, spans, and how much there may be of
//! each, since a viewer believes no server. When a change is applied and what it looks like is for the reader to decide, who may
//! keep something of its own with each agent.

#![allow(missing_docs, reason = "most names say what they are")]

use std::sync::Arc;

use trantor_time::GameTime;

use crate::agent::EGGS_MAX;
use crate::table::Table;
use crate::totals::{NEARBY_MAX, TURNING_POINTS_MAX};
use crate::{
    ActionState, AgentId, AgentState, AgentView, Change, Counts, EggId, EggState, ElevationId,
    ElevationState, MapSize, MatchTotals, TeamId, Tile,
};

/// Agents held: ten times as many as in the largest worlds we are built for.
pub const AGENTS_MAX: usize = 100_000;

/// As [`AGENTS_MAX`] in worlds of text servers: numbers may come in any order there, which takes time in
/// proportion to what is held, and those worlds are small.
const LENIENT_AGENTS_MAX: usize = 10_000;

/// See [`LENIENT_AGENTS_MAX`].
const LENIENT_EGGS_MAX: usize = 40_000;

/// Elevations held: each needs an agent of its own.
pub const ELEVATIONS_MAX: usize = AGENTS_MAX;

/// A world as a game or a server describes it. `T` is what its reader keeps with each agent.
#[derive(Clone, Debug)]
pub struct World<T = ()> {
    size: MapSize,
    teams: usize,
    /// Whether the server may leave out which egg hatched and whose an egg is.
    is_lenient: bool,
    /// By place in the row-by-row list of tiles; grows while the world is being loaded.
    ground: Vec<Counts>,
    agents: Table<Agent<T>>,
    eggs: Table<EggState>,
    elevations: Vec<ElevationState>,
    winner: Option<TeamId>,
    /// What the match came to; `None` before its end, and where the server does not send it.
    totals: Option<Arc<MatchTotals>>,
}

#[derive(Clone, Debug)]
pub struct Agent<T = ()> {
    pub view: AgentView,
    /// What it does or did last.
    pub action: Option<ActionState>,
    /// When the food being digested is used up; `None` where hunger is off or unknown.
    pub food_ends: Option<GameTime>,
    /// The elevation that holds it.
    pub held_by: Option<ElevationId>,
    /// What the reader of the world keeps with it, such as where it is drawn: found without another look-up.
    pub kept: T,
}

impl<T: Default> World<T> {
    pub fn new(size: MapSize, teams: usize) -> Self {
        Self {
            size,
            teams,
            is_lenient: false,
            ground: Vec::new(),
            agents: Table::new(),
            eggs: Table::new(),
            elevations: Vec::new(),
            winner: None,
            totals: None,
        }
    }

    /// An empty world with bare ground for a text server: eggs of [`TeamId::UNKNOWN`] may lie there, and agents may hatch
    /// from eggs that were never announced.
    pub fn lenient(size: MapSize) -> Self {
        Self {
            is_lenient: true,
            ground: vec![Counts::ZERO; size.area()],
            ..Self::new(size, 0)
        }
    }

    pub fn add_team(&mut self) {
        self.teams += 1;
    }

    pub fn size(&self) -> MapSize {
        self.size
    }

    /// What lies on the tiles that are loaded, by place in the row-by-row list; see [`MapSize::index_of`].
    pub fn ground(&self) -> &[Counts] {
        &self.ground
    }

    /// All agents by ascending number.
    pub fn agents(&self) -> impl Iterator<Item = &Agent<T>> {
        self.agents.iter()
    }

    /// For what is kept with agents, and for actions that are over without a change that says so.
    pub fn agents_mut(&mut self) -> impl Iterator<Item = &mut Agent<T>> {
        self.agents.iter_mut()
    }

    pub fn agent(&self, id: AgentId) -> Option<&Agent<T>> {
        self.agents.get(id.0)
    }

    /// See [`Self::agents_mut`].
    pub fn agent_mut(&mut self, id: AgentId) -> Option<&mut Agent<T>> {
        self.agents.get_mut(id.0)
    }

    /// All eggs by ascending number.
    pub fn eggs(&self) -> impl Iterator<Item = &EggState> {
        self.eggs.iter()
    }

    pub fn egg(&self, id: EggId) -> Option<&EggState> {
        self.eggs.get(id.0)
    }

    /// Elevations in the order they began.
    pub fn elevations(&self) -> &[ElevationState] {
        &self.elevations
    }

    pub fn winner(&self) -> Option<TeamId> {
        self.winner
    }

    pub fn totals(&self) -> Option<&Arc<MatchTotals>> {
        self.totals.as_ref()
    }

    /// Adds what lies on a run of tiles. Runs come in their order, without gaps.
    pub fn add_ground(&mut self, first: u32, tiles: &[Counts]) -> Result<(), WorldError> {
        let (expected, area) = (self.ground.len(), self.size.area());
        if usize::try_from(first) != Ok(expected) || tiles.len() > area - expected {
            let expected = expected as u32;
            return Err(WorldError::GroundRun { first, expected });
        }
        if expected == 0 {
            self.ground.reserve_exact(area);
        }
        self.ground.extend_from_slice(tiles);
        Ok(())
    }

    /// Checks that all tiles were loaded.
    pub fn finish(&self) -> Result<(), WorldError> {
        let (loaded, area) = (self.ground.len(), self.size.area());
        match loaded < area {
            true => Err(WorldError::GroundMissing {
                loaded: loaded as u32,
                area: area as u32,
            }),
            false => Ok(()),
        }
    }

    /// Applies one change to a world that is complete, and returns the place of the tile whose ground it changed. After an
    /// error nothing has changed.
    pub fn apply(&mut self, at: GameTime, change: &Change) -> Result<Option<usize>, WorldError> {
        match *change {
            Change::Joined {
                agent,
                egg,
                food_ends,
            } => {
                let agent = self.checked_agent(AgentState {
                    view: agent,
                    action: None,
                    food_ends,
                })?;
                match self.take_egg(egg) {
                    Err(WorldError::UnknownEgg(_)) if self.is_lenient => {}
                    taken => taken?,
                }
                self.agents.insert(agent.view.id.0, agent);
            }
            Change::Died { agent } | Change::Left { agent, .. } => self.remove_agent(agent)?,
            Change::ActionStarted { agent, action } => {
                check_action(&action)?;
                self.known(agent)?.action = Some(action);
            }
            Change::Moved {
                agent,
                tile,
                facing,
                how,
            } => {
                self.check_tile(tile)?;
                let agent = self.known(agent)?;
                agent.view.tile = tile;
                agent.view.facing = facing;
                // A push does not end what its victim does; its own step or turn does.
                if !how.is_forced() {
                    agent
                        .action
                        .take_if(|action| action.is_motion() && action.end <= at);
                }
            }
            Change::Carried {
                agent,
                tile,
                inventory,
                ground,
                ..
            } => {
                self.check_tile(tile)?;
                self.known(agent)?.view.inventory = inventory;
                let place = self.size.index_of(tile);
                self.ground[place] = ground;
                return Ok(Some(place));
            }
            Change::Inventory {
                agent,
                inventory,
                food_ends,
                ..
            } => {
                let agent = self.known(agent)?;
                agent.view.inventory = inventory;
                agent.food_ends = food_ends;
            }
            Change::Hunger { agent, food_ends } => self.known(agent)?.food_ends = food_ends,
            Change::Sent { agent, tile, .. } => {
                self.check_tile(tile)?;
                self.known(agent)?;
            }
            Change::Said { agent, .. } | Change::Ejected { agent } => {
                self.known(agent)?;
            }
            Change::EggLaid { egg, .. } => self.add_egg(egg)?,
            Change::EggDestroyed { egg } => self.take_egg(egg)?,
            Change::EggMatured { egg } if self.eggs.get(egg.0).is_none() => {
                return Err(WorldError::UnknownEgg(egg));
            }
            Change::EggMatured { .. } | Change::Refilled => {}
            Change::ElevationStarted(ref elevation) => self.add_elevation(elevation.clone())?,
            Change::ElevationEnded { elevation, tile, .. } => self.end_elevation(elevation, tile)?,
            Change::LevelChanged { agent, level } => self.known(agent)?.view.level = level,
            Change::Ground { tile, ground, .. } => {
                self.check_tile(tile)?;
                let place = self.size.index_of(tile);
                self.ground[place] = ground;
                return Ok(Some(place));
            }
            Change::Won { team, ref totals } => self.win(team, totals.as_deref())?,
        }
        Ok(None)
    }

    pub fn win(&mut self, team: TeamId, totals: Option<&MatchTotals>) -> Result<(), WorldError> {
        if team != TeamId::DRAW {
            self.check_team(team)?;
        }
        if let Some(totals) = totals {
            self.check_totals(totals)?;
        }
        self.winner = Some(team);
        self.totals = totals.map(|totals| Arc::new(totals.clone()));
        Ok(())
    }

    fn check_totals(&self, totals: &MatchTotals) -> Result<(), WorldError> {
        let too_much = |what, max| Err(WorldError::TooMuch { what, max });
        if totals.teams.len() > self.teams {
            return too_much("teams with totals", self.teams);
        }
        if totals.turning_points.len() > TURNING_POINTS_MAX {
            return too_much("turning points", TURNING_POINTS_MAX);
        }
        for turning_point in &totals.turning_points {
            if turning_point.nearby.len() > NEARBY_MAX {
                return too_much("agents around a turning point", NEARBY_MAX);
            }
            let nearby = turning_point.nearby.iter().map(|(tile, _)| *tile);
            nearby
                .chain([turning_point.tile])
                .try_for_each(|tile| self.check_tile(tile))?;
        }
        Ok(())
    }

    fn check_team(&self, team: TeamId) -> Result<(), WorldError> {
        match usize::from(team.0) < self.teams {
            true => Ok(()),
            false => Err(WorldError::UnknownTeam(team)),
        }
    }

    pub fn add_agent(&mut self, agent: AgentState) -> Result<(), WorldError> {
        let agent = self.checked_agent(agent)?;
        self.agents.insert(agent.view.id.0, agent);
        Ok(())
    }

    /// A new agent as it may be added.
    fn checked_agent(&self, agent: AgentState) -> Result<Agent<T>, WorldError> {
        self.check_tile(agent.view.tile)?;
        self.check_team(agent.view.team)?;
        agent.action.iter().try_for_each(check_action)?;
        let id = agent.view.id;
        if self.agents.get(id.0).is_some() {
            return Err(WorldError::AgentTwice(id));
        }
        if !self.is_lenient && !self.agents.is_next(id.0) {
            return Err(WorldError::AgentOutOfOrder(id));
        }
        let max = if self.is_lenient {
            LENIENT_AGENTS_MAX
        } else {
            AGENTS_MAX
        };
        check_room(self.agents.len(), max, "agents")?;
        Ok(Agent {
            view: agent.view,
            action: agent.action,
            food_ends: agent.food_ends,
            held_by: None,
            kept: T::default(),
        })
    }

    fn remove_agent(&mut self, id: AgentId) -> Result<(), WorldError> {
        let agent = self.agents.remove(id.0).ok_or(WorldError::UnknownAgent(id))?;
        let elevation = agent
            .held_by
            .and_then(|held_by| self.elevations.iter_mut().find(|it| it.elevation == held_by));
        if let Some(elevation) = elevation {
            let others = elevation.participants.iter().copied();
            elevation.participants = others.filter(|participant| *participant != id).collect();
        }
        Ok(())
    }

    pub fn add_egg(&mut self, egg: EggState) -> Result<(), WorldError> {
        self.check_tile(egg.tile)?;
        if egg.team != TeamId::UNKNOWN || !self.is_lenient {
            self.check_team(egg.team)?;
        }
        if self.eggs.get(egg.egg.0).is_some() {
            return Err(WorldError::EggTwice(egg.egg));
        }
        if !self.is_lenient && !self.eggs.is_next(egg.egg.0) {
            return Err(WorldError::EggOutOfOrder(egg.egg));
        }
        let max = if self.is_lenient {
            LENIENT_EGGS_MAX
        } else {
            EGGS_MAX
        };
        check_room(self.eggs.len(), max, "eggs")?;
        self.eggs.insert(egg.egg.0, egg);
        Ok(())
    }

    fn take_egg(&mut self, id: EggId) -> Result<(), WorldError> {
        match self.eggs.remove(id.0) {
            Some(_) => Ok(()),
            None => Err(WorldError::UnknownEgg(id)),
        }
    }

    pub fn add_elevation(&mut self, elevation: ElevationState) -> Result<(), WorldError> {
        self.check_tile(elevation.tile)?;
        if elevation.end < elevation.start {
            return Err(WorldError::EndsBeforeStart);
        }
        check_room(self.elevations.len(), ELEVATIONS_MAX, "elevations")?;
        let id = elevation.elevation;
        if self.elevations.last().is_some_and(|last| last.elevation >= id) {
            return Err(WorldError::ElevationOutOfOrder(id));
        }
        let held = elevation.participants.iter().try_for_each(|&participant| {
            let agent = self.known(participant)?;
            match agent.held_by {
                Some(_) => Err(WorldError::HeldTwice(participant)),
                None => {
                    agent.held_by = Some(id);
                    Ok(())
                }
            }
        });
        if held.is_err() {
            self.release(&elevation);
            return held;
        }
        self.elevations.push(elevation);
        Ok(())
    }

    fn end_elevation(&mut self, id: ElevationId, tile: Tile) -> Result<(), WorldError> {
        let place = self.elevations.binary_search_by_key(&id, |it| it.elevation);
        let place = place.map_err(|_| WorldError::UnknownElevation(tile))?;
        let elevation = self.elevations.remove(place);
        self.release(&elevation);
        Ok(())
    }

    /// Those whom this elevation holds are free.
    fn release(&mut self, elevation: &ElevationState) {
        for participant in elevation.participants.iter() {
            if let Some(agent) = self.agents.get_mut(participant.0) {
                agent.held_by.take_if(|held_by| *held_by == elevation.elevation);
            }
        }
    }

    fn known(&mut self, id: AgentId) -> Result<&mut Agent<T>, WorldError> {
        self.agents.get_mut(id.0).ok_or(WorldError::UnknownAgent(id))
    }

    fn check_tile(&self, tile: Tile) -> Result<(), WorldError> {
        match self.size.contains(tile) {
            true => Ok(()),
            false => Err(WorldError::OffMap(tile)),
        }
    }
}

fn check_action(action: &ActionState) -> Result<(), WorldError> {
    match action.start <= action.end {
        true => Ok(()),
        false => Err(WorldError::EndsBeforeStart),
    }
}

fn check_room(held: usize, max: usize, what: &'static str) -> Result<(), WorldError> {
    match held < max {
        true => Ok(()),
        false => Err(WorldError::TooMuch { what, max }),
    }
}

/// What no correct server says of a world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// More than a world is built to hold at once.
    #[error("the server sent more than {max} {what} at once")]
    TooMuch { what: &'static str, max: usize },
    #[error("there is no agent {0:?}")]
    UnknownAgent(AgentId),
    #[error("there already is an agent {0:?}")]
    AgentTwice(AgentId),
    /// Numbers are given in ascending order and never again, and sent in that order.
    #[error("agent {0:?} came after others with higher numbers")]
    AgentOutOfOrder(AgentId),
    #[error("egg {0:?} came after others with higher numbers")]
    EggOutOfOrder(EggId),
    #[error("there is no egg {0:?}")]
    UnknownEgg(EggId),
    #[error("there already is an egg {0:?}")]
    EggTwice(EggId),
    #[error("there is no team {0:?}")]
    UnknownTeam(TeamId),
    #[error("tile {0:?} is not on the map")]
    OffMap(Tile),
    /// A run of tiles that is not the next one, or leaves the map.
    #[error("tiles came from place {first}, where {expected} was due")]
    GroundRun { first: u32, expected: u32 },
    #[error("the world came with {loaded} tiles of {area}")]
    GroundMissing { loaded: u32, area: u32 },
    #[error("something ends before it begins")]
    EndsBeforeStart,
    #[error("agent {0:?} is in two elevations")]
    HeldTwice(AgentId),
    #[error("elevation {0:?} came after others with higher numbers")]
    ElevationOutOfOrder(ElevationId),
    #[error("no elevation is under way on tile {0:?}")]
    UnknownElevation(Tile),
}
