//! Agents, teams and eggs: their numbers, which are given once and never again, and what is seen of them from outside.

use serde::{Deserialize, Serialize};

use crate::{Counts, Direction, Level, Tile};

/// A player's number: 0 for the first that ever joined, one more for each after, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentId(pub u32);

/// A team's number: its place in the list of teams given at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TeamId(pub u16);

impl TeamId {
    /// The winner of a match that ended in a draw: no team has this number.
    pub const DRAW: Self = Self(u16::MAX);

    /// The team of an egg of which a text server does not say whose it is. No team has this number.
    pub const UNKNOWN: Self = Self(u16::MAX);
}

/// An agent and its team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Its number.
    pub agent: AgentId,
    /// Its team.
    pub team: TeamId,
}

/// An egg's number: counted from 0 in the order laid, apart from players' numbers, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EggId(pub u32);

/// Eggs in a world at one time. Forks beyond it fail: at the highest speeds unhatched eggs
/// would otherwise fill the memory within hours.
pub const EGGS_MAX: usize = 1_000_000;

/// Eggs of one team beyond which its forks fail, answered `ko`. A server has no more connections than that
/// (`trantor_engine::limits::Limits`), so that no agent could come of one more; but each makes an eject, a
/// look and the greeting of a viewer take longer. Places of the start and places given back are not refused for it.
pub const EGGS_PER_TEAM_MAX: u32 = 16_384;

/// An agent as seen from outside at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// Its number.
    pub id: AgentId,
    /// Its team.
    pub team: TeamId,
    /// Where it stands.
    pub tile: Tile,
    /// Where it faces.
    pub facing: Direction,
    /// Its level.
    pub level: Level,
    /// What it carries; the food being digested is not counted.
    pub inventory: Counts,
}

/// One tile of a look, as counted when the look ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// Agents on it, the looker included on its own tile.
    pub agents: u32,
    /// What lies on it.
    pub ground: Counts,
    /// Eggs on it; zero where the game keeps eggs out of sight.
    pub eggs: u32,
}
