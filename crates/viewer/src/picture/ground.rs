//! The colour of each tile seen from afar, and the heat maps.
//!
//! Where tiles are too small for their things to be drawn, the ground itself takes the colour of what lies
//! there. [`GroundPaint`] keeps one texel a tile, follows the scene's changes, and remembers which rows the
//! graphics card has yet to be given: a quiet world costs nothing, however large.

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
    texels: Vec<[u8; 4]>,
    /// Rows with news since [`Self::take_dirty`]; `None` when there are none.
    dirty: Option<(u32, u32)>,
}

/// The rows of the paint that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirtyRows {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl GroundPaint {
    /// Follows `ground`, in the given mode.
    pub fn update(&mut self, ground: &SceneGround, mode: PaintMode) {
        let changes = (self.size == Some(ground.size) && self.mode == mode)
            .then(|| ground.changes_since(self.version))
            .flatten();
        let width = u32::from(ground.size.width());
        match changes {
            Some(places) => {
                for &place in places {
                    // A place that the ground does not have would be its mistake; it has nothing to show.
                    let Some(counts) = ground.tiles.get(place as usize) else {
                        continue;
                    };
                    let texel = paint(counts, mode);
                    if self.texels[place as usize] != texel {
                        self.texels[place as usize] = texel;
                        let row = place / width;
                        let (first, last) = self.dirty.unwrap_or((row, row));
                        self.dirty = Some((first.min(row), last.max(row)));
                    }
                }
            }
            None => {
                self.texels.clear();
                self.texels
                    .extend(ground.tiles.iter().map(|counts| paint(counts, mode)));
                self.dirty = Some((0, u32::from(ground.size.height()) - 1));
            }
        }
        self.size = Some(ground.size);
        self.version = ground.version;
        self.mode = mode;
    }

    /// The map painted, once there is one.
    pub fn size(&self) -> Option<MapSize> {
        self.size
    }

    /// All texels, row by row.
    pub fn texels(&self) -> &[[u8; 4]] {
        &self.texels
    }

    /// Which rows changed since this was last asked.
    pub fn take_dirty(&mut self) -> Option<DirtyRows> {
        self.dirty.take().map(|(first, last)| DirtyRows {
            first,
            count: last - first + 1,
        })
    }

    /// Counts all rows as changed, for a graphics card that lost them.
    pub fn forget_uploads(&mut self) {
        self.dirty = self.size.map(|size| (0, u32::from(size.height()) - 1));
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
    fn only_changed_rows_are_given_again() {
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
        assert_eq!(paint.take_dirty(), Some(DirtyRows { first: 1, count: 1 }));
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
