//! Food and the six stones, and how many of each there are somewhere.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// What can lie on a tile or be carried. The order is that of every list on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Resource {
    /// Keeps an agent alive for 126 units.
    Food,
    /// The commonest stone.
    Linemate,
    /// Second of the stones.
    Deraumere,
    /// Third of the stones.
    Sibur,
    /// Fourth of the stones.
    Mendiane,
    /// Fifth of the stones.
    Phiras,
    /// The rarest stone.
    Thystame,
}

impl Resource {
    /// All seven, in the order of the wire.
    pub const ALL: [Resource; 7] = [
        Self::Food,
        Self::Linemate,
        Self::Deraumere,
        Self::Sibur,
        Self::Mendiane,
        Self::Phiras,
        Self::Thystame,
    ];

    /// How many kinds there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The place in [`Self::ALL`], `0..7`; also the number on the wire.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The kind with that number; `None` from 7 on.
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// The English word, as in the text protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Food => "food",
            Self::Linemate => "linemate",
            Self::Deraumere => "deraumere",
            Self::Sibur => "sibur",
            Self::Mendiane => "mendiane",
            Self::Phiras => "phiras",
            Self::Thystame => "thystame",
        }
    }
}

/// How many of each resource: on a tile, in a hand, or required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts(pub [u32; Resource::COUNT]);

impl Counts {
    /// None of anything.
    pub const ZERO: Self = Self([0; Resource::COUNT]);

    /// Whether there is at least as much of everything as in `needed`.
    pub fn covers(&self, needed: &Counts) -> bool {
        self.0.iter().zip(needed.0).all(|(have, need)| *have >= need)
    }

    /// Adds one of `resource`.
    pub fn add_one(&mut self, resource: Resource) {
        self[resource] += 1;
    }

    /// Takes one of `resource` if there is one, and answers whether there was.
    pub fn take_one(&mut self, resource: Resource) -> bool {
        let had_one = self[resource] > 0;
        self[resource] -= u32::from(had_one);
        had_one
    }

    /// Takes everything in `needed` away.
    ///
    /// # Panics
    /// If there is less than that; ask [`Self::covers`] first.
    pub fn subtract(&mut self, needed: &Counts) {
        for (have, need) in self.0.iter_mut().zip(needed.0) {
            *have = have
                .checked_sub(need)
                .expect("the caller checked that the counts cover the need");
        }
    }

    /// Pairs of resource and count, in the order of the wire.
    pub fn iter(&self) -> impl Iterator<Item = (Resource, u32)> + '_ {
        Resource::ALL.into_iter().zip(self.0)
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&count| u64::from(count)).sum()
    }
}

impl Index<Resource> for Counts {
    type Output = u32;
    fn index(&self, resource: Resource) -> &u32 {
        &self.0[resource.index()]
    }
}

impl IndexMut<Resource> for Counts {
    fn index_mut(&mut self, resource: Resource) -> &mut u32 {
        &mut self.0[resource.index()]
    }
}
