//! The scene as characters: the same picture and the same figures as in the window.
//!
//! Close up a tile is three characters: a resource, an agent or egg, and its level or their number.
//!
//! ```text
//! f▲3   food, and an agent of level 3 that looks north
//! t&5   thystame, and five agents
//! l*7   linemate, and an elevation that is seven tenths done
//! · o   nothing, and an egg
//! ```
//!
//! From afar a character is a block of tiles: the number of agents in it, or how much lies there.

pub(super) mod map;

use trantor_client::scene::TEAM_UNKNOWN;
use trantor_client::{LinkState, Scene};
use trantor_model::{MapSize, Resource, TeamId, Tile};

use self::map::TILE_COLUMNS;
use super::canvas::{Canvas, PLAIN, Style};
use crate::state::hud::{EventFeed, link_text, team_name};

/// Least columns of the panel beside the map, and of a map that leaves room for it; on a narrower page the panel is below.
const PANEL_COLUMNS: usize = 38;
const MAP_COLUMNS_MIN: usize = 36;
/// Rows of a panel from which the table of teams has a heading.
const HEADING_FROM: usize = 4;
const TEAMS_HEADING: &str = "team          all 12345678 eggs food";
/// Columns of an event's time.
const EVENT_INDENT: usize = 6;
/// Colours of teams, as in the window; they repeat after eight.
const TEAM_COLORS: [u8; 8] = [202, 33, 220, 175, 36, 117, 255, 61];
const DIM: Style = Style::color(240);
const WARNING: Style = Style::color(203).bold();

#[derive(Clone, Copy, Debug)]
pub(super) struct TextView<'a> {
    /// Those of the page that the scene is drawn on.
    pub columns: usize,
    pub rows: usize,
    pub scale: TextScale,
    /// The tile in the middle, where the map is larger than the page.
    pub center: Tile,
    /// The last row: keys, or a message.
    pub footer: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextScale {
    /// Three characters a tile.
    Close,
    /// A character for a block of this many tiles by twice as many; at least 1.
    Blocks(u16),
}

impl TextScale {
    /// The closest scale that shows the whole map.
    pub(super) fn whole(size: MapSize, columns: usize, rows: usize) -> Self {
        let (columns, rows) = map_area(columns, rows);
        let (width, height) = (usize::from(size.width()), usize::from(size.height()));
        if width * TILE_COLUMNS <= columns && height <= rows {
            return Self::Close;
        }
        let blocks = width
            .div_ceil(columns.max(1))
            .max(height.div_ceil(2 * rows.max(1)));
        Self::Blocks(u16::try_from(blocks).unwrap_or(u16::MAX))
    }

    pub(super) fn nearer(self) -> Self {
        match self {
            Self::Blocks(tiles @ 2..) => Self::Blocks(tiles / 2),
            _ => Self::Close,
        }
    }

    /// The next scale, at most `whole`.
    pub(super) fn further(self, whole: Self) -> Self {
        match (self, whole) {
            (Self::Close, _) => Self::Blocks(1),
            (Self::Blocks(tiles), Self::Blocks(most)) => Self::Blocks(tiles.saturating_mul(2).min(most)),
            (Self::Blocks(_), Self::Close) => Self::Blocks(1),
        }
    }
}

/// Draws the scene on the first rows of a page.
pub(super) fn draw(scene: &Scene, view: &TextView<'_>, feed: &EventFeed, page: &mut Canvas) {
    let &TextView { columns, rows, .. } = view;
    draw_status(scene, columns, page);
    let (map_columns, map_rows) = map_area(columns, rows);
    let used = scene.ground.as_ref().map_or(map_columns, |ground| {
        map::draw(scene, ground, view, (map_columns, map_rows), page)
    });
    // Also beside a map that is narrower than the columns it was given.
    let is_beside = map_columns < columns || used + 2 + PANEL_COLUMNS <= columns;
    let (at, width, height) = match is_beside {
        true => (
            (used + 2, 1),
            columns.saturating_sub(used + 2),
            rows.saturating_sub(2),
        ),
        false => ((0, 1 + map_rows), columns, rows.saturating_sub(2 + map_rows)),
    };
    draw_panel(scene, feed, at, (width, height), page);
    if rows > 1 {
        page.text((0, rows - 1), columns, view.footer, DIM);
    }
}

