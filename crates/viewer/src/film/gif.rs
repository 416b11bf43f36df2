//! Pictures as an animated GIF of a bounded size: what changed since the picture before, in the best 256 colours for that.
//!
//! A picture is written when the next one that differs is there, since only then it is known how long it is shown. So
//! pictures that are left out make a film jump, and never change its speed.
//!
//! The film is made in memory. When it grows beyond its limit, it begins again with the pictures that it has, smaller or
//! fewer ([`RUNGS`]), and goes on so; the size that it will have is estimated from the time it has got to.

use std::borrow::Cow;
use std::io;

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};

use super::Shape;
use trantor_render::gpu::Pixels;

/// Longest side of a film in pixels: larger pictures are halved until they fit.
const SIDE_PIXELS_MAX: u32 = 960;
/// A colour is another one when one of its parts differs by this much: less is not seen, and makes a film several times as
/// large.
const CHANGE_LEAST: u8 = 4;
/// [`CHANGE_LEAST`] of a film that has to be smaller: seen beside the other one, and hardly alone.
const COARSE_CHANGE_LEAST: u8 = 12;
/// 1 to 30: how quickly colours are chosen, against how well. Ten is where more care is no longer seen.
const QUANTIZER_SPEED: i32 = 10;
/// The last byte of a GIF.
const TRAILER_BYTES: u64 = 1;

/// A way to make a film smaller than it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rung {
    /// Length of a side, in eighths.
    eighths: u32,
    /// One picture of so many is kept.
    of_pictures: u64,
    change_least: u8,
}

impl Rung {
    const fn coarse(eighths: u32, of_pictures: u64) -> Self {
        Self {
            eighths,
            of_pictures,
            change_least: COARSE_CHANGE_LEAST,
        }
    }

    /// About the part of the bytes that it leaves, as measured: smaller pictures have more bytes for each of their pixels, and
    /// coarse colours leave two thirds.
    fn share(self) -> f64 {
        let pixels = f64::from(self.eighths * self.eighths) / 64.0;
        let bytes = pixels.powf(0.84) / self.of_pictures as f64;
        match self.change_least {
            COARSE_CHANGE_LEAST => bytes * 2.0 / 3.0,
            _ => bytes,
        }
    }
}

/// From the film as it is drawn to what is left of it in very few bytes. Ten pictures a second still move; letters of half
/// the size can hardly be read.
const RUNGS: [Rung; 13] = [
    Rung {
        eighths: 8,
        of_pictures: 1,
        change_least: CHANGE_LEAST,
    },
    Rung::coarse(8, 1),
    Rung::coarse(8, 2),
    Rung::coarse(7, 2),
    Rung::coarse(6, 2),
    Rung::coarse(5, 2),
    Rung::coarse(4, 2),
    Rung::coarse(4, 3),
    Rung::coarse(3, 3),
    Rung::coarse(3, 5),
    Rung::coarse(2, 8),
    Rung::coarse(2, 32),
    Rung::coarse(2, 128),
];

pub struct GifFilm {
    encoder: Encoder<Vec<u8>>,
    shape: Shape,
    rung: usize,
    size: (u16, u16),
    /// The colours that the film shows now.
    shown: Vec<u8>,
    /// When each picture that is written is first shown.
    turns: Vec<u64>,
    /// The last picture that differs, and when it is first shown.
    held: Option<(Frame<'static>, u64)>,
}

impl GifFilm {
    /// A film that begins again at its end.
    pub fn new(shape: Shape) -> io::Result<Self> {
        Self::on_rung(shape, 0)
    }

