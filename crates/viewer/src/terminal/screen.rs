//! A page of characters as the screen of a game loop.
//!
//! Only rows that differ from the frame before are written, so that a slow line carries little.

use std::io::ErrorKind;

use trantor_runtime::real_clock::date_for_records;
use trantor_time::{Rate, RealTime};

use super::looking::Look;
use super::text_scene::{TextScale, TextScene, TextView};
use super::tty::Terminal;
use super::words;
use crate::console::Console;
use crate::game_loop::Screen;
use crate::hud::figures::Figures;
use crate::input::Action;
use crate::intent::Intent;
use crate::stage::Stage;

/// Frames a second in a terminal: enough to follow, little enough for a slow line.
const LIVE_PER_SECOND: f64 = 10.0;
/// Pages a second for whoever reads them one below the other.
const PLAIN_PER_SECOND: f64 = 1.0;
/// What is drawn in a terminal.
#[derive(Debug)]
pub(super) struct TextScreen {
    terminal: Terminal,
    text: TextScene,
    /// The picture that is being made, and the rows that are on the page.
    picture: String,
    page: Vec<String>,
    page_size: (u16, u16),
    look: Look,
    figures: Figures,
    is_typing: bool,
    /// A frame was drawn.
    has_begun: bool,
    /// Nobody reads any more.
    is_unread: bool,
}

impl TextScreen {
    pub(super) fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            text: TextScene::new(),
            picture: String::new(),
            page: Vec::new(),
            page_size: (0, 0),
            look: Look::default(),
            figures: Figures::default(),
            is_typing: false,
            has_begun: false,
            is_unread: false,
        }
    }

    /// Whether keys are letters of a command.
    pub(super) fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Keys are letters of a command from now on.
    pub(super) fn start_typing(&mut self) {
        self.is_typing = true;
    }

    /// A key while a command is being typed.
    pub(super) fn type_key(&mut self, name: &str, console: &mut Console) {
        match name {
            "enter" if console.line.trim().is_empty() => self.is_typing = false,
            "enter" => console.enter(),
            "escape" | "ctrl-c" => {
                console.line.clear();
                self.is_typing = false;
            }
            "backspace" => {
                console.line.pop();
            }
            "ctrl-u" => console.line.clear(),
            "tab" => console.complete(),
            "arrowup" => console.look(true),
            "arrowdown" => console.look(false),
            "space" => console.line.push(' '),
            letter if letter.chars().count() == 1 => console.line.push_str(letter),
            _ => {}
        }
    }

    /// Moves over the map, if `action` is one that does; answers whether it is.
    pub(super) fn moves(&mut self, action: Action, stage: &Stage) -> bool {
        self.look.moves(action, stage, self.page_size)
    }

    /// What is written below the picture, in so many rows at most: first of all what is typed.
    fn lines_below(&self, stage: &mut Stage, columns: usize, rows: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let shown = stage.scene().clock.game;
        if let Some(recording) = stage.source().recording() {
            lines.push(words::timeline(recording, shown, columns));
        }
        lines.extend(words::inspected(stage));
        if stage.hud().panels.help {
            lines.extend(words::help_lines(stage.bindings(), columns));
        }
        if stage.hud().panels.debug {
            lines.extend(words::figure_lines(&self.figures, columns));
        }
        let typed = match self.is_typing {
            true => words::console_lines(&stage.hud().console, columns, rows),
            false => Vec::new(),
        };
        lines.truncate(rows.saturating_sub(typed.len()));
        lines.extend(typed);
        lines
    }

    /// Writes the rows that differ from those on the page.
    fn show(&mut self, rows: Vec<String>, size: (u16, u16)) -> std::io::Result<()> {
        let mut out = String::new();
        if !self.terminal.is_live() {
            for row in &rows {
                out.push_str(row.trim_end());
                out.push('\n');
            }
            out.push('\n');
        } else if size != self.page_size {
            out.push_str("\x1b[2J");
            self.page.clear();
        }
        if self.terminal.is_live() {
            for (place, row) in rows.iter().enumerate() {
                if self.page.get(place) != Some(row) {
                    // The colours of a row end in it, and what is left of an older one goes.
                    out.push_str(&format!("\x1b[{};1H{row}\x1b[0m\x1b[K", place + 1));
                }
            }
        }
        self.page = rows;
        self.page_size = size;
        self.terminal.write(out.as_bytes())
    }
}

