//! The first line each way, before a decoder takes over.
//!
//! A server greets with a line of text; a viewer answers with a word that requests frames or text. The greeting of
//! another protocol is recognised, so that the error names the server that was reached.

use trantor_protocol::text::printable;

use crate::error::ProtocolError;

/// Longest greeting accepted, in bytes. Greetings are one word; some servers add a line of their own.
pub const GREETING_BYTES_MAX: usize = 1_024;

/// Longest text from a server that is shown to the user, in characters.
pub const REASON_CHARS_MAX: usize = 300;

/// Bytes of a greeting that are kept, to tell whose it is.
const GREETING_BYTES_KEPT: usize = 64;

/// Waits for the greeting.
#[derive(Debug, Default)]
pub struct Greeting {
    read: usize,
    begin: Vec<u8>,
}

impl Greeting {
    /// Takes the greeting off the front of `bytes`; answers whether it is complete.
    ///
    /// # Errors
    /// If it is too long to be one, or that of another kind of server.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<bool, ProtocolError> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        self.read += taken;
        let kept = taken.min(GREETING_BYTES_KEPT - self.begin.len());
        self.begin.extend_from_slice(&bytes[..kept]);
        *bytes = &bytes[taken..];
        if self.read > GREETING_BYTES_MAX {
            let max = GREETING_BYTES_MAX;
            return Err(ProtocolError::NoGreeting { max });
        }
        if end.is_some() && is_of_another_protocol(&self.begin) {
            let greeting = readable_bytes(&self.begin);
            return Err(ProtocolError::OtherGreeting { greeting });
        }
        Ok(end.is_some())
    }
}

/// Whether servers of the web, of mail or of shells begin so. Zappy's have many greetings.
fn is_of_another_protocol(greeting: &[u8]) -> bool {
    let is_code =
        matches!(greeting, [a, b, c, b' ' | b'-', ..] if [a, b, c].iter().all(|byte| byte.is_ascii_digit()));
    is_code || greeting.starts_with(b"HTTP/") || greeting.starts_with(b"SSH-")
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
    printable(text).take(REASON_CHARS_MAX).collect()
}

/// The same for bytes of a server that may know nothing of Unicode: each is then the character of its number, so that
/// different names stay different.
pub fn readable_bytes(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(text) => readable(text),
        Err(_) => readable(&text.iter().copied().map(char::from).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn texts_of_a_server_cannot_control_a_terminal() {
        assert_eq!(readable("no\x1b[2J\n way"), "no[2J way");
        assert_eq!(readable(&"x".repeat(10_000)).len(), REASON_CHARS_MAX);
    }
}