    fn on_rung(shape: Shape, rung: usize) -> io::Result<Self> {
        let (width, height) = shape.size;
        let longer = width.max(height);
        let fits = |halvings: &u32| longer >> halvings <= SIDE_PIXELS_MAX;
        let halvings = (0..16).find(fits).unwrap_or(16);
        let eighths = RUNGS[rung].eighths;
        let size = [width, height].map(|side| ((side >> halvings) * eighths / 8).max(1) as u16);
        let mut encoder = Encoder::new(Vec::new(), size[0], size[1], &[]).map_err(io_error)?;
        encoder.set_repeat(Repeat::Infinite).map_err(io_error)?;
        Ok(Self {
            encoder,
            shape,
            rung,
            size: size.into(),
            shown: Vec::new(),
            turns: Vec::new(),
            held: None,
        })
    }

    /// Adds the picture number `turn` of the film, counted from 0 and growing.
    pub fn add(&mut self, turn: u64, pixels: &Pixels) -> io::Result<()> {
        let place = |turn: u64| turn / RUNGS[self.rung].of_pictures;
        if self
            .held
            .as_ref()
            .is_some_and(|(_, held)| place(*held) == place(turn))
        {
            return Ok(());
        }
        let mut picture = resized(pixels, self.size);
        if RUNGS[self.rung].change_least > CHANGE_LEAST {
            run_on(
                picture.to_mut(),
                usize::from(self.size.0),
                RUNGS[self.rung].change_least,
            );
        }
        let Some(frame) = self.changed(&picture) else {
            return Ok(());
        };
        match self.write_held(turn)? {
            true => self.held = Some((frame, turn)),
            // The film is another one now.
            false => self.add(turn, pixels)?,
        }
        Ok(())
    }

    /// Ends the film as long as `turns` pictures. Answers its bytes, and a note if it was made smaller.
    pub fn finish(mut self, turns: u64) -> io::Result<(Vec<u8>, Option<String>)> {
        while !self.write_held(turns)? {}
        let rung = RUNGS[self.rung];
        let note = (self.rung > 0).then(|| {
            let tenths = u64::from(self.shape.per_second) * 10 / rung.of_pictures;
            let per_second = tenths as f64 / 10.0;
            let (width, height) = self.size;
            format!("{width}x{height} with {per_second} pictures a second")
        });
        Ok((self.encoder.into_inner().map_err(io_error)?, note))
    }

    /// Writes the held picture, shown until `until`. Answers `false` if the film had to begin again, smaller.
    fn write_held(&mut self, until: u64) -> io::Result<bool> {
        let Some((mut frame, from)) = self.held.take() else {
            return Ok(true);
        };
        // Instants are rounded, not lengths: nothing adds up.
        let at = |turn: u64| turn * 100 / u64::from(self.shape.per_second);
        frame.delay = u16::try_from(at(until) - at(from)).unwrap_or(u16::MAX);
        self.encoder.write_frame(&frame).map_err(io_error)?;
        self.turns.push(from);
        let bytes = self.encoder.get_ref().len() as u64 + TRAILER_BYTES;
        if bytes <= self.shape.bytes_max {
            return Ok(true);
        }
        self.begin_again(until)?;
        Ok(false)
    }

    /// Makes the film of the pictures so far again, on a rung that lets it reach its end.
    fn begin_again(&mut self, now: u64) -> io::Result<()> {
        let bytes = self.encoder.get_ref().len() as f64;
        let part = now.min(self.shape.turns) as f64 / self.shape.turns.max(1) as f64;
        let at_the_end = bytes / part.max(f64::EPSILON);
        let share = RUNGS[self.rung].share() * self.shape.bytes_max as f64 / at_the_end;
        let smaller = self.rung + 1..RUNGS.len();
        let fitting = smaller.clone().find(|rung| RUNGS[*rung].share() <= share);
        let Some(rung) = fitting.or_else(|| smaller.last()) else {
            let most = self.shape.bytes_max;
            return Err(io::Error::other(format!(
                "a film of {most} bytes has no room for its pictures"
            )));
        };
        let small = Self::on_rung(self.shape, rung)?;
        let Self {
            encoder, turns, size, ..
        } = std::mem::replace(self, small);
        let bytes = encoder.into_inner().map_err(io_error)?;
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).map_err(io::Error::other)?;
        let (width, height) = (u32::from(size.0), u32::from(size.1));
        let rgba = vec![0; width as usize * height as usize * 4];
        let mut picture = Pixels { width, height, rgba };
        for turn in turns {
            let frame = decoder.read_next_frame().map_err(io::Error::other)?;
            draw(&mut picture, frame.ok_or(io::ErrorKind::UnexpectedEof)?);
            self.add(turn, &picture)?;
        }
        Ok(())
    }

