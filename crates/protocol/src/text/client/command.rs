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
    let none = [None; 2];
    let (word, agent, numbers) = match request {
        GuiRequest::MapSize => ("msz", None, none),
        GuiRequest::Tile(tile) => ("bct", None, [tile.x, tile.y].map(|side| Some(u32::from(side)))),
        GuiRequest::Map => ("mct", None, none),
        GuiRequest::Teams => ("tna", None, none),
        GuiRequest::Position(agent) => ("ppo", Some(agent), none),
        GuiRequest::Level(agent) => ("plv", Some(agent), none),
        GuiRequest::Inventory(agent) => ("pin", Some(agent), none),
        GuiRequest::Frequency => ("sgt", None, none),
        GuiRequest::SetFrequency(frequency) => ("sst", None, [Some(frequency.get()), None]),
    };
    out.extend_from_slice(word.as_bytes());
    if let Some(agent) = agent {
        out.extend_from_slice(b" #");
        push_number(out, agent.0);
    }
    for number in numbers.into_iter().flatten() {
        push_spaced(out, number);
    }
    out.push(b'\n');
}

fn push_object(out: &mut Vec<u8>, dialect: Dialect, resource: Resource) {
    out.push(b' ');
    out.extend_from_slice(dialect.words().resource_word(resource).as_bytes());
}
