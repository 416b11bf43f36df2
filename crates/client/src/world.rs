//! The world: tiles, agents, eggs and elevations, loaded in pieces and then changed by changes.
//!
//! Every value a server sends is checked here when it is applied: numbers of agents, eggs and teams, tiles,
//! spans, and how much there may be of each. When a change is applied is [`crate::timeline`]'s to decide, what it
//! looks like [`crate::display`]'s.

use std::sync::Arc;

use trantor_model::totals::{DEEDS_MAX, NEARBY_MAX};
use trantor_model::{
    ActionState, AgentId, AgentState, AgentView, Change, Counts, EggId, EggState, MapSize, MatchTotals,
    RitualId, RitualState, TeamId, Tile,
};
use trantor_protocol::wire::SnapshotPart;
use trantor_time::GameTime;

use crate::error::ProtocolError;
use crate::motion::{Blend, is_motion};
use crate::scene::TEAM_UNKNOWN;
use crate::table::Table;

/// Teams shown. Far more than a game has; each has a line in every frame.
pub(crate) const TEAMS_MAX: usize = 1_024;

/// Agents held: ten times as many as in the largest worlds we are built for.
pub const AGENTS_MAX: usize = 100_000;

/// Eggs held: as many as a server can be configured to begin with.
pub const EGGS_MAX: usize = 1_000_000;

/// The same for worlds of text servers: numbers may come in any order there, which takes time in
/// proportion to what is held, and those worlds are small.
const LENIENT_AGENTS_MAX: usize = 10_000;

/// See [`LENIENT_AGENTS_MAX`].
const LENIENT_EGGS_MAX: usize = 40_000;

/// Elevations held: each needs an agent of its own.
pub const RITUALS_MAX: usize = AGENTS_MAX;

/// A world as a server describes it.
#[derive(Clone, Debug)]
pub struct World {
    size: MapSize,
    teams: usize,
    /// Whether the server may leave out which egg hatched and whose an egg is.
    is_lenient: bool,
    /// By place in the row-by-row list of tiles; grows while the world is being loaded.
    ground: Vec<Counts>,
    agents: Table<Agent>,
    eggs: Table<EggState>,
    rituals: Vec<RitualState>,
    winner: Option<TeamId>,
    /// What the match came to; `None` before its end, and where the server does not send it.
    totals: Option<Arc<MatchTotals>>,
}

#[derive(Clone, Debug)]
pub struct Agent {
    pub view: AgentView,
    /// What it does or did last.
    pub action: Option<ActionState>,
    /// When the food being digested is used up; `None` where hunger is off or unknown.
    pub food_ends: Option<GameTime>,
    /// The elevation that holds it.
    pub held_by: Option<RitualId>,
    /// How it is led from where it was shown to where it is.
    pub(crate) blend: Blend,
}

impl World {
    pub fn new(size: MapSize, teams: usize) -> Self {
        Self {
            size,
            teams,
            is_lenient: false,
            ground: Vec::new(),
            agents: Table::new(),
            eggs: Table::new(),
            rituals: Vec::new(),
            winner: None,
            totals: None,
        }
    }

