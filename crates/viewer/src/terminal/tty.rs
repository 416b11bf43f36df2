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
    manner: Manner,
}

/// What a terminal can show, as its user said in the usual variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Manner {
    /// Whether it can be drawn on at all.
    is_able: bool,
    is_colored: bool,
    is_unicode: bool,
}

impl Manner {
    /// By `TERM`, `NO_COLOR`, and the first of `LC_ALL`, `LC_CTYPE` and `LANG` that says anything. Where none does,
    /// letters are taken to be Unicode, as they are nearly everywhere.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let said = |name| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(said);
        let is_unicode = locale.is_none_or(|locale| {
            let locale = locale.to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        Self {
            is_able: said("TERM").is_none_or(|term| term != "dumb"),
            is_colored: said("NO_COLOR").is_none(),
            is_unicode,
        }
    }
}

impl Terminal {
    /// Takes the standard output over, if it is a terminal.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub(super) fn open() -> io::Result<Self> {
        let manner = Manner::of(|name| std::env::var(name).ok());
        let terminal = Self {
            is_live: io::stdout().is_terminal() && manner.is_able,
            manner,
        };
        if terminal.is_live {
            terminal.write(ENTER)?;
        }
        Ok(terminal)
    }

    /// One that is no terminal, for tests.
    #[cfg(test)]
    pub(super) fn closed() -> Self {
        Self {
            is_live: false,
            manner: Manner::of(|_| None),
        }
    }

    /// Whether it can be drawn on, or only be written to.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Whether colours are wanted.
    pub(super) fn is_colored(&self) -> bool {
        self.is_live && self.manner.is_colored
    }

    /// Whether it knows letters beyond ASCII.
    pub(super) fn is_unicode(&self) -> bool {
        self.manner.is_unicode
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

#[cfg(test)]
mod tests {
    use super::*;

    fn manner(said: &[(&str, &str)]) -> Manner {
        Manner::of(|name| {
            let found = said.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_terminal_is_drawn_on_as_its_user_says() {
        let all = manner(&[]);
        assert!(all.is_able && all.is_colored && all.is_unicode);
        assert!(!manner(&[("NO_COLOR", "1")]).is_colored && manner(&[("NO_COLOR", "")]).is_colored);
        assert!(!manner(&[("TERM", "dumb")]).is_able);
        assert!(!manner(&[("LANG", "C")]).is_unicode && manner(&[("LANG", "de_DE.UTF-8")]).is_unicode);
        let overruled = manner(&[("LC_ALL", "POSIX"), ("LANG", "en_US.utf8")]);
        assert!(!overruled.is_unicode, "the first that says anything counts");
        assert!(manner(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")]).is_unicode);
    }
}