fn draw_status(scene: &Scene, columns: usize, page: &mut Canvas) {
    let clock = &scene.clock;
    let (state, style) = match &scene.link {
        LinkState::Live if clock.delay_ms > 0 => (format!("{} s ago", clock.delay_ms / 1_000), PLAIN),
        LinkState::Live => (link_text(&scene.link), PLAIN),
        LinkState::Ended { reason } => (format!("not connected: {reason}"), WARNING),
        other => (link_text(other), WARNING),
    };
    let mut parts = vec![("trantor ".to_owned(), PLAIN.bold()), (state, style)];
    if let Some(lag) = &scene.lag {
        parts.push((format!(" | lag {lag}"), WARNING));
    }
    if clock.frequency > 0 {
        let unsure = if clock.unconfirmed { "?" } else { "" };
        let units = clock.game.as_units_f64();
        let (paused, style) = match clock.paused {
            true => (", paused", PLAIN.bold()),
            false => ("", PLAIN),
        };
        let rate = format!(" | unit {units:.1} at {}/s{unsure}{paused}", clock.frequency);
        parts.push((rate, style));
    }
    if let Some(ground) = &scene.ground {
        let (width, height) = (ground.size.width(), ground.size.height());
        let map = format!(" | {width}x{height}, {} agents", scene.agents.len());
        parts.push((map, PLAIN));
        let wins = |team| (format!(" | {} wins", team_name(&scene.teams, team)), WARNING);
        parts.extend(scene.winner.map(wins));
    }
    let mut at = 0;
    for (text, style) in parts {
        at = page.text((at, 0), columns, &text, style);
    }
}

fn draw_panel(
    scene: &Scene,
    feed: &EventFeed,
    (column, row): (usize, usize),
    (width, height): (usize, usize),
    page: &mut Canvas,
) {
    // At most half for the teams, so that there is room for events.
    let teams = scene.teams.len().min(height.div_ceil(2));
    let (row, height) = match teams > 0 && height > HEADING_FROM {
        true => {
            page.text((column, row), width, TEAMS_HEADING, DIM);
            (row + 1, height - 1)
        }
        false => (row, height),
    };
    for (place, team) in scene.teams.iter().take(teams).enumerate() {
        let style = team_style(TeamId(place as u16)).bold();
        let name: String = team.name.chars().take(12).collect();
        let name = format!("{name:<12}");
        let at = page.text((column, row + place), width, &name, style);
        let levels = team.by_level.iter().map(|&agents| match agents {
            0 => '.',
            agents => char::from_digit(agents, 10).unwrap_or('+'),
        });
        let levels: String = levels.collect();
        let (agents, eggs, food) = (team.agents, team.eggs, team.carried[Resource::Food.index()]);
        let figures = format!(" {agents:>4} {levels} o{eggs:<3} f{food}");
        let room = width.saturating_sub(at - column);
        page.text((at, row + place), room, &figures, PLAIN);
    }
    let rows = (row + teams + 1)..(row + height);
    let lines = feed.plain_lines();
    let lines = lines.flat_map(|line| wrapped(&line, width));
    for (row, line) in rows.zip(lines) {
        page.text((column, row), width, &line, PLAIN);
    }
}

/// A line in rows of at most `width` characters, those after the first indented; words stay whole where they fit.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(EVENT_INDENT.min(width / 4));
    let mut rows = vec![String::new()];
    for (place, word) in line.split(' ').enumerate() {
        let last = rows.last_mut().expect("there is always a row");
        if place > 0 && last.chars().count() + 1 + word.chars().count() > width && !last.trim().is_empty() {
            rows.push(format!("{indent}{word}"));
            continue;
        }
        last.push_str(if place > 0 { " " } else { "" });
        last.push_str(word);
    }
    rows
}

/// Columns and rows for the map: the first row is the status, the last one the footer.
fn map_area(columns: usize, rows: usize) -> (usize, usize) {
    let rows = rows.saturating_sub(2);
    match columns >= MAP_COLUMNS_MIN + PANEL_COLUMNS {
        true => (columns - PANEL_COLUMNS, rows),
        false => (columns, rows - rows / 3),
    }
}

fn team_style(team: TeamId) -> Style {
    match team == TEAM_UNKNOWN {
        true => PLAIN,
        false => Style::color(TEAM_COLORS[usize::from(team.0) % TEAM_COLORS.len()]),
    }
}

#[cfg(test)]
mod tests;
