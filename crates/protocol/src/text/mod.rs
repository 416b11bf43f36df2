//! The Zappy text protocol, as values and as bytes.
//!
//! ```text
//! server  WELCOME            viewer  GRAPHIC      → gui_event: the burst, then every change
//! player  red                                       gui_request: msz, bct, …, sst
//! server  5                  places left
//! server  20 20              the map
//! player  Forward            → ai_command: one line, one command
//! server  ok                 → ai_reply: one value, one line
//! ```
//!
//! Lines end with one line feed; [`LineCutter`] finds them in pieces of any size. Nothing here decodes text:
//! words are compared as bytes and broadcasts pass through as they came. Agents may be spoken to in one of
//! three [`Dialect`]s; viewers all hear the same lines, but for how numbers are written ([`GuiIds`]).

mod ai_command;
mod ai_reply;
pub mod client;
mod dialect;
mod gui_event;
mod gui_request;
mod gui_writer;
mod line;
mod number;

pub use ai_command::parse_command;
pub use ai_reply::{AiLine, LongLook, write_ai_line};
pub use dialect::{Dialect, Layout, Words};
pub use gui_event::{GuiEvent, GuiIds};
pub use gui_request::{GuiRefusal, GuiRequest, parse_gui_request};
pub use gui_writer::write_gui_event;
pub use line::{Cut, LineCutter, printable, without_nuls_before, words};

/// The line with which a text viewer asks to be let in. No team may have this name.
pub const GRAPHIC_WORD: &str = "GRAPHIC";

/// What a few old viewers say instead; understood as long as no team is called so.
pub const GRAPHIC_ALIAS: &str = "GRAPHICAL";
