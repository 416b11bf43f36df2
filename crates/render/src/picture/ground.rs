//! The colour of each tile seen from afar, and the heat maps.
//!
//! Where tiles are too small for their things to be drawn, the ground itself shows what lies there: it is green where
//! there is food, bare where it was eaten, and bluish where there are stones. [`GroundPaint`] keeps one texel a tile,
//! follows the scene's changes, and remembers which bands of rows the graphics card has yet to be given: a quiet world
//! costs nothing, however large. Smaller copies of it, each of half the sides, are for ground so far away that tiles
//! would flicker. A whole map, or another mode, is painted in slices, a band of rows in each frame at least.

use std::ops::Range;
use std::sync::LazyLock;

use trantor_client::{Scene, SceneGround};
use trantor_model::{Counts, MapSize, Resource};

use super::crowd::Crowd;
use super::palette::{Rgb, TeamColors};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaintMode {
    /// A mixture of everything that lies on the tile.
    #[default]
    Mixture,
    /// How much of one resource lies there.
    Heat(Resource),
}

/// One texel for each tile: a colour as on a screen, and how strongly it shows.
#[derive(Debug, Default)]
pub struct GroundPaint {
    size: Option<MapSize>,
    version: u64,
    mode: PaintMode,
    /// The count from which on a heat map has its brightest colour, and updates since it was found.
    heat_top: u32,
    heat_age: u32,
    /// The map itself first, then its smaller copies.
    levels: Vec<Level>,
    /// The first row that is yet to be painted; a multiple of [`BAND_ROWS`], or as many as there are.
    painted_rows: u32,
    /// Bands of which the smaller copies are behind.
    behind: Bands,
    /// Bands that changed since [`Self::take_dirty`] gave them out.
    dirty: Bands,
    /// Whether all of it is to be given to the graphics card in one frame.
    at_once: bool,
    crowd: Crowd,
}

#[derive(Debug)]
pub struct Level {
    pub width: u32,
    pub height: u32,
    /// All texels, row by row.
    pub texels: Vec<[u8; 4]>,
}

/// Rows of a band: a power of two, so that bands of smaller copies are bands as well.
const BAND_ROWS: u32 = 1 << (LEVELS_MAX - 1);
/// Copies at most, the map itself included: the smallest has a texel for 16 by 16 tiles, and the largest map is never
/// so small that those are less than pixels.
const LEVELS_MAX: usize = 5;

/// Tiles that are looked at for the scale of a heat map: as good as all of them, and a few microseconds.
const HEAT_SAMPLES_MAX: usize = 1 << 12;
/// Part of the tiles that may be above the scale: a single heap does not make all else dark.
const HEAT_ABOVE: f32 = 0.01;
/// Updates with changes after which the scale is found anew: seldom, for then all colours change.
const HEAT_UPDATES: u32 = 256;

/// Tiles painted in one frame where all have to be: half a millisecond, and a million of them in half a second.
const TILES_A_FRAME: u32 = 1 << 15;
/// Bands given to the graphics card in one frame: on the largest map all of them within half a second, and never more
/// than two hundred kilobytes at once.
const BANDS_A_FRAME: usize = 2;

impl GroundPaint {
    /// Follows `ground`, in the given mode.
    pub fn update(&mut self, ground: &SceneGround, mode: PaintMode) {
        let changes = (self.size == Some(ground.size) && self.mode == mode)
            .then(|| ground.changes_since(self.version))
            .flatten();
        self.heat_age += u32::from(self.version != ground.version);
        let is_heat_old = self.heat_age >= HEAT_UPDATES;
        if let PaintMode::Heat(resource) = mode
            && (changes.is_none() || is_heat_old)
        {
            self.heat_age = 0;
            let top = heat_top(ground, resource);
            if std::mem::replace(&mut self.heat_top, top) != top {
                self.painted_rows = 0;
            }
        }
        match changes {
            Some(places) => places.iter().for_each(|&place| self.follow(ground, place)),
            None => {
                if self.size != Some(ground.size) {
                    self.levels = levels(ground.size);
                    self.size = Some(ground.size);
                }
                self.mode = mode;
                self.painted_rows = 0;
            }
        }
        self.version = ground.version;
        self.paint_rows(ground, TILES_A_FRAME);
        self.catch_up(BANDS_A_FRAME);
    }

    /// Paints what is left at once, and gives it to the graphics card at once: for pictures that stay.
    pub fn finish(&mut self, scene: &Scene) {
        if let Some(ground) = &scene.ground {
            self.paint_rows(ground, u32::MAX);
            self.catch_up(usize::MAX);
            self.at_once = true;
            self.crowd
                .renew(ground.size, &scene.agents, TeamColors::of(&scene.teams));
        }
    }

    /// Follows where the agents of a scene are, on its map of `size`.
    pub fn follow_agents(&mut self, size: MapSize, scene: &Scene) {
        let colors = TeamColors::of(&scene.teams);
        self.crowd.update(size, &scene.agents, colors);
    }

