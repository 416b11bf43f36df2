//! Text that mixes our words with names in scripts written from right to left.
//!
//! The shaper takes one direction for a whole text, that of its first letters, so each stretch written from right to
//! left becomes a section of its own.

use egui::text::{ByteIndex, LayoutJob, LayoutSection, TextFormat};
use egui::{Color32, FontId};

/// A layout of `text`; [`Color32::PLACEHOLDER`] stands for the colour of the widget that shows it.
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

/// The same in the font and colour of the widget that shows it.
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
