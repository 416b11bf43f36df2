//! Why a connection cannot go on.

use trantor_model::WorldError;
use trantor_protocol::{FrameError, SeqError};
use trantor_time::GameTime;

/// A message that no correct server sends, or one that did not come in time.
///
/// Any of these ends this one connection: the text is shown to the user and the error is counted.
/// What was shown last stays on the screen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error("this is not a Zappy server: its first line is longer than {max} bytes")]
    NoGreeting { max: usize },
    #[error("this is not a Zappy server: it greets with {greeting:?}")]
    OtherGreeting { greeting: String },
    /// The greeting came, and the server then went on in text.
    #[error("this server does not speak our frames; use the text protocol (--dialect gui) instead")]
    SpeaksText,
    #[error("this server does not let text viewers watch")]
    NoTextViewers,
    /// A text server that was shown a token and said no.
    #[error("this server does not know the token; see --token-file")]
    TokenRefused,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("the server speaks version {theirs} of the protocol, this viewer version {ours}")]
    OtherVersion { theirs: u16, ours: u16 },
    #[error("{what} came {when}")]
    OutOfPlace { what: &'static str, when: &'static str },
    #[error("the server's hello is impossible: {what}")]
    BadHello { what: &'static str },
    #[error(transparent)]
    Seq(#[from] SeqError),
    /// More than this viewer is built to hold at once.
    #[error("the server sent more than {max} {what} at once")]
    TooMuch { what: &'static str, max: usize },
    /// The server said goodbye or refused the hello, or the shell closed the socket, in these words.
    #[error("{0}")]
    Closed(String),
    #[error("the server has said nothing for {secs} seconds")]
    Silent { secs: i64 },
    #[error("the server does not read what it is sent")]
    NotReading,
    #[error("tick {number} began where tick {expected} was due")]
    TickNumber { number: u64, expected: u64 },
    #[error("tick {number} began before the end of the one before")]
    TickNotEnded { number: u64 },
    #[error("tick {number} ended without having begun")]
    TickNotBegun { number: u64 },
    #[error("the number or the instant of a tick left its range")]
    TickRange,
    #[error("stream time went from {from_us} to {to_us} microseconds")]
    StreamTimeBack { from_us: i64, to_us: i64 },
    #[error("changes of {at:?} came after changes of {last:?}")]
    GameTimeBack { at: GameTime, last: GameTime },
    /// A game time, or a span of it, that no game reaches.
    #[error("game time {at:?} is out of range")]
    GameTimeRange { at: GameTime },
    #[error("the game clock at {to_us} microseconds was sent after that at {from_us}")]
    AnchorBack { from_us: i64, to_us: i64 },
    #[error("the server answered probe {token}, which was not sent")]
    UnknownProbe { token: u64 },
    /// The server's clock is far behind where it was (its machine was suspended, most likely).
    #[error("the server's clock fell back by {by_ms} milliseconds")]
    WentBack { by_ms: i64 },
    /// The world that the server describes cannot be.
    #[error(transparent)]
    World(#[from] WorldError),
}

impl ProtocolError {
    /// Whether the same server may do better the next time: it, or its machine, was not there, rather than wrong.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Silent { .. } | Self::NotReading | Self::WentBack { .. }
        )
    }
}
