//! The scene as characters: the same picture and the same figures as in the window.
//!
//! Close up a tile is three characters: what lies there, who stands there, and how high or how many.
//!
//! ```text
//! f▲3   food, and an agent of level 3 that looks north
//! t&5   thystame, and five agents
//! l*7   linemate, and an elevation that is seven tenths done
//! · o   nothing, and an egg
//! ```
//!
//! From afar a character is a block of tiles: the number of agents in it, or how much lies there. This module
//! draws into a string and knows no terminal: keys, what is below the picture and the cursor are
//! [`super::screen`]'s.

mod canvas;
mod map;

use trantor_client::scene::TEAM_UNKNOWN;
use trantor_client::{LinkState, Scene};
use trantor_model::{MapSize, Resource, TeamId, Tile};

use self::canvas::{Canvas, Ink};
use self::map::{TILE_COLUMNS, TextMap};
use crate::hud::FeedLines;

/// Columns of the panel beside the map, where there is room for one.
const PANEL_COLUMNS: usize = 38;

/// Columns that a map needs beside a panel; on a narrower screen the panel is below.
const MAP_COLUMNS_MIN: usize = 36;

/// Colours of teams, those of the window: people who see fewer colours can tell them apart, too. They repeat after
/// eight.
const TEAM_INKS: [Ink; 8] = [
    Ink(202),
    Ink(33),
    Ink(220),
    Ink(175),
    Ink(36),
    Ink(117),
    Ink(255),
    Ink(61),
];

const DIM: Option<Ink> = Some(Ink(240));
const WARNING: Option<Ink> = Some(Ink(203));

/// What of the scene is drawn, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextView<'a> {
    /// Columns of the screen.
    pub columns: u16,
    /// Rows of the screen.
    pub rows: u16,
    /// How close.
    pub scale: TextScale,
    /// The tile in the middle, where the map is larger than the screen.
    pub center: Tile,
    /// Whether to write colours.
    pub colored: bool,
    /// Arrows and dots from beyond ASCII.
    pub unicode: bool,
    /// The last row: keys, or what the user should know.
    pub footer: &'a str,
}

/// How close the map is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextScale {
    /// Three characters a tile.
    Close,
    /// One character for a block of so many tiles by twice as many, at least 1.
    Blocks(u16),
}

/// Draws scenes; keeps its buffers from frame to frame.
#[derive(Clone, Debug, Default)]
pub struct TextScene {
    canvas: Canvas,
    map: TextMap,
}

impl TextScale {
    /// The closest scale at which the whole map can be seen.
    pub fn whole(size: MapSize, columns: u16, rows: u16) -> Self {
        let (columns, rows) = map_area(usize::from(columns), usize::from(rows));
        let (width, height) = (usize::from(size.width()), usize::from(size.height()));
        if width * TILE_COLUMNS <= columns && height <= rows {
            return Self::Close;
        }
        let blocks = width
            .div_ceil(columns.max(1))
            .max(height.div_ceil(2 * rows.max(1)));
        Self::Blocks(u16::try_from(blocks).unwrap_or(u16::MAX))
    }
}

impl TextScene {
    /// Nothing drawn yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the picture: as many rows as the screen has.
    pub fn draw(&mut self, scene: &Scene, view: &TextView<'_>, feed: &FeedLines, out: &mut String) {
        let (columns, rows) = (usize::from(view.columns), usize::from(view.rows));
        self.canvas.clear(columns, rows);
        self.draw_status(scene, columns);
        let (map_columns, map_rows) = map_area(columns, rows);
        if let Some(ground) = &scene.ground {
            self.map
                .draw(scene, ground, view, (map_columns, map_rows), &mut self.canvas);
        }
        let panel = match map_columns < columns {
            true => (map_columns + 1, 1, columns - map_columns - 1, map_rows),
            false => (0, 1 + map_rows, columns, rows.saturating_sub(2 + map_rows)),
        };
        self.draw_panel(scene, feed, panel);
        if rows > 1 {
            self.canvas.text(0, rows - 1, columns, view.footer, DIM, false);
        }
        self.canvas.write(view.colored, out);
    }

