//! A page of characters as the screen of a game loop.
//!
//! Only rows that differ from the frame before are written, so that a slow line carries little.

use std::io::ErrorKind;

use trantor_client::Recording;
use trantor_client::text_scene::{TextScale, TextScene, TextView};
use trantor_model::{MapSize, Tile};
use trantor_protocol::wire::MarkKind;
use trantor_runtime::real_clock::date_for_records;
use trantor_time::{GameTime, Rate, RealTime};

use super::tty::Terminal;
use crate::console::{Console, Said};
use crate::game_loop::Screen;
use crate::game_loop::figures::Figures;
use crate::hud::Selection;
use crate::input::{Action, Bindings};
use crate::stage::{Outside, Stage};

/// Frames a second in a terminal: enough to follow, little enough for a slow line.
const LIVE_PER_SECOND: f64 = 10.0;
/// Pages a second for whoever reads them one below the other.
const PLAIN_PER_SECOND: f64 = 1.0;
/// Lines of answers that are shown below the command line.
const SAID_LINES: usize = 6;
/// Keys named in the last row.
const HINTS: [(Action, &str); 7] = [
    (Action::Pause, "pause"),
    (Action::Faster, "faster"),
    (Action::Slower, "slower"),
    (Action::StepUnit, "step"),
    (Action::NextAgent, "next agent"),
    (Action::Debug, "inside"),
    (Action::Console, "command"),
];

/// What is drawn in a terminal.
#[derive(Debug)]
pub(super) struct TextScreen {
    terminal: Terminal,
    text: TextScene,
    /// The picture that is being made, and the rows that are on the page.
    picture: String,
    page: Vec<String>,
    page_size: (u16, u16),
    /// How close, and where, if somebody moved.
    scale: Option<TextScale>,
    center: Option<Tile>,
    figures: Figures,
    is_typing: bool,
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
            scale: None,
            center: None,
            figures: Figures::default(),
            is_typing: false,
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
        let Some(size) = stage.scene().ground.as_ref().map(|ground| ground.size) else {
            return false;
        };
        let whole = TextScale::whole(size, self.page_size.0, self.page_size.1);
        let scale = self.scale.unwrap_or(whole);
        // A sixth of what is seen, roughly, and at least a tile.
        let step = match scale {
            TextScale::Close => 3,
            TextScale::Blocks(tiles) => i32::from(tiles) * 8,
        };
        match action {
            Action::PanWest => self.shift(size, -step, 0),
            Action::PanEast => self.shift(size, step, 0),
            Action::PanNorth => self.shift(size, 0, -step),
            Action::PanSouth => self.shift(size, 0, step),
            Action::ZoomIn => self.scale = Some(nearer(scale)),
            Action::ZoomOut => self.scale = Some(further(scale, whole)),
            Action::Overview => (self.scale, self.center) = (None, None),
            _ => return false,
        }
        true
    }

    fn shift(&mut self, size: MapSize, x: i32, y: i32) {
        let center = self.center.unwrap_or_else(|| middle_of(size));
        self.center = Some(size.offset(center, x, y));
    }

    /// What is written below the picture.
    fn lines_below(&self, stage: &mut Stage, columns: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let shown = stage.scene().clock.game;
        lines.extend(
            stage
                .source()
                .recording()
                .map(|recording| timeline(recording, shown, columns)),
        );
        lines.extend(inspected(stage));
        if stage.hud().panels.help {
            lines.extend(wrapped("keys", key_words(stage.bindings()), columns));
        }
        if stage.hud().panels.debug {
            lines.extend(figure_lines(&self.figures, columns));
        }
        let console = &stage.hud().console;
        if self.is_typing {
            let said: Vec<String> = console.said().rev().take(SAID_LINES).map(said_line).collect();
            lines.extend(said.into_iter().rev());
            lines.push(format!("> {}_", console.line));
        }
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
        let size = self.terminal.size();
        let (columns, rows) = size;
        let mut below = self.lines_below(stage, usize::from(columns));
        // The picture keeps half of the page, whatever is to be said.
        below.truncate(usize::from(rows / 2));
        let footer = match stage.hud().shown_notice() {
            Some(notice) => notice.to_owned(),
            None => hints(stage.bindings()),
        };
        let map = stage.scene().ground.as_ref().map(|ground| ground.size);
        let rows = rows - below.len() as u16;
        let whole = map.map_or(TextScale::Close, |map| TextScale::whole(map, columns, rows));
        let view = TextView {
            columns,
            rows,
            scale: self.scale.unwrap_or(whole),
            center: center(stage, self.center, map),
            colored: self.terminal.is_live(),
            unicode: true,
            line_end: "\n",
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
        match self.show(page, size) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                if !std::mem::replace(&mut self.is_unread, true) {
                    stage.ask_outside(Outside::Quit);
                }
                Ok(false)
            }
            shown => Ok(shown.map(|()| true)?),
        }
    }

    fn outside(&mut self, what: Outside, _: &mut Stage, _: RealTime) -> Option<String> {
        match what {
            Outside::Screenshot => {
                let file = format!("trantor-{}.txt", date_for_records().as_millis());
                let page = self.page.join("\n") + "\x1b[0m\n";
                Some(match std::fs::write(&file, page) {
                    Ok(()) => format!("saved as {file}"),
                    Err(error) => format!("cannot save {file}: {error}"),
                })
            }
            Outside::Record(_) => {
                Some("only the window can record; run script to record a terminal".to_owned())
            }
            Outside::LoseDevice => Some("There is no graphics device in a terminal".to_owned()),
            Outside::FullScreen | Outside::Sound(_) | Outside::Quit => None,
        }
    }
}

