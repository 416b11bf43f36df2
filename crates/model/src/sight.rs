//! What an agent sees of one tile.

use serde::{Deserialize, Serialize};

use crate::resource::Counts;

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
