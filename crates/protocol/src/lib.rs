//! The two languages on the wire, as values and as bytes.
//!
//! Text (Zappy) for agents and viewers of others; postcard frames for viewers of our own. The two never
//! import each other; only [`greeting`], which tells them apart, knows both. No rules, no sessions, no sockets.

pub mod greeting;
pub mod limits;
pub mod text;
pub mod wire;

pub use greeting::{
    Greeting, HTTP_REFUSAL, OPERATOR_WORD, TLS_HELLO, TeamNameError, TokenError, check_team_name,
    read_greeting, read_token,
};
pub use wire::{FrameError, SeqError};
