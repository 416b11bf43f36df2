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

use trantor_client::{EffectKind, LinkState, Scene, SceneGround};
use trantor_model::{Counts, MapSize, Resource, TeamId, Tile};

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
/// Columns of a tile close up.
const TILE_COLUMNS: usize = 3;
const SHADES: [char; 8] = [' ', '.', ':', '-', '=', '+', '*', '#'];
/// Colours of food and the six stones.
const RESOURCE_COLORS: [u8; Resource::COUNT] = [203, 252, 69, 114, 222, 141, 213];
const ELEVATION: Style = Style::color(213).bold();
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
        draw_map(scene, ground, view, (map_columns, map_rows), page)
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
    match team == TeamId::UNKNOWN {
        true => PLAIN,
        false => Style::color(TEAM_COLORS[usize::from(team.0) % TEAM_COLORS.len()]),
    }
}

/// The content of a tile or block.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    agents: u32,
    /// Of the highest agent there: its level, team and heading.
    highest: Option<(u8, TeamId, f32)>,
    eggs: u32,
    egg_team: Option<TeamId>,
    /// Progress of an elevation, in tenths.
    elevation_tenths: Option<u32>,
    speaking: bool,
}

/// The part of the map on the page.
#[derive(Clone, Copy, Debug)]
struct Window {
    size: MapSize,
    /// The tile in the upper left corner.
    corner: Tile,
    /// Spots in a row and in a column.
    width: usize,
    height: usize,
    /// Tiles of a spot.
    block: (usize, usize),
}

/// Draws the map into an area in the upper left corner, below the first row; returns its columns.
fn draw_map(
    scene: &Scene,
    ground: &SceneGround,
    view: &TextView<'_>,
    (columns, rows): (usize, usize),
    canvas: &mut Canvas,
) -> usize {
    let window = Window::new(ground.size, view, columns, rows);
    for (place, spot) in window.gather(scene).iter().enumerate() {
        let (column, row) = (place % window.width, place / window.width);
        let first = window.tile(column, row);
        match view.scale {
            TextScale::Close => {
                let counts = &ground.tiles[ground.size.index_of(first)];
                draw_tile(canvas, (column * TILE_COLUMNS, row + 1), spot, counts);
            }
            TextScale::Blocks(_) => {
                let (char, style) = block_char(spot, ground, window.block, first);
                canvas.put((column, row + 1), char, style);
            }
        }
    }
    match view.scale {
        TextScale::Close => window.width * TILE_COLUMNS,
        TextScale::Blocks(_) => window.width,
    }
}

/// The characters of the map, and what they mean.
pub(super) fn legend() -> impl Iterator<Item = String> {
    let letter = |resource: Resource| {
        let name = resource.name();
        format!("{} {name}", name.chars().next().unwrap_or('?'))
    };
    let agents = [
        "▲3 agent of level 3, looks north",
        "&5 five agents",
        "*7 elevation, 70 % done",
    ];
    let others = [
        "o2 two eggs",
        "\" speaks",
        "from afar: 5 agents, # much lies there",
    ];
    let words = agents.into_iter().chain(others).map(str::to_owned);
    Resource::ALL.into_iter().map(letter).chain(words)
}

impl Window {
    fn new(size: MapSize, view: &TextView<'_>, columns: usize, rows: usize) -> Self {
        let (spot_columns, block) = match view.scale {
            TextScale::Close => (TILE_COLUMNS, (1, 1)),
            TextScale::Blocks(tiles) => (1, (usize::from(tiles.max(1)), 2 * usize::from(tiles.max(1)))),
        };
        // Where all fits, the map begins at its own corner; else `center` is in the middle.
        let shown = |room: usize, block: usize, tiles: u16, center: u16| {
            let spots = usize::from(tiles).div_ceil(block);
            let first = i32::from(center) - (room * block / 2) as i32;
            match spots <= room {
                true => (spots, 0),
                false => (room, first.rem_euclid(i32::from(tiles)) as u16),
            }
        };
        let (width, x) = shown(columns / spot_columns, block.0, size.width(), view.center.x);
        let (height, y) = shown(rows, block.1, size.height(), view.center.y);
        Self {
            size,
            corner: Tile { x, y },
            width,
            height,
            block,
        }
    }

    fn tile(&self, column: usize, row: usize) -> Tile {
        let (dx, dy) = (column * self.block.0, row * self.block.1);
        self.size.offset(self.corner, dx as i32, dy as i32)
    }

