//! Words of ours beside names and words of others, which may be written from right to left.
//!
//! Whoever shapes a text takes one direction for all of it, that of its first letters: a name in Hebrew turned our own
//! words round. So each stretch that is written from right to left is a text of its own.

use egui::text::{ByteIndex, LayoutJob, LayoutSection, TextFormat};
use egui::{Color32, FontId};

/// One line or more of these words, to be laid out; a colour of [`Color32::PLACEHOLDER`] is that of whatever shows it.
pub(super) fn job(text: &str, font: FontId, color: Color32) -> LayoutJob {
    let mut end = ByteIndex(0);
    // Sections that look alike would be joined if they were appended.
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

/// The text in pieces of one direction each.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if is_leftward(first) {
            // As far as its last letter, with what stands between words.
            let is_other = |char: char| char.is_alphanumeric() && !is_leftward(char);
            let stretch = &rest[..rest.find(is_other).unwrap_or(rest.len())];
            let last = stretch.char_indices().rfind(|(_, char)| is_leftward(*char));
            last.map_or(stretch.len(), |(at, char)| at + char.len_utf8())
        } else {
            rest.find(is_leftward).unwrap_or(rest.len())
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

/// Whether it belongs to a script that is written from right to left.
fn is_leftward(char: char) -> bool {
    matches!(char,
        '\u{590}'..='\u{8FF}'            // Hebrew, Arabic, Syriac, Thaana, N'Ko and others
        | '\u{FB1D}'..='\u{FDFF}'        // forms of Hebrew and Arabic letters
        | '\u{FE70}'..='\u{FEFE}'
        | '\u{10800}'..='\u{10FFF}'      // scripts of antiquity
        | '\u{1E800}'..='\u{1EFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_from_right_to_left_are_texts_of_their_own() {
        for (text, expected) in [
            ("", &[][..]),
            ("zoë talks · 7", &["zoë talks · 7"][..]),
            ("אדום talks · 17", &["אדום", " talks · 17"][..]),
            ("#3 שלום עולם · level 2", &["#3 ", "שלום עולם", " · level 2"][..]),
            ("אב-7", &["אב", "-7"][..]),
        ] {
            assert_eq!(pieces(text).collect::<Vec<_>>(), expected);
            let job = job(text, FontId::default(), Color32::PLACEHOLDER);
            assert_eq!(job.text, text);
            assert_eq!(job.sections.len(), expected.len());
        }
    }
}
