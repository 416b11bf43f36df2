//! The command line of the debugging view: the table of commands, completion, history.
//!
//! What a command does is `game_loop::commands`'; nothing here knows what it is typed into, a window or a terminal.

mod commands;
mod history;

pub use commands::{Command, Vocabulary};
pub use history::{Console, Said};
