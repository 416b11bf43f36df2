//! The colour of each tile seen from afar, and the heat maps.
//!
//! Where tiles are too small for their things to be drawn, the ground itself takes the colour of what lies
//! there. [`GroundPaint`] keeps one texel a tile, follows the scene's changes, and remembers which bands of rows
//! the graphics card has yet to be given: a quiet world costs nothing, however large. Smaller copies of it, each of
//! half the sides, are for ground so far away that tiles would flicker.

use trantor_client::SceneGround;
use trantor_model::{Counts, MapSize, Resource};

use super::palette::{self, Rgb};

/// What the ground's paint shows.
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
    /// The map itself first, then its smaller copies.
    levels: Vec<Level>,
    /// Which bands have news since [`Self::take_dirty`] gave them out.
    dirty: Vec<bool>,
    /// Where the search for the next of them begins, so that all have their turn.
    next_band: usize,
}

/// The paint at one size.
#[derive(Debug)]
pub struct Level {
    /// Texels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// All texels, row by row.
    pub texels: Vec<[u8; 4]>,
}

/// Some rows of the paint that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyRows {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// Rows of a band: a power of two, so that bands of smaller copies are bands as well.
const BAND_ROWS: u32 = 1 << (LEVELS_MAX - 1);
/// Copies at most, the map itself included: the smallest has a texel for 16 by 16 tiles, and the largest map is never
/// so small that those are less than pixels.
const LEVELS_MAX: usize = 5;

impl GroundPaint {
    /// Follows `ground`, in the given mode.
    pub fn update(&mut self, ground: &SceneGround, mode: PaintMode) {
        let changes = (self.size == Some(ground.size) && self.mode == mode)
            .then(|| ground.changes_since(self.version))
            .flatten();
        match (changes, self.levels.first_mut()) {
            (Some(places), Some(map)) => {
                for &place in places {
                    // A place that the ground does not have would be its mistake; it has nothing to show.
                    let Some(counts) = ground.tiles.get(place as usize) else {
                        continue;
                    };
                    let texel = paint(counts, mode);
                    if map.texels[place as usize] != texel {
                        map.texels[place as usize] = texel;
                        self.dirty[(place / map.width / BAND_ROWS) as usize] = true;
                    }
                }
            }
            _ => {
                if self.size != Some(ground.size) {
                    self.levels = levels(ground.size);
                }
                let texels = &mut self.levels[0].texels;
                texels.clear();
                texels.extend(ground.tiles.iter().map(|counts| paint(counts, mode)));
                self.size = Some(ground.size);
                self.forget_uploads();
            }
        }
        self.version = ground.version;
        self.mode = mode;
    }

    /// The map painted, once there is one.
    pub fn size(&self) -> Option<MapSize> {
        self.size
    }

    /// The texels of all tiles, row by row.
    pub fn texels(&self) -> &[[u8; 4]] {
        self.levels.first().map_or(&[], |map| &map.texels)
    }

    /// The map and its smaller copies, each half as wide and high as the one before, rounded down.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Some rows that changed since they were last given out, which brings the smaller copies up to date for them;
    /// `None` when all were.
    pub fn take_dirty(&mut self) -> Option<DirtyRows> {
        let bands = self.dirty.len();
        let band = (0..bands)
            .map(|step| (self.next_band + step) % bands)
            .find(|&band| self.dirty[band])?;
        self.dirty[band] = false;
        self.next_band = band + 1;
        let first = band as u32 * BAND_ROWS;
        let count = (self.levels[0].height - first).min(BAND_ROWS);
        for number in 1..self.levels.len() {
            let (larger, smaller) = self.levels.split_at_mut(number);
            halve(
                &larger[number - 1],
                &mut smaller[0],
                first >> number,
                count.div_ceil(1 << number),
            );
        }
        Some(DirtyRows { first, count })
    }

