//! Films: pictures in a file of a bounded size.
//!
//! A film is a WebM or MP4 where an encoder is installed ([`encoder`]), and an animated GIF ([`gif`]) otherwise or by the name
//! of its file. Neither is ever larger than its limit.
//!
//! [`recording`] takes the pictures of a while as the window shows them; [`crate::offscreen::film`] draws those of a recorded
//! game, or of a demo, one by one at exact moments.

pub mod encoder;
pub mod gif;
pub mod recording;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use self::gif::GifFilm;
use encoder::{EncodedFilm, Encoder};
use trantor_cli::values::listed;
use trantor_model::names::did_you_mean;
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

/// The limit of a film, in megabytes: what chats and mail take.
pub const MEGABYTES: u32 = 8;
/// The largest limit: a GIF is made in memory.
pub const MEGABYTES_MAX: u32 = 1_000;
/// Bytes of a megabyte, as file managers count.
pub const MEGABYTE: u64 = 1_000_000;

/// What is known of a film before its first picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Of its pictures, in pixels.
    pub size: (u32, u32),
    /// Pictures a second, `1..=`[`PER_SECOND_MAX`].
    pub per_second: u32,
    /// Pictures that are expected, to share the bytes among them.
    pub turns: u64,
    /// Largest size of the file.
    pub bytes_max: u64,
}

/// How a film is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    Gif,
    Encoded(Encoder),
}

/// Endings of files, each of a format.
pub const ENDINGS: [&str; 3] = ["webm", "mp4", "gif"];

/// The path of a film.
///
/// # Errors
/// For endings of other formats; the text says what is accepted.
pub fn film_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let accepted = || {
        format!(
            "must be the name of a {} file, or have no ending",
            listed(ENDINGS)
        )
    };
    match ending(&path) {
        _ if text.is_empty() => Err(accepted()),
        Some(other) if !ENDINGS.contains(&&*other) => Err(accepted() + &did_you_mean(&other, ENDINGS)),
        _ => Ok(path),
    }
}

fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_string_lossy().to_lowercase())
}

impl Format {
    /// The format that the name of a film asks for, and the name with an ending: without one, a WebM if it can be encoded.
    ///
    /// # Errors
    /// If there is no encoder for it; the text says what to do.
    pub fn of(path: &Path) -> Result<(PathBuf, Self), String> {
        match ending(path).as_deref() {
            // A pipe has no ending, and takes what needs no other file.
            None if path.exists() && !path.is_file() => Ok((path.to_owned(), Self::Gif)),
            None => {
                let format = Self::best();
                Ok((path.with_extension(format.ending()), format))
            }
            Some("gif") => Ok((path.to_owned(), Self::Gif)),
            Some(ending) => match Encoder::find(ending) {
                Some(encoder) => Ok((path.to_owned(), Self::Encoded(encoder))),
                None => Err(format!(
                    "{}: {}; or name a .gif",
                    path.display(),
                    encoder::what_is_missing(ending)
                )),
            },
        }
    }

    /// A WebM if it can be encoded, a GIF otherwise.
    pub fn best() -> Self {
        Encoder::find("webm").map_or(Self::Gif, Self::Encoded)
    }

    /// The ending of its files.
    pub fn ending(&self) -> &'static str {
        match self {
            Self::Gif => "gif",
            Self::Encoded(encoder) => encoder.ending(),
        }
    }
}

/// A film that is being made.
pub struct Film {
    file: PathBuf,
    kind: Kind,
}

enum Kind {
    Gif(Box<GifFilm>),
    Encoded(EncodedFilm),
}

impl Film {
    /// # Errors
    /// If its encoder cannot be started.
    pub fn new(file: PathBuf, format: &Format, shape: Shape) -> io::Result<Self> {
        let kind = match format {
            Format::Gif => Kind::Gif(Box::new(GifFilm::new(shape)?)),
            Format::Encoded(encoder) => Kind::Encoded(EncodedFilm::start(encoder, &file, shape)?),
        };
        Ok(Self { file, kind })
    }

    /// Adds the picture number `turn` of the film, counted from 0 and growing; a number that is left out shows the picture
    /// before.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn add(&mut self, turn: u64, pixels: &Pixels) -> io::Result<()> {
        match &mut self.kind {
            Kind::Gif(film) => film.add(turn, pixels),
            Kind::Encoded(film) => film.add(turn, pixels),
        }
    }

    /// Ends the film as long as `turns` pictures. Answers what to say of the file: its size, and what was left out for it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, turns: u64) -> io::Result<String> {
        let note = match self.kind {
            Kind::Gif(film) => {
                let (bytes, note) = film.finish(turns)?;
                fs::write(&self.file, bytes)?;
                note
            }
            Kind::Encoded(film) => {
                film.finish(turns)?;
                None
            }
        };
        let megabytes = fs::metadata(&self.file)?.len() as f64 / MEGABYTE as f64;
        Ok(match note {
            None => format!("{megabytes:.1} MB"),
            Some(note) => format!("{megabytes:.1} MB, reduced to {note}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_film_says_its_format() {
        for (name, format) in [("a.gif", "gif"), ("b.GIF", "gif")] {
            let (path, found) = Format::of(&film_path(name).unwrap()).unwrap();
            assert_eq!((path.as_path(), found.ending()), (Path::new(name), format));
        }
        let (path, format) = Format::of(&film_path("folder.d/match").unwrap()).unwrap();
        assert_eq!(path, Path::new("folder.d/match").with_extension(format.ending()));
        for (name, said) in [
            (
                "a.gfi",
                "must be the name of a webm, mp4 or gif file, or have no ending; did you mean gif?",
            ),
            ("a.avi", "must be the name"),
            ("", "must be the name"),
        ] {
            let refused = film_path(name).unwrap_err();
            assert!(refused.starts_with(said), "{name}: {refused}");
        }
    }
}
