//! The map as characters: the tiles on the page, and the character of each.

use trantor_client::{EffectKind, Scene, SceneGround};
use trantor_model::{Counts, MapSize, Resource, TeamId, Tile};

use super::super::canvas::{Canvas, PLAIN, Style};
use super::{DIM, TextScale, TextView, team_style};

/// Columns of a tile close up.
pub(super) const TILE_COLUMNS: usize = 3;
const SHADES: [char; 8] = [' ', '.', ':', '-', '=', '+', '*', '#'];
/// Colours of food and the six stones.
const RESOURCE_COLORS: [u8; Resource::COUNT] = [203, 252, 69, 114, 222, 141, 213];
const RITUAL: Style = Style::color(213).bold();

/// The content of a tile or block.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    agents: u32,
    /// Of the highest agent there: its level, team and heading.
    highest: Option<(u8, TeamId, f32)>,
    eggs: u32,
    egg_team: Option<TeamId>,
    /// Progress of a ritual, in tenths.
    ritual_tenths: Option<u32>,
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
pub(super) fn draw(
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
pub(in super::super) fn legend() -> impl Iterator<Item = String> {
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
        for ritual in &scene.rituals {
            if let Some(spot) = self.spot(spots, ritual.tile.x.into(), ritual.tile.y.into()) {
                spot.ritual_tenths = Some(((ritual.progress * 10.0) as u32).min(9));
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
    let (who, number, style) = match (spot.ritual_tenths, spot.highest) {
        (Some(tenths), _) => ('*', digit(tenths), RITUAL),
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
    if spot.ritual_tenths.is_some() {
        return ('*', RITUAL);
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