    /// Counts all rows as changed, for a graphics card that lost them.
    pub fn forget_uploads(&mut self) {
        let rows = self.levels.first().map_or(0, |map| map.height);
        self.dirty.clear();
        self.dirty.resize(rows.div_ceil(BAND_ROWS) as usize, true);
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

/// Makes `count` rows of `smaller`, from `first` on, of four texels of `larger` each. Colours count by how strongly
/// they show.
fn halve(larger: &Level, smaller: &mut Level, first: u32, count: u32) {
    let end = (first + count).min(smaller.height);
    for row in first..end {
        for column in 0..smaller.width {
            let corner = (row * 2 * larger.width + column * 2) as usize;
            let below = corner + larger.width as usize;
            let four =
                [corner, corner + 1, below, below + 1].map(|place| larger.texels[place].map(u32::from));
            let strength: u32 = four.iter().map(|texel| texel[3]).sum();
            let mean = |channel: usize| {
                let sum: u32 = four.iter().map(|texel| texel[channel] * texel[3]).sum();
                (sum / strength.max(1)) as u8
            };
            smaller.texels[(row * smaller.width + column) as usize] =
                [mean(0), mean(1), mean(2), (strength / 4) as u8];
        }
    }
}

fn paint(counts: &Counts, mode: PaintMode) -> [u8; 4] {
    match mode {
        PaintMode::Mixture => mixture(counts),
        PaintMode::Heat(resource) => heat(counts[resource]),
    }
}

/// Stones count more than food, which lies nearly everywhere, so that rich places stand out from afar.
fn mixture(counts: &Counts) -> [u8; 4] {
    let mut sum = [0u32; 3];
    let mut weights = 0;
    for (resource, count) in counts.iter() {
        let weight = count.min(50) * if resource == Resource::Food { 2 } else { 3 };
        weights += weight;
        for (sum, channel) in sum.iter_mut().zip(palette::resource(resource).0) {
            *sum += weight * u32::from(channel);
        }
    }
    if weights == 0 {
        return [0; 4];
    }
    let [red, green, blue] = sum.map(|sum| (sum / weights) as u8);
    // 2 of 16 is one food: seen, but faint.
    let strength = (90 + weights * 12).min(230) as u8;
    [red, green, blue, strength]
}

/// From nothing (clear) over deep violet and orange to nearly white: grows in brightness all the way, so that it
/// can be read without seeing colours.
fn heat(count: u32) -> [u8; 4] {
    const SCALE: [Rgb; 6] = [
        Rgb::hex(0x2B_12_4C),
        Rgb::hex(0x6A_1B_6D),
        Rgb::hex(0xB6_30_5E),
        Rgb::hex(0xEE_6A_3B),
        Rgb::hex(0xFB_B3_4A),
        Rgb::hex(0xFD_F2_B0),
    ];
    // Equal steps for doubling counts: 1, 2, 4, 8, 16 and 32 or more.
    let step = match count {
        0 => return Rgb::hex(0x16_0C_2B).with(0.86),
        count => (count as f32).log2().min(5.0),
    };
    let below = (step as usize).min(SCALE.len() - 2);
    SCALE[below].mix(SCALE[below + 1], step - below as f32).with(0.92)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground(version: u64, changed_since: u64, changed: Vec<u32>) -> SceneGround {
        SceneGround {
            size: MapSize::new(4, 3).unwrap(),
            tiles: vec![Counts::ZERO; 12],
            version,
            changed_since,
            changed,
        }
    }

    #[test]
    fn only_changed_bands_are_given_again() {
        let mut paint = GroundPaint::default();
        let mut first = ground(1, 0, Vec::new());
        paint.update(&first, PaintMode::Mixture);
        assert_eq!(paint.take_dirty(), Some(DirtyRows { first: 0, count: 3 }));
        assert_eq!(paint.take_dirty(), None);

        first.tiles[6].add_one(Resource::Food);
        let second = SceneGround {
            tiles: first.tiles,
            ..ground(2, 1, vec![6])
        };
        paint.update(&second, PaintMode::Mixture);
        assert_eq!(paint.take_dirty(), Some(DirtyRows { first: 0, count: 3 }));
        assert_ne!(paint.texels()[6], [0; 4]);

        paint.update(&second, PaintMode::Mixture);
        assert_eq!(paint.take_dirty(), None, "nothing changed");
        paint.update(&second, PaintMode::Heat(Resource::Food));
        assert_eq!(paint.take_dirty(), Some(DirtyRows { first: 0, count: 3 }));
        let skipped = SceneGround {
            tiles: second.tiles,
            ..ground(9, 8, Vec::new())
        };
        paint.update(&skipped, PaintMode::Heat(Resource::Food));
        assert_eq!(
            paint.take_dirty(),
            Some(DirtyRows { first: 0, count: 3 }),
            "a version was missed"
        );
    }

    #[test]
    fn smaller_copies_are_means_by_strength_and_bands_take_turns() {
        let size = MapSize::new(5, 40).unwrap();
        let mut one = SceneGround {
            size,
            tiles: vec![Counts::ZERO; size.area()],
            ..ground(1, 0, Vec::new())
        };
        one.tiles[0].add_one(Resource::Food);
        let mut paint = GroundPaint::default();
        paint.update(&one, PaintMode::Mixture);
        let given: Vec<DirtyRows> = std::iter::from_fn(|| paint.take_dirty()).collect();
        assert_eq!(
            given
                .iter()
                .map(|rows| (rows.first, rows.count))
                .collect::<Vec<_>>(),
            [(0, 16), (16, 16), (32, 8)]
        );
        let sides: Vec<(u32, u32)> = paint
            .levels()
            .iter()
            .map(|level| (level.width, level.height))
            .collect();
        assert_eq!(sides, [(5, 40), (2, 20), (1, 10)]);
        let [red, green, blue, strength] = paint.levels()[0].texels[0];
        assert_eq!(paint.levels()[1].texels[0], [red, green, blue, strength / 4]);
        assert_eq!(paint.levels()[2].texels[0], [red, green, blue, strength / 4 / 4]);
        assert_eq!(paint.levels()[1].texels[1], [0; 4]);

        let changed = |version: u64, place: u32, tiles: Vec<Counts>| SceneGround {
            size,
            tiles,
            ..ground(version, version - 1, vec![place])
        };
        let mut tiles = one.tiles;
        tiles[0].add_one(Resource::Thystame);
        tiles[199].add_one(Resource::Thystame);
        let mut two = changed(2, 0, tiles);
        two.changed.push(199);
        paint.update(&two, PaintMode::Mixture);
        assert_eq!(paint.take_dirty().map(|rows| rows.first), Some(0));
        two.tiles[1].add_one(Resource::Food);
        paint.update(&changed(3, 1, two.tiles), PaintMode::Mixture);
        assert_eq!(
            paint.take_dirty().map(|rows| rows.first),
            Some(32),
            "the other has its turn"
        );
        assert_eq!(paint.take_dirty().map(|rows| rows.first), Some(0));
        assert_eq!(paint.take_dirty(), None);
    }

    #[test]
    fn heat_grows_brighter_with_every_doubling() {
        let brightness = |count| {
            let [red, green, blue, _] = heat(count);
            u32::from(red) * 3 + u32::from(green) * 6 + u32::from(blue)
        };
        let counts = [0, 1, 2, 4, 8, 16, 32];
        for pair in counts.windows(2) {
            assert!(brightness(pair[0]) < brightness(pair[1]), "{pair:?}");
        }
        assert_eq!(heat(32), heat(u32::MAX));
    }
}
