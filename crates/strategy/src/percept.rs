//! What an agent may perceive: an answer to its oldest open command, or something unasked.

use trantor_model::{Counts, Level, Sight};

/// One thing that an agent receives, in whichever language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percept<'a> {
    /// It was done.
    Ok,
    /// It was not; or an elevation failed.
    Ko,
    /// What is in sight, nearest row first, each from left to right. The looker itself is on the first tile.
    Look(&'a [Sight]),
    /// What is carried, with food in whole pieces.
    Inventory(&'a Counts),
    /// Places the team has left.
    Places(u32),
    /// A sound.
    Message {
        /// From where: 0 here, 1 ahead, then counter-clockwise to 8.
        direction: u8,
        /// The message, byte for byte.
        text: &'a [u8],
    },
    /// The agent was pushed off its tile.
    Pushed {
        /// Where it came from, as seen by itself.
        direction: u8,
    },
    /// An elevation began, with this agent in it.
    ElevationUnderway,
    /// An elevation succeeded, and this is the level now.
    Level(Level),
}
