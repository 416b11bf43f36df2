//! Texts of a server as they may be shown.

use trantor_protocol::text::printable;

/// Longest text from a server that is shown to the user, in characters.
const REASON_CHARS_MAX: usize = 300;

/// A text from a server as it may be shown: no control characters, and not too long.
pub(crate) fn readable(text: &str) -> String {
    printable(text).take(REASON_CHARS_MAX).collect()
}

/// Bytes of a server that may know nothing of Unicode: each is then the character of its number, so that different names
/// stay different.
pub(crate) fn readable_bytes(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(text) => readable(text),
        Err(_) => readable(&text.iter().copied().map(char::from).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_server_cannot_control_a_terminal() {
        assert_eq!(readable("no\x1b[2J\n way"), "no[2J way");
        assert_eq!(readable(&"x".repeat(10_000)).len(), REASON_CHARS_MAX);
    }
}
