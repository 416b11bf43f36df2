//! How well a brain plays: how many agents it can have rise together, and whether it has its team grow.
//!
//! All skills are one brain, and each knows all that the one below knows. An elevation needs 1, 2, 4 or 6 agents, so that the
//! number of those that it can gather decides the level that it can reach.

/// Agents of the last level that win, and agents that the highest elevations need.
pub(crate) const QUORUM: usize = 6;

/// Strengths of a brain, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skill {
    /// Lives, and rises as far as an agent can without others. It says nothing and ignores messages.
    Solo,
    /// Two with the stones for it meet and rise together.
    Duo,
    /// Four do.
    Quartet,
    /// Six do, to the last level.
    Sextet,
    /// The team also grows: it lays eggs, makes a camp that suppliers provide for, and replaces its dead.
    #[default]
    Team,
}

impl Skill {
    /// Agents that it gathers.
    pub(crate) const fn party(self) -> usize {
        match self {
            Self::Solo => 1,
            Self::Duo => 2,
            Self::Quartet => 4,
            Self::Sextet | Self::Team => QUORUM,
        }
    }

    /// Whether it plays without others.
    pub(crate) const fn is_alone(self) -> bool {
        matches!(self, Self::Solo)
    }

    /// Whether it lays eggs and takes free places.
    pub(crate) const fn grows(self) -> bool {
        matches!(self, Self::Team)
    }
}
