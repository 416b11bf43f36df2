//! The game in a terminal: the same scene, keys and commands as in the window.
//!
//! ```text
//! trantor-viewer --text             draws in this terminal, ten times a second
//! trantor-viewer --text | less      writes a plain page a second until the pipe is closed
//! ```
//!
//! The game loop is the window's, with another [`Screen`]: a page of characters, of which only rows that changed are written.
//! It has the scene ([`text_scene`]) and the rows below it ([`below`]) on a grid of characters ([`canvas`]). [`tty`] is the
//! terminal.

mod below;
mod canvas;
mod text_scene;
mod tty;

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{Clear, ClearType};
use trantor_model::{MapSize, Tile};
use trantor_runtime::real_clock::RealClock;
use trantor_runtime::signals;
use trantor_runtime::wait::{Parker, Waker};
use trantor_time::{Rate, RealSpan, RealTime};

use self::canvas::{Canvas, PLAIN};
use self::text_scene::{TextScale, TextView};
use self::tty::Terminal;
use crate::console::Console;
use crate::figures::Figures;
use crate::game_loop::{GameLoop, Screen, Viewer, Wake};
use crate::input::{Action, Input};
use crate::intent::{Intent, Selection};
use crate::state::ViewerState;
use crate::{logging, pictures};

/// Shows what `make_state` makes until the user quits or the pipe is closed.
pub fn run(make_state: impl FnOnce(Waker) -> anyhow::Result<ViewerState>) -> anyhow::Result<()> {
    let mut parker = Parker::new();
    let state = make_state(parker.waker())?;
    let terminal = Terminal::open().context("this terminal cannot be drawn on")?;
    let mut is_ending = Arc::<AtomicBool>::default();
    if terminal.abilities.is_live {
        logging::set_quiet(true);
        // The terminal must be restored first, so signals only ask for the end.
        is_ending = signals::end_flag(false)?;
    }
    let mut game_loop = GameLoop::new(state, TextScreen::new(terminal), RealClock::new());
    while !game_loop.is_over() {
        // The loop runs one more frame; it must not ask for the end twice.
        if is_ending.swap(false, Ordering::Relaxed) {
            game_loop.event(|viewer, _| viewer.put_input(Input::Act(Action::Quit)));
        }
        // Keys count from the next frame on, so it is enough to look for them before each.
        while let Some(key) = game_loop.viewer().screen.terminal.read_key() {
            game_loop.event(|viewer, _| handle(viewer, &key));
        }
        if let Wake::At(wake) = game_loop.turn() {
            parker.wait(Some(wake));
        }
    }
    let (screen, settings) = game_loop.finish();
    // Restores the terminal, so that later messages can be read.
    drop(screen);
    logging::set_quiet(false);
    settings.save();
    Ok(())
}

fn handle(viewer: &mut Viewer<TextScreen>, key: &str) {
    let Viewer { state, screen, .. } = viewer;
    if screen.is_typing {
        return screen.type_key(key, &mut state.hud().console);
    }
    let action = match key {
        // As in other programs for terminals.
        "q" | "ctrl-c" | "ctrl-d" => Some(Action::Quit),
        key => state.keys.bindings.action_of(key),
    };
    match action {
        Some(Action::Console) => screen.is_typing = true,
        Some(action) if screen.pans(action, state) => {}
        Some(action) => viewer.put_input(Input::Act(action)),
        None => {}
    }
}

/// Frames a second in a terminal: enough to follow, and little data for a slow line.
const LIVE_PER_SECOND: f64 = 10.0;
/// Pages a second in a pipe.
const PLAIN_PER_SECOND: f64 = 1.0;
/// How long the first page in a pipe waits for the world: joining a large one on a slow line takes longer, and a page
/// that says so is better than none.
const FIRST_PAGE: RealSpan = RealSpan::from_secs(1);

#[derive(Debug, Default)]
struct TextScreen {
    terminal: Terminal,
    canvas: Canvas,
    page: Vec<String>,
    page_size: (usize, usize),
    /// The scale and the tile in the middle that the user chose.
    scale: Option<TextScale>,
    center: Option<Tile>,
    figures: Figures,
    /// Whether keys are letters of a command.
    is_typing: bool,
    /// When the first frame was due.
    since: Option<RealTime>,
    has_shown: bool,
    is_closed: bool,
}

