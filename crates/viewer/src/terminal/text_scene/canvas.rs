//! A grid of coloured characters, and its bytes for a terminal.
//!
//! Everything is clipped: what does not fit is not drawn. Characters are one column wide; others are replaced,
//! so that a team's name cannot push the picture out of shape.

use std::fmt::Write;

use trantor_protocol::text::printable;

/// One of the 256 colours of terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink(pub u8);

/// A character and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    char: char,
    ink: Option<Ink>,
    bold: bool,
}

const BLANK: Cell = Cell {
    char: ' ',
    ink: None,
    bold: false,
};

/// A grid of characters, reused from frame to frame.
#[derive(Clone, Debug, Default)]
pub struct Canvas {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    /// Makes it this large, and blank.
    pub fn clear(&mut self, columns: usize, rows: usize) {
        (self.columns, self.rows) = (columns, rows);
        self.cells.clear();
        self.cells.resize(columns * rows, BLANK);
    }

    /// Puts one character.
    pub fn put(&mut self, column: usize, row: usize, char: char, ink: Option<Ink>, bold: bool) {
        if column < self.columns && row < self.rows {
            self.cells[row * self.columns + column] = Cell {
                char: narrow(char),
                ink,
                bold,
            };
        }
    }

    /// Writes a text from a place to the right, at most `width` columns; answers the column behind it.
    pub fn text(
        &mut self,
        column: usize,
        row: usize,
        width: usize,
        text: &str,
        ink: Option<Ink>,
        bold: bool,
    ) -> usize {
        let mut at = column;
        for char in printable(text).take(width) {
            self.put(at, row, char, ink, bold);
            at += 1;
        }
        at
    }

    /// Appends all rows as lines. Blanks at the end of a row are left out.
    pub fn write(&self, colored: bool, out: &mut String) {
        for row in self.cells.chunks(self.columns.max(1)) {
            let len = row
                .iter()
                .rposition(|cell| cell.char != ' ')
                .map_or(0, |last| last + 1);
            let mut before = BLANK;
            for cell in &row[..len] {
                if colored && (cell.ink, cell.bold) != (before.ink, before.bold) {
                    write_style(cell, out);
                    before = *cell;
                }
                out.push(cell.char);
            }
            if (before.ink, before.bold) != (None, false) {
                out.push_str("\x1b[0m");
            }
            out.push('\n');
        }
    }
}

fn write_style(cell: &Cell, out: &mut String) {
    let bold = if cell.bold { ";1" } else { "" };
    // Writing to a string does not fail.
    let _ = match cell.ink {
        Some(Ink(color)) => write!(out, "\x1b[0{bold};38;5;{color}m"),
        None => write!(out, "\x1b[0{bold}m"),
    };
}

/// The character, or a question mark for one that may be wider than a column or join with its neighbours.
fn narrow(char: char) -> char {
    match char {
        ' '..='~'
        | '\u{a1}'..='\u{ac}'
        | '\u{ae}'..='\u{2ff}'
        | '\u{370}'..='\u{482}'
        | '\u{48a}'..='\u{52f}' => char,
        '\u{2010}'..='\u{2015}'
        | '\u{2018}'..='\u{2027}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2500}'..='\u{25ff}' => char,
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_drawn() {
        let mut canvas = Canvas::default();
        canvas.clear(5, 2);
        canvas.put(5, 0, 'x', None, false);
        canvas.put(0, 2, 'x', None, false);
        assert_eq!(canvas.text(3, 1, 9, "long", None, false), 7);
        let mut out = String::new();
        canvas.write(false, &mut out);
        assert_eq!(out, "\n   lo\n");
    }

    #[test]
    fn wide_and_joining_characters_keep_the_grid() {
        let mut canvas = Canvas::default();
        canvas.clear(9, 1);
        canvas.text(0, 0, 9, "é漢\u{301}\u{1b}🦀x", None, false);
        let mut out = String::new();
        canvas.write(false, &mut out);
        assert_eq!(out, "é???x\n");
    }

    #[test]
    fn colours_are_written_where_they_change() {
        let mut canvas = Canvas::default();
        canvas.clear(4, 1);
        canvas.text(0, 0, 2, "ab", Some(Ink(33)), true);
        canvas.text(2, 0, 2, "cd", None, false);
        let mut out = String::new();
        canvas.write(true, &mut out);
        assert_eq!(out, "\x1b[0;1;38;5;33mab\x1b[0mcd\n");
    }
}
