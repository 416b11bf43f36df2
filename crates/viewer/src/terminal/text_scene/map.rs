//! The map as characters: which tiles are on the page, and what stands for each.

use trantor_client::{EffectKind, Scene, SceneGround};
use trantor_model::{Counts, MapSize, Resource, TeamId, Tile};

use super::canvas::{Canvas, PLAIN, Style};
use super::{DIM, TextScale, TextView, team_style};

/// Columns of a tile close up.
pub(super) const TILE_COLUMNS: usize = 3;
/// Ever denser characters.
const SHADES: [char; 8] = [' ', '.', ':', '-', '=', '+', '*', '#'];
/// Colours of food and the six stones.
const RESOURCE_COLORS: [u8; Resource::COUNT] = [203, 252, 69, 114, 222, 141, 213];
const RITUAL: Style = Style::color(213).bold();

/// What is on the page; keeps its buffer from frame to frame.
#[derive(Clone, Debug, Default)]
pub(super) struct TextMap {
    /// Of each tile or block on the page.
    spots: Vec<Spot>,
}

/// What is in one tile or block.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    agents: u32,
    /// Of the highest agent there: its team, level and heading.
    highest: Option<(TeamId, u8, f32)>,
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

impl TextMap {
    /// Draws the map into the upper left corner, below the first row.
    pub(super) fn draw(
        &mut self,
        scene: &Scene,
        ground: &SceneGround,
        view: &TextView<'_>,
        (columns, rows): (usize, usize),
        canvas: &mut Canvas,
    ) {
        let window = Window::new(ground.size, view, columns, rows);
        self.gather(scene, &window);
        for (place, spot) in self.spots.iter().enumerate() {
            let (column, row) = (place % window.width, place / window.width);
            match view.scale {
                TextScale::Close => {
                    let tile = ground.size.index_of(window.tile(column, row));
                    let at = (column * TILE_COLUMNS, row + 1);
                    draw_tile(canvas, at, spot, &ground.tiles[tile], view.unicode);
                }
                TextScale::Blocks(_) => {
                    let first = window.tile(column, row);
                    let (char, style) = block_char(spot, ground, window.block, first);
                    canvas.put((column, row + 1), char, style);
                }
            }
        }
    }

    fn gather(&mut self, scene: &Scene, window: &Window) {
        self.spots.clear();
        self.spots.resize(window.width * window.height, Spot::default());
        for agent in &scene.agents {
            if let Some(spot) = window.spot_at(&mut self.spots, agent.x, agent.y) {
                spot.agents += 1;
                let level = agent.level.get();
                if spot.highest.is_none_or(|(_, highest, _)| level > highest) {
                    spot.highest = Some((agent.team, level, agent.heading));
                }
            }
        }
        for egg in &scene.eggs {
            if let Some(spot) = window.spot(&mut self.spots, egg.tile) {
                spot.eggs += 1;
                spot.egg_team = Some(egg.team);
            }
        }
        for ritual in &scene.rituals {
            if let Some(spot) = window.spot(&mut self.spots, ritual.tile) {
                spot.ritual_tenths = Some(((ritual.progress * 10.0) as u32).min(9));
            }
        }
        for effect in &scene.effects {
            if matches!(effect.kind, EffectKind::Broadcast { .. })
                && let Some(spot) = window.spot_at(&mut self.spots, effect.x, effect.y)
            {
                spot.speaking = true;
            }
        }
    }
}

impl Window {
    fn new(size: MapSize, view: &TextView<'_>, columns: usize, rows: usize) -> Self {
        let (sides, spot_columns, block) = match view.scale {
            TextScale::Close => (
                (usize::from(size.width()), usize::from(size.height())),
                TILE_COLUMNS,
                (1, 1),
            ),
            TextScale::Blocks(tiles) => {
                let block = (usize::from(tiles.max(1)), 2 * usize::from(tiles.max(1)));
                let sides = (
                    usize::from(size.width()).div_ceil(block.0),
                    usize::from(size.height()).div_ceil(block.1),
                );
                (sides, 1, block)
            }
        };
        let (width, height) = (sides.0.min(columns / spot_columns), sides.1.min(rows));
        // Where all fits, the map begins at its own corner; else `center` is in the middle.
        let corner = |center: u16, shown: usize, side: usize, block: usize, tiles: u16| {
            if shown == side {
                return 0;
            }
            let half = (shown * block / 2) as i32;
            (i32::from(center) - half).rem_euclid(i32::from(tiles)) as u16
        };
        Self {
            size,
            corner: Tile {
                x: corner(view.center.x, width, sides.0, block.0, size.width()),
                y: corner(view.center.y, height, sides.1, block.1, size.height()),
            },
            width,
            height,
            block,
        }
    }

