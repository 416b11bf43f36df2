//! An agent's command queue: the running command and the waiting ones, ten together.
//!
//! It keeps the order and the limit. When the next command starts is decided in `game/turns.rs`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use trantor_model::Command;
use trantor_time::GameTime;

use crate::agenda::Ticket;

/// Commands of one agent that may be open at a time, the running one included; the text protocol promises
/// ten. Further ones are dropped.
pub const OUTSTANDING_MAX: usize = 10;

/// The commands of one agent. What is serialized is part of the snapshot format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandQueue {
    /// The running action. An elevation counts as one for its asker.
    pub(crate) running: Option<Running>,
    pub(crate) waiting: VecDeque<Command>,
    /// The agent's one deadline for its actions: the end of the running one, or the start of the next.
    #[serde(skip)]
    pub(crate) timer: Option<Ticket>,
}

/// A running action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) command: Command,
    pub(crate) start: GameTime,
    pub(crate) end: GameTime,
    /// Its time is up, but a ritual holds the agent: effect and answer come when that ends.
    pub(crate) withheld: bool,
}

impl CommandQueue {
    /// Whether no further command may be added.
    pub(crate) fn is_full(&self) -> bool {
        self.outstanding() >= OUTSTANDING_MAX
    }

    /// Whether a command waits and no other one keeps it from starting.
    pub(crate) fn can_start(&self) -> bool {
        self.running.is_none() && self.timer.is_none() && !self.waiting.is_empty()
    }

    /// Commands not answered yet.
    pub(crate) fn outstanding(&self) -> usize {
        self.waiting.len() + usize::from(self.running.is_some())
    }
}
