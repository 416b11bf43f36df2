//! What each team has done in a match, counted from the events of the game: for results, marks and the order of those that
//! ended early.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pyo3::IntoPyObject;
use trantor_game::Game;
use trantor_model::{AgentId, Change, Resource, TeamId};
use trantor_play::minds::{Scenario, ScenarioAct};
use trantor_time::GameTime;

/// What one team has done.
#[derive(Clone, Copy, Debug, Default, IntoPyObject)]
pub(crate) struct TeamRecord {
    /// Agents that it had.
    pub joins: u32,
    /// The highest level that one of them reached; 0 without an agent.
    pub level: u8,
    /// Food that they picked up.
    pub food_taken: u32,
    /// How long the oldest of them lived, in units.
    pub longest_life_units: f64,
    /// When the last of them was gone, or the match over, in units.
    pub alive_units: f64,
}

/// The counts so far, shared with the scenario that fills them.
pub(crate) type Tally = Rc<RefCell<Counts>>;

/// What is counted in a game.
#[derive(Default)]
pub(crate) struct Counts {
    /// By team.
    teams: Vec<TeamRecord>,
    /// The agents that live, with their team and birth.
    living: BTreeMap<AgentId, (TeamId, GameTime)>,
}

impl Counts {
    /// Takes in the agents of the start.
    pub(crate) fn begin(&mut self, game: &Game) {
        self.teams = vec![TeamRecord::default(); game.config().teams.len()];
        for agent in game.world().agents() {
            self.joined(agent.id, agent.team, agent.level.get(), game.now());
        }
    }

    /// An agent of the team is gone; nothing happens if that is known.
    pub(crate) fn gone(&mut self, agent: AgentId, now: GameTime) {
        if let Some((team, born)) = self.living.remove(&agent) {
            let deeds = &mut self.teams[usize::from(team.0)];
            deeds.longest_life_units = deeds.longest_life_units.max((now - born).as_units_f64());
            deeds.alive_units = now.as_units_f64();
        }
    }

    /// The counts of each team when the match is over.
    pub(crate) fn at_end(&mut self, now: GameTime) -> Vec<TeamRecord> {
        for agent in self.living.keys().copied().collect::<Vec<_>>() {
            self.gone(agent, now);
        }
        self.teams.clone()
    }

    fn joined(&mut self, agent: AgentId, team: TeamId, level: u8, now: GameTime) {
        let deeds = &mut self.teams[usize::from(team.0)];
        deeds.joins += 1;
        deeds.level = deeds.level.max(level);
        self.living.insert(agent, (team, now));
    }

    fn of(&mut self, agent: AgentId) -> Option<&mut TeamRecord> {
        let (team, _) = self.living.get(&agent)?;
        self.teams.get_mut(usize::from(team.0))
    }

    fn perceive(&mut self, change: &Change, now: GameTime) {
        match change {
            Change::Joined { agent, .. } => self.joined(agent.id, agent.team, agent.level.get(), now),
            Change::Died { agent } | Change::Left { agent, .. } => self.gone(*agent, now),
            Change::LevelChanged { agent, level } => {
                if let Some(deeds) = self.of(*agent) {
                    deeds.level = deeds.level.max(level.get());
                }
            }
            Change::Carried {
                agent,
                resource: Resource::Food,
                taken: true,
                ..
            } => {
                if let Some(deeds) = self.of(*agent) {
                    deeds.food_taken += 1;
                }
            }
            _ => {}
        }
    }
}

/// Fills a tally. It does nothing in the game.
pub(crate) struct Teller(pub Tally);

impl Scenario for Teller {
    fn begin(&mut self, _: &Game) {}

    fn perceive(&mut self, game: &Game, change: &Change) {
        self.0.borrow_mut().perceive(change, game.now());
    }

    fn decide(&mut self, _: &Game, _: &mut Vec<ScenarioAct>) {}

    fn wake_at(&self) -> Option<GameTime> {
        None
    }
}
