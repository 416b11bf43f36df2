//! What operators may do: checked, then made into inputs of the game or changes of its pace.
//!
//! Operators are those who run the server: a console, a control port, a test. How they write a request down
//! is not known here.

use std::fmt;

use trantor_game::{AdminAction, Refusal};
use trantor_model::AgentId;
use trantor_protocol::wire::StepKind;
use trantor_time::GameTime;

use crate::input::ConnId;
use crate::pace::PaceRefusal;

/// One request of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminRequest {
    /// Starts a game: greets the waiting peers and starts time.
    Start,
    /// Changes the speed, in units a second.
    SetFrequency(u32),
    /// Stops game time.
    Pause,
    /// Lets game time go on.
    Resume,
    /// Moves paused game time on.
    Step(Step),
    /// Runs so many units as fast as [`crate::limits::FREQUENCY_ASKED_MAX`], and goes back to the speed there was.
    Sprint(u32),
    /// Moves a recording to another moment; one outside stands for the nearer end.
    Seek(GameTime),
    /// Says something to all text viewers.
    Say(Vec<u8>),
    /// Lets an agent go.
    Kick(AgentId),
    /// Lets a connection go, whatever it is.
    Disconnect(ConnId),
    /// Reaches into the world.
    Act(AdminAction),
}

/// How far paused game time is moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the next whole unit, and on to the last of so many; one at least.
    Units(u32),
    /// To the next event.
    Event,
    /// To the end of the first action under way, or to the next event if there is none.
    Action,
}

impl From<StepKind> for Step {
    fn from(kind: StepKind) -> Self {
        match kind {
            StepKind::Unit => Self::Units(1),
            StepKind::Event => Self::Event,
            StepKind::Action => Self::Action,
        }
    }
}

/// Why a request of an operator was refused. The text is meant for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminRefusal {
    /// The pace cannot be changed like that.
    #[error(transparent)]
    Pace(#[from] PaceRefusal),
    /// The recording cannot be moved.
    #[error(transparent)]
    Seek(#[from] SeekRefusal),
    /// There is no game to reach into.
    #[error("this is a recording: it can be watched, and not changed")]
    Recorded,
    /// The game does not allow it.
    #[error("the game refuses: {0}")]
    Game(Refusal),
    /// The message would be more than one line.
    #[error("a message is one line: it must not contain a line feed")]
    NotOneLine,
    /// No connection plays that agent.
    #[error("nobody plays agent {}", .0.0)]
    NobodyPlays(AgentId),
    /// There is no such connection.
    #[error("there is no connection {0}")]
    NoConnection(ConnId),
    /// In lock-step there is no speed.
    #[error("in lock-step the game is as fast as its players")]
    SprintInLockStep,
    /// A sprint needs a clock that moves.
    #[error("the game is paused: let it go on first")]
    SprintWhilePaused,
    /// A sprint of no units, or of too many.
    #[error("a sprint is 1 to {max} units, not {0}", max = crate::limits::SPRINT_UNITS_MAX)]
    Sprint(u32),
}

/// Why a recording was not moved; the text is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeekRefusal {
    /// What is shown is being played just now.
    #[error("this is a game that is being played, not a recording")]
    NotARecording,
    /// The recording can no longer be played there, although it could when it was opened.
    #[error("the recording cannot be played there; the server's log says why")]
    Unplayable,
}

/// A change of pace that operators and viewers may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaceRequest {
    SetFrequency(u32),
    Pause,
    Resume,
    Step(Step),
}

/// For logs.
impl fmt::Display for PaceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetFrequency(asked) => write!(f, "{asked} units/s"),
            Self::Pause => f.write_str("pause"),
            Self::Resume => f.write_str("resume"),
            Self::Step(Step::Units(1)) => f.write_str("step to the next unit"),
            Self::Step(Step::Units(units)) => write!(f, "step {units} units"),
            Self::Step(Step::Event) => f.write_str("step to the next event"),
            Self::Step(Step::Action) => f.write_str("step to the end of an action"),
        }
    }
}
