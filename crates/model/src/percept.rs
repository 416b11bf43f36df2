//! What an agent perceives: all that it is ever sent once it plays, and all that it knows the world by.
//!
//! The game makes these, and whatever plays takes them: minds in the process, scripts, and clients behind the text
//! protocol, which writes each as a line. Lists and texts are shared, so that copies are cheap.

use std::sync::Arc;

use crate::{Counts, Level, Sight};

/// One thing that an agent perceives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Percept {
    /// A command was carried out.
    Ok,
    /// A command was not or could not be carried out; or an elevation failed.
    Ko,
    /// What is in sight: `(level + 1)²` tiles, nearest row first, each from left to right, the agent itself on the first.
    Look(Arc<[Sight]>),
    /// What is carried.
    Inventory {
        /// All seven counts, food in whole pieces; the food that is being digested is not counted.
        inventory: Counts,
        /// Units of life left with that food, rounded up.
        life_units: u32,
    },
    /// Places that the team has left.
    Places(u32),
    /// A broadcast arrived.
    Message {
        /// From where: 0 here, 1 ahead, then counter-clockwise to 8.
        direction: u8,
        /// The message, byte for byte.
        text: Arc<[u8]>,
    },
    /// The agent was pushed off its tile.
    Pushed {
        /// From where, as seen by the agent: 1, 3, 5 or 7.
        direction: u8,
    },
    /// An elevation began, with this agent in it.
    ElevationUnderway,
    /// An elevation succeeded, and this is the level now.
    Level(Level),
}

impl Percept {
    /// Whether other agents are the cause: a message or a push. All else answers a command or is of an elevation.
    pub const fn is_of_others(&self) -> bool {
        matches!(self, Self::Message { .. } | Self::Pushed { .. })
    }
}
