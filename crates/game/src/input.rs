//! All that may change a game from outside, as one closed enum.
//!
//! An input carries no time of its own: the caller stamps it, and the stamp (deadlines fired so far,
//! game time) goes into the journal with it. Nothing else can reach the world, so the inputs alone replay it.

#![allow(missing_docs, reason = "most fields are what their names say")]

use serde::{Deserialize, Serialize};
use trantor_model::{AdminAction, AgentId, Command, GameRefusal, LeaveCause, TeamId};
use trantor_time::Frequency;

/// One input from outside. Its layout is part of the journal's format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GameInput {
    /// A peer asks for a place in a team.
    Join { team: TeamId },
    /// An agent is gone: its peer left, or was disconnected.
    Leave { agent: AgentId, cause: LeaveCause },
    /// An agent asks for something; it waits its turn in the agent's queue.
    Command { agent: AgentId, command: Command },
    /// Speed, pause and steps. They cannot change a game; they are recorded so that a replay can show them.
    Pace(PaceChange),
    /// An operator changes the world.
    Admin(AdminAction),
}

/// A change in how game time follows real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PaceChange {
    /// New units per second.
    Frequency(Frequency),
    Paused,
    Resumed,
    /// While paused, game time was moved on.
    Stepped,
    /// In lock-step, game time had waited long enough and went on without the idle agents.
    WaitEnded,
}

/// The result of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a refused input changed nothing, and its sender may want to know"]
pub enum Handled {
    /// It took effect, or waits its turn.
    Done,
    /// A place was found; this is the newborn.
    Joined(AgentId),
    /// It changed nothing.
    Refused(GameRefusal),
}
