//! Which broadcasts people can read. Most are for other programs: numbers and checksums without a space.

use trantor_protocol::text::printable;

/// The longest readable stretch of ASCII without a space, in characters: longer words are rare in any language that
/// writes with spaces, and keys and ciphers are mostly longer.
const STRETCH_MAX: usize = 24;

/// Whether a broadcast is for people: at least two thirds of its characters, spaces left out, are letters of any script,
/// and no stretch of ASCII without a space is longer than 24. A wrong guess does little harm: the tooltip shows all.
pub fn is_for_people(words: &[u8]) -> bool {
    let words = String::from_utf8_lossy(words);
    let all = words.chars().filter(|letter| !letter.is_whitespace()).count();
    let letters = words.chars().filter(|letter| letter.is_alphabetic()).count();
    let is_short = |stretch: &str| !stretch.is_ascii() || stretch.len() <= STRETCH_MAX;
    letters > 0 && 3 * letters >= 2 * all && words.split_whitespace().all(is_short)
}

/// A broadcast as one line of at most `most` characters and an ellipsis, without control characters.
pub fn line(words: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(words);
    let mut letters = printable(&text);
    let mut line: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_people_differ_from_codes() {
        for words in [
            &b"level 4, need two more at my tile"[..],
            "où es-tu ?".as_bytes(),
            b"o\xf9 est-tu",
            "надо еще два".as_bytes(),
            "我在这里等你们带着石头过来一起升级需要两个人快来这里".as_bytes(),
            b"red:incantation:4",
        ] {
            assert!(is_for_people(words), "{words:?}");
        }
        for words in [
            &b"  "[..],
            b"t1.3815615345.7.s.2.19.1.0.0.2.0.0.2877912345",
            b"{\"x\":3,\"y\":12}",
            b"qpzmxvwkjhgfdsalkjqwertyuiopzmx",
            b"say aGVsbG8gdGhlcmUgaG93IGFyZSB5b3U",
            &[0xff, 0xfe, b'y', 0x90],
        ] {
            assert!(!is_for_people(words), "{words:?}");
        }
    }

    #[test]
    fn a_line_is_cut_and_never_controls_the_screen() {
        assert_eq!(line(b"hello", 5), "hello");
        assert_eq!(line(b"hello", 4), "hell…");
        assert_eq!(line(b"a\x07b\nc\x1b\xff", 10), "abc\u{fffd}");
    }
}
