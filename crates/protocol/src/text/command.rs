//! Commands of agents, read by a server and written by an agent.
//!
//! Every line becomes one: what cannot be carried out becomes [`Command::Refused`], which keeps its place in
//! the agent's queue and is answered `ko` there. How long that takes is the model's to say.

use trantor_model::{Command, CommandKind, Resource, Turn};

use super::dialect::{Dialect, Words};
use super::line::{is_separator, words};

/// Understands one line, without its end.
///
/// Words stand between runs of spaces and tabs, and case counts. A line with no known command is refused
/// without a kind; the right word with wrong arguments is refused with one.
pub fn parse_command(dialect: Dialect, line: &[u8]) -> Command {
    let vocabulary = dialect.words();
    let mut rest = words(line);
    let Some(kind) = rest.next().and_then(|word| vocabulary.command(word)) else {
        return Command::Refused(None);
    };
    let command = match kind {
        // Its text is not words: take it from the line itself.
        CommandKind::Broadcast => spoken_text(line).map(|text| Command::Broadcast(text.into())),
        CommandKind::Take => one_object(vocabulary, &mut rest).map(Command::Take),
        CommandKind::Set => one_object(vocabulary, &mut rest).map(Command::Set),
        _ if rest.next().is_some() => None,
        CommandKind::Forward => Some(Command::Forward),
        CommandKind::Right => Some(Command::Turn(Turn::Right)),
        CommandKind::Left => Some(Command::Turn(Turn::Left)),
        CommandKind::Look => Some(Command::Look),
        CommandKind::Inventory => Some(Command::Inventory),
        CommandKind::ConnectNbr => Some(Command::ConnectNbr),
        CommandKind::Fork => Some(Command::Fork),
        CommandKind::Eject => Some(Command::Eject),
        CommandKind::Incantation => Some(Command::Incantation),
    };
    command.unwrap_or(Command::Refused(Some(kind)))
}

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
        Command::Take(resource) | Command::Set(resource) => {
            out.push(b' ');
            out.extend_from_slice(words.resource_word(*resource).as_bytes());
        }
        // A broadcast is wrong without a text, everything else with one word too many.
        Command::Refused(Some(kind)) if *kind != CommandKind::Broadcast => out.extend_from_slice(b" ? ?"),
        _ => {}
    }
    out.push(b'\n');
}

/// The one remaining word, if it is the only one and names a resource.
fn one_object<'a>(vocabulary: &Words, rest: &mut impl Iterator<Item = &'a [u8]>) -> Option<Resource> {
    match (rest.next(), rest.next()) {
        (Some(object), None) => vocabulary.resource(object),
        _ => None,
    }
}

/// What stands after the first word and the one separator behind it, without spaces at the end.
///
/// All else is kept as it came: agents of every year put their own meaning into spaces and quotes.
/// `None` where there is nothing but separators.
fn spoken_text(line: &[u8]) -> Option<&[u8]> {
    let word = line.iter().position(|&byte| !is_separator(byte))?;
    let gap = word + line[word..].iter().position(|&byte| is_separator(byte))?;
    let end = line.iter().rposition(|&byte| byte != b' ')?;
    let text = line.get(gap + 1..=end)?;
    text.iter().any(|&byte| !is_separator(byte)).then_some(text)
}