    fn draw_status(&mut self, scene: &Scene, columns: usize) {
        let (state, ink) = match &scene.link {
            LinkState::Connecting => ("connecting".to_owned(), WARNING),
            LinkState::Greeting => ("joining".to_owned(), WARNING),
            LinkState::Delayed { delay_ms, left_ms } => (
                format!(
                    "shown {} s late, the first of it in {} s",
                    delay_ms / 1_000,
                    left_ms.div_ceil(1_000)
                ),
                WARNING,
            ),
            LinkState::Loading { tiles, of } => (format!("loading {tiles} of {of} tiles"), WARNING),
            LinkState::Live if scene.clock.delay_ms > 0 => {
                (format!("{} s ago", scene.clock.delay_ms / 1_000), None)
            }
            LinkState::Live => ("live".to_owned(), None),
            LinkState::Silent { for_ms } => (
                format!("nothing heard for {:.1} s", *for_ms as f64 / 1e3),
                WARNING,
            ),
            LinkState::Ended { reason } => (format!("over: {reason}"), WARNING),
        };
        let at = self.canvas.text(0, 0, columns, "trantor ", None, true);
        let at = self.canvas.text(at, 0, columns, &state, ink, ink.is_some());
        let clock = &scene.clock;
        let speed = match (clock.frequency, clock.paused) {
            (0, _) => String::new(),
            (hertz, paused) => {
                let unsure = if clock.unconfirmed { "?" } else { "" };
                let paused = if paused { ", paused" } else { "" };
                format!(
                    " | unit {:.1} at {hertz}/s{unsure}{paused}",
                    clock.game.as_units_f64()
                )
            }
        };
        let at = self.canvas.text(at, 0, columns, &speed, None, clock.paused);
        if let Some(ground) = &scene.ground {
            let (width, height) = (ground.size.width(), ground.size.height());
            let map = format!(" | {width}x{height}, {} agents", scene.agents.len());
            let at = self.canvas.text(at, 0, columns, &map, None, false);
            if let Some(team) = scene.winner.and_then(|team| scene.teams.get(usize::from(team.0))) {
                self.canvas
                    .text(at, 0, columns, &format!(" | {} wins", team.name), WARNING, true);
            }
        }
    }

    fn draw_panel(
        &mut self,
        scene: &Scene,
        feed: &FeedLines,
        (column, row, width, height): (usize, usize, usize, usize),
    ) {
        // At most half for the teams, so that something of the feed can be seen.
        let teams = scene.teams.len().min(height.div_ceil(2));
        for (place, team) in scene.teams.iter().take(teams).enumerate() {
            let row = row + place;
            let ink = team_ink(TeamId(place as u16));
            let name: String = team.name.chars().take(12).collect();
            let at = self
                .canvas
                .text(column, row, width, &format!("{name:<12}"), ink, true);
            let levels: String = team
                .by_level
                .iter()
                .map(|&agents| match agents {
                    0 => '.',
                    1..=9 => char::from(b'0' + agents as u8),
                    _ => '+',
                })
                .collect();
            let figures = format!(
                " {:>4} {levels} o{:<3} f{}",
                team.agents,
                team.eggs,
                team.carried[Resource::Food.index()]
            );
            self.canvas
                .text(at, row, width.saturating_sub(at - column), &figures, None, false);
        }
        let rows = (row + teams + 1)..(row + height);
        for (row, line) in rows.zip(feed.newest()) {
            self.canvas.text(column, row, width, line, None, false);
            if line.chars().nth(width).is_some() {
                self.canvas
                    .put(column + width.saturating_sub(1), row, '…', None, false);
            }
        }
    }
}

/// Columns and rows for the map: the first row is the status, the last the footer.
fn map_area(columns: usize, rows: usize) -> (usize, usize) {
    let rows = rows.saturating_sub(2);
    if columns >= MAP_COLUMNS_MIN + PANEL_COLUMNS {
        (columns - PANEL_COLUMNS, rows)
    } else {
        (columns, rows - rows / 3)
    }
}

fn team_ink(team: TeamId) -> Option<Ink> {
    (team != TEAM_UNKNOWN).then(|| TEAM_INKS[usize::from(team.0) % TEAM_INKS.len()])
}

#[cfg(test)]
mod tests;
