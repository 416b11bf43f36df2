//! Control of a match from outside: the console, viewers, scenarios and programs ask for the same [`Control`], and a refusal has
//! one text, [`Refusal`].
//!
//! Who may control a match, and how a request is written down, is left to others.

use std::fmt;

use serde::{Deserialize, Serialize};
use trantor_time::link::LinkError;
use trantor_time::{Frequency, GameTime};

use crate::agent::{EGGS_MAX, EGGS_PER_TEAM_MAX};
use crate::lag::{LAG_SETTING_MAX, Lag, show};
use crate::{AgentId, Counts, Direction, Level, Resource, TeamId, Tile};

/// The highest frequency that may be set while the game runs. A unit is then 100 µs, still above the lateness of a wake-up.
pub const FREQUENCY_ASKED_MAX: u32 = 10_000;

/// Units of one step: all deadlines within them are due at once.
pub const STEP_UNITS_MAX: u32 = 1_000;

/// Units of the longest sprint: more than a day at the highest speed.
pub const SPRINT_UNITS_MAX: u32 = 1_000_000_000;

/// The largest count an operator may set, of anything anywhere: far beyond any game, and far from where
/// adding one after the other could overflow.
pub const OPERATOR_COUNT_MAX: u32 = 1_000_000;

/// One request about a match. Its layout is part of the viewers' protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Control {
    /// Starts a game: greets the waiting peers and starts time. In lock-step a second one starts without the missing agents.
    Start,
    /// Changes the speed, in units a second: `1..=`[`FREQUENCY_ASKED_MAX`].
    SetFrequency(u32),
    /// Stops game time.
    Pause,
    /// Resumes game time.
    Resume,
    /// Moves paused game time on.
    Step(Step),
    /// Runs so many units, `1..=`[`SPRINT_UNITS_MAX`], at [`FREQUENCY_ASKED_MAX`], and goes back to the speed there was.
    Sprint(u32),
    /// Moves a recording to another moment, backwards or forwards; one outside stands for the nearer end.
    Seek(GameTime),
    /// Sends a message of one line to all text viewers.
    Say(Vec<u8>),
    /// Disconnects the player of an agent.
    Kick(AgentId),
    /// Changes the game: world, agents, eggs or rules.
    Act(AdminAction),
}

/// How far paused game time is moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// To the next whole unit, and on to the last of so many: `1..=`[`STEP_UNITS_MAX`].
    Units(u32),
    /// To the next deadline of the game, whatever it is.
    Event,
    /// To the end of the first of the actions under way; where there is none, to the next deadline.
    Action,
}

/// A change of the world by an operator. Each is checked; one that does not fit changes nothing. Its layout is part of the
/// journal's format.
#[allow(missing_docs, reason = "most fields are what their names say")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdminAction {
    /// Puts an agent somewhere.
    Teleport {
        agent: AgentId,
        tile: Tile,
        /// Where it then faces; `None` leaves it.
        facing: Option<Direction>,
    },
    SetLevel {
        agent: AgentId,
        level: Level,
    },
    /// Sets how much of one thing an agent carries.
    SetInventory {
        agent: AgentId,
        resource: Resource,
        count: u32,
    },
    /// Sets all seven counts of a tile.
    SetGround {
        tile: Tile,
        ground: Counts,
    },
    Kill {
        agent: AgentId,
    },
    LayEgg {
        team: TeamId,
        tile: Tile,
    },
    /// Turns hunger off or on for all agents.
    SetHunger {
        enabled: bool,
    },
    /// Turns the refill of the ground off or on.
    SetRefill {
        enabled: bool,
    },
    /// Changes the links between agents of all teams for later messages; with `None` they arrive at
    /// once.
    SetLag {
        lag: Option<Lag>,
    },
    /// The match's time is over: the leading team wins.
    EndMatch,
    /// The eggs of a closed team can be hatched again.
    OpenTeam {
        team: TeamId,
    },
    /// From now on the team has no free places, whatever eggs it has. Its agents play on.
    CloseTeam {
        team: TeamId,
    },
    /// The match is over: that team wins, or it is a draw.
    EndMatchWith {
        winner: Option<TeamId>,
    },
    /// Changes the links on which agents of one team send; `None` has them behave like those of other teams again.
    SetTeamLag {
        team: TeamId,
        lag: Option<Option<Lag>>,
    },
}

impl Control {
    /// Checks what does not depend on the match: numbers and texts.
    pub fn check(&self) -> Result<(), Refusal> {
        match self {
            Self::SetFrequency(asked) => frequency_asked(*asked).map(drop),
            Self::Step(Step::Units(units)) if !(1..=STEP_UNITS_MAX).contains(units) => {
                Err(Refusal::Step(*units))
            }
            Self::Sprint(units) if !(1..=SPRINT_UNITS_MAX).contains(units) => Err(Refusal::Sprint(*units)),
            Self::Say(text) if text.contains(&b'\n') => Err(Refusal::NotOneLine),
            _ => Ok(()),
        }
    }
}

/// The speed of so many units a second, if it may be asked for.
pub fn frequency_asked(asked: u32) -> Result<Frequency, Refusal> {
    Some(asked)
        .filter(|asked| *asked <= FREQUENCY_ASKED_MAX)
        .and_then(|asked| Frequency::new(u64::from(asked)).ok())
        .ok_or(Refusal::Frequency(asked))
}

