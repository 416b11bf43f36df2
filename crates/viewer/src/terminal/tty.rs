//! The terminal, through crossterm: its size, modes and keys, and restoring it at the end.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};

/// Size of a page where there is no terminal.
const PAGE: (u16, u16) = (100, 32);
/// How long a read of the keyboard waits, so that the end is noticed.
const READ_WAIT: Duration = Duration::from_millis(100);

/// Where frames are written. A terminal is restored when it is dropped.
#[derive(Debug)]
pub(super) struct Terminal {
    is_live: bool,
    has_keyboard: bool,
    abilities: Abilities,
}

/// What a terminal can show, according to the usual environment variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Abilities {
    moves_cursor: bool,
    is_colored: bool,
    is_unicode: bool,
}

impl Abilities {
    /// By `TERM`, `NO_COLOR`, and the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set; without any of these,
    /// Unicode is assumed.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let is_utf8 = |locale: String| locale.to_lowercase().replace('-', "").contains("utf8");
        Self {
            moves_cursor: set("TERM").is_none_or(|term| term != "dumb"),
            is_colored: set("NO_COLOR").is_none(),
            is_unicode: locale.is_none_or(is_utf8),
        }
    }
}

impl Terminal {
    /// Takes over the standard output, and the standard input for keys, if they are terminals.
    ///
    /// # Errors
    /// If the terminal's modes cannot be changed.
    pub(super) fn open() -> io::Result<Self> {
        let abilities = Abilities::of(|name| std::env::var(name).ok());
        let is_live = io::stdout().is_terminal() && abilities.moves_cursor;
        let terminal = Self {
            is_live,
            has_keyboard: is_live && io::stdin().is_terminal(),
            abilities,
        };
        if terminal.has_keyboard {
            terminal::enable_raw_mode()?;
        }
        if is_live {
            execute!(io::stdout(), EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        }
        Ok(terminal)
    }

    /// A pipe, for tests.
    #[cfg(test)]
    pub(super) fn closed() -> Self {
        Self {
            is_live: false,
            has_keyboard: false,
            abilities: Abilities::of(|_| None),
        }
    }

    /// Whether it can be drawn on, or only be written to.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    pub(super) fn has_keyboard(&self) -> bool {
        self.has_keyboard
    }

    pub(super) fn is_colored(&self) -> bool {
        self.is_live && self.abilities.is_colored
    }

    pub(super) fn is_unicode(&self) -> bool {
        self.abilities.is_unicode
    }

    /// Columns and rows, as they are now.
    pub(super) fn size(&self) -> (u16, u16) {
        match self.is_live.then(terminal::window_size) {
            Some(Ok(size)) if size.columns > 0 && size.rows > 0 => (size.columns, size.rows),
            _ => PAGE,
        }
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// If the output is closed.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        if self.is_live {
            let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        }
        if self.has_keyboard {
            let _ = terminal::disable_raw_mode();
        }
    }
}

/// Waits a tenth of a second for a key; returns the name that bindings use.
///
/// # Errors
/// If the keyboard is gone.
pub(super) fn read_key() -> io::Result<Option<String>> {
    if !event::poll(READ_WAIT)? {
        return Ok(None);
    }
    Ok(match event::read()? {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_name(key),
        _ => None,
    })
}

fn key_name(key: KeyEvent) -> Option<String> {
    let name = match key.code {
        _ if key.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char('h') if key.modifiers.contains(KeyModifiers::CONTROL) => "backspace",
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            return Some(format!("ctrl-{letter}"));
        }
        KeyCode::Char(' ') => "space",
        KeyCode::Char(letter) => return Some(letter.to_string()),
        KeyCode::F(number) => return Some(format!("f{number}")),
        KeyCode::Up => "arrowup",
        KeyCode::Down => "arrowdown",
        KeyCode::Left => "arrowleft",
        KeyCode::Right => "arrowright",
        KeyCode::Home => "home",
        KeyCode::End => "end",
        KeyCode::Insert => "insert",
        KeyCode::Delete => "delete",
        KeyCode::PageUp => "pageup",
        KeyCode::PageDown => "pagedown",
        KeyCode::Enter => "enter",
        KeyCode::Tab => "tab",
        KeyCode::Backspace => "backspace",
        KeyCode::Esc => "escape",
        _ => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities_follow_the_environment() {
        let abilities = |set: &[(&str, &str)]| {
            Abilities::of(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let all = abilities(&[]);
        assert!(all.moves_cursor && all.is_colored && all.is_unicode);
        assert!(!abilities(&[("NO_COLOR", "1")]).is_colored && abilities(&[("NO_COLOR", "")]).is_colored);
        assert!(!abilities(&[("TERM", "dumb")]).moves_cursor);
        assert!(!abilities(&[("LANG", "C")]).is_unicode);
        assert!(!abilities(&[("LC_ALL", "POSIX"), ("LANG", "en_US.utf8")]).is_unicode);
        assert!(abilities(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")]).is_unicode);
    }
}
