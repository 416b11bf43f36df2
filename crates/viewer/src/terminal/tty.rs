//! The terminal: its size, its modes, and giving it back as it was.
//!
//! A terminal that is drawn on shows another page than the one it was found with, without a cursor, and its keyboard
//! sends each key at once. All of that ends with [`Terminal`] and [`Keyboard`], also when the program fails.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use rustix::termios::{self, OptionalActions, SpecialCodeIndex, Termios};

/// Size of a page where there is no terminal to ask.
const PAGE: (u16, u16) = (100, 32);
/// Tenths of a second after which a read of the keyboard ends with nothing.
const READ_TENTHS: u8 = 1;

/// Another page, and no cursor; and back.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

/// Where frames are written.
#[derive(Debug)]
pub(super) struct Terminal {
    is_live: bool,
}

impl Terminal {
    /// Takes the standard output over, if it is a terminal.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub(super) fn open() -> io::Result<Self> {
        let terminal = Self {
            is_live: io::stdout().is_terminal(),
        };
        if terminal.is_live {
            terminal.write(ENTER)?;
        }
        Ok(terminal)
    }

    /// One that is no terminal, for tests.
    #[cfg(test)]
    pub(super) fn closed() -> Self {
        Self { is_live: false }
    }

    /// Whether it can be drawn on, or only be written to.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Columns and rows, as they are now.
    pub(super) fn size(&self) -> (u16, u16) {
        let asked = self.is_live.then(|| termios::tcgetwinsize(io::stdout()));
        match asked {
            Some(Ok(size)) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => PAGE,
        }
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// If nobody reads any more.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.is_live {
            // A terminal that is gone needs nothing back.
            let _ = self.write(LEAVE);
        }
    }
}

/// Where keys come from, each as soon as it is pressed.
#[derive(Debug)]
pub(super) struct Keyboard {
    found: Termios,
}

impl Keyboard {
    /// Takes the standard input over; `None` if it is no terminal.
    ///
    /// # Errors
    /// If its modes cannot be changed.
    pub(super) fn open() -> io::Result<Option<Self>> {
        let input = io::stdin();
        if !input.is_terminal() {
            return Ok(None);
        }
        let found = termios::tcgetattr(&input)?;
        let mut raw = found.clone();
        raw.make_raw();
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = READ_TENTHS;
        termios::tcsetattr(&input, OptionalActions::Now, &raw)?;
        Ok(Some(Self { found }))
    }

    /// Reads what was typed, waiting a tenth of a second at most; then 0.
    ///
    /// # Errors
    /// If the keyboard is gone.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match io::stdin().lock().read(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other,
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.found);
    }
}
