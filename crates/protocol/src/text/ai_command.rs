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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn epitech(line: &[u8]) -> Command {
        parse_command(Dialect::Epitech, line)
    }

    fn said(text: &[u8]) -> Command {
        Command::Broadcast(text.into())
    }

    #[test]
    fn every_command_in_every_dialect() {
        let plain = [
            Command::Forward,
            Command::Turn(Turn::Right),
            Command::Turn(Turn::Left),
            Command::Look,
            Command::Inventory,
            Command::ConnectNbr,
            Command::Fork,
            Command::Eject,
            Command::Incantation,
        ];
        let epitech = [
            "Forward",
            "Right",
            "Left",
            "Look",
            "Inventory",
            "Connect_nbr",
            "Fork",
            "Eject",
            "Incantation",
        ];
        let french = [
            "avance",
            "droite",
            "gauche",
            "voir",
            "inventaire",
            "connect_nbr",
            "fork",
            "expulse",
            "incantation",
        ];
        let english = [
            "advance",
            "right",
            "left",
            "see",
            "inventory",
            "connect_nbr",
            "fork",
            "kick",
            "incantation",
        ];
        let all = [epitech, french, french, english];
        for (dialect, names) in Dialect::ALL.into_iter().zip(all) {
            for (name, command) in names.iter().zip(&plain) {
                assert_eq!(&parse_command(dialect, name.as_bytes()), command, "{name}");
            }
        }
        for (dialect, take, set, broadcast) in [
            (Dialect::Epitech, "Take", "Set", "Broadcast"),
            (Dialect::Epitech2016, "prend", "pose", "broadcast"),
            (Dialect::French42, "prend", "pose", "broadcast"),
            (Dialect::French42, "prendre", "pose", "broadcast"),
            (Dialect::English42, "take", "put", "broadcast"),
        ] {
            for resource in Resource::ALL {
                let object = dialect.words().resource_word(resource);
                let line = format!("{take} {object}");
                assert_eq!(parse_command(dialect, line.as_bytes()), Command::Take(resource));
                let line = format!("{set} {object}");
                assert_eq!(parse_command(dialect, line.as_bytes()), Command::Set(resource));
            }
            assert_eq!(
                parse_command(dialect, format!("{broadcast} a b").as_bytes()),
                said(b"a b")
            );
        }
        assert_eq!(
            parse_command(Dialect::French42, b"prend food"),
            Command::Refused(Some(CommandKind::Take))
        );
    }

    #[test]
    fn words_of_one_dialect_mean_nothing_in_another() {
        for line in [
            &b"avance"[..],
            b"advance",
            b"forward",
            b"FORWARD",
            b"GRAPHIC",
            b"msz",
            b"red",
            b"Forward\r",
        ] {
            assert_eq!(epitech(line), Command::Refused(None), "{}", line.escape_ascii());
        }
        assert_eq!(
            parse_command(Dialect::French42, b"Forward"),
            Command::Refused(None)
        );
    }

    #[test]
    fn spaces_and_tabs_around_words_are_ignored() {
        assert_eq!(epitech(b"Forward "), Command::Forward);
        assert_eq!(epitech(b" \tForward"), Command::Forward);
        assert_eq!(epitech(b"Take \t food\t"), Command::Take(Resource::Food));
    }

    #[test]
    fn what_is_not_understood_is_refused_in_its_place() {
        for line in [
            &b""[..],
            b" ",
            b"\0",
            b"Forward\0",
            b"For\0ward",
            b"\xff\xfe",
            b"forward",
        ] {
            let command = epitech(line);
            assert_eq!(command, Command::Refused(None), "{}", line.escape_ascii());
            assert_eq!(command.duration_units(), 0);
        }
    }

    #[test]
    fn wrong_arguments_cost_what_the_command_costs() {
        for (line, kind, units) in [
            (&b"Forward x"[..], CommandKind::Forward, 7),
            (b"Right 2", CommandKind::Right, 7),
            (b"Left 2", CommandKind::Left, 7),
            (b"Look x", CommandKind::Look, 7),
            (b"Inventory x", CommandKind::Inventory, 1),
            (b"Eject x", CommandKind::Eject, 7),
            (b"Take", CommandKind::Take, 7),
            (b"Take food food", CommandKind::Take, 7),
            (b"Take player", CommandKind::Take, 7),
            (b"Take egg", CommandKind::Take, 7),
            (b"Take Food", CommandKind::Take, 7),
            (b"Set", CommandKind::Set, 7),
            (b"Set nothing", CommandKind::Set, 7),
            (b"Broadcast", CommandKind::Broadcast, 7),
            (b"Broadcast ", CommandKind::Broadcast, 7),
            (b" Broadcast \t ", CommandKind::Broadcast, 7),
            (b"Fork x", CommandKind::Fork, 0),
            (b"Incantation x", CommandKind::Incantation, 0),
            (b"Connect_nbr x", CommandKind::ConnectNbr, 0),
        ] {
            let command = epitech(line);
            assert_eq!(command, Command::Refused(Some(kind)), "{}", line.escape_ascii());
            assert_eq!(command.duration_units(), units, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn a_broadcast_is_passed_on_as_it_came() {
        assert_eq!(epitech(b"Broadcast hello"), said(b"hello"));
        assert_eq!(epitech(b"Broadcast \"hello  world\""), said(b"\"hello  world\""));
        assert_eq!(epitech(b"\tBroadcast \t a  b\tc \t  "), said(b"\t a  b\tc \t"));
        assert_eq!(epitech(b"Broadcast \xff\0\r x"), said(b"\xff\0\r x"));
        let long = vec![b'x'; 10_000];
        assert_eq!(epitech(&[b"Broadcast ", &long[..]].concat()), said(&long));
    }

    proptest! {
        /// Any bytes are a command of some kind, and broadcasts carry a part of the line that is not blank.
        #[test]
        fn any_line_is_understood_or_refused(line in prop::collection::vec(any::<u8>(), 0..64), broadcast: bool) {
            let line = if broadcast { [b"Broadcast ", &line[..]].concat() } else { line };
            for dialect in Dialect::ALL {
                if let Command::Broadcast(text) = parse_command(dialect, &line) {
                    prop_assert!(line.windows(text.len()).any(|part| part == &text[..]));
                    prop_assert!(text.last() != Some(&b' ') && !text.iter().all(|&byte| is_separator(byte)));
                }
            }
        }
    }
}