    /// The smallest part of a picture that holds all that is new in it, the rest of that see-through; `None` if nothing is.
    fn changed(&mut self, rgba: &[u8]) -> Option<Frame<'static>> {
        let width = usize::from(self.size.0);
        let is_first = self.shown.is_empty();
        if is_first {
            self.shown = vec![0; rgba.len()];
        }
        let change_least = RUNGS[self.rung].change_least;
        let (mut left, mut right, mut top, mut bottom) = (width, 0, usize::MAX, 0);
        let mut fresh = vec![0; rgba.len()];
        let pixels = rgba.chunks_exact(4).zip(self.shown.chunks_exact_mut(4));
        for (place, ((new, shown), fresh)) in pixels.zip(fresh.chunks_exact_mut(4)).enumerate() {
            if is_first || differ(new, shown, change_least) {
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

fn differ(one: &[u8], other: &[u8], least: u8) -> bool {
    let mut parts = one.iter().zip(other);
    parts.any(|(one, other)| one.abs_diff(*other) >= least)
}

/// Gives each pixel the colour of the one on its left if it differs less than that: runs of a colour take few bytes.
fn run_on(rgba: &mut [u8], width: usize, least: u8) {
    for row in rgba.chunks_exact_mut(width * 4) {
        let mut colour = [0; 4];
        for (place, pixel) in row.chunks_exact_mut(4).enumerate() {
            match place > 0 && !differ(pixel, &colour, least) {
                true => pixel.copy_from_slice(&colour),
                false => colour.copy_from_slice(pixel),
            }
        }
    }
}

/// Draws a frame of a film over the picture before.
fn draw(picture: &mut Pixels, frame: &Frame<'_>) {
    let row = picture.width as usize * 4;
    let (left, top) = (usize::from(frame.left) * 4, usize::from(frame.top));
    let rows = frame.buffer.chunks_exact(usize::from(frame.width) * 4);
    for (below, new) in picture.rgba.chunks_exact_mut(row).skip(top).zip(rows) {
        let pixels = below[left..].chunks_exact_mut(4).zip(new.chunks_exact(4));
        for (below, new) in pixels.filter(|(_, new)| new[3] > 0) {
            below.copy_from_slice(new);
        }
    }
}

/// The bytes of a picture at another size: each pixel is the mean of those it stands for.
fn resized(pixels: &Pixels, (width, height): (u16, u16)) -> Cow<'_, [u8]> {
    let (from_width, from_height) = (pixels.width as usize, pixels.height as usize);
    let (width, height) = (usize::from(width), usize::from(height));
    if (width, height) == (from_width, from_height) {
        return Cow::Borrowed(&pixels.rgba);
    }
    let span = |place: usize, side: usize, from: usize| {
        let begin = place * from / side;
        begin..((place + 1) * from / side).max(begin + 1)
    };
    let columns: Vec<_> = (0..width).map(|x| span(x, width, from_width)).collect();
    let mut rgba = Vec::with_capacity(width * height * 4);
    for y in 0..height {
        let rows = span(y, height, from_height);
        for columns in &columns {
            let mut sums = [0_u32; 4];
            for row in rows.clone() {
                let part = &pixels.rgba
                    [(row * from_width + columns.start) * 4..(row * from_width + columns.end) * 4];
                for pixel in part.chunks_exact(4) {
                    sums.iter_mut()
                        .zip(pixel)
                        .for_each(|(sum, part)| *sum += u32::from(*part));
                }
            }
            let count = (rows.len() * columns.len()) as u32;
            rgba.extend(sums.map(|sum| (sum / count) as u8));
        }
    }
    rgba.into()
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

    fn pixels(size: (u32, u32), mut color: impl FnMut(u32, u32) -> [u8; 3]) -> Pixels {
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

    fn shape(size: (u32, u32), per_second: u32, turns: u64, bytes_max: u64) -> Shape {
        Shape {
            size,
            per_second,
            turns,
            bytes_max,
        }
    }

    #[test]
    fn only_what_is_new_is_frames_and_each_picture_lasts_until_the_next() {
        let still = pixels((8, 6), |x, y| [(x * 30) as u8, (y * 40) as u8, 90]);
        let dot = pixels((8, 6), |x, y| match (x, y) {
            (5, 3) => [255, 255, 255],
            _ => [(x * 30 + 1) as u8, (y * 40) as u8, 90],
        });
        let mut film = GifFilm::new(shape((8, 6), 30, 6, u64::MAX)).unwrap();
        // Picture 2 is left out, 1 and 4 show nothing new.
        for (turn, picture) in [(0, &still), (1, &still), (3, &dot), (4, &dot), (5, &still)] {
            film.add(turn, picture).unwrap();
        }
        let (file, note) = film.finish(6).unwrap();
        assert_eq!(note, None);
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
        let mut film = GifFilm::new(shape((2_000, 4), 10, 1, u64::MAX)).unwrap();
        film.add(0, &large).unwrap();
        assert_eq!(film.size, (500, 1));
        assert!(
            film.shown
                .chunks_exact(4)
                .all(|pixel| pixel == [100, 100, 100, 255])
        );
    }

    /// Noise cannot be compressed: each picture of the whole size has as many bytes as pixels.
    #[test]
    fn a_film_is_never_larger_than_its_limit_and_reaches_its_end() {
        let (size, pictures) = ((160, 90), 60);
        let noise = |turn: u64| {
            let mut state = turn + 1;
            pixels(size, |x, y| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(u64::from(x + y));
                [(state >> 40) as u8, (state >> 48) as u8, (state >> 56) as u8]
            })
        };
        let all: Vec<Pixels> = (0..pictures).map(noise).collect();
        let mut before = usize::MAX;
        for bytes_max in [2_000_000, 200_000, 12_000] {
            let mut film = GifFilm::new(shape(size, 20, pictures, bytes_max)).unwrap();
            for (turn, picture) in (0..).zip(&all) {
                film.add(turn, picture).unwrap();
            }
            let (file, note) = film.finish(pictures).unwrap();
            assert!(
                file.len() as u64 <= bytes_max && file.len() < before,
                "{} of {bytes_max}",
                file.len()
            );
            assert!(
                file.len() as u64 > bytes_max / 6,
                "{} of {bytes_max}: too little is left",
                file.len()
            );
            assert_eq!(note.is_some(), bytes_max < 1_000_000, "{note:?}");
            before = file.len();
            let mut decoder = gif::DecodeOptions::new().read_info(&file[..]).unwrap();
            let mut hundredths = 0;
            while let Some(frame) = decoder.read_next_frame().unwrap() {
                hundredths += u64::from(frame.delay);
            }
            assert_eq!(hundredths, pictures * 5, "it is as long as before");
        }
        let mut film = GifFilm::new(shape(size, 20, pictures, 300)).unwrap();
        let added = (0..)
            .zip(&all)
            .try_for_each(|(turn, picture)| film.add(turn, picture));
        let ended = added.and_then(|()| film.finish(pictures).map(drop));
        assert!(ended.unwrap_err().to_string().contains("300 bytes"));
    }
}
