//! Requests as bytes: the reverse of the server's two parsers.

use trantor_model::{Command, CommandKind, Resource};

use crate::text::dialect::Dialect;
use crate::text::gui_request::GuiRequest;
use crate::text::number::{push_number, push_spaced};

/// Appends the line of one command, with its end.
///
/// A line feed in the text of a broadcast would end its line early, so it is sent as a space. A refused
/// command becomes a line that the server will refuse in the same way.
pub fn write_command(out: &mut Vec<u8>, dialect: Dialect, command: &Command) {
    let words = dialect.words();
    if let Some(kind) = command.kind() {
        out.extend_from_slice(words.command_word(kind).as_bytes());
    }
    match command {
        Command::Broadcast(text) => {
            out.push(b' ');
            out.extend(text.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }));
        }
        Command::Take(resource) | Command::Set(resource) => push_object(out, dialect, *resource),
        // A broadcast is wrong without a text, everything else with one word too many.
        Command::Refused(Some(kind)) if *kind != CommandKind::Broadcast => out.extend_from_slice(b" ? ?"),
        _ => {}
    }
    out.push(b'\n');
}

/// Appends the line of one request of a text viewer, with its end.
pub fn write_gui_request(out: &mut Vec<u8>, request: GuiRequest) {
    let agent = |out: &mut Vec<u8>, word: &[u8], number: u32| {
        out.extend_from_slice(word);
        out.extend_from_slice(b" #");
        push_number(out, number);
    };
    match request {
        GuiRequest::MapSize => out.extend_from_slice(b"msz"),
        GuiRequest::Tile(tile) => {
            out.extend_from_slice(b"bct");
            push_spaced(out, u32::from(tile.x));
            push_spaced(out, u32::from(tile.y));
        }
        GuiRequest::Map => out.extend_from_slice(b"mct"),
        GuiRequest::Teams => out.extend_from_slice(b"tna"),
        GuiRequest::Position(id) => agent(out, b"ppo", id.0),
        GuiRequest::Level(id) => agent(out, b"plv", id.0),
        GuiRequest::Inventory(id) => agent(out, b"pin", id.0),
        GuiRequest::Frequency => out.extend_from_slice(b"sgt"),
        GuiRequest::SetFrequency(frequency) => {
            out.extend_from_slice(b"sst");
            push_spaced(out, frequency.get());
        }
    }
    out.push(b'\n');
}

fn push_object(out: &mut Vec<u8>, dialect: Dialect, resource: Resource) {
    out.push(b' ');
    out.extend_from_slice(dialect.words().resource_word(resource).as_bytes());
}
