//! The Zappy text protocol, as values and as bytes.
//!
//! ```text
//! server  WELCOME            viewer  GRAPHIC      → viewer: the burst, then every change
//! player  red                                       and its requests: msz, bct, …, sst
//! server  5                  places left
//! server  20 20              the map
//! player  Forward            → command: one line, one command
//! server  ok                 → agent_line: one value, one line
//! ```
//!
//! Lines end with one line feed; [`LineCutter`] finds them in pieces of any size. Nothing here decodes text:
//! words are compared as bytes and broadcasts pass through as they came. Agents may be spoken to in one of
//! four [`Dialect`]s; viewers are all sent the same lines, but for how numbers are written ([`GuiIds`]).
//!
//! Each kind of line has one file with both sides. A server reads strictly. What servers send is read tolerantly, since they
//! differ in spacing, case and marks: whatever can mean only one thing is understood, and what cannot be understood comes
//! back as such. Which answer belongs to which request is for a session to know, not for a line.

mod agent_line;
mod command;
mod dialect;
mod line;
mod viewer;

pub use agent_line::{AiLine, LongLook, parse_server_line, write_ai_line, write_percept};
pub use command::{parse_command, write_command};
pub use dialect::{Dialect, Layout, Words};
pub use line::{Cut, LineCutter, printable, without_nuls_before, words};
pub use viewer::{
    GuiEvent, GuiIds, GuiRefusal, GuiRequest, parse_gui_event, parse_gui_request, parse_tiles,
    write_gui_event, write_gui_request,
};

/// The line with which a text viewer asks to be let in. No team may have this name.
pub const GRAPHIC_WORD: &str = "GRAPHIC";

/// What a few old viewers say instead; understood as long as no team is called so.
pub const GRAPHIC_ALIAS: &str = "GRAPHICAL";
