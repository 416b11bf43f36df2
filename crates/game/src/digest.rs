//! One number for a whole state, the same on every machine.
//!
//! Equal states have equal digests; that two different ones do is as likely as to guess 64 bits. The number
//! is made from the bytes of a snapshot, so that it covers exactly what is needed to go on. The time of the
//! last call is left out: how far a driver let time pass without anything happening is not part of a state.

use serde::{Deserialize, Serialize};

use crate::game::Game;
use crate::save::Snapshot;

/// The digest of a state, and one of each of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// Of everything.
    pub whole: u64,
    /// Of each part, in the order of [`Part::ALL`]. They only locate a difference, so half the bits do.
    pub parts: [u32; Part::ALL.len()],
}

/// A part of a state that has a digest of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What the game was made from.
    Config,
    /// Steps, next numbers, switches, and the winner.
    Progress,
    /// What lies on the tiles.
    Ground,
    /// Place, level, inventory and hunger of the agents.
    Agents,
    /// The running and waiting commands of the agents.
    Commands,
    /// The eggs.
    Eggs,
    /// The running elevations.
    Elevations,
    /// What is due, in its order.
    Agenda,
    /// The state of the random generators.
    Rng,
    /// Messages in flight, and their links.
    InFlight,
}

impl Part {
    /// All parts, in order of declaration.
    pub const ALL: [Self; 10] = [
        Self::Config,
        Self::Progress,
        Self::Ground,
        Self::Agents,
        Self::Commands,
        Self::Eggs,
        Self::Elevations,
        Self::Agenda,
        Self::Rng,
        Self::InFlight,
    ];
}

impl Digest {
    /// Of a state whose parts as they are saved have these hashes, in the order of [`Part::ALL`].
    pub(crate) fn of_parts(parts: [u64; Part::ALL.len()]) -> Self {
        let bytes = postcard::to_stdvec(&parts).expect("plain data in memory can be written");
        Self {
            whole: hash(&bytes),
            parts: parts.map(|part| part as u32),
        }
    }

    /// The parts in which two states differ.
    pub fn differing(&self, other: &Self) -> Vec<Part> {
        let pairs = Part::ALL.into_iter().zip(self.parts.iter().zip(&other.parts));
        pairs
            .filter(|(_, (ours, theirs))| ours != theirs)
            .map(|(part, _)| part)
            .collect()
    }
}

impl Game {
    /// One number for the whole state; see [`Digest`]. Costs time in proportion to the world.
    pub fn digest(&self) -> u64 {
        self.snapshot().digest().whole
    }
}

impl Snapshot {
    /// The digest of the state, and of each part of it.
    pub fn digest(&self) -> Digest {
        self.write(Vec::new()).1
    }
}

/// A 64-bit hash of bytes: eight at a time, each mixed in by a multiplication and a fold.
///
/// It guards against mistakes, not against forgers. It is written out here because it must never change.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
    // The length goes in spread out, or it could be made up for by the first byte.
    let mut state = (bytes.len() as u64 + 1).wrapping_mul(FACTOR);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = (state ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        state ^= state >> 29;
    }
    state = state.wrapping_mul(FACTOR);
    state ^ (state >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Journals hold such numbers: if this fails, the hash changed and must change back.
    #[test]
    fn the_hash_is_fixed_for_ever() {
        assert_eq!(hash(b""), 16_036_292_191_235_940_753);
        assert_eq!(hash(b"trantor"), 7_370_047_616_466_823_400);
    }
}
