//! Levels, and what an elevation to the next one needs.

use serde::{Deserialize, Serialize};

use crate::resource::Counts;

/// An agent's level, 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Level(u8);

/// What must stand and lie on a tile for an elevation; more is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Agents of the same level, the one who asks included.
    pub agents: u32,
    /// Stones on the tile; they are used up on success.
    pub stones: Counts,
}

/// A number that is not a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a level is a whole number from 1 to 8, not {0}")]
pub struct LevelError(pub u8);

/// The elevation table: agents, then food and the six stones, for level 1 to 2 first.
const REQUIREMENTS: [(u32, [u32; 7]); 7] = [
    (1, [0, 1, 0, 0, 0, 0, 0]),
    (2, [0, 1, 1, 1, 0, 0, 0]),
    (2, [0, 2, 0, 1, 0, 2, 0]),
    (4, [0, 1, 1, 2, 0, 1, 0]),
    (4, [0, 1, 2, 1, 3, 0, 0]),
    (6, [0, 1, 2, 3, 0, 1, 0]),
    (6, [0, 2, 2, 2, 2, 2, 1]),
];

/// Agents of the last level that win a game.
pub const WINNING_AGENTS: u32 = 6;

impl Level {
    /// The level at birth.
    pub const FIRST: Self = Self(1);
    /// The level that wins, once enough of a team have it.
    pub const LAST: Self = Self(8);

    /// Checks that `level` lies in `1..=8`.
    pub fn new(level: u8) -> Result<Self, LevelError> {
        if (1..=8).contains(&level) {
            Ok(Self(level))
        } else {
            Err(LevelError(level))
        }
    }

    /// The number, `1..=8`.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The score of a team with so many agents of each level, level 1 first: the sum of the levels of its
    /// [`WINNING_AGENTS`] best. 48 wins.
    pub fn score(by_level: &[u32; 8]) -> u64 {
        let mut places = WINNING_AGENTS;
        let best = by_level.iter().enumerate().rev().map(|(place, &agents)| {
            let counted = agents.min(places);
            places -= counted;
            u64::from(counted) * (place as u64 + 1)
        });
        best.sum()
    }

    /// The level above; `None` at the last.
    pub fn next(self) -> Option<Self> {
        (self < Self::LAST).then_some(Self(self.0 + 1))
    }

    /// What rising from this level needs; `None` at the last.
    pub fn requirement(self) -> Option<Requirement> {
        let (agents, stones) = *REQUIREMENTS.get(usize::from(self.0) - 1)?;
        Some(Requirement {
            agents,
            stones: Counts(stones),
        })
    }
}

impl TryFrom<u8> for Level {
    type Error = LevelError;
    fn try_from(level: u8) -> Result<Self, LevelError> {
        Self::new(level)
    }
}

impl From<Level> for u8 {
    fn from(level: Level) -> u8 {
        level.0
    }
}