/// The tile in the middle: the selected agent's or tile, or where somebody went, or the map's own.
fn center(stage: &Stage, moved: Option<Tile>, map: Option<MapSize>) -> Tile {
    let followed = match stage.selection() {
        Selection::Agent(id) => stage.scene().agent(id).map(|agent| agent.tile),
        Selection::Tile(tile) => Some(tile),
        Selection::None => None,
    };
    followed
        .or(moved)
        .or(map.map(middle_of))
        .unwrap_or(Tile { x: 0, y: 0 })
}

fn middle_of(size: MapSize) -> Tile {
    Tile {
        x: size.width() / 2,
        y: size.height() / 2,
    }
}

fn nearer(scale: TextScale) -> TextScale {
    match scale {
        TextScale::Blocks(tiles) if tiles > 1 => TextScale::Blocks(tiles / 2),
        TextScale::Blocks(_) | TextScale::Close => TextScale::Close,
    }
}

fn further(scale: TextScale, whole: TextScale) -> TextScale {
    let most = match whole {
        TextScale::Close => 1,
        TextScale::Blocks(tiles) => tiles,
    };
    match scale {
        TextScale::Close => TextScale::Blocks(1),
        TextScale::Blocks(tiles) => TextScale::Blocks(tiles.saturating_mul(2).min(most)),
    }
}

/// Where a recording stands: a line as long as the page is wide, with a mark where something happened.
fn timeline(recording: &Recording, shown: GameTime, columns: usize) -> String {
    let shown = recording.target().unwrap_or(shown);
    let words = format!(
        "{} of {} units ",
        shown.whole_units(),
        recording.end().whole_units()
    );
    let width = columns.saturating_sub(words.len() + 2).max(1);
    let length = (recording.end() - recording.begin()).as_units_f64().max(1e-9);
    let place = |at: GameTime| {
        let share = (at - recording.begin()).as_units_f64() / length;
        ((share.clamp(0.0, 1.0) * (width - 1) as f64).round()) as usize
    };
    let mut line = vec!['-'; width];
    for mark in recording.marks() {
        line[place(mark.at)] = match mark.kind {
            MarkKind::Died { .. } => 'x',
            MarkKind::Rose { .. } => '^',
            MarkKind::Won { .. } => 'W',
            MarkKind::Speed { .. } | MarkKind::Paused | MarkKind::Resumed => 's',
        };
    }
    line[place(shown)] = '|';
    format!("{words}[{}]", line.into_iter().collect::<String>())
}

/// Everything about the selected agent or tile, in a line.
fn inspected(stage: &Stage) -> Option<String> {
    let scene = stage.scene();
    match stage.selection() {
        Selection::None => None,
        Selection::Tile(tile) => {
            let counts = scene.ground.as_ref()?.at(tile)?;
            Some(format!("tile {}, {}: {}", tile.x, tile.y, counts_words(counts)))
        }
        Selection::Agent(id) => Some(match scene.agent(id) {
            None => format!("agent #{} is not on the map", id.0),
            Some(agent) => {
                let team = scene.teams.get(usize::from(agent.team.0));
                let lives = match agent.food_left_units {
                    Some(units) => format!(", lives for {units:.0} units"),
                    None => String::new(),
                };
                let does = match agent.action {
                    Some(action) => format!("{:?} {:.0} %", action.kind, action.progress * 100.0),
                    None => "waits".to_owned(),
                };
                format!(
                    "#{} {} level {} at {}, {}: {does}{lives}; carries {}",
                    id.0,
                    team.map_or("", |team| &*team.name),
                    agent.level.get(),
                    agent.tile.x,
                    agent.tile.y,
                    counts_words(&agent.inventory)
                )
            }
        }),
    }
}

