//! The colour of one tile, by what lies there.

use std::sync::LazyLock;

use trantor_model::{Counts, Resource};

use super::PaintMode;
use crate::picture::palette::Rgb;

/// What is shown of a tile on which this lies.
pub(super) fn paint(counts: &Counts, mode: PaintMode) -> [u8; 4] {
    match mode {
        PaintMode::Mixture => mixture(counts),
        PaintMode::Heat(resource) => heat(counts[resource]),
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
fn heat(count: u32) -> [u8; 4] {
    heat_color(count).with(if count == 0 { 0.86 } else { 0.92 })
}

/// The colour of a count on a heat map: from deep violet over orange to nearly white, growing in brightness all the
/// way, so that it can be read without seeing colours.
pub fn heat_color(count: u32) -> Rgb {
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
        0 => return Rgb::hex(0x16_0C_2B),
        count => (count as f32).log2().min(5.0),
    };
    let below = (step as usize).min(SCALE.len() - 2);
    SCALE[below].mix(SCALE[below + 1], step - below as f32)
}