    /// The first tile of a spot.
    fn tile(&self, column: usize, row: usize) -> Tile {
        let (dx, dy) = (column * self.block.0, row * self.block.1);
        self.size.offset(self.corner, dx as i32, dy as i32)
    }

    fn spot_at<'s>(&self, spots: &'s mut [Spot], x: f32, y: f32) -> Option<&'s mut Spot> {
        let wrap = |at: f32, side: u16| (at.round() as i32).rem_euclid(i32::from(side)) as u16;
        let tile = Tile {
            x: wrap(x, self.size.width()),
            y: wrap(y, self.size.height()),
        };
        self.spot(spots, tile)
    }

    fn spot<'s>(&self, spots: &'s mut [Spot], tile: Tile) -> Option<&'s mut Spot> {
        let from = |at: u16, corner: u16, side: u16| {
            (i32::from(at) - i32::from(corner)).rem_euclid(i32::from(side)) as usize
        };
        let column = from(tile.x, self.corner.x, self.size.width()) / self.block.0;
        let row = from(tile.y, self.corner.y, self.size.height()) / self.block.1;
        (column < self.width && row < self.height).then(|| &mut spots[row * self.width + column])
    }
}

/// Three characters: a resource, an agent or egg, and its level or their number.
fn draw_tile(
    canvas: &mut Canvas,
    (column, row): (usize, usize),
    spot: &Spot,
    counts: &Counts,
    unicode: bool,
) {
    let mut resources = Resource::ALL.into_iter().rev();
    let (char, style) = match resources.find(|resource| counts[*resource] > 0) {
        _ if spot.speaking => ('"', PLAIN.bold()),
        Some(rarest) => {
            let letter = rarest.name().chars().next().unwrap_or('?');
            (letter, Style::color(RESOURCE_COLORS[rarest.index()]))
        }
        None => (if unicode { '·' } else { '.' }, DIM),
    };
    canvas.put((column, row), char, style);
    let digit = |count: u32| char::from_digit(count.min(10), 10).unwrap_or('+');
    let (who, number, style) = match (spot.ritual_tenths, spot.highest) {
        (Some(tenths), _) => ('*', digit(tenths), RITUAL),
        (None, Some((team, level, heading))) => {
            let (who, number) = match spot.agents {
                1 => (arrow(heading, unicode), u32::from(level)),
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
    if let Some((team, ..)) = spot.highest {
        let digit = char::from_digit(spot.agents, 10);
        return (digit.unwrap_or('&'), team_style(team).bold());
    }
    if spot.eggs > 0 {
        return ('o', spot.egg_team.map_or(PLAIN, team_style));
    }
    let mut lying = 0;
    for dy in 0..block.1 {
        for dx in 0..block.0 {
            let tile = ground.size.offset(first, dx as i32, dy as i32);
            lying += ground.tiles[ground.size.index_of(tile)].total();
        }
    }
    let tiles = (block.0 * block.1) as u64;
    let shade = (lying * 2).div_ceil(tiles).min(SHADES.len() as u64 - 1);
    (SHADES[shade as usize], DIM)
}

fn arrow(heading: f32, unicode: bool) -> char {
    let quarter = (heading / std::f32::consts::FRAC_PI_2).round() as i32;
    let arrows = match unicode {
        true => ['▲', '►', '▼', '◄'],
        false => ['^', '>', 'v', '<'],
    };
    arrows[quarter.rem_euclid(4) as usize]
}
