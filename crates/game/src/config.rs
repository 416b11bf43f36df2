//! What a game is made from: map, teams, seed and the variants of the rules.
//!
//! Together with the inputs and their stamps it determines everything that follows, so all of it
//! goes into journals and snapshots. How an operator writes it down is the server's.

use serde::{Deserialize, Serialize};
use trantor_model::agent::EGGS_MAX;
use trantor_model::control::LagError;
use trantor_model::{EggId, MapSize, TeamId};

use crate::lag::{self, Lag};

/// Everything about a game that is settled before it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameConfig {
    /// The sides of the map.
    pub size: MapSize,
    /// The teams' names; a team's number is its place here.
    pub teams: Vec<String>,
    /// Eggs each team begins with, from 1 up to [`EGGS_MAX`] for all teams together.
    pub places_per_team: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Which variant of the rules is played.
    pub rules: Rules,
}

/// Variants of the rules. The default is what most public clients expect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Whether an eject destroys the eggs on the tile. If not, an eject always succeeds, even if it moves
    /// no agent, as on the reference server when it keeps eggs out of play.
    pub eject_eggs: bool,
    /// Units until a laid egg can be hatched; 0 is at once.
    pub egg_hatch_units: u32,
    /// Whether a team gets a new egg whenever one of its agents is gone.
    pub respawn_places: bool,
    /// Whether eggs are seen by a look.
    pub eggs_in_sight: bool,
    /// Whether what is due at one instant goes by agent number and not by order of arrival.
    pub lock_step: bool,
    /// The links on which messages travel; `None` if they arrive at once.
    pub lag: Option<Lag>,
}

/// Why a configuration makes no game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No team, or more than there are numbers kept for.
    #[error("a game has 1 to {max} teams, not {0}", max = GameConfig::TEAMS_MAX)]
    Teams(usize),
    /// A name that is empty or longer than is kept.
    #[error("a team's name is 1 to {max} bytes long, not {0}", max = GameConfig::TEAM_NAME_BYTES_MAX)]
    TeamName(usize),
    /// A name that would be several words or lines in a message.
    #[error("a team's name is one word, and {0:?} is none")]
    TeamWord(String),
    /// Two teams of one name.
    #[error("there are two teams named {0:?}")]
    SameName(String),
    /// No place, or more eggs than a world holds.
    #[error("{places} places for each of {teams} teams: at least 1, and at most {max} together", max = EGGS_MAX)]
    Places {
        /// Requested places per team.
        places: u32,
        /// Requested teams.
        teams: usize,
    },
    /// Messages that travel in a way that cannot be.
    #[error("messages between agents: {0}")]
    Lag(#[from] LagError),
}

impl GameConfig {
    /// Teams in a game: far more than colours can distinguish, and a bound for what damaged bytes may ask.
    pub const TEAMS_MAX: usize = 1_000;

    /// Length of a team's name: viewers print it as one word.
    pub const TEAM_NAME_BYTES_MAX: usize = 64;

    /// Checks all bounds. [`crate::Game::new`] relies on it.
    pub fn check(&self) -> Result<(), ConfigError> {
        let teams = self.teams.len();
        if !(1..=Self::TEAMS_MAX).contains(&teams) {
            return Err(ConfigError::Teams(teams));
        }
        for (index, name) in self.teams.iter().enumerate() {
            if !(1..=Self::TEAM_NAME_BYTES_MAX).contains(&name.len()) {
                return Err(ConfigError::TeamName(name.len()));
            }
            if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
                return Err(ConfigError::TeamWord(name.clone()));
            }
            if self.teams[..index].contains(name) {
                return Err(ConfigError::SameName(name.clone()));
            }
        }
        let places = self.places_per_team;
        if places == 0 || places as usize > EGGS_MAX / teams {
            return Err(ConfigError::Places { places, teams });
        }
        if let Some(lag) = &self.rules.lag {
            lag::check(lag)?;
        }
        Ok(())
    }

    /// The number of the first egg that an agent lays: those before it are the places of the start.
    pub fn first_egg_laid(&self) -> EggId {
        let places = self.teams.len() * self.places_per_team as usize;
        EggId(u32::try_from(places).expect("there are at most EGGS_MAX places"))
    }

    /// The name of a team or, for [`TeamId::DRAW`], `draw`.
    pub fn team_name(&self, team: TeamId) -> &str {
        self.teams.get(usize::from(team.0)).map_or("draw", String::as_str)
    }

    /// The team of that name.
    pub fn team_named(&self, name: &[u8]) -> Option<TeamId> {
        let index = self.teams.iter().position(|team| team.as_bytes() == name)?;
        Some(TeamId(
            u16::try_from(index).expect("there are at most TEAMS_MAX teams"),
        ))
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            eject_eggs: true,
            egg_hatch_units: 0,
            respawn_places: false,
            eggs_in_sight: false,
            lock_step: false,
            lag: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(teams: &[&str], places_per_team: u32) -> GameConfig {
        GameConfig {
            size: MapSize::new(10, 10).unwrap(),
            teams: teams.iter().map(ToString::to_string).collect(),
            places_per_team,
            seed: 0,
            rules: Rules::default(),
        }
    }

    #[test]
    fn bounds_are_checked() {
        assert_eq!(config(&["a", "b"], 3).check(), Ok(()));
        assert_eq!(config(&["a", "b"], 500_000).check(), Ok(()));
        assert!(matches!(
            config(&["a", "b"], 500_001).check(),
            Err(ConfigError::Places { .. })
        ));
        assert!(matches!(
            config(&["a"], 0).check(),
            Err(ConfigError::Places { .. })
        ));
        assert_eq!(config(&[], 3).check(), Err(ConfigError::Teams(0)));
        assert_eq!(config(&["a", ""], 3).check(), Err(ConfigError::TeamName(0)));
        for name in ["a b", "a\nseg a", "\u{7}", "\u{2003}"] {
            let refused = Err(ConfigError::TeamWord(name.to_owned()));
            assert_eq!(config(&["a", name], 3).check(), refused);
        }
        assert_eq!(
            config(&["a", "b", "a"], 3).check(),
            Err(ConfigError::SameName("a".to_owned()))
        );
    }

    #[test]
    fn teams_are_found_by_their_bytes() {
        let config = config(&["red", "blue"], 1);
        assert_eq!(config.team_named(b"blue"), Some(TeamId(1)));
        assert_eq!(config.team_named(b"Blue"), None);
        assert_eq!(config.team_named(b"\xff"), None);
    }
}
