//! Pictures as an animated GIF: what changed since the picture before, in the best 256 colours for that.
//!
//! A picture is written when the next one that differs is there, since only then it is known how long it is shown. So
//! pictures that are left out make a film jump, and never change its speed.
//!
//! [`recording`] takes the pictures of a while as the window shows them; [`crate::offscreen::film`] draws those of a recorded
//! game, or of a demo, one by one at exact moments.

pub mod recording;

use std::borrow::Cow;
use std::io::{self, Write};

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};

use trantor_render::gpu::Pixels;

/// Most pictures a second: what is shown for less than two hundredths of a second, browsers show for ten.
pub const PER_SECOND_MAX: u32 = 50;

/// Pictures a second of a film: from 1 to [`PER_SECOND_MAX`].
///
/// # Errors
/// For anything else; the text is for the user.
pub fn film_rate(text: &str) -> Result<u32, String> {
    let known = text
        .parse()
        .ok()
        .filter(|rate| (1..=PER_SECOND_MAX).contains(rate));
    known.ok_or_else(|| format!("a film has 1 to {PER_SECOND_MAX} pictures a second, not {text:?}"))
}

/// Longest side of a film in pixels: larger pictures are halved until they fit. A minute of them is tens of megabytes.
const SIDE_PIXELS_MAX: u32 = 960;
/// A colour has changed when one of its parts did by this much: less is not seen, and makes a film several times as large.
const CHANGE_LEAST: u8 = 4;
/// 1 to 30: how quickly colours are chosen, against how well. Ten is where more care is no longer seen.
const QUANTIZER_SPEED: i32 = 10;

pub struct GifFilm<W: Write> {
    encoder: Encoder<W>,
    per_second: u32,
    halvings: u32,
    size: (u16, u16),
    /// The colours that the film shows now.
    shown: Vec<u8>,
    /// The last picture that differs, and when it is first shown.
    held: Option<(Frame<'static>, u64)>,
}

impl<W: Write> GifFilm<W> {
    /// A film of pictures of `size`, so many a second (`1..=`[`PER_SECOND_MAX`]), that begins again at its end.
    pub fn new(out: W, per_second: u32, (width, height): (u32, u32)) -> io::Result<Self> {
        let longer = width.max(height);
        let fits = |halvings: &u32| longer >> halvings <= SIDE_PIXELS_MAX;
        let halvings = (0..16).find(fits).unwrap_or(16);
        let size = [width, height].map(|side| (side >> halvings).max(1) as u16);
        let mut encoder = Encoder::new(out, size[0], size[1], &[]).map_err(io_error)?;
        encoder.set_repeat(Repeat::Infinite).map_err(io_error)?;
        Ok(Self {
            encoder,
            per_second: per_second.clamp(1, PER_SECOND_MAX),
            halvings,
            size: size.into(),
            shown: Vec::new(),
            held: None,
        })
    }

    /// Adds the picture number `turn` of the film, counted from 0 and growing.
    pub fn add(&mut self, turn: u64, pixels: &Pixels) -> io::Result<()> {
        let Some(frame) = self.changed(&shrunk(pixels, self.halvings, self.size)) else {
            return Ok(());
        };
        self.write_held(turn)?;
        self.held = Some((frame, turn));
        Ok(())
    }

    /// Ends the film as long as `turns` pictures, and flushes it.
    pub fn finish(mut self, turns: u64) -> io::Result<W> {
        self.write_held(turns)?;
        let mut out = self.encoder.into_inner().map_err(io_error)?;
        out.flush()?;
        Ok(out)
    }

    fn write_held(&mut self, until: u64) -> io::Result<()> {
        let Some((mut frame, from)) = self.held.take() else {
            return Ok(());
        };
        // Instants are rounded, not lengths: nothing adds up.
        let at = |turn: u64| turn * 100 / u64::from(self.per_second);
        frame.delay = u16::try_from(at(until) - at(from)).unwrap_or(u16::MAX);
        self.encoder.write_frame(&frame).map_err(io_error)
    }

