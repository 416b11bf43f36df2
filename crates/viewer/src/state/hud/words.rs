//! Text of players: which broadcasts people can read, and names in scripts written from right to left.

use egui::text::{ByteIndex, LayoutJob, LayoutSection, TextFormat};
use egui::{Color32, FontId};
use trantor_protocol::text::printable;

/// The longest readable stretch of ASCII without a space, in characters: longer words are rare in any language that
/// writes with spaces, and keys and ciphers are mostly longer.
const STRETCH_MAX: usize = 24;

/// The fewest words of letters beside which a person writes a number: "come 0" is a command.
const WORDS_WITH_NUMBER: usize = 4;

/// Whether a broadcast is for people and not for programs: at least two thirds of its characters, spaces left out, are letters of any script,
/// no stretch of ASCII without a space is longer than 24, and a number stands among four words at least. A wrong guess costs little: the inspector
/// shows all.
pub fn is_for_people(words: &[u8]) -> bool {
    let words = String::from_utf8_lossy(words);
    let all = words.chars().filter(|letter| !letter.is_whitespace()).count();
    let letters = words.chars().filter(|letter| letter.is_alphabetic()).count();
    let is_short = |stretch: &str| !stretch.is_ascii() || stretch.len() <= STRETCH_MAX;
    let has_number = words.contains(|char: char| char.is_ascii_digit());
    let is_word = |stretch: &&str| !stretch.contains(|char: char| char.is_ascii_digit());
    let is_sentence = || words.split_whitespace().filter(is_word).count() >= WORDS_WITH_NUMBER;
    letters > 0
        && 3 * letters >= 2 * all
        && words.split_whitespace().all(is_short)
        && (!has_number || is_sentence())
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

/// A layout of `text`; [`Color32::PLACEHOLDER`] stands for the colour of the widget that shows it. The shaper takes one
/// direction for a whole text, so each stretch written from right to left becomes a section of its own.
pub(super) fn job(text: &str, font: FontId, color: Color32) -> LayoutJob {
    let mut end = ByteIndex(0);
    // Appending would join sections of equal format.
    let sections = pieces(text).map(|piece| {
        let begin = end;
        end = begin + piece.len();
        LayoutSection {
            leading_space: 0.0,
            byte_range: begin..end,
            format: TextFormat::simple(font.clone(), color),
        }
    });
    LayoutJob {
        sections: sections.collect(),
        text: text.to_owned(),
        ..LayoutJob::default()
    }
}

/// Text in the font and colour of the widget that shows it.
pub(super) fn body(ui: &egui::Ui, text: &str) -> LayoutJob {
    let font = egui::TextStyle::Body.resolve(ui.style());
    job(text, font, Color32::PLACEHOLDER)
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = if is_rtl(rest.chars().next()?) {
            // Up to the last letter of the stretch, with spaces and marks between its words.
            let is_other = |char: char| char.is_alphanumeric() && !is_rtl(char);
            let stretch = &rest[..rest.find(is_other).unwrap_or(rest.len())];
            let last = stretch.char_indices().rfind(|(_, char)| is_rtl(*char));
            last.map_or(stretch.len(), |(at, char)| at + char.len_utf8())
        } else {
            rest.find(is_rtl).unwrap_or(rest.len())
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// Whether it belongs to a script written from right to left.
fn is_rtl(char: char) -> bool {
    matches!(char,
        '\u{590}'..='\u{8FF}'            // Hebrew, Arabic, Syriac, Thaana, N'Ko and others
        | '\u{FB1D}'..='\u{FDFF}'        // presentation forms of Hebrew and Arabic
        | '\u{FE70}'..='\u{FEFE}'
        | '\u{10800}'..='\u{10FFF}'      // ancient scripts
        | '\u{1E800}'..='\u{1EFFF}')
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
        ] {
            assert!(is_for_people(words), "{words:?}");
        }
        for words in [
            &b"  "[..],
            b"blue come 0",
            b"red:incantation:4",
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

    #[test]
    fn stretches_from_right_to_left_are_sections_of_their_own() {
        for (text, expected) in [
            ("", &[][..]),
            ("zoë talks · 7", &["zoë talks · 7"][..]),
            ("#3 שלום עולם · level 2", &["#3 ", "שלום עולם", " · level 2"][..]),
            ("אב-7", &["אב", "-7"][..]),
        ] {
            assert_eq!(pieces(text).collect::<Vec<_>>(), expected);
        }
    }
}
