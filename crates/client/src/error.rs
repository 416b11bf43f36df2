//! Why a connection cannot go on.

use trantor_model::{AgentId, EggId, TeamId, Tile};
use trantor_protocol::{FrameError, SeqError};
use trantor_time::GameTime;

/// What a server said that no correct server says, or did not say in time.
///
/// Any of these ends this one connection: the text is shown to the user and the error is counted.
/// What was shown last stays on the screen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The greeting is no line of text.
    #[error("this is not a Zappy server: its first line is longer than {max} bytes")]
    NoGreeting {
        /// The longest greeting accepted.
        max: usize,
    },
    /// The greeting is that of another protocol.
    #[error("this is not a Zappy server: it greets with {greeting:?}")]
    OtherGreeting {
        /// What it said.
        greeting: String,
    },
    /// The greeting came, and the server then went on in text.
    #[error("this server does not speak our frames; use the text protocol (--dialect gui) instead")]
    SpeaksText,
    /// A text server that does not know text viewers.
    #[error("this server does not let text viewers watch")]
    NoTextViewers,
    /// A text server that was shown a token and said no.
    #[error("this server does not know the token; see --token-file")]
    TokenRefused,
    /// Bytes that are no frame, or no message.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Another version of our protocol.
    #[error("the server speaks version {theirs} of the protocol, this viewer version {ours}")]
    OtherVersion {
        /// Theirs.
        theirs: u16,
        /// Ours.
        ours: u16,
    },
    /// A message that does not belong in this phase.
    #[error("{what} came {when}")]
    OutOfPlace {
        /// The kind of message.
        what: &'static str,
        /// Where in the session.
        when: &'static str,
    },
    /// A number or size in the hello that cannot be.
    #[error("the server's hello is impossible: {what}")]
    BadHello {
        /// Which.
        what: &'static str,
    },
    /// An acknowledgement that cannot be right.
    #[error(transparent)]
    Seq(#[from] SeqError),
    /// Tick marks or stream time that cannot be right.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// An answer to a probe that cannot be right.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// A change of the world that cannot be right.
    #[error(transparent)]
    World(#[from] WorldError),
    /// More than this viewer is built to hold at once.
    #[error("the server has more than {max} {what} to tell at once")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// Nothing was received for too long.
    #[error("the server has said nothing for {secs} seconds")]
    Silent {
        /// How long.
        secs: i64,
    },
    /// The server does not take what it is sent.
    #[error("the server does not read what it is sent")]
    NotReading,
}

impl ProtocolError {
    /// Whether the same server may do better the next time: it, or its machine, was not there, rather than wrong.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Silent { .. } | Self::NotReading | Self::Clock(ClockError::WentBack { .. })
        )
    }
}

/// Why tick marks or stream time cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A tick's number did not rise by one.
    #[error("tick {number} began where tick {expected} was due")]
    Number {
        /// The number that came.
        number: u64,
        /// The number due.
        expected: u64,
    },
    /// A tick began inside another.
    #[error("tick {number} began before the end of the one before")]
    NotEnded {
        /// The number that came.
        number: u64,
    },
    /// An end mark without its begin mark.
    #[error("tick {number} ended without having begun")]
    NotBegun {
        /// The number that came.
        number: u64,
    },
    /// Number or instant left its range.
    #[error("the number or the instant of a tick left its range")]
    Overflow,
    /// Stream time did not increase where it must.
    #[error("stream time went from {from_us} to {to_us} microseconds")]
    NotIncreasing {
        /// Stream time before.
        from_us: i64,
        /// Stream time received.
        to_us: i64,
    },
    /// Game time of changes went back.
    #[error("changes of {at:?} came after changes of {last:?}")]
    GameTimeBack {
        /// The game time received.
        at: GameTime,
        /// The game time before.
        last: GameTime,
    },
    /// A game time, or a span of it, that no game reaches.
    #[error("game time {at:?} is out of range")]
    GameTimeRange {
        /// The game time received.
        at: GameTime,
    },
    /// Clock anchors went back in real time.
    #[error("the game clock was told for {to_us} microseconds after {from_us}")]
    AnchorBack {
        /// The anchor before.
        from_us: i64,
        /// The anchor received.
        to_us: i64,
    },
}

/// Why an answer to a probe cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// No such probe is waiting for an answer.
    #[error("the server answered probe {token}, which was not sent")]
    UnknownProbe {
        /// As in the answer.
        token: u64,
    },
    /// The server's clock is far behind where it was (its machine was suspended, most likely).
    #[error("the server's clock fell back by {by_ms} milliseconds")]
    WentBack {
        /// How far.
        by_ms: i64,
    },
}

/// Why a change of the world cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// Nobody has this number.
    #[error("there is no agent {0:?}")]
    UnknownAgent(AgentId),
    /// Somebody has this number already.
    #[error("there already is an agent {0:?}")]
    AgentTwice(AgentId),
    /// Numbers are given in ascending order and never again, and sent in that order.
    #[error("agent {0:?} came after others with higher numbers")]
    AgentOutOfOrder(AgentId),
    /// As for agents.
    #[error("egg {0:?} came after others with higher numbers")]
    EggOutOfOrder(EggId),
    /// No egg has this number.
    #[error("there is no egg {0:?}")]
    UnknownEgg(EggId),
    /// An egg has this number already.
    #[error("there already is an egg {0:?}")]
    EggTwice(EggId),
    /// No team has this number.
    #[error("there is no team {0:?}")]
    UnknownTeam(TeamId),
    /// Not on the map.
    #[error("tile {0:?} is not on the map")]
    OffMap(Tile),
    /// A run of tiles that is not the next one, or leaves the map.
    #[error("tiles came from place {first}, where {expected} was due")]
    GroundRun {
        /// The first place received.
        first: u32,
        /// The place due.
        expected: u32,
    },
    /// The snapshot ended before all tiles had come.
    #[error("the world came with {loaded} tiles of {area}")]
    GroundMissing {
        /// Tiles received.
        loaded: u32,
        /// Tiles of the map.
        area: u32,
    },
    /// Something ends before it begins.
    #[error("something ends before it begins")]
    EndsBeforeStart,
    /// An agent cannot be in two elevations.
    #[error("agent {0:?} is in two elevations")]
    HeldTwice(AgentId),
    /// No elevation is under way there.
    #[error("no elevation is under way on tile {0:?}")]
    UnknownRitual(Tile),
    /// More than this viewer is built to hold.
    #[error("more than {max} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}