/// For logs.
impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetFrequency(asked) => write!(f, "{asked} units/s"),
            Self::Pause => f.write_str("pause"),
            Self::Resume => f.write_str("resume"),
            Self::Step(Step::Units(1)) => f.write_str("step to the next unit"),
            Self::Step(Step::Units(units)) => write!(f, "step {units} units"),
            Self::Step(Step::Event) => f.write_str("step to the next event"),
            Self::Step(Step::Action) => f.write_str("step to the end of an action"),
            Self::Seek(to) => write!(f, "seek to unit {}", to.whole_units()),
            // What it says may be as long as a frame.
            Self::Say(text) => write!(f, "say {} bytes", text.len()),
            Self::Act(AdminAction::SetLag { lag }) => write!(f, "lag {}", show(lag.as_ref())),
            other => write!(f, "{other:?}"),
        }
    }
}

/// Why a request was refused, in words for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no match to ask.
    #[error("there is no connection")]
    NotConnected,
    /// Not this peer, or not here: the reason.
    #[error("{0}")]
    NotAllowed(&'static str),
    /// Only frames carry requests.
    #[error("the text protocol can change the speed of a game, and nothing else")]
    NotInText,
    /// A scenario acts within the game, and changes its speed.
    #[error("a scenario cannot do that")]
    NotForScenarios,
    /// The number asked for is out of range.
    #[error("the frequency is a whole number from 1 to {FREQUENCY_ASKED_MAX}, not {0}")]
    Frequency(u32),
    /// Before the start there is no time to stop or move.
    #[error("the game has not been started")]
    NotStarted,
    /// A start happens once.
    #[error("the game was started already")]
    AlreadyStarted,
    /// Game time stands still already.
    #[error("the game is paused already")]
    AlreadyPaused,
    /// Game time is running.
    #[error("the game is not paused")]
    NotPaused,
    /// A step of no units, or of too many.
    #[error("a step is 1 to {STEP_UNITS_MAX} units, not {0}")]
    Step(u32),
    /// A step to the next event needs one.
    #[error("nothing is due in this game, ever")]
    NothingDue,
    /// In lock-step, time goes from moment to moment and takes no steps.
    #[error("in lock-step there are no steps")]
    LockStep,
    /// A sprint of no units, or of too many.
    #[error("a sprint is 1 to {SPRINT_UNITS_MAX} units, not {0}")]
    Sprint(u32),
    /// In lock-step there is no speed.
    #[error("in lock-step the game is as fast as its players")]
    SprintInLockStep,
    /// A sprint needs a clock that moves.
    #[error("the game is paused: resume it first")]
    SprintWhilePaused,
    /// What is shown is being played just now.
    #[error("this is a game that is being played, not a recording")]
    NotARecording,
    /// The recording can no longer be played there, although it could when it was opened.
    #[error("the recording cannot be played there; the server's log says why")]
    Unplayable,
    /// At the end of a recording there is nothing to go on to.
    #[error("the recording is over; go back in it first")]
    RecordingOver,
    /// Nothing more of the game that is shown was received.
    #[error("the game waits for the program that plays it")]
    Awaited,
    /// A recording cannot be changed.
    #[error("this is a recording: it can be watched, and not changed")]
    Recorded,
    /// Nothing happens any more once a team has won.
    #[error("the match is over")]
    MatchOver,
    /// The game does not allow it.
    #[error("the game refuses: {0}")]
    Game(#[from] GameRefusal),
    /// The message would be more than one line.
    #[error("a message is one line: it must not contain a line feed")]
    NotOneLine,
    /// Neither a connection nor a mind plays that agent.
    #[error("nothing plays agent {}", .0.0)]
    NotPlayed(AgentId),
    /// As many groups of minds as there may be.
    #[error("there are at most {max} groups of minds")]
    TooManyMindGroups {
        /// How many there may be.
        max: usize,
    },
}

/// Why a game refuses an input, which then changed nothing.
#[allow(missing_docs, reason = "the text says it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GameRefusal {
    /// A team has won; nothing more happens.
    #[error("the game is over")]
    GameOver,
    #[error("there is no such team")]
    UnknownTeam,
    /// Every egg of the team has hatched, or the team is closed.
    #[error("the team has no place left")]
    NoPlace,
    /// It never lived, or lives no more. Ordinary where its command and its death cross.
    #[error("there is no such agent")]
    UnknownAgent,
    /// The agent has as many commands open as it may; this one is dropped without an answer.
    #[error("the agent's queue is full")]
    QueueFull,
    #[error("the tile is not on the map")]
    OffMap,
    /// A count above [`OPERATOR_COUNT_MAX`].
    #[error("the count is too large")]
    TooMany,
    #[error("messages between agents: {0}")]
    Lag(#[from] LagError),
    /// The team, or the world, has as many eggs as it may.
    #[error("a team may have {EGGS_PER_TEAM_MAX} eggs and all together {EGGS_MAX}")]
    FullOfEggs,
}

/// Why a game cannot have such a lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LagError {
    /// No link can behave so.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A latency, a jitter or a wait is longer than the game reckons with.
    #[error("times between agents are at most {LAG_SETTING_MAX} units")]
    TooLong,
}
