//! All that passes between the engine and its shell besides bytes and time, as two closed enums: what may wake the engine, and
//! what it asks for.
//!
//! Operators' requests have answers and therefore a verb of their own, [`crate::Engine::control`].

use std::net::IpAddr;

use trantor_model::TeamId;
pub use trantor_play::view::ConnId;

/// One thing that happened to a connection.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A peer connected. It is greeted at once, or when the game is started.
    Opened {
        /// Its name from now on. The place must be free: the last one there was closed by either side.
        conn: ConnId,
        /// Where it comes from; decides whether it may change the speed.
        peer: IpAddr,
    },
    /// Bytes arrived, cut anywhere.
    Bytes {
        /// The sender. Bytes of a connection that the engine has closed are dropped.
        conn: ConnId,
        /// What arrived.
        bytes: &'a [u8],
    },
    /// The connection is gone; a half-closed one counts as gone. The engine forgets it at once.
    Closed {
        /// Which.
        conn: ConnId,
    },
}

/// One thing for the shell to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The outbox is empty: shut down the writing half and keep reading. The
    /// engine then waits for its `Closed`, and sends `Close` if that does not come in time.
    ShutdownWrite {
        /// Which.
        conn: ConnId,
    },
    /// Close this connection now. The engine has forgotten it: the shell need not report its end.
    Close {
        /// Which.
        conn: ConnId,
        /// Why, for the log.
        reason: CloseReason,
    },
    /// Read this connection, or stop reading it until the next of these: what it sends waits in the kernel. Every
    /// connection is read at first. Bytes that are under way already are kept.
    Reading {
        /// Which.
        conn: ConnId,
        /// Whether it is to be read.
        is_wanted: bool,
    },
    /// A team won. The server continues; the shell may end it by an option of its own.
    Won {
        /// Which.
        team: TeamId,
    },
}

/// A line of an operator's connection, for the shell's console to carry out and answer by
/// [`crate::Engine::answer_operator`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorLine {
    /// The operator.
    pub conn: ConnId,
    /// What, without its end.
    pub line: String,
}

/// Why the engine closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CloseReason {
    /// It did not identify itself in time.
    GreetingTimeout,
    /// An agent that was idle for too long.
    Idle,
    /// It gave too many wrong answers to the greeting.
    GreetingFailures,
    /// It sent HTTP before it identified itself.
    HttpRequest,
    /// It sent TLS before it identified itself.
    TlsHello,
    /// It sent too much before it was greeted.
    InboxFull,
    /// It sent too many lines that are too long.
    Violations,
    /// It did not read what it was sent.
    OutboxFull,
    /// It took nothing of what waited for it for too long, or gave no credit for the rest of a snapshot.
    Stalled,
    /// More waited for all peers together than may, and most of it for this one.
    MemoryFull,
    /// There were as many connections as there may be.
    TooManyConnections,
    /// There were as many connections from its address as there may be.
    TooManyFromAddress,
    /// It was unidentified, and another connection needed its place.
    Evicted,
    /// It broke the rules of our wire protocol.
    ProtocolError,
    /// It wanted to control the server, and may not.
    ControlRefused,
    /// It speaks another version of our wire protocol.
    VersionRefused,
    /// Its agent died.
    Died,
    /// The game is over.
    GameOver,
    /// By command of an operator.
    Kicked,
    /// It said goodbye.
    Goodbye,
}

impl CloseReason {
    /// All of them, in the order of declaration.
    pub const ALL: [CloseReason; 20] = [
        Self::GreetingTimeout,
        Self::Idle,
        Self::GreetingFailures,
        Self::HttpRequest,
        Self::TlsHello,
        Self::InboxFull,
        Self::Violations,
        Self::OutboxFull,
        Self::Stalled,
        Self::MemoryFull,
        Self::TooManyConnections,
        Self::TooManyFromAddress,
        Self::Evicted,
        Self::ProtocolError,
        Self::ControlRefused,
        Self::VersionRefused,
        Self::Died,
        Self::GameOver,
        Self::Kicked,
        Self::Goodbye,
    ];

    /// Its place in [`Self::ALL`], for counters.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GreetingTimeout => "greeting_timeout",
            Self::Idle => "idle",
            Self::GreetingFailures => "greeting_failures",
            Self::HttpRequest => "http_request",
            Self::TlsHello => "tls_hello",
            Self::InboxFull => "inbox_full",
            Self::Violations => "violations",
            Self::OutboxFull => "outbox_full",
            Self::Stalled => "stalled",
            Self::MemoryFull => "memory_full",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyFromAddress => "too_many_from_address",
            Self::Evicted => "evicted",
            Self::ProtocolError => "protocol_error",
            Self::ControlRefused => "control_refused",
            Self::VersionRefused => "version_refused",
            Self::Died => "died",
            Self::GameOver => "game_over",
            Self::Kicked => "kicked",
            Self::Goodbye => "goodbye",
        }
    }
}
