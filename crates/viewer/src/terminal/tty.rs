//! The terminal, through crossterm: its size, modes and keys, and restoring it at the end.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};

/// Size of a page where there is no terminal.
const PAGE: (usize, usize) = (100, 32);

/// Where frames are written. A terminal is restored when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    pub abilities: Abilities,
    has_keyboard: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Whether it can be drawn on, or only be written to.
    pub is_live: bool,
    pub is_colored: bool,
    pub is_unicode: bool,
}

impl Abilities {
    /// By `TERM`, `NO_COLOR`, and the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set; without any of these,
    /// Unicode is assumed.
    pub(super) fn of(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let is_utf8 = |locale: String| locale.to_lowercase().replace('-', "").contains("utf8");
        let is_live = is_terminal && set("TERM").is_none_or(|term| term != "dumb");
        Self {
            is_live,
            is_colored: is_live && set("NO_COLOR").is_none(),
            is_unicode: locale.is_none_or(is_utf8),
        }
    }
}

impl Terminal {
    /// Takes over the standard output, and the standard input for keys, if they are terminals.
    pub(super) fn open() -> io::Result<Self> {
        let abilities = Abilities::of(io::stdout().is_terminal(), |name| std::env::var(name).ok());
        let terminal = Self {
            has_keyboard: abilities.is_live && io::stdin().is_terminal(),
            abilities,
        };
        if terminal.has_keyboard {
            terminal::enable_raw_mode()?;
        }
        if abilities.is_live {
            execute!(io::stdout(), EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        }
        Ok(terminal)
    }

    /// Columns and rows, as they are now.
    pub(super) fn size(&self) -> (usize, usize) {
        match self.abilities.is_live.then(terminal::window_size) {
            Some(Ok(size)) if size.columns > 0 && size.rows > 0 => (size.columns.into(), size.rows.into()),
            _ => PAGE,
        }
    }

    /// The next key that was pressed, by the name that bindings use.
    pub(super) fn read_key(&mut self) -> Option<String> {
        if self.has_keyboard && has_hung_up() {
            log::warn!("the terminal has hung up");
            self.close_keyboard();
        }
        while self.has_keyboard {
            match event::poll(Duration::ZERO).and_then(|waits| waits.then(event::read).transpose()) {
                Ok(None) => return None,
                Ok(Some(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                    if let Some(name) = key_name(key) {
                        return Some(name);
                    }
                }
                Ok(Some(_)) => {}
                Err(error) => {
                    log::warn!("the keyboard is gone: {error}");
                    self.close_keyboard();
                }
            }
        }
        None
    }

    /// Writes all of `bytes`.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    fn close_keyboard(&mut self) {
        if std::mem::take(&mut self.has_keyboard) {
            // A terminal that is gone needs no restoring.
            let _ = terminal::disable_raw_mode();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.abilities.is_live {
            // As above.
            let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        }
        self.close_keyboard();
    }
}

/// Whether the terminal is gone without a signal: crossterm would read its end for ever.
fn has_hung_up() -> bool {
    cfg!(unix) && terminal::window_size().is_err()
}

fn key_name(key: KeyEvent) -> Option<String> {
    let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        _ if key.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char('h') if has_control => "backspace".to_owned(),
        KeyCode::Char(letter) if has_control => format!("ctrl-{letter}"),
        KeyCode::Char(' ') => "space".to_owned(),
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::F(number) => format!("f{number}"),
        KeyCode::Esc => "escape".to_owned(),
        arrow @ (KeyCode::Up | KeyCode::Down | KeyCode::Left | KeyCode::Right) => {
            format!("arrow{arrow:?}").to_lowercase()
        }
        other => format!("{other:?}").to_lowercase(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities_follow_the_environment() {
        for (set, abilities) in [
            (&[][..], [true, true, true]),
            (&[("NO_COLOR", "1")], [true, false, true]),
            (&[("NO_COLOR", ""), ("TERM", "dumb")], [false, false, true]),
            (&[("LANG", "C")], [true, true, false]),
            (
                &[("LC_ALL", "POSIX"), ("LANG", "en_US.utf8")],
                [true, true, false],
            ),
            (
                &[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")],
                [true; 3],
            ),
        ] {
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let found = Abilities::of(true, variable);
            let found = [found.is_live, found.is_colored, found.is_unicode];
            assert_eq!(found, abilities, "{set:?}");
        }
    }

    #[test]
    fn keys_have_the_names_that_bindings_use() {
        for (code, name) in [
            (KeyCode::Left, "arrowleft"),
            (KeyCode::PageDown, "pagedown"),
            (KeyCode::Esc, "escape"),
            (KeyCode::F(5), "f5"),
        ] {
            let key = KeyEvent::new(code, KeyModifiers::NONE);
            assert_eq!(key_name(key).as_deref(), Some(name));
        }
    }
}
