//! Why bytes could not be understood, or a name not be used.

#![allow(
    missing_docs,
    reason = "a field has a comment where its name and type leave something open"
)]

use crate::limits::{TEAM_NAME_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_BYTES_MIN};

/// Why bytes from a peer are not frames of ours.
///
/// After any of these the stream can no longer be trusted: the reader ends the connection, sends the
/// reason and counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length prefix promises more than is accepted.
    #[error("a frame of {len} bytes was announced, at most {max} are accepted")]
    TooLong { len: u32, max: u32 },
    /// The bytes in the frame are no message of this version.
    #[error("a frame of {len} bytes holds no message that is known")]
    Malformed { len: usize },
    /// The frame holds a message, and then more.
    #[error("{extra} bytes follow the message in a frame")]
    Trailing { extra: usize },
}

/// Why an acknowledgement, or a number, cannot be right. It ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeqError {
    /// The number does not lie above the last one acknowledged.
    #[error("message {number} was acknowledged after message {last} already had been")]
    NotGreater { number: u64, last: u64 },
    /// The number lies above the last one sent.
    #[error("message {number} was acknowledged, but only {sent} were sent")]
    NotSent { number: u64, sent: u64 },
}

/// Why a name cannot be a team's. Shown to the operator who chose it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamNameError {
    /// There is nothing to type.
    #[error("a team's name must not be empty")]
    Empty,
    /// Too long for the buffers of viewers.
    #[error("a team's name is at most {TEAM_NAME_BYTES_MAX} bytes, not {len}")]
    TooLong { len: usize },
    /// No agent could join it: lines are cut into words, and control bytes are not shown.
    #[error("a team's name must not contain spaces or control characters: {name:?}")]
    NotOneWord { name: String },
    /// The word already means something else as a first line.
    #[error("{name:?} cannot be a team's name: as a first line it means something else")]
    Reserved { name: String },
}

/// Why the text of a file holds no token. Shown to its author; never shows what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The first line has nothing in it.
    #[error("its first line is empty; write a long word there that cannot be guessed")]
    Empty,
    /// It could not be sent as one word.
    #[error("a token is one word of visible ASCII characters, in the first line")]
    NotOneWord,
    /// Too short to be safe, or too long to be sent.
    #[error("a token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} characters, this one has {len}")]
    Length { len: usize },
}
