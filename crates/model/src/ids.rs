//! Identifiers: numbers that are given once and never again.

use serde::{Deserialize, Serialize};

/// A player's number: 0 for the first that ever joined, one more for each after, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AgentId(pub u32);

/// A team's number: its place in the list of teams given at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TeamId(pub u16);

impl TeamId {
    /// The winner of a match that ended in a draw: no team has this number.
    pub const DRAW: Self = Self(u16::MAX);
}

/// An egg's number: counted from 0 in the order laid, apart from players' numbers, never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EggId(pub u32);
