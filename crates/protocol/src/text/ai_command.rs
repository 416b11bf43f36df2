//! From a line of an agent to a command.
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
