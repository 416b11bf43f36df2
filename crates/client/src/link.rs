//! The first words on a connection, before there are frames.
//!
//! The server greets everybody with a line of text; a viewer answers with a word that asks for frames, or for
//! text. Which server it is decides what is said to the user when it is the wrong one.

use crate::error::ProtocolError;

/// Longest greeting accepted, in bytes. Greetings are one word; some servers add a line of their own.
pub const GREETING_BYTES_MAX: usize = 1_024;

/// Longest text from a server that is shown to the user, in characters.
pub const REASON_CHARS_MAX: usize = 300;

/// Waits for the greeting.
#[derive(Debug, Default)]
pub struct Greeting {
    read: usize,
}

impl Greeting {
    /// Takes the greeting off the front of `bytes`; answers whether it is complete.
    ///
    /// # Errors
    /// If it is too long to be one.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<bool, ProtocolError> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        self.read += taken;
        *bytes = &bytes[taken..];
        if self.read > GREETING_BYTES_MAX {
            let max = GREETING_BYTES_MAX;
            return Err(ProtocolError::NoGreeting { max });
        }
        Ok(end.is_some())
    }
}

/// The line with which a viewer asks to be let in: a word, and the server's token behind it.
pub fn write_first_line(out: &mut Vec<u8>, word: &str, token: Option<&str>) {
    out.extend_from_slice(word.as_bytes());
    if let Some(token) = token {
        out.push(b' ');
        out.extend_from_slice(token.as_bytes());
    }
    out.push(b'\n');
}

/// A text from a server as it may be shown: no control characters, and not too long.
pub fn readable(text: &str) -> String {
    text.chars()
        .filter(|char| !char.is_control())
        .take(REASON_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_one_line_in_any_pieces() {
        for cut in 0..=8 {
            let all = b"WELCOME\nrest";
            let mut greeting = Greeting::default();
            let (mut first, mut second) = all.split_at(cut);
            let done = greeting.take(&mut first).unwrap() || greeting.take(&mut second).unwrap();
            assert!(done);
            assert_eq!([first, second].concat(), b"rest");
        }
    }

    #[test]
    fn a_server_that_never_ends_its_greeting_is_not_read_for_ever() {
        let mut greeting = Greeting::default();
        let piece = [b'x'; 100];
        let mut read = 0;
        while greeting.take(&mut &piece[..]).is_ok() {
            read += piece.len();
            assert!(read <= GREETING_BYTES_MAX);
        }
    }

    #[test]
    fn the_token_stands_behind_the_word() {
        for (token, line) in [(None, "TRANTOR\n"), (Some("secret"), "TRANTOR secret\n")] {
            let mut out = Vec::new();
            write_first_line(&mut out, "TRANTOR", token);
            assert_eq!(out, line.as_bytes());
        }
    }

    #[test]
    fn texts_of_a_server_cannot_control_a_terminal() {
        assert_eq!(readable("no\x1b[2J\n way"), "no[2J way");
        assert_eq!(readable(&"x".repeat(10_000)).len(), REASON_CHARS_MAX);
    }
}