    fn gather(&self, scene: &Scene) -> Vec<Spot> {
        let mut spots = vec![Spot::default(); self.width * self.height];
        let spots = &mut spots;
        for agent in &scene.agents {
            if let Some(spot) = self.spot(spots, agent.x, agent.y) {
                spot.agents += 1;
                let level = agent.level.get();
                if spot.highest.is_none_or(|(highest, ..)| level > highest) {
                    spot.highest = Some((level, agent.team, agent.heading));
                }
            }
        }
        for egg in &scene.eggs {
            if let Some(spot) = self.spot(spots, egg.tile.x.into(), egg.tile.y.into()) {
                spot.eggs += 1;
                spot.egg_team = Some(egg.team);
            }
        }
        for elevation in &scene.elevations {
            if let Some(spot) = self.spot(spots, elevation.tile.x.into(), elevation.tile.y.into()) {
                spot.elevation_tenths = Some(((elevation.progress * 10.0) as u32).min(9));
            }
        }
        for effect in &scene.effects {
            if matches!(effect.kind, EffectKind::Broadcast { .. })
                && let Some(spot) = self.spot(spots, effect.x, effect.y)
            {
                spot.speaking = true;
            }
        }
        std::mem::take(spots)
    }

    fn spot<'s>(&self, spots: &'s mut [Spot], x: f32, y: f32) -> Option<&'s mut Spot> {
        let from = |at: f32, corner: u16, tiles: u16| {
            (at.round() as i32 - i32::from(corner)).rem_euclid(i32::from(tiles)) as usize
        };
        let column = from(x, self.corner.x, self.size.width()) / self.block.0;
        let row = from(y, self.corner.y, self.size.height()) / self.block.1;
        (column < self.width && row < self.height).then(|| &mut spots[row * self.width + column])
    }
}

/// Three characters: a resource, an agent or egg, and its level or their number.
fn draw_tile(canvas: &mut Canvas, (column, row): (usize, usize), spot: &Spot, counts: &Counts) {
    let mut resources = Resource::ALL.into_iter().rev();
    let (char, style) = match resources.find(|resource| counts[*resource] > 0) {
        _ if spot.speaking => ('"', PLAIN.bold()),
        Some(rarest) => {
            let letter = rarest.name().chars().next().unwrap_or('?');
            (letter, Style::color(RESOURCE_COLORS[rarest.index()]))
        }
        None => ('·', DIM),
    };
    canvas.put((column, row), char, style);
    let digit = |count: u32| char::from_digit(count.min(10), 10).unwrap_or('+');
    let (who, number, style) = match (spot.elevation_tenths, spot.highest) {
        (Some(tenths), _) => ('*', digit(tenths), ELEVATION),
        (None, Some((level, team, heading))) => {
            let (who, number) = match spot.agents {
                1 => (arrow(heading), u32::from(level)),
                agents => ('&', agents),
            };
            (who, digit(number), team_style(team).bold())
        }
        (None, None) if spot.eggs > 0 => {
            let number = if spot.eggs > 1 { digit(spot.eggs) } else { ' ' };
            ('o', number, spot.egg_team.map_or(PLAIN, team_style))
        }
        (None, None) => return,
    };
    canvas.put((column + 1, row), who, style);
    canvas.put((column + 2, row), number, style);
}

/// One character for a block of tiles: how many agents, or how much lies there on average.
fn block_char(spot: &Spot, ground: &SceneGround, block: (usize, usize), first: Tile) -> (char, Style) {
    if spot.elevation_tenths.is_some() {
        return ('*', ELEVATION);
    }
    if let Some((_, team, _)) = spot.highest {
        let digit = char::from_digit(spot.agents, 10);
        return (digit.unwrap_or('&'), team_style(team).bold());
    }
    if spot.eggs > 0 {
        return ('o', spot.egg_team.map_or(PLAIN, team_style));
    }
    let offsets = (0..block.1).flat_map(|dy| (0..block.0).map(move |dx| (dx as i32, dy as i32)));
    let tiles_of_block = offsets.map(|(dx, dy)| ground.size.offset(first, dx, dy));
    let resources: u64 = tiles_of_block
        .map(|tile| ground.tiles[ground.size.index_of(tile)].total())
        .sum();
    let tiles = (block.0 * block.1) as u64;
    let shade = (resources * 2).div_ceil(tiles).min(SHADES.len() as u64 - 1);
    (SHADES[shade as usize], DIM)
}

fn arrow(heading: f32) -> char {
    let quarter = (heading / std::f32::consts::FRAC_PI_2).round() as i32;
    ['▲', '►', '▼', '◄'][quarter.rem_euclid(4) as usize]
}

#[cfg(test)]
mod tests;
