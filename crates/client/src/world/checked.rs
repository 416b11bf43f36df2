//! What may be added to a world and taken from it, and how much there may be of each.

use trantor_model::{AgentId, EggId, Level, TeamId, Tile};
use trantor_protocol::wire::{ActionState, AgentState, EggState, RitualState};

use super::{Action, Agent, Ritual, World};
use crate::error::WorldError;
use crate::scene::TEAM_UNKNOWN;

/// Agents held: ten times as many as in the largest worlds we are built for.
pub const AGENTS_MAX: usize = 100_000;

/// Eggs held: as many as a server can be told to begin with.
pub const EGGS_MAX: usize = 1_000_000;

/// The same for worlds of which text servers tell: numbers may come in any order there, which takes time in
/// proportion to what is held, and those worlds are small.
const LENIENT_AGENTS_MAX: usize = 10_000;

/// See [`LENIENT_AGENTS_MAX`].
const LENIENT_EGGS_MAX: usize = 40_000;

/// Elevations held: each needs an agent of its own.
pub const RITUALS_MAX: usize = AGENTS_MAX;

impl<X: Default> World<X> {
    pub(super) fn win(&mut self, team: TeamId) -> Result<(), WorldError> {
        self.check_team(team)?;
        self.winner = Some(team);
        Ok(())
    }

    fn check_team(&self, team: TeamId) -> Result<(), WorldError> {
        match usize::from(team.0) < self.teams {
            true => Ok(()),
            false => Err(WorldError::UnknownTeam(team)),
        }
    }

    pub(super) fn add_agent(&mut self, agent: AgentState) -> Result<(), WorldError> {
        let agent = self.checked_agent(agent)?;
        self.agents.insert(agent.view.id.0, agent);
        Ok(())
    }

    /// A new agent as it may be added.
    pub(super) fn checked_agent(&self, agent: AgentState) -> Result<Agent<X>, WorldError> {
        self.check_tile(agent.view.tile)?;
        self.check_team(agent.view.team)?;
        let action = agent.action.map(checked_action).transpose()?;
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
            action,
            food_ends: agent.food_ends,
            held_by: None,
            extra: X::default(),
        })
    }

    pub(super) fn remove_agent(&mut self, id: AgentId) -> Result<(), WorldError> {
        let agent = self.agents.remove(id.0).ok_or(WorldError::UnknownAgent(id))?;
        let ritual = agent
            .held_by
            .and_then(|serial| self.rituals.iter_mut().find(|ritual| ritual.serial == serial));
        if let Some(ritual) = ritual {
            ritual.state.participants.retain(|participant| *participant != id);
        }
        Ok(())
    }

    pub(super) fn add_egg(&mut self, egg: EggState) -> Result<(), WorldError> {
        self.check_tile(egg.tile)?;
        if egg.team != TEAM_UNKNOWN || !self.is_lenient {
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

    pub(super) fn take_egg(&mut self, id: EggId) -> Result<(), WorldError> {
        match self.eggs.remove(id.0) {
            Some(_) => Ok(()),
            None => Err(WorldError::UnknownEgg(id)),
        }
    }

    pub(super) fn begin_ritual(&mut self, ritual: RitualState) -> Result<(), WorldError> {
        self.check_tile(ritual.tile)?;
        if ritual.end < ritual.start {
            return Err(WorldError::EndsBeforeStart);
        }
        check_room(self.rituals.len(), RITUALS_MAX, "elevations")?;
        let serial = self.rituals_begun;
        let held = ritual.participants.iter().try_for_each(|&participant| {
            let agent = self.known(participant)?;
            match agent.held_by {
                Some(_) => Err(WorldError::HeldTwice(participant)),
                None => {
                    agent.held_by = Some(serial);
                    Ok(())
                }
            }
        });
        if held.is_err() {
            self.release(&ritual.participants, serial);
            return held;
        }
        self.rituals_begun += 1;
        self.rituals.push(Ritual {
            serial,
            state: ritual,
        });
        Ok(())
    }

    /// Several elevations may be under way on one tile; it is the one that holds those named, or else, when
    /// nobody is left to be named, the oldest of that level that holds nobody.
    pub(super) fn end_ritual(
        &mut self,
        tile: Tile,
        level: Level,
        participants: &[AgentId],
    ) -> Result<(), WorldError> {
        let held_by = match participants.first() {
            Some(&first) => self.known(first)?.held_by,
            None => None,
        };
        let place = self.rituals.iter().position(|ritual| {
            let is_it = match participants.is_empty() {
                true => ritual.state.participants.is_empty(),
                false => held_by == Some(ritual.serial),
            };
            is_it && ritual.state.tile == tile && ritual.state.level == level
        });
        let ritual = self.rituals.remove(place.ok_or(WorldError::UnknownRitual(tile))?);
        self.release(&ritual.state.participants, ritual.serial);
        Ok(())
    }

    /// Those of `participants` that this elevation holds are free.
    fn release(&mut self, participants: &[AgentId], serial: u64) {
        for participant in participants {
            if let Some(agent) = self.agents.get_mut(participant.0) {
                agent.held_by.take_if(|held_by| *held_by == serial);
            }
        }
    }
}

pub(super) fn checked_action(told: ActionState) -> Result<Action, WorldError> {
    let ActionState {
        kind,
        start,
        end,
        refused,
    } = told;
    match start <= end {
        true => Ok(Action {
            kind,
            start,
            end,
            refused,
        }),
        false => Err(WorldError::EndsBeforeStart),
    }
}

fn check_room(held: usize, max: usize, what: &'static str) -> Result<(), WorldError> {
    match held < max {
        true => Ok(()),
        false => Err(WorldError::TooMany { what, max }),
    }
}
