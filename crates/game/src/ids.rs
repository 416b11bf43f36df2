//! Numbers of what only the game counts; those of agents, eggs and teams are in `trantor_model`.

use serde::{Deserialize, Serialize};

/// A ritual's number: counted from 0, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RitualId(pub u64);

/// The number of a message in flight: counted from 0, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct MessageId(pub(crate) u64);
