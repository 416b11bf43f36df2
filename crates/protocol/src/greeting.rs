//! The first line from a peer, which says what it is; and which names teams may therefore have.
//!
//! Everybody is greeted in text. Whether a team has room is not asked here.

use crate::error::TeamNameError;
use crate::limits::TEAM_NAME_BYTES_MAX;
use crate::text::{self, GRAPHIC_ALIAS, GRAPHIC_WORD};
use crate::wire::WIRE_WORD;

/// What the first line of a peer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting<'a> {
    /// To play in the team with this name, if there is one.
    Player(&'a [u8]),
    /// To watch, in Zappy text.
    TextViewer,
    /// To watch, in our frames: everything after this line is frames, both ways.
    Frames,
    /// Nothing that can be understood: an empty line, or more than one word. The answer is `ko`.
    Nobody,
}

/// Reads a peer's first line. `is_team` says whether a team has that name.
///
/// Names are compared as bytes. `GRAPHICAL`, which a few old viewers say, lets a viewer in unless a team is
/// called so.
pub fn read_greeting(line: &[u8], is_team: impl FnOnce(&[u8]) -> bool) -> Greeting<'_> {
    let mut words = text::words(line);
    match (words.next(), words.next()) {
        (Some(word), None) if word == GRAPHIC_WORD.as_bytes() => Greeting::TextViewer,
        (Some(word), None) if word == WIRE_WORD.as_bytes() => Greeting::Frames,
        (Some(word), None) if word == GRAPHIC_ALIAS.as_bytes() && !is_team(word) => Greeting::TextViewer,
        (Some(word), None) => Greeting::Player(word),
        _ => Greeting::Nobody,
    }
}

/// Checks that a team can be joined under `name`: one word, at most 64 bytes, not one that viewers say.
pub fn check_team_name(name: &str) -> Result<(), TeamNameError> {
    if name.is_empty() {
        return Err(TeamNameError::Empty);
    }
    if name.len() > TEAM_NAME_BYTES_MAX {
        return Err(TeamNameError::TooLong { len: name.len() });
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(TeamNameError::NotOneWord {
            name: name.to_owned(),
        });
    }
    if name == GRAPHIC_WORD || name == WIRE_WORD {
        return Err(TeamNameError::Reserved {
            name: name.to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_who_is_there() {
        let teams = |word: &[u8]| word == b"red" || word == b"GRAPHICAL";
        for (line, expected) in [
            (&b"red"[..], Greeting::Player(b"red")),
            (b" red\t", Greeting::Player(b"red")),
            (b"nope", Greeting::Player(b"nope")),
            (b"\xff\xfe", Greeting::Player(b"\xff\xfe")),
            (b"GRAPHIC", Greeting::TextViewer),
            (b"graphic", Greeting::Player(b"graphic")),
            (b"GRAPHICAL", Greeting::Player(b"GRAPHICAL")),
            (b"TRANTOR", Greeting::Frames),
            (b"TRANTOR 1", Greeting::Nobody),
            (b"red blue", Greeting::Nobody),
            (b"", Greeting::Nobody),
            (b" \t", Greeting::Nobody),
        ] {
            assert_eq!(read_greeting(line, teams), expected, "{}", line.escape_ascii());
        }
        assert_eq!(read_greeting(b"GRAPHICAL", |_| false), Greeting::TextViewer);
    }

    #[test]
    fn names_of_teams_are_one_word_that_nobody_else_uses() {
        assert_eq!(check_team_name("red"), Ok(()));
        assert_eq!(check_team_name("équipe"), Ok(()));
        assert_eq!(
            check_team_name("GRAPHICAL"),
            Ok(()),
            "the alias gives way to a team"
        );
        assert_eq!(check_team_name(&"x".repeat(64)), Ok(()));
        assert_eq!(check_team_name(""), Err(TeamNameError::Empty));
        assert_eq!(
            check_team_name(&"x".repeat(65)),
            Err(TeamNameError::TooLong { len: 65 })
        );
        for name in ["a b", "a\tb", "a\n", "a\0", "a\u{a0}b"] {
            assert!(
                matches!(check_team_name(name), Err(TeamNameError::NotOneWord { .. })),
                "{name:?}"
            );
        }
        for name in ["GRAPHIC", "TRANTOR"] {
            assert!(
                matches!(check_team_name(name), Err(TeamNameError::Reserved { .. })),
                "{name}"
            );
        }
    }
}