    /// The smallest part of a picture that holds all that is new in it, the rest of that see-through; `None` if nothing is.
    fn changed(&mut self, rgba: &[u8]) -> Option<Frame<'static>> {
        let width = usize::from(self.size.0);
        let is_first = self.shown.is_empty();
        if is_first {
            self.shown = vec![0; rgba.len()];
        }
        let (mut left, mut right, mut top, mut bottom) = (width, 0, usize::MAX, 0);
        let mut fresh = vec![0; rgba.len()];
        let pixels = rgba.chunks_exact(4).zip(self.shown.chunks_exact_mut(4));
        for (place, ((new, shown), fresh)) in pixels.zip(fresh.chunks_exact_mut(4)).enumerate() {
            let is_new = new
                .iter()
                .zip(&*shown)
                .any(|(new, old)| new.abs_diff(*old) >= CHANGE_LEAST);
            if is_new || is_first {
                shown.copy_from_slice(new);
                fresh.copy_from_slice(new);
                let (x, y) = (place % width, place / width);
                (left, right) = (left.min(x), right.max(x));
                (top, bottom) = (top.min(y), bottom.max(y));
            }
        }
        if top > bottom {
            return None;
        }
        let rows = fresh.chunks_exact(width * 4).skip(top).take(bottom - top + 1);
        let mut part: Vec<u8> = rows
            .flat_map(|row| &row[left * 4..=right * 4 + 3])
            .copied()
            .collect();
        let (part_width, part_height) = ((right - left + 1) as u16, (bottom - top + 1) as u16);
        let mut frame = Frame::from_rgba_speed(part_width, part_height, &mut part, QUANTIZER_SPEED);
        (frame.left, frame.top) = (left as u16, top as u16);
        frame.dispose = DisposalMethod::Keep;
        Some(frame)
    }
}

/// The bytes of a picture whose sides were halved so often: each pixel is the mean of those it stands for.
fn shrunk(pixels: &Pixels, halvings: u32, (width, height): (u16, u16)) -> Cow<'_, [u8]> {
    if halvings == 0 {
        return Cow::Borrowed(&pixels.rgba);
    }
    let block = 1u32 << halvings;
    let mean = |x: u32, y: u32, part: u32| {
        let rows = (y * block..((y + 1) * block).min(pixels.height)).flat_map(|row| {
            let columns = x * block..((x + 1) * block).min(pixels.width);
            columns.map(move |column| ((row * pixels.width + column) * 4 + part) as usize)
        });
        let (sum, count) = rows.fold((0, 0), |(sum, count), at| {
            (sum + u32::from(pixels.rgba[at]), count + 1)
        });
        (sum / count.max(1)) as u8
    };
    let places = (0..u32::from(height)).flat_map(|y| (0..u32::from(width)).map(move |x| (x, y)));
    places
        .flat_map(|(x, y)| [0, 1, 2, 3].map(|part| mean(x, y, part)))
        .collect()
}

fn io_error(error: EncodingError) -> io::Error {
    match error {
        EncodingError::Io(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(size: (u32, u32), color: impl Fn(u32, u32) -> [u8; 3]) -> Pixels {
        let places = (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y)));
        let rgba = places
            .flat_map(|(x, y)| {
                let [red, green, blue] = color(x, y);
                [red, green, blue, u8::MAX]
            })
            .collect();
        Pixels {
            width: size.0,
            height: size.1,
            rgba,
        }
    }

    #[test]
    fn only_what_is_new_is_frames_and_each_picture_lasts_until_the_next() {
        let still = pixels((8, 6), |x, y| [(x * 30) as u8, (y * 40) as u8, 90]);
        let dot = pixels((8, 6), |x, y| match (x, y) {
            (5, 3) => [255, 255, 255],
            _ => [(x * 30 + 1) as u8, (y * 40) as u8, 90],
        });
        let mut film = GifFilm::new(Vec::new(), 30, (8, 6)).unwrap();
        // Picture 2 is left out, 1 and 4 show nothing new.
        for (turn, picture) in [(0, &still), (1, &still), (3, &dot), (4, &dot), (5, &still)] {
            film.add(turn, picture).unwrap();
        }
        let file = film.finish(6).unwrap();
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&file[..]).unwrap();
        assert_eq!((decoder.width(), decoder.height()), (8, 6));
        let mut frames = Vec::new();
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            frames.push((frame.left, frame.top, frame.width, frame.height, frame.delay));
            if frames.len() == 1 {
                assert_eq!(frame.buffer[..], still.rgba, "few colours are kept exactly");
            }
        }
        assert_eq!(frames, [(0, 0, 8, 6, 10), (5, 3, 1, 1, 6), (5, 3, 1, 1, 4)]);
    }

    #[test]
    fn large_pictures_are_halved_until_they_fit() {
        let large = pixels((2_000, 4), |x, _| if x % 2 == 0 { [0; 3] } else { [200; 3] });
        let mut film = GifFilm::new(Vec::new(), 10, (2_000, 4)).unwrap();
        film.add(0, &large).unwrap();
        assert_eq!(film.size, (500, 1));
        assert!(
            film.shown
                .chunks_exact(4)
                .all(|pixel| pixel == [100, 100, 100, 255])
        );
    }
}
