//! The command line of the debugging view: words, help, completion, history.
//!
//! A line becomes a [`Command`] or a [`Mistake`] that says what to type instead. What a command does is
//! `game_loop::commands`'s; nothing here knows what it is typed into, a window or a terminal.

mod command;
mod complete;
mod history;
mod values;
mod words;

pub use command::{Command, Mistake, RateChange};
pub use complete::{Completion, Vocabulary, complete};
pub use history::{Console, Said};
pub use words::{WORDS, Word, usage_of};
