//! What one agent is doing and what it has asked for since: the queue of ten.
//!
//! It keeps the order and the limit. When the next command starts is `game.rs`'s to say.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use trantor_model::Command;
use trantor_time::GameTime;

use crate::agenda::Ticket;

/// Commands of one agent that may be open at a time, the running one included; the text protocol promises
/// ten. What comes beyond is ignored.
pub const OUTSTANDING_MAX: usize = 10;

/// An agent's commands: the one under way and those that wait.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    /// The action under way. An elevation counts as such for the agent that asked for it.
    pub(crate) running: Option<Running>,
    /// The agent's one deadline for its actions: the end of the running one, or the start of the next.
    pub(crate) timer: Option<Ticket>,
    /// The deadline of the food it digests.
    pub(crate) hunger_timer: Option<Ticket>,
    waiting: VecDeque<Command>,
}

/// An action under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) command: Command,
    pub(crate) start: GameTime,
    pub(crate) end: GameTime,
    /// Its time is up, but a ritual holds the agent: effect and answer come when that ends.
    pub(crate) withheld: bool,
}

/// An eleventh open command; it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            running: None,
            timer: None,
            hunger_timer: None,
            waiting: VecDeque::new(),
        }
    }

    /// Puts a command behind the others.
    pub(crate) fn push(&mut self, command: Command) -> Result<(), Full> {
        if self.outstanding() == OUTSTANDING_MAX {
            return Err(Full);
        }
        self.waiting.push_back(command);
        Ok(())
    }

    /// The next command in its turn.
    pub(crate) fn pop(&mut self) -> Option<Command> {
        self.waiting.pop_front()
    }

    /// Whether a command waits and nothing of the desk's own keeps it from starting.
    pub(crate) fn can_start(&self) -> bool {
        self.running.is_none() && self.timer.is_none() && !self.waiting.is_empty()
    }

    /// Commands not answered yet.
    pub(crate) fn outstanding(&self) -> usize {
        self.waiting.len() + usize::from(self.running.is_some())
    }

    /// The commands that wait, in their order.
    pub(crate) fn waiting(&self) -> impl ExactSizeIterator<Item = &Command> {
        self.waiting.iter()
    }

    /// Forgets every command and every deadline.
    pub(crate) fn clear(&mut self) {
        self.running = None;
        self.timer = None;
        self.hunger_timer = None;
        self.waiting.clear();
    }
}
