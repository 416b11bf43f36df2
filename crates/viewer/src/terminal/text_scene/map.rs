//! The map as characters: which tiles are on the screen, and what stands for each.

use trantor_client::{EffectKind, Scene, SceneGround};
use trantor_model::{Counts, MapSize, Resource, TeamId, Tile};

use super::canvas::{Canvas, Ink};
use super::{TextScale, TextView, team_ink};

/// Columns of a tile close up.
pub(super) const TILE_COLUMNS: usize = 3;

/// Ever denser characters.
const SHADES: [char; 8] = [' ', '.', ':', '-', '=', '+', '*', '#'];

/// Colours of food and the six stones.
const RESOURCE_INKS: [Ink; Resource::COUNT] = [
    Ink(203),
    Ink(252),
    Ink(69),
    Ink(114),
    Ink(222),
    Ink(141),
    Ink(213),
];

const DIM: Option<Ink> = Some(Ink(240));
const RITUAL: Option<Ink> = Some(Ink(213));

/// Who and what is on the screen; keeps its buffer from frame to frame.
#[derive(Clone, Debug, Default)]
pub(super) struct TextMap {
    /// Of each tile or block on the screen.
    spots: Vec<Spot>,
}

/// Who and what is in one tile or block.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    agents: u32,
    /// Of the highest agent there: its team, level and heading.
    highest: Option<(TeamId, u8, f32)>,
    eggs: u32,
    egg_team: Option<TeamId>,
    /// How much of an elevation is done, in tenths.
    ritual_tenths: Option<u32>,
    speaking: bool,
}

/// The part of the map on the screen.
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
        self.draw_spots(ground, &window, view, canvas);
    }

    /// Finds who and what is in each spot.
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

    fn draw_spots(&self, ground: &SceneGround, window: &Window, view: &TextView<'_>, canvas: &mut Canvas) {
        for row in 0..window.height {
            for column in 0..window.width {
                let spot = self.spots[row * window.width + column];
                match view.scale {
                    TextScale::Close => {
                        let counts = ground.tiles[ground.size.index_of(window.tile(column, row))];
                        draw_tile(
                            canvas,
                            (column * TILE_COLUMNS, row + 1),
                            &spot,
                            &counts,
                            view.unicode,
                        );
                    }
                    TextScale::Blocks(_) => {
                        let (char, ink, bold) = block_char(&spot, ground, window, column, row);
                        canvas.put(column, row + 1, char, ink, bold);
                    }
                }
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
        // Where all fits, the map begins at its own corner; else what is in the middle is in the middle.
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

/// Three characters: what lies there, who stands there, how high or how many.
fn draw_tile(
    canvas: &mut Canvas,
    (column, row): (usize, usize),
    spot: &Spot,
    counts: &Counts,
    unicode: bool,
) {
    let (char, ink) = match rarest(counts) {
        _ if spot.speaking => ('"', None),
        Some(resource) => (resource_char(resource), Some(RESOURCE_INKS[resource.index()])),
        None => (if unicode { '·' } else { '.' }, DIM),
    };
    canvas.put(column, row, char, ink, spot.speaking);
    let digit = |count: u32| char::from_digit(count.min(10), 10).unwrap_or('+');
    let (who, number, ink, bold) = match (spot.ritual_tenths, spot.highest) {
        (Some(tenths), _) => ('*', digit(tenths), RITUAL, true),
        (None, Some((team, level, heading))) if spot.agents == 1 => (
            arrow(heading, unicode),
            digit(u32::from(level)),
            team_ink(team),
            true,
        ),
        (None, Some((team, ..))) => ('&', digit(spot.agents), team_ink(team), true),
        (None, None) if spot.eggs > 0 => {
            let number = if spot.eggs > 1 { digit(spot.eggs) } else { ' ' };
            ('o', number, spot.egg_team.and_then(team_ink), false)
        }
        (None, None) => return,
    };
    canvas.put(column + 1, row, who, ink, bold);
    canvas.put(column + 2, row, number, ink, bold);
}

/// One character for a block of tiles: how many agents, or how much lies there on average.
fn block_char(
    spot: &Spot,
    ground: &SceneGround,
    window: &Window,
    column: usize,
    row: usize,
) -> (char, Option<Ink>, bool) {
    if spot.ritual_tenths.is_some() {
        return ('*', RITUAL, true);
    }
    if let Some((team, ..)) = spot.highest {
        let char = u8::try_from(spot.agents).ok().filter(|agents| *agents < 10);
        return (
            char.map_or('&', |agents| char::from(b'0' + agents)),
            team_ink(team),
            true,
        );
    }
    if spot.eggs > 0 {
        return ('o', spot.egg_team.and_then(team_ink), false);
    }
    let first = window.tile(column, row);
    let (mut lying, mut tiles) = (0, 0);
    for dy in 0..window.block.1 {
        for dx in 0..window.block.0 {
            let tile = window.size.offset(first, dx as i32, dy as i32);
            lying += ground.tiles[window.size.index_of(tile)].total();
            tiles += 1;
        }
    }
    let shade = (lying * 2).div_ceil(tiles).min(SHADES.len() as u64 - 1);
    (SHADES[shade as usize], DIM, false)
}

/// The rarest kind that lies there; all kinds but food are stones, ever rarer.
fn rarest(counts: &Counts) -> Option<Resource> {
    Resource::ALL
        .into_iter()
        .rev()
        .find(|resource| counts[*resource] > 0)
}

fn resource_char(resource: Resource) -> char {
    resource.name().chars().next().unwrap_or('?')
}

fn arrow(heading: f32, unicode: bool) -> char {
    let quarter = (heading / std::f32::consts::FRAC_PI_2).round() as i32;
    let arrows = if unicode {
        ['▲', '►', '▼', '◄']
    } else {
        ['^', '>', 'v', '<']
    };
    arrows[quarter.rem_euclid(4) as usize]
}