    /// An empty world with bare ground for a text server: eggs of [`TEAM_UNKNOWN`] may lie there, and agents may hatch
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
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter()
    }

    pub(crate) fn agents_mut(&mut self) -> impl Iterator<Item = &mut Agent> {
        self.agents.iter_mut()
    }

    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(id.0)
    }

    pub(crate) fn agent_mut(&mut self, id: AgentId) -> Option<&mut Agent> {
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
    pub fn rituals(&self) -> &[RitualState] {
        &self.rituals
    }

    pub fn winner(&self) -> Option<TeamId> {
        self.winner
    }

    pub fn totals(&self) -> Option<&Arc<MatchTotals>> {
        self.totals.as_ref()
    }

    /// Takes a piece of a snapshot. Runs of tiles come in their order, without gaps.
    pub fn load(&mut self, part: SnapshotPart) -> Result<(), ProtocolError> {
        match part {
            SnapshotPart::Ground { first, tiles } => {
                let (expected, area) = (self.ground.len(), self.size.area());
                if usize::try_from(first) != Ok(expected) || tiles.len() > area - expected {
                    let expected = expected as u32;
                    return Err(ProtocolError::GroundRun { first, expected });
                }
                if expected == 0 {
                    self.ground.reserve_exact(area);
                }
                self.ground.extend_from_slice(&tiles);
            }
            SnapshotPart::Agents(agents) => {
                for agent in agents {
                    self.add_agent(agent)?;
                }
            }
            SnapshotPart::Eggs(eggs) => {
                for egg in eggs {
                    self.add_egg(egg)?;
                }
            }
            SnapshotPart::Rituals(rituals) => {
                for ritual in rituals {
                    self.begin_ritual(ritual)?;
                }
            }
            SnapshotPart::Winner { team, totals } => self.win(team, totals.as_deref())?,
        }
        Ok(())
    }

    /// Checks that all tiles were loaded.
    pub fn finish(&self) -> Result<(), ProtocolError> {
        let (loaded, area) = (self.ground.len(), self.size.area());
        match loaded < area {
            true => Err(ProtocolError::GroundMissing {
                loaded: loaded as u32,
                area: area as u32,
            }),
            false => Ok(()),
        }
    }

    /// Applies one change to a world that is complete, and returns the place of the tile whose ground it changed. After an
    /// error nothing has changed.
    pub fn apply(&mut self, at: GameTime, change: &Change) -> Result<Option<usize>, ProtocolError> {
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
                    Err(ProtocolError::UnknownEgg(_)) if self.is_lenient => {}
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
                        .take_if(|action| is_motion(action) && action.end <= at);
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
                return Err(ProtocolError::UnknownEgg(egg));
            }
            Change::EggMatured { .. } | Change::Refilled => {}
            Change::RitualStarted(ref ritual) => self.begin_ritual(ritual.clone())?,
            Change::RitualEnded { ritual, tile, .. } => self.end_ritual(ritual, tile)?,
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

    fn win(&mut self, team: TeamId, totals: Option<&MatchTotals>) -> Result<(), ProtocolError> {
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

    fn check_totals(&self, totals: &MatchTotals) -> Result<(), ProtocolError> {
        let too_much = |what, max| Err(ProtocolError::TooMuch { what, max });
        if totals.teams.len() > self.teams {
            return too_much("teams with totals", self.teams);
        }
        if totals.deeds.len() > DEEDS_MAX {
            return too_much("turning points", DEEDS_MAX);
        }
        for deed in &totals.deeds {
            if deed.nearby.len() > NEARBY_MAX {
                return too_much("agents around a turning point", NEARBY_MAX);
            }
            let nearby = deed.nearby.iter().map(|(tile, _)| *tile);
            nearby
                .chain([deed.tile])
                .try_for_each(|tile| self.check_tile(tile))?;
        }
        Ok(())
    }

    fn check_team(&self, team: TeamId) -> Result<(), ProtocolError> {
        match usize::from(team.0) < self.teams {
            true => Ok(()),
            false => Err(ProtocolError::UnknownTeam(team)),
        }
    }

    fn add_agent(&mut self, agent: AgentState) -> Result<(), ProtocolError> {
        let agent = self.checked_agent(agent)?;
        self.agents.insert(agent.view.id.0, agent);
        Ok(())
    }

    /// A new agent as it may be added.
    fn checked_agent(&self, agent: AgentState) -> Result<Agent, ProtocolError> {
        self.check_tile(agent.view.tile)?;
        self.check_team(agent.view.team)?;
        agent.action.iter().try_for_each(check_action)?;
        let id = agent.view.id;
        if self.agents.get(id.0).is_some() {
            return Err(ProtocolError::AgentTwice(id));
        }
        if !self.is_lenient && !self.agents.is_next(id.0) {
            return Err(ProtocolError::AgentOutOfOrder(id));
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
            blend: Blend::default(),
        })
    }

    fn remove_agent(&mut self, id: AgentId) -> Result<(), ProtocolError> {
        let agent = self.agents.remove(id.0).ok_or(ProtocolError::UnknownAgent(id))?;
        let ritual = agent
            .held_by
            .and_then(|held_by| self.rituals.iter_mut().find(|it| it.ritual == held_by));
        if let Some(ritual) = ritual {
            let others = ritual.participants.iter().copied();
            ritual.participants = others.filter(|participant| *participant != id).collect();
        }
        Ok(())
    }

    fn add_egg(&mut self, egg: EggState) -> Result<(), ProtocolError> {
        self.check_tile(egg.tile)?;
        if egg.team != TEAM_UNKNOWN || !self.is_lenient {
            self.check_team(egg.team)?;
        }
        if self.eggs.get(egg.egg.0).is_some() {
            return Err(ProtocolError::EggTwice(egg.egg));
        }
        if !self.is_lenient && !self.eggs.is_next(egg.egg.0) {
            return Err(ProtocolError::EggOutOfOrder(egg.egg));
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

    fn take_egg(&mut self, id: EggId) -> Result<(), ProtocolError> {
        match self.eggs.remove(id.0) {
            Some(_) => Ok(()),
            None => Err(ProtocolError::UnknownEgg(id)),
        }
    }

    fn begin_ritual(&mut self, ritual: RitualState) -> Result<(), ProtocolError> {
        self.check_tile(ritual.tile)?;
        if ritual.end < ritual.start {
            return Err(ProtocolError::EndsBeforeStart);
        }
        check_room(self.rituals.len(), RITUALS_MAX, "elevations")?;
        let id = ritual.ritual;
        if self.rituals.last().is_some_and(|last| last.ritual >= id) {
            return Err(ProtocolError::RitualOutOfOrder(id));
        }
        let held = ritual.participants.iter().try_for_each(|&participant| {
            let agent = self.known(participant)?;
            match agent.held_by {
                Some(_) => Err(ProtocolError::HeldTwice(participant)),
                None => {
                    agent.held_by = Some(id);
                    Ok(())
                }
            }
        });
        if held.is_err() {
            self.release(&ritual);
            return held;
        }
        self.rituals.push(ritual);
        Ok(())
    }

    fn end_ritual(&mut self, id: RitualId, tile: Tile) -> Result<(), ProtocolError> {
        let place = self.rituals.binary_search_by_key(&id, |it| it.ritual);
        let place = place.map_err(|_| ProtocolError::UnknownRitual(tile))?;
        let ritual = self.rituals.remove(place);
        self.release(&ritual);
        Ok(())
    }

    /// Those whom this elevation holds are free.
    fn release(&mut self, ritual: &RitualState) {
        for participant in ritual.participants.iter() {
            if let Some(agent) = self.agents.get_mut(participant.0) {
                agent.held_by.take_if(|held_by| *held_by == ritual.ritual);
            }
        }
    }

    fn known(&mut self, id: AgentId) -> Result<&mut Agent, ProtocolError> {
        self.agents.get_mut(id.0).ok_or(ProtocolError::UnknownAgent(id))
    }

    fn check_tile(&self, tile: Tile) -> Result<(), ProtocolError> {
        match self.size.contains(tile) {
            true => Ok(()),
            false => Err(ProtocolError::OffMap(tile)),
        }
    }
}

fn check_action(action: &ActionState) -> Result<(), ProtocolError> {
    match action.start <= action.end {
        true => Ok(()),
        false => Err(ProtocolError::EndsBeforeStart),
    }
}

fn check_room(held: usize, max: usize, what: &'static str) -> Result<(), ProtocolError> {
    match held < max {
        true => Ok(()),
        false => Err(ProtocolError::TooMuch { what, max }),
    }
}
