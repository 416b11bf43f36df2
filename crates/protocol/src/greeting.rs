//! The first line from a peer, which says what it is; and which names teams may therefore have.
//!
//! Everybody is greeted in text. Whether a team has room is not asked here, nor whether a token is the right one.

use crate::limits::{TEAM_NAME_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_BYTES_MIN};
use crate::text::{self, GRAPHIC_ALIAS, GRAPHIC_WORD};
use crate::wire::WIRE_WORD;

/// The word with which an operator asks for the console, instead of a team's name. No team may have it.
pub const OPERATOR_WORD: &str = "ADMIN";

/// What the first line of a peer asks for.
///
/// A viewer or operator may send the server's token behind the word, as `GRAPHIC TOKEN`; it comes with the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting<'a> {
    /// To play in the team with this name, if there is one.
    Player(&'a [u8]),
    /// To watch, in Zappy text.
    TextViewer(Option<&'a [u8]>),
    /// To watch, in our frames: everything after this line is frames, both ways.
    Frames(Option<&'a [u8]>),
    /// To operate the server: every line after this one is a line of the console.
    Operator(Option<&'a [u8]>),
    /// Nothing that can be understood: an empty line, or more than one word. The answer is `ko`.
    Unknown,
    /// A line of an HTTP request: a browser, on behalf of a web page. Nothing behind it may be obeyed.
    Http,
}

/// Bytes with which a TLS connection begins: a handshake record of any version.
pub const TLS_HELLO: &[u8] = b"\x16\x03";

/// The answer to an HTTP request.
pub const HTTP_REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Why a name cannot be a team's. Shown to the operator who chose it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum TeamNameError {
    /// There is nothing to type.
    #[error("a team's name must not be empty")]
    Empty,
    /// Too long for the buffers of viewers.
    #[error("a team's name is at most {TEAM_NAME_BYTES_MAX} bytes, not {len}")]
    TooLong { len: usize },
    /// No agent could join it: lines are cut into words, and control bytes are not shown.
    #[error("a team's name must not contain spaces or control characters: {name:?}")]
    NotOneWord { name: String },
    /// The word already means something else as a first line.
    #[error("{name:?} cannot be a team's name: as a first line it means something else")]
    Reserved { name: String },
}

/// Why the text of a file holds no token. Shown to its author; never shows what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what their names say")]
pub enum TokenError {
    /// The first line has nothing in it.
    #[error("its first line is empty; write a long word there that cannot be guessed")]
    Empty,
    /// It could not be sent as one word.
    #[error("a token is one word of visible ASCII characters, in the first line")]
    NotOneWord,
    /// Too short to be safe, or too long to be sent.
    #[error("a token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} characters, this one has {len}")]
    Length { len: usize },
}

/// Reads a line of a peer that has not said what it is. `is_team` says whether a team has that name.
///
/// Only the first line of a connection (`is_first`) makes a viewer or an operator: a web page can have a browser send
/// lines of its choice behind those of a request. A later one is another try for a team.
///
/// Names are compared as bytes. `GRAPHICAL`, which a few old viewers say, lets a viewer in unless a team is
/// called so.
pub fn read_greeting(line: &[u8], is_first: bool, is_team: impl FnOnce(&[u8]) -> bool) -> Greeting<'_> {
    if is_http(line) {
        return Greeting::Http;
    }
    let mut words = text::words(line);
    let (Some(word), token, None) = (words.next(), words.next(), words.next()) else {
        return Greeting::Unknown;
    };
    if !is_first {
        return match token {
            None => Greeting::Player(word),
            Some(_) => Greeting::Unknown,
        };
    }
    if word == GRAPHIC_WORD.as_bytes() || (word == GRAPHIC_ALIAS.as_bytes() && !is_team(word)) {
        Greeting::TextViewer(token)
    } else if word == WIRE_WORD.as_bytes() {
        Greeting::Frames(token)
    } else if word == OPERATOR_WORD.as_bytes() {
        Greeting::Operator(token)
    } else if token.is_none() {
        Greeting::Player(word)
    } else {
        Greeting::Unknown
    }
}

/// Whether a line is the request line of HTTP, with any method and target, or the header that each request has.
fn is_http(line: &[u8]) -> bool {
    const HOST: &[u8] = b"host:";
    let has_version = || {
        let version = text::words(line).skip(1).last();
        version.is_some_and(|word| word.starts_with(b"HTTP/"))
    };
    line.get(..HOST.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(HOST))
        || has_version()
}

/// Reads a token out of the text of a file: the first line, without blanks at its ends.
///
/// # Errors
/// If it is no token: it must go through a line of text as one word, and be too long to be guessed.
pub fn read_token(text: &str) -> Result<&str, TokenError> {
    let token = text.lines().next().unwrap_or_default().trim();
    if token.is_empty() {
        return Err(TokenError::Empty);
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::NotOneWord);
    }
    match token.len() {
        TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX => Ok(token),
        len => Err(TokenError::Length { len }),
    }
}

