//! PNG files of 256 colours: a quarter of the bytes, and with flat faces nobody sees it.
//!
//! What a pixel's colour is off is made up for by its neighbours, so that soft light has no rings.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use trantor_render::gpu::Pixels;

type Color = [u8; 3];

/// Writes `pixels` to `file`.
///
/// # Errors
/// If the file cannot be written.
pub fn write(pixels: &Pixels, file: &Path) -> io::Result<()> {
    let (width, height) = (pixels.width as u16, pixels.height as u16);
    // One, the slowest, chooses colours best.
    let quantized = gif::Frame::from_rgba_speed(width, height, &mut pixels.rgba.clone(), 1);
    let palette = quantized.palette.unwrap_or_default();
    let palette: Vec<Color> = palette.as_chunks::<3>().0.to_vec();
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
