//! A page as a grid of coloured characters. Everything is clipped to it.

use std::fmt::Write as _;

use trantor_protocol::text::printable;

use super::tty::Abilities;

/// How a character is written: one of the 256 colours of terminals, and its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub color: Option<u8>,
    pub is_bold: bool,
}

pub(super) const PLAIN: Style = Style {
    color: None,
    is_bold: false,
};

impl Style {
    pub(super) const fn color(color: u8) -> Self {
        let color = Some(color);
        Self { color, ..PLAIN }
    }

    pub(super) const fn bold(self) -> Self {
        let is_bold = true;
        Self { is_bold, ..self }
    }
}

/// A grid of characters, reused from frame to frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<(char, Style)>,
}

impl Canvas {
    pub(super) fn clear(&mut self, columns: usize, rows: usize) {
        (self.columns, self.rows) = (columns, rows);
        self.cells.clear();
        self.cells.resize(columns * rows, (' ', PLAIN));
    }

    pub(super) fn put(&mut self, (column, row): (usize, usize), char: char, style: Style) {
        if column < self.columns && row < self.rows {
            self.cells[row * self.columns + column] = (narrow(char), style);
        }
    }

    /// Writes at most `width` columns of a text; returns the column behind it.
    pub(super) fn text(
        &mut self,
        (column, row): (usize, usize),
        width: usize,
        text: &str,
        style: Style,
    ) -> usize {
        let letters = printable(text).take(width);
        let end = letters.zip(column..).map(|(letter, at)| {
            self.put((at, row), letter, style);
            at + 1
        });
        end.last().unwrap_or(column)
    }

    /// All rows without trailing spaces, as a terminal with these abilities can show them.
    pub(super) fn lines(&self, abilities: Abilities) -> Vec<String> {
        let rows = self.cells.chunks(self.columns.max(1));
        rows.map(|row| line(row, abilities)).collect()
    }
}

fn line(row: &[(char, Style)], abilities: Abilities) -> String {
    let last = row.iter().rposition(|(char, _)| *char != ' ');
    let (mut line, mut before) = (String::new(), PLAIN);
    for &(char, style) in &row[..last.map_or(0, |last| last + 1)] {
        if abilities.is_colored && style != before {
            let bold = if style.is_bold { ";1" } else { "" };
            let color = style.color.map(|color| format!(";38;5;{color}"));
            let color = color.unwrap_or_default();
            // Writing to a string does not fail.
            let _ = write!(line, "\x1b[0{bold}{color}m");
            before = style;
        }
        line.push(if abilities.is_unicode { char } else { ascii(char) });
    }
    if before != PLAIN {
        line.push_str("\x1b[0m");
    }
    line
}

/// The character, or a question mark for one that may be wider than a column or combine with its neighbours.
fn narrow(char: char) -> char {
    match char {
        '\u{a0}' | '\u{2009}' => ' ',
        ' '..='~'
        | '\u{a1}'..='\u{ac}'
        | '\u{ae}'..='\u{2ff}'
        | '\u{370}'..='\u{482}'
        | '\u{48a}'..='\u{52f}'
        | '\u{2010}'..='\u{2015}'
        | '\u{2018}'..='\u{2027}'
        | '\u{2190}'..='\u{2212}'
        | '\u{2500}'..='\u{25ff}' => char,
        _ => '?',
    }
}

/// For terminals without Unicode.
fn ascii(char: char) -> char {
    match char {
        char if char.is_ascii() => char,
        '·' | '…' => '.',
        '│' => '|',
        '–' | '—' | '−' => '-',
        '“' | '”' => '"',
        '’' | '‘' => '\'',
        '×' => 'x',
        '▲' => '^',
        '►' => '>',
        '▼' => 'v',
        '◄' => '<',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_clipped_narrow_and_coloured_as_the_terminal_can_show_it() {
        let abilities = |is_colored, is_unicode| Abilities {
            is_live: true,
            is_colored,
            is_unicode,
        };
        let mut canvas = Canvas::default();
        let mut written = |columns, column, text, style, abilities| {
            canvas.clear(columns, 1);
            canvas.text((column, 0), 9, text, style);
            canvas.lines(abilities).concat()
        };
        let all = abilities(true, true);
        assert_eq!(written(5, 3, "long", PLAIN, all), "   lo");
        assert_eq!(written(9, 0, "é漢\u{301}\u{1b}🦀x", PLAIN, all), "é???x");
        let bold = Style::color(33).bold();
        assert_eq!(written(9, 0, "ab", bold, all), "\x1b[0;1;38;5;33mab\x1b[0m");
        let least = abilities(false, false);
        assert_eq!(written(9, 0, "▲·“é”−5", bold, least), "^.\"?\"-5");
    }
}