/// Checks that a team can be joined under `name`: one word, at most 64 bytes, not one that viewers or operators say.
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
    if [GRAPHIC_WORD, WIRE_WORD, OPERATOR_WORD].contains(&name) {
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
            (b"GRAPHIC", Greeting::TextViewer(None)),
            (b"GRAPHIC t", Greeting::TextViewer(Some(b"t"))),
            (b"GRAPHIC t t", Greeting::Unknown),
            (b"graphic", Greeting::Player(b"graphic")),
            (b"GRAPHICAL", Greeting::Player(b"GRAPHICAL")),
            (b"TRANTOR", Greeting::Frames(None)),
            (b"TRANTOR 1", Greeting::Frames(Some(b"1"))),
            (b"ADMIN", Greeting::Operator(None)),
            (b"ADMIN \xff", Greeting::Operator(Some(b"\xff"))),
            (b"admin", Greeting::Player(b"admin")),
            (b"red blue", Greeting::Unknown),
            (b"", Greeting::Unknown),
            (b" \t", Greeting::Unknown),
            (b"POST / HTTP/1.1", Greeting::Http),
            (b"M-SEARCH * HTTP/1.1", Greeting::Http),
            (b"get /a b HTTP/2", Greeting::Http),
            (b"Host: arena.example", Greeting::Http),
            (b"host:x", Greeting::Http),
            (b"HTTP/1.1", Greeting::Player(b"HTTP/1.1")),
            (b"Host", Greeting::Player(b"Host")),
        ] {
            assert_eq!(
                read_greeting(line, true, teams),
                expected,
                "{}",
                line.escape_ascii()
            );
        }
        assert_eq!(
            read_greeting(b"GRAPHICAL", true, |_| false),
            Greeting::TextViewer(None)
        );
    }

    #[test]
    fn a_later_line_is_a_player_or_nothing() {
        for (line, expected) in [
            (&b"red"[..], Greeting::Player(b"red")),
            (b"ADMIN", Greeting::Player(b"ADMIN")),
            (b"ADMIN token", Greeting::Unknown),
            (b"GRAPHIC", Greeting::Player(b"GRAPHIC")),
            (b"TRANTOR", Greeting::Player(b"TRANTOR")),
            (b"POST / HTTP/1.1", Greeting::Http),
        ] {
            let read = read_greeting(line, false, |word| word == b"red");
            assert_eq!(read, expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn names_of_teams_are_one_word_without_another_meaning() {
        // The alias of a viewer's word gives way to a team.
        for name in ["red", "équipe", "GRAPHICAL", &"x".repeat(64)] {
            assert_eq!(check_team_name(name), Ok(()));
        }
        assert_eq!(check_team_name(""), Err(TeamNameError::Empty));
        let too_long = TeamNameError::TooLong { len: 65 };
        assert_eq!(check_team_name(&"x".repeat(65)), Err(too_long));
        for name in ["a b", "a\tb", "a\n", "a\0", "a\u{a0}b"].map(str::to_owned) {
            assert_eq!(
                check_team_name(&name.clone()),
                Err(TeamNameError::NotOneWord { name })
            );
        }
        for name in ["GRAPHIC", "TRANTOR", "ADMIN"].map(str::to_owned) {
            assert_eq!(
                check_team_name(&name.clone()),
                Err(TeamNameError::Reserved { name })
            );
        }
    }

    #[test]
    fn a_token_is_the_first_word_of_a_file_and_too_long_to_guess() {
        let token = "x".repeat(TOKEN_BYTES_MIN);
        for text in [&token, &format!("{token}\n"), &format!(" {token} \r\nmore\n")] {
            assert_eq!(read_token(text), Ok(token.as_str()));
        }
        let longest = "x".repeat(TOKEN_BYTES_MAX);
        assert_eq!(read_token(&longest), Ok(longest.as_str()));
        for (text, error) in [
            (String::new(), TokenError::Empty),
            (format!("\n{token}"), TokenError::Empty),
            (format!("{token} {token}"), TokenError::NotOneWord),
            (format!("{token}é"), TokenError::NotOneWord),
            ("short".to_owned(), TokenError::Length { len: 5 }),
            (
                "x".repeat(TOKEN_BYTES_MAX + 1),
                TokenError::Length {
                    len: TOKEN_BYTES_MAX + 1,
                },
            ),
        ] {
            assert_eq!(read_token(&text), Err(error), "{text:?}");
        }
    }
}