    /// The map painted, once there is one.
    pub fn size(&self) -> Option<MapSize> {
        self.size
    }

    /// The count from which on a heat map has its brightest colour: that of the 99th centile of tiles, and at least 1.
    pub fn heat_top(&self) -> u32 {
        self.heat_top
    }

    pub fn crowd(&self) -> &Crowd {
        &self.crowd
    }

    /// The crowd, to be given to a graphics card.
    pub fn crowd_mut(&mut self) -> &mut Crowd {
        &mut self.crowd
    }

    /// The map and its smaller copies, each half as wide and high as the one before, rounded down.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// How many bands may be given to the graphics card in this frame.
    pub fn take_budget(&mut self) -> usize {
        match std::mem::take(&mut self.at_once) {
            true => usize::MAX,
            false => BANDS_A_FRAME,
        }
    }

    /// Some rows that changed since they were last given out; `None` when all were.
    pub fn take_dirty(&mut self) -> Option<Range<u32>> {
        self.dirty.take().map(|band| self.rows_of(band))
    }

    /// Whether the graphics card was given all of it, as far as the ground is known.
    pub fn is_settled(&self) -> bool {
        let is_set = |bands: &Bands| bands.0.contains(&true);
        self.painted_rows == self.height() && !is_set(&self.behind) && !is_set(&self.dirty)
    }

    /// Counts all rows as changed, for a graphics card that lost them.
    pub fn forget_uploads(&mut self) {
        self.dirty.0.fill(true);
        self.crowd.forget_uploads();
    }

    fn rows_of(&self, band: usize) -> Range<u32> {
        let first = band as u32 * BAND_ROWS;
        first..(first + BAND_ROWS).min(self.height())
    }

    fn height(&self) -> u32 {
        self.levels.first().map_or(0, |map| map.height)
    }

    fn follow(&mut self, ground: &SceneGround, place: u32) {
        // A place that the ground does not have would be its mistake; it has nothing to show.
        let (Some(counts), Some(map)) = (ground.tiles.get(place as usize), self.levels.first_mut()) else {
            return;
        };
        let row = place / map.width;
        let texel = paint(counts, self.mode, self.heat_top);
        if row < self.painted_rows && map.texels[place as usize] != texel {
            map.texels[place as usize] = texel;
            self.behind.0[(row / BAND_ROWS) as usize] = true;
        }
    }

    /// Brings the smaller copies up to date for some bands. Tile by tile, as they change, it would be done many times.
    fn catch_up(&mut self, bands: usize) {
        for _ in 0..bands {
            let Some(band) = self.behind.take() else { return };
            let rows = self.rows_of(band);
            for number in 1..self.levels.len() {
                let (larger, smaller) = self.levels.split_at_mut(number);
                let end = rows.end.div_ceil(1 << number);
                smaller[0].follow(&larger[number - 1], rows.start >> number..end);
            }
            self.dirty.0[band] = true;
        }
    }

    /// Paints the next rows that are to be painted anew, of about so many tiles.
    fn paint_rows(&mut self, ground: &SceneGround, tiles: u32) {
        let Some((width, height)) = self.levels.first().map(|map| (map.width, map.height)) else {
            return;
        };
        let bands = (tiles / width / BAND_ROWS).max(1);
        let first = self.painted_rows;
        let end = first.saturating_add(bands.saturating_mul(BAND_ROWS)).min(height);
        if first == end {
            return;
        }
        if first == 0 {
            for bands in [&mut self.behind, &mut self.dirty] {
                bands.0.resize(height.div_ceil(BAND_ROWS) as usize, false);
            }
            // What is painted in one frame is seen in one.
            self.at_once = end == height;
        }
        let places = (first * width) as usize..(end * width) as usize;
        let texels = self.levels[0].texels[places.clone()].iter_mut();
        for (texel, counts) in texels.zip(ground.tiles.get(places).unwrap_or_default()) {
            *texel = paint(counts, self.mode, self.heat_top);
        }
        self.painted_rows = end;
        let bands = (first / BAND_ROWS) as usize..end.div_ceil(BAND_ROWS) as usize;
        let count = bands.len();
        self.behind.0[bands].fill(true);
        self.catch_up(count);
    }
}

impl Level {
    /// Makes `rows` anew, each texel as the mean of four of the next larger copy. There is
    /// none for an odd row or column.
    fn follow(&mut self, larger: &Self, rows: Range<u32>) {
        for y in rows.start..rows.end.min(self.height) {
            for x in 0..self.width {
                let corner = (y * 2 * larger.width + x * 2) as usize;
                let below = corner + larger.width as usize;
                let four = [corner, corner + 1, below, below + 1].map(|place| larger.texels[place]);
                self.texels[(y * self.width + x) as usize] = std::array::from_fn(|channel| {
                    (four.iter().map(|texel| u32::from(texel[channel])).sum::<u32>() / 4) as u8
                });
            }
        }
    }
}

