//! The other end of the text protocol: what an agent or a text viewer sends, and what it makes of the answers.
//!
//! Servers differ in spacing, case and marks, so reading is tolerant here where the server's side is strict:
//! whatever can mean only one thing is understood. What cannot be understood comes back as such, never as a
//! panic. Which answer belongs to which request is for a session to know, not for a line.

mod ai_line;
mod command;
mod gui_line;

pub use ai_line::parse_server_line;
pub use command::{write_command, write_gui_request};
pub use gui_line::{parse_gui_event, parse_tiles};