impl Screen for TextScreen {
    fn display_rate(&mut self, _: RealTime) -> Rate {
        let per_second = match self.terminal.is_live() {
            true => LIVE_PER_SECOND,
            false => PLAIN_PER_SECOND,
        };
        Rate::per_second(per_second).expect("both are rates")
    }

    fn size(&self) -> ((u32, u32), f32) {
        let (columns, rows) = self.terminal.size();
        ((u32::from(columns), u32::from(rows)), 1.0)
    }

    fn lay_out(&mut self, _: &mut Stage, figures: &Figures, _: RealTime) {
        self.figures.clone_from(figures);
    }

    fn draw(&mut self, stage: &mut Stage, _: RealTime) -> anyhow::Result<bool> {
        // The first frame has no world yet: into a pipe it is no page, so that `| head` shows the game.
        if !std::mem::replace(&mut self.has_begun, true) && !self.terminal.is_live() {
            return Ok(true);
        }
        let size = self.terminal.size();
        let (columns, rows) = size;
        // The picture keeps half of the page, whatever is to be said.
        let below = self.lines_below(stage, usize::from(columns), usize::from(rows / 2));
        let footer = match stage.hud().shown_notice() {
            Some(notice) => notice.to_owned(),
            None => words::hints(stage.bindings()),
        };
        let map = stage.scene().ground.as_ref().map(|ground| ground.size);
        let rows = rows - below.len() as u16;
        let whole = map.map_or(TextScale::Close, |map| TextScale::whole(map, columns, rows));
        let view = TextView {
            columns,
            rows,
            scale: self.look.scale(whole),
            center: self.look.center(stage),
            colored: self.terminal.is_colored(),
            unicode: self.terminal.is_unicode(),
            footer: &footer,
        };
        self.picture.clear();
        let (scene, feed) = stage.scene_and_feed();
        self.text.draw(scene, &view, feed, &mut self.picture);
        let mut page: Vec<String> = self.picture.lines().map(str::to_owned).collect();
        page.extend(
            below
                .into_iter()
                .map(|line| line.chars().take(usize::from(columns)).collect()),
        );
        if !self.terminal.is_unicode() {
            page.iter_mut().for_each(|row| *row = words::plain(row));
        }
        match self.show(page, size) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                if !std::mem::replace(&mut self.is_unread, true) {
                    stage.ask_host(Intent::Do(Action::Quit));
                }
                Ok(false)
            }
            shown => Ok(shown.map(|()| true)?),
        }
    }

    fn host_request(&mut self, what: Intent, _: &mut Stage, _: RealTime) -> Option<String> {
        match what {
            Intent::Do(Action::Screenshot) => {
                let file = format!("trantor-{}.txt", date_for_records().as_millis());
                let end = if self.terminal.is_colored() {
                    "\x1b[0m\n"
                } else {
                    "\n"
                };
                let page = self.page.join("\n") + end;
                Some(match std::fs::write(&file, page) {
                    Ok(()) => format!("saved as {file}"),
                    Err(error) => format!("cannot save {file}: {error}"),
                })
            }
            Intent::Record(_) => {
                Some("only the window can record; run script to record a terminal".to_owned())
            }
            Intent::Gpu(_) | Intent::Quality(_) => {
                Some("There is no graphics device in a terminal".to_owned())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_typed_completed_and_left() {
        let mut screen = TextScreen::new(Terminal::closed());
        let mut console = Console::default();
        screen.start_typing();
        for key in ["s", "p", "tab", "5", "x", "backspace", "space", "enter"] {
            screen.type_key(key, &mut console);
        }
        assert_eq!(console.take_entered().as_deref(), Some("speed 5"));
        screen.type_key("arrowup", &mut console);
        assert_eq!(console.line, "speed 5");
        screen.type_key("escape", &mut console);
        assert!(!screen.is_typing() && console.line.is_empty());
    }
}
