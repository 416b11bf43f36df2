//! What operators may do: checked, then made into inputs of the game or changes of its pace.
//!
//! Operators are those who run the server: a console, a control port, a test. How they write a request down
//! is not known here.

use trantor_game::{AdminAction, Refusal};
use trantor_model::AgentId;
use trantor_protocol::wire::StepKind;
use trantor_time::Frequency;

use crate::pace::PaceRefusal;

/// One request of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminRequest {
    /// Starts a game that was held: greets those who wait, and lets time begin.
    Start,
    /// Changes the speed, in units a second.
    SetFrequency(u32),
    /// Stops game time.
    Pause,
    /// Lets game time go on.
    Resume,
    /// Moves paused game time on.
    Step(StepKind),
    /// Says something to all text viewers.
    Say(Vec<u8>),
    /// Lets an agent go.
    Kick(AgentId),
    /// Reaches into the world.
    Act(AdminAction),
}

/// Why a request of an operator was refused. The text is meant for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminRefusal {
    /// The pace cannot be changed like that.
    #[error(transparent)]
    Pace(#[from] PaceRefusal),
    /// The game does not allow it.
    #[error("the game refuses: {0}")]
    Game(Refusal),
    /// The words to be said would be more than one line.
    #[error("a message is one line: it must not contain a line feed")]
    NotOneLine,
    /// No connection plays that agent.
    #[error("nobody plays agent {}", .0.0)]
    NobodyPlays(AgentId),
}

/// A change of pace that anybody may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaceRequest {
    SetFrequency(u32),
    Pause,
    Resume,
    Step(StepKind),
}

/// What a change of pace led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paced {
    Frequency(Frequency),
    Other,
}