impl TextScreen {
    fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            ..Self::default()
        }
    }

    fn type_key(&mut self, name: &str, console: &mut Console) {
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
            "arrowup" => console.recall(true),
            "arrowdown" => console.recall(false),
            "space" => console.line.push(' '),
            letter if letter.chars().count() == 1 => console.line.push_str(letter),
            _ => {}
        }
    }

    /// Pans or zooms if `action` does that; returns whether it does.
    fn pans(&mut self, action: Action, state: &ViewerState) -> bool {
        let Some(size) = map_size(state) else { return false };
        let whole = TextScale::whole(size, self.page_size.0, self.page_size.1);
        let scale = self.scale.unwrap_or(whole);
        // About a sixth of the view.
        let step = match scale {
            TextScale::Close => 3,
            TextScale::Blocks(tiles) => i32::from(tiles) * 8,
        };
        let mut pan = |x, y| self.center = Some(size.offset(self.center.unwrap_or(middle(size)), x, y));
        match action {
            Action::PanWest => pan(-step, 0),
            Action::PanEast => pan(step, 0),
            Action::PanNorth => pan(0, -step),
            Action::PanSouth => pan(0, step),
            Action::ZoomIn => self.scale = Some(scale.nearer()),
            Action::ZoomOut => self.scale = Some(scale.further(whole)),
            Action::Overview => (self.scale, self.center) = (None, None),
            _ => return false,
        }
        true
    }

    /// The tile in the middle: of the selection, or chosen by the user, or the map's.
    fn center(&self, state: &ViewerState) -> Tile {
        let selected = match state.selection() {
            Selection::Agent(id) => state.scene().agent(id).map(|agent| agent.tile),
            Selection::Tile(tile) => Some(tile),
            Selection::None => None,
        };
        let map = map_size(state).map(middle);
        selected.or(self.center).or(map).unwrap_or(Tile { x: 0, y: 0 })
    }

    /// The rows below the picture, at most `rows`; the command line has priority.
    fn lines_below(&self, state: &mut ViewerState, columns: usize, rows: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let shown = state.scene().clock.game;
        if let Some(recording) = state.source().recording() {
            lines.push(below::timeline(recording, shown, columns));
        }
        lines.extend(below::inspected(state));
        if state.hud().panels.help {
            lines.extend(below::help_lines(&state.keys.bindings, columns));
        }
        if state.hud().panels.debug {
            lines.extend(below::figure_lines(&self.figures, columns));
        }
        let typed = match self.is_typing {
            true => below::console_lines(&state.hud().console, columns, rows),
            false => Vec::new(),
        };
        lines.truncate(rows.saturating_sub(typed.len()));
        lines.extend(typed);
        lines
    }

    /// Writes the rows that changed; into a pipe, all of them.
    fn show(&mut self, rows: Vec<String>, size: (usize, usize)) -> std::io::Result<()> {
        let mut out = Vec::new();
        if self.terminal.abilities.is_live {
            if size != self.page_size {
                queue!(out, Clear(ClearType::All))?;
                self.page.clear();
            }
            for (place, row) in (0u16..).zip(&rows) {
                if self.page.get(usize::from(place)) != Some(row) {
                    queue!(out, MoveTo(0, place), Print(row), SetAttribute(Attribute::Reset))?;
                    queue!(out, Clear(ClearType::UntilNewLine))?;
                }
            }
        } else {
            for row in &rows {
                out.extend_from_slice(row.as_bytes());
                out.push(b'\n');
            }
            out.push(b'\n');
        }
        self.page = rows;
        self.page_size = size;
        self.terminal.write(&out)
    }
}

fn map_size(state: &ViewerState) -> Option<MapSize> {
    state.scene().ground.as_ref().map(|ground| ground.size)
}

fn middle(size: MapSize) -> Tile {
    let (x, y) = (size.width() / 2, size.height() / 2);
    Tile { x, y }
}

impl Screen for TextScreen {
    fn display_rate(&mut self, _: RealTime) -> Rate {
        let per_second = match self.terminal.abilities.is_live || !self.has_shown {
            true => LIVE_PER_SECOND,
            false => PLAIN_PER_SECOND,
        };
        Rate::per_second(per_second).expect("both are rates")
    }

    fn size(&self) -> ((u32, u32), f32) {
        let (columns, rows) = self.terminal.size();
        ((columns as u32, rows as u32), 1.0)
    }

    fn lay_out(&mut self, _: &mut ViewerState, figures: &Figures, _: RealTime) {
        self.figures.clone_from(figures);
    }

    fn draw(&mut self, state: &mut ViewerState, now: RealTime) -> anyhow::Result<bool> {
        // In a pipe the first page has the world, so that `| head` shows the game.
        let is_early = now < *self.since.get_or_insert(now) + FIRST_PAGE;
        if is_early && map_size(state).is_none() && !self.terminal.abilities.is_live {
            return Ok(true);
        }
        self.has_shown = true;
        let size = self.terminal.size();
        let (columns, rows) = size;
        // The picture keeps half of the page.
        let below = self.lines_below(state, columns, rows / 2);
        let footer = match state.hud().shown_notice() {
            Some(notice) => notice.to_owned(),
            None => below::hints(&state.keys.bindings),
        };
        self.canvas.clear(columns, rows);
        let rows = rows - below.len();
        let whole = map_size(state).map_or(TextScale::Close, |map| TextScale::whole(map, columns, rows));
        let view = TextView {
            columns,
            rows,
            scale: self.scale.unwrap_or(whole),
            center: self.center(state),
            footer: &footer,
        };
        let (scene, feed) = state.scene_and_feed();
        text_scene::draw(scene, &view, feed, &mut self.canvas);
        for (line, row) in below.iter().zip(rows..) {
            self.canvas.text((0, row), columns, line, PLAIN);
        }
        let page = self.canvas.lines(self.terminal.abilities);
        match self.show(page, size) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                if !std::mem::replace(&mut self.is_closed, true) {
                    state.ask_host(Intent::Do(Action::Quit));
                }
                Ok(false)
            }
            shown => Ok(shown.map(|()| true)?),
        }
    }

    fn host_request(&mut self, what: Intent, state: &mut ViewerState, _: RealTime) -> Option<String> {
        match what {
            Intent::Do(Action::Screenshot) => {
                let page = self.page.join("\n") + "\n";
                let saved = pictures::new_file(state.scene(), "txt")
                    .and_then(|file| std::fs::write(&file, page).map(|()| file));
                Some(match saved {
                    Ok(file) => format!("saved as {}", file.display()),
                    Err(error) => format!("cannot save the page: {error}"),
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
        let mut screen = TextScreen::default();
        let mut console = Console::default();
        screen.is_typing = true;
        for key in ["s", "p", "tab", "5", "x", "backspace", "space", "enter"] {
            screen.type_key(key, &mut console);
        }
        assert_eq!(console.take_entered().as_deref(), Some("speed 5"));
        screen.type_key("arrowup", &mut console);
        assert_eq!(console.line, "speed 5");
        screen.type_key("escape", &mut console);
        assert!(!screen.is_typing && console.line.is_empty());
    }
}
