//! Minds: what decides for an agent inside the process that runs the game.
//!
//! A mind perceives what a server would send its agent, in the same order, and answers with commands; it has no other way to
//! know the world. [`Minds`] owns them and decides when each is asked: once it has perceived something, or at a rate of its
//! own. It does so in game time, and the same for a leap, a game in lock-step and one at any speed, so that a match of minds
//! has one outcome. Nothing of it is in the game: a mind's commands are inputs, and a recording needs no minds.

mod built_in;
mod scenario;
mod table;

use std::fmt;
use std::sync::Arc;

use trantor_game::Game;
pub use trantor_model::Percept;
use trantor_model::{AgentId, Command, Direction, MapSize, Show, TeamId, Tile};
use trantor_time::{GameSpan, GameTime};

pub use built_in::MindKind;
pub use scenario::{OperatorView, ReadLine, Scenario, ScenarioAct};
pub use table::{Host, Minds};

/// A [`MindGroup`] in a game.
#[derive(Debug)]
pub struct MindGroupState {
    /// The team.
    pub team: TeamId,
    /// Where its minds come from.
    pub source: MindSource,
    /// When they decide.
    pub rate: MindRate,
    /// Agents that joined at its beginning, or are to join.
    pub count: u32,
    /// Whether they are yet to join.
    is_waiting: bool,
    /// Agents born so far.
    pub joined: u32,
    /// Agents that live.
    pub living: u32,
    /// Decisions so far.
    pub decisions: u64,
}

/// Decides for one agent.
pub trait Mind {
    /// Takes in one thing that the agent was sent. Decides nothing.
    fn perceive(&mut self, percept: &Percept);

    /// Takes in what the match publishes, before a decision. Decides nothing.
    fn publish(&mut self, _published: &Published) {}

    /// Whether it decides because it was born or has perceived something, at the end of that instant. One that does not decides
    /// at its rate, and when [`Self::wake_at`] is due.
    fn decides_after_percepts(&self) -> bool {
        true
    }

    /// Begins to decide at `now`, for a mind that computes elsewhere: [`Self::decide`] of the same instant follows, after this was
    /// called for the other minds of the instant, so that they compute side by side.
    fn prepare(&mut self, _now: GameTime) {}

    /// Decides at `now`: appends to `acts` what the agent does, in order. Called at birth, after it perceived something or
    /// at its rate, and when [`Self::wake_at`] is due.
    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>);

    /// When it wants to decide again without having perceived anything.
    fn wake_at(&self) -> Option<GameTime>;

    /// Its agent has starved, at `now`. What it does then can only be shown.
    fn died(&mut self, _now: GameTime, _acts: &mut Vec<Act>) {}
}

/// What a match publishes to all that play it: how many agents each team has. Not the speed: a mind that knew it would play
/// another match after a change of speed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Names by number of the team.
    teams: Arc<[Box<str>]>,
    /// Living agents of the same.
    living: Arc<[u32]>,
}

impl Published {
    /// How many agents of a team live; `None` without such a team.
    pub fn living(&self, team: &str) -> Option<u32> {
        let place = self.teams.iter().position(|name| **name == *team)?;
        self.living.get(place).copied()
    }

    /// Takes in the names of all teams, which stay the same, and how many agents they have.
    pub fn update<'a>(&mut self, teams: impl Iterator<Item = (&'a str, u32)> + Clone) {
        if self.teams.is_empty() {
            self.teams = teams.clone().map(|(name, _)| name.into()).collect();
        }
        let living = teams.map(|(_, living)| living);
        // Mostly nothing has changed, and nothing is copied.
        if !living.clone().eq(self.living.iter().copied()) {
            self.living = living.collect();
        }
    }

    /// As a game stands.
    pub fn update_from(&mut self, game: &Game) {
        let teams = game.world().teams().iter();
        self.update(teams.map(|team| (&*team.name, team.living)));
    }
}

/// One thing that an agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends a command. Commands beyond [`trantor_game::OUTSTANDING_MAX`] are lost, as they are on a server.
    Command(Command),
    /// Takes a free place of the team with a new agent of the same kind, if there is one and the team may still grow.
    Join,
    /// Shows something to viewers of ours.
    Show(Show),
}

/// Makes the minds of one group, such as a script file.
pub trait MindFactory {
    /// The mind of a newborn agent.
    fn awaken(&mut self, born: &Newborn) -> Box<dyn Mind>;
}

/// What a mind is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newborn {
    /// Its agent.
    pub agent: AgentId,
    /// The name of its team.
    pub team: Arc<str>,
    /// Minds that the team had before it, those gone included.
    pub index: u64,
    /// All its randomness comes from this; it differs between agents.
    pub seed: u64,
    /// Places that its team has left.
    pub places: u32,
    /// Where it was born. Agents do not know it: it serves to place what they show on the map.
    pub tile: Tile,
    /// As it was born.
    pub direction: Direction,
    /// The size of the map.
    pub map: MapSize,
}

impl Newborn {
    /// The first agent of a team without places, in a corner of the map, with all randomness from 0.
    pub fn first(team: &str, map: MapSize) -> Self {
        Self {
            agent: AgentId(0),
            team: team.into(),
            index: 0,
            seed: 0,
            places: 0,
            tile: Tile { x: 0, y: 0 },
            direction: Direction::North,
            map,
        }
    }
}

/// Agents of one team with minds of one kind.
#[derive(Debug)]
pub struct MindGroup {
    /// The team.
    pub team: TeamId,
    /// Where its minds come from.
    pub source: MindSource,
    /// Agents that join at once, as far as there are places.
    pub count: u32,
    /// When its minds decide.
    pub rate: MindRate,
}

/// Where minds come from.
pub enum MindSource {
    /// Built in.
    BuiltIn(MindKind),
    /// Made by a factory.
    Made {
        /// What it is called in lists: `script:scout.luau`.
        name: String,
        /// Makes them.
        factory: Box<dyn MindFactory>,
    },
}

impl MindSource {
    /// What it is called in lists.
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn(kind) => kind.name(),
            Self::Made { name, .. } => name,
        }
    }
}

impl fmt::Debug for MindSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// When a mind decides, in game time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MindRate {
    /// The time between two decisions; the phases of a group are spread evenly over it. `None`: after each percept.
    pub every: Option<GameSpan>,
    /// What a decision takes that leads to something: the commands are sent then, and the next decision comes no earlier.
    pub think: GameSpan,
}
