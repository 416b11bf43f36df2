//! PNG files of 256 colours: a quarter of the bytes, and with flat faces nobody sees it.
//!
//! Colours are chosen by median cut: the box of colours with the widest side, weighed by how many pixels it holds, is
//! cut where half of them are on either side, until there are 256. What a pixel's colour is off is made up for by its
//! neighbours, so that soft light has no rings.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use trantor_render::gpu::Pixels;

/// Colours of a picture at most; one byte names each.
const COLORS_MAX: usize = 256;

type Color = [u8; 3];

/// Writes `pixels` to `file`.
///
/// # Errors
/// If the file cannot be written.
pub fn write(pixels: &Pixels, file: &Path) -> io::Result<()> {
    let mut counts: BTreeMap<Color, u32> = BTreeMap::new();
    for pixel in pixels.rgba.chunks_exact(4) {
        *counts.entry([pixel[0], pixel[1], pixel[2]]).or_default() += 1;
    }
    let palette = palette(counts.into_iter().collect());
    let named = named(pixels, &palette);
    let mut encoder = png::Encoder::new(
        io::BufWriter::new(std::fs::File::create(file)?),
        pixels.width,
        pixels.height,
    );
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    // Names of colours next to each other have nothing to do with each other.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header().map_err(io::Error::other)?;
    writer.write_image_data(&named).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)
}

/// The part of what a pixel is off that its neighbours make up for: with all of it a file is half again as large, and
/// flat faces are grainy.
const MADE_UP_FOR: f32 = 0.4;

/// The number of each pixel's colour, after Floyd and Steinberg.
fn named(pixels: &Pixels, palette: &[Color]) -> Vec<u8> {
    let width = pixels.width as usize;
    let mut known: BTreeMap<Color, u8> = BTreeMap::new();
    // What pixels of this row and of the next have to make up for; one more on both sides.
    let mut rows = [vec![[0.0f32; 3]; width + 2], vec![[0.0; 3]; width + 2]];
    let mut named = Vec::with_capacity(width * pixels.height as usize);
    for row in pixels.rgba.chunks_exact(width * 4) {
        for (column, pixel) in row.chunks_exact(4).enumerate() {
            let owed = rows[0][column + 1];
            let wanted: Color =
                std::array::from_fn(|channel| (f32::from(pixel[channel]) + owed[channel]).round() as u8);
            let name = *known
                .entry(wanted)
                .or_insert_with(|| nearest(palette, wanted) as u8);
            named.push(name);
            let taken = palette[usize::from(name)];
            for channel in 0..3 {
                let off = (f32::from(wanted[channel]) - f32::from(taken[channel])) * MADE_UP_FOR / 16.0;
                rows[0][column + 2][channel] += off * 7.0;
                rows[1][column][channel] += off * 3.0;
                rows[1][column + 1][channel] += off * 5.0;
                rows[1][column + 2][channel] += off;
            }
        }
        rows.swap(0, 1);
        rows[1].fill([0.0; 3]);
    }
    named
}

/// At most [`COLORS_MAX`] colours that stand for all of `colors`, each with how often it occurs.
fn palette(colors: Vec<(Color, u32)>) -> Vec<Color> {
    let mut boxes = vec![colors];
    while boxes.len() < COLORS_MAX {
        let widest = (0..boxes.len())
            .filter(|&place| boxes[place].len() > 1)
            .max_by_key(|&place| {
                let (_, width) = widest_side(&boxes[place]);
                // Few pixels far apart, as the lights are, matter as much as many that are alike.
                u64::from(width) * u64::from(width) * u64::from(pixels_of(&boxes[place]).isqrt())
            });
        let Some(place) = widest else { break };
        let (channel, _) = widest_side(&boxes[place]);
        boxes[place].sort_unstable_by_key(|(color, _)| (color[channel], *color));
        let half = pixels_of(&boxes[place]) / 2;
        let mut below = 0;
        let cut = boxes[place]
            .iter()
            .position(|(_, count)| {
                below += count;
                below > half
            })
            .unwrap_or(0)
            .clamp(1, boxes[place].len() - 1);
        let upper = boxes[place].split_off(cut);
        boxes.push(upper);
    }
    boxes.iter().map(|colors| mean(colors)).collect()
}

fn pixels_of(colors: &[(Color, u32)]) -> u32 {
    colors.iter().map(|(_, count)| count).sum()
}

/// The channel in which these colours differ most, and by how much.
fn widest_side(colors: &[(Color, u32)]) -> (usize, u8) {
    (0..3)
        .map(|channel| {
            let (least, most) = colors
                .iter()
                .fold((u8::MAX, u8::MIN), |(least, most), (color, _)| {
                    (least.min(color[channel]), most.max(color[channel]))
                });
            (channel, most - least)
        })
        .max_by_key(|&(_, width)| width)
        .expect("a colour has three channels")
}

fn mean(colors: &[(Color, u32)]) -> Color {
    let pixels = u64::from(pixels_of(colors)).max(1);
    std::array::from_fn(|channel| {
        let sum: u64 = colors
            .iter()
            .map(|(color, count)| u64::from(color[channel]) * u64::from(*count))
            .sum();
        ((sum + pixels / 2) / pixels) as u8
    })
}

fn nearest(palette: &[Color], color: Color) -> usize {
    let off = |other: &Color| -> u32 {
        (0..3)
            .map(|channel| u32::from(color[channel].abs_diff(other[channel])).pow(2))
            .sum()
    };
    (0..palette.len())
        .min_by_key(|&place| off(&palette[place]))
        .expect("a picture has a colour")
}