fn counts_words(counts: &trantor_model::Counts) -> String {
    let some = counts.iter().filter(|&(_, count)| count > 0);
    let words: Vec<String> = some
        .map(|(resource, count)| format!("{count} {}", resource.name()))
        .collect();
    match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join(", "),
    }
}

fn hints(bindings: &Bindings) -> String {
    let hint = |&(action, words): &(Action, &str)| {
        let key = bindings.keys_of(action).next()?;
        Some(format!("{key} {words}"))
    };
    let mut words: Vec<String> = HINTS.iter().filter_map(hint).collect();
    words.push("q quit".to_owned());
    words.join(" · ")
}

fn key_words(bindings: &Bindings) -> impl Iterator<Item = String> + '_ {
    Action::ALL.iter().filter_map(|&action| {
        let key = bindings.keys_of(action).next()?;
        Some(format!("{key} {}", action.meaning()))
    })
}

/// Figures as lines of at most `columns` characters, a group on as few as it needs (R-001-53).
fn figure_lines(figures: &Figures, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for group in &figures.groups {
        let words = group.rows.iter().map(|row| {
            let mark = if row.is_bad { "!" } else { "" };
            format!("{mark}{} {}", row.name, row.value)
        });
        lines.extend(wrapped(group.title, words, columns));
    }
    lines.extend(figures.log.iter().map(|line| format!("! {line}")));
    lines
}

/// Columns of a title before its words.
const TITLE_COLUMNS: usize = 11;

fn wrapped(title: &str, words: impl IntoIterator<Item = String>, columns: usize) -> Vec<String> {
    let mut lines = vec![format!("{title:<TITLE_COLUMNS$}")];
    for word in words {
        let length = word.chars().count();
        let last = lines.last().expect("there is at least the title's");
        if last.chars().count() + length + 3 > columns && last.trim_end().len() > TITLE_COLUMNS {
            lines.push(" ".repeat(TITLE_COLUMNS));
        }
        let last = lines.last_mut().expect("there is at least the title's");
        if last.trim_end().len() > TITLE_COLUMNS {
            last.push_str(" | ");
        }
        last.push_str(&word);
    }
    lines
}

fn said_line(said: &Said) -> String {
    match said {
        Said::Asked(text) => format!("> {text}"),
        Said::Answered(text) => format!("  {text}"),
        Said::Refused(text) => format!("! {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game_loop::figures::{Group, Row};

    fn row(name: &str, value: &str, is_bad: bool) -> Row {
        Row {
            name: name.to_owned(),
            value: value.to_owned(),
            is_bad,
        }
    }

    #[test]
    fn r_001_53_the_debugging_view_fits_any_terminal() {
        let figures = Figures {
            groups: vec![
                Group {
                    title: "Frames",
                    rows: vec![
                        row("a second", "9.9 of 10.0", false),
                        row("took p99", "120 ms", true),
                    ],
                },
                Group {
                    title: "Systems",
                    rows: (0..7)
                        .map(|_| row("interpolation", "10/s · 0.1 ms", false))
                        .collect(),
                },
            ],
            log: vec!["ERROR the rope broke".to_owned()],
            ..Figures::default()
        };
        let lines = figure_lines(&figures, 80);
        assert_eq!(lines[0], "Frames     a second 9.9 of 10.0 | !took p99 120 ms");
        assert!(
            lines[1].starts_with("Systems    interpolation") && lines[2].starts_with("           interp")
        );
        assert_eq!(lines.last().unwrap(), "! ERROR the rope broke");
        for columns in [40, 80, 200] {
            let lines = figure_lines(&figures, columns);
            assert!(
                lines.iter().all(|line| line.chars().count() <= columns),
                "{columns}: {lines:#?}"
            );
        }
    }

    #[test]
    fn r_001_53_commands_are_typed_completed_and_left() {
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

    #[test]
    fn a_page_zooms_between_a_tile_and_the_whole_map() {
        let whole = TextScale::Blocks(12);
        let mut scale = whole;
        for _ in 0..10 {
            scale = nearer(scale);
        }
        assert_eq!(scale, TextScale::Close);
        for _ in 0..10 {
            scale = further(scale, whole);
        }
        assert_eq!(scale, whole);
    }
}