/// A flag for each band, and where the search for the next that is set begins, so that all have their turn.
#[derive(Debug, Default)]
struct Bands(Vec<bool>, usize);

impl Bands {
    fn take(&mut self) -> Option<usize> {
        let Self(set, next) = self;
        let count = set.len();
        let band = (0..count)
            .map(|step| (*next + step) % count)
            .find(|&band| set[band])?;
        set[band] = false;
        *next = band + 1;
        Some(band)
    }
}

/// Empty texels for a map and its smaller copies.
fn levels(size: MapSize) -> Vec<Level> {
    let (width, height) = (u32::from(size.width()), u32::from(size.height()));
    (0..LEVELS_MAX)
        .map(|number| (width >> number, height >> number))
        .take_while(|&(width, height)| width > 0 && height > 0)
        .map(|(width, height)| Level {
            width,
            height,
            texels: vec![[0; 4]; (width * height) as usize],
        })
        .collect()
}

/// What is shown of a tile on which this lies, with a heat map's brightest colour from `top` on.
fn paint(counts: &Counts, mode: PaintMode, top: u32) -> [u8; 4] {
    match mode {
        PaintMode::Mixture => mixture(counts),
        PaintMode::Heat(resource) => heat(counts[resource], top),
    }
}

/// The count that one tile in a hundred exceeds, and at least 1.
fn heat_top(ground: &SceneGround, resource: Resource) -> u32 {
    let step = ground.tiles.len().div_ceil(HEAT_SAMPLES_MAX).max(1);
    let mut counts: Vec<u32> = ground
        .tiles
        .iter()
        .step_by(step)
        .map(|tile| tile[resource])
        .collect();
    let above = (counts.len() as f32 * HEAT_ABOVE) as usize;
    match counts.len().checked_sub(above + 1) {
        Some(place) => (*counts.select_nth_unstable(place).1).max(1),
        None => 1,
    }
}

/// Bare ground, turned green by food and bluish by stones: calm from tile to tile, and telling over regions. The rarer
/// a stone, the more it counts.
fn mixture(counts: &Counts) -> [u8; 4] {
    /// By kind; food does not count here. As common as one is, so much less of it is seen.
    const WEIGHTS: [u32; Resource::COUNT] = [0, 2, 3, 4, 4, 5, 7];
    let food = counts[Resource::Food].min(FOOD_TOLD);
    let stones: u32 = counts
        .0
        .iter()
        .zip(WEIGHTS)
        .map(|(&count, weight)| count.min(20) * weight)
        .sum();
    MIXTURES[(food * (STONES_TOLD + 1) + stones.min(STONES_TOLD)) as usize]
}

/// Food, and stones by their weights, above which more looks the same.
const FOOD_TOLD: u32 = 15;
const STONES_TOLD: u32 = 63;

/// The mixtures of so much food, and so many stones each: a million of them are looked up ten times as fast as found.
static MIXTURES: LazyLock<Vec<[u8; 4]>> = LazyLock::new(|| {
    const BARE: Rgb = Rgb::hex(0x6E_5B_49);
    const GREEN: Rgb = Rgb::hex(0x7F_B8_4E);
    const STONY: Rgb = Rgb::hex(0x8F_9C_DC);
    // The first of a heap says most, as where things are drawn one by one.
    let part = |amount: u32, half: f32| amount as f32 / (amount as f32 + half);
    (0..=FOOD_TOLD)
        .map(|food| BARE.mix(GREEN, part(food, 0.6)))
        .flat_map(|land| {
            (0..=STONES_TOLD).map(move |stones| land.mix(STONY, 0.55 * part(stones, 7.0)).with(1.0))
        })
        .collect()
});

/// A count on a heat map, and how strongly it shows.
fn heat(count: u32, top: u32) -> [u8; 4] {
    heat_color(count, top).with(if count == 0 { 0.86 } else { 0.92 })
}

/// The colour of a count on a heat map up to `top`: from deep violet over orange to nearly white, growing in brightness
/// all the way, so that it can be read without seeing colours.
pub fn heat_color(count: u32, top: u32) -> Rgb {
    const SCALE: [Rgb; 7] = [
        Rgb::hex(0x16_0C_2B),
        Rgb::hex(0x2B_12_4C),
        Rgb::hex(0x6A_1B_6D),
        Rgb::hex(0xB6_30_5E),
        Rgb::hex(0xEE_6A_3B),
        Rgb::hex(0xFB_B3_4A),
        Rgb::hex(0xFD_F2_B0),
    ];
    // Equal steps for equal ratios: the first of a heap says most.
    let share = ((count as f32).ln_1p() / (top.max(1) as f32).ln_1p()).min(1.0);
    let step = share * (SCALE.len() - 1) as f32;
    let below = (step as usize).min(SCALE.len() - 2);
    SCALE[below].mix(SCALE[below + 1], step - below as f32)
}

#[cfg(test)]
mod tests;
