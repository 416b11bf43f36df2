//! The pictures of a while, as the window shows them, into numbered files or an animated GIF.
//!
//! ```text
//! trantor-1763705400123.gif                         to be shown as it is
//! trantor-1763705400123/00000.png, 00001.png …      to be made into a film by whatever one likes:
//! ffmpeg -framerate 30 -i trantor-1763705400123/%05d.png match.webm
//! ```
//!
//! Pictures are taken on the loop and compressed on a thread of their own. When that does not keep up, pictures are
//! left out and counted; the game is never held up.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use trantor_runtime::real_clock::date_for_records;
use trantor_runtime::threads::{self, Thread};
use trantor_time::{RealSpan, RealTime};

use super::gif::GifFilm;
use crate::console::RECORD_SECONDS_MAX;
use crate::gpu::Pixels;

/// Pictures that may wait to be compressed: at 1920 × 1080 about 130 MB.
const WAITING_MAX: usize = 16;

/// What to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    /// For how long, unless it is asked for again before.
    pub span: RealSpan,
    /// Into what.
    pub format: Format,
    /// Pictures a second, `1..=`[`super::gif::PER_SECOND_MAX`].
    pub per_second: u32,
}

/// Into what pictures are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Files of their own in a folder.
    Png,
    /// One that moves.
    Gif,
}

impl Format {
    /// Pictures a second, unless somebody says otherwise: of a film, what films have; of an animated GIF, a number that its
    /// hundredths of a second can tell.
    pub const fn usual_rate(self) -> u32 {
        match self {
            Self::Png => 30,
            Self::Gif => 20,
        }
    }
}

/// Pictures being taken.
#[derive(Debug)]
pub struct Recording {
    into: PathBuf,
    start: RealTime,
    end: RealTime,
    per_second: u32,
    /// Pictures whose turn has come so far, left out or not.
    turns: u64,
    taken: u64,
    left_out: u64,
    /// Of the first picture; others are left out.
    size: Option<(u32, u32)>,
    to_writer: Option<Sender<(u64, Pixels)>>,
    writer: Option<Thread<io::Result<()>>>,
}

impl Recording {
    /// Records from `now` on, into a new file or folder where the program was started.
    ///
    /// # Errors
    /// If there can be none, or no thread.
    pub fn start(take: Take, now: RealTime) -> io::Result<Self> {
        let name = format!("trantor-{}", date_for_records().as_millis());
        let into = match take.format {
            Format::Png => PathBuf::from(name),
            Format::Gif => PathBuf::from(name + ".gif"),
        };
        Self::start_in(into, take, now)
    }

    fn start_in(into: PathBuf, take: Take, now: RealTime) -> io::Result<Self> {
        let (to_writer, pictures) = bounded(WAITING_MAX);
        let writer = match take.format {
            Format::Png => {
                std::fs::create_dir(&into)?;
                let folder = into.clone();
                threads::spawn("recording", move || write_numbered(&folder, &pictures))?
            }
            Format::Gif => {
                let file = BufWriter::new(File::create_new(&into)?);
                threads::spawn("recording", move || write_gif(file, take.per_second, &pictures))?
            }
        };
        let most = RealSpan::from_nanos((RECORD_SECONDS_MAX * 1e9) as i64);
        Ok(Self {
            into,
            start: now,
            end: now + take.span.min(most),
            per_second: take.per_second,
            turns: 0,
            taken: 0,
            left_out: 0,
            size: None,
            to_writer: Some(to_writer),
            writer: Some(writer),
        })
    }

    /// Where the pictures go.
    pub fn target(&self) -> &Path {
        &self.into
    }

    /// Whether it is time for a picture.
    pub fn is_due(&self, now: RealTime) -> bool {
        !self.is_over(now) && self.turn_at(now) >= self.turns
    }

    /// Adds a picture.
    pub fn add(&mut self, pixels: Pixels, now: RealTime) {
        let turn = self.turn_at(now);
        // Turns that no frame met are left out: the film keeps its speed.
        self.turns = turn + 1;
        let Some(to_writer) = &self.to_writer else { return };
        let size = (pixels.width, pixels.height);
        if *self.size.get_or_insert(size) != size {
            self.left_out += 1;
            return;
        }
        match to_writer.try_send((turn, pixels)) {
            Ok(()) => self.taken += 1,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.left_out += 1,
        }
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: RealTime) -> bool {
        now >= self.end
    }

    /// Waits for the last pictures, and answers what the user should read.
    pub fn finish(mut self) -> String {
        self.to_writer = None;
        let written = match self.writer.take().map(Thread::join) {
            Some(Ok(Ok(()))) | None => format!("{} pictures in {}", self.taken, self.into.display()),
            Some(Ok(Err(error))) => {
                format!("the recording in {} is not whole: {error}", self.into.display())
            }
            Some(Err(panicked)) => format!("the recording ended early: {panicked}"),
        };
        match self.left_out {
            0 => written,
            count => format!("{written}, {count} left out"),
        }
    }

    fn turn_at(&self, now: RealTime) -> u64 {
        let turn = now.since(self.start).as_nanos().max(0) * i64::from(self.per_second) / trantor_time::NANOS;
        turn.unsigned_abs()
    }
}

/// Pictures one after the other, whatever turns were left out between them.
fn write_numbered(folder: &Path, pictures: &Receiver<(u64, Pixels)>) -> io::Result<()> {
    let mut pictures = pictures.iter().enumerate();
    pictures.try_for_each(|(number, (_, pixels))| pixels.write_png(&folder.join(format!("{number:05}.png"))))
}

fn write_gif(file: BufWriter<File>, per_second: u32, pictures: &Receiver<(u64, Pixels)>) -> io::Result<()> {
    let Ok((turn, first)) = pictures.recv() else {
        return Err(io::Error::other("no picture was taken"));
    };
    // The film begins with its first picture, whenever that came.
    let mut film = GifFilm::new(file, (first.width, first.height), per_second)?;
    film.add(0, &first)?;
    let mut last = 0;
    for (later, pixels) in pictures {
        last = later - turn;
        film.add(last, &pixels)?;
    }
    let file = film.finish(last + 1)?;
    file.into_inner()
        .map(|_| ())
        .map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pictures of 200 ms of frames at 144 a second; the last is of another size.
    fn recorded(format: Format) -> (PathBuf, String) {
        let name = format!("trantor-recording-test-{}-{format:?}", std::process::id());
        let into = std::env::temp_dir().join(name);
        // A run that was cut short may have left one.
        let _ = std::fs::remove_dir_all(&into);
        let _ = std::fs::remove_file(&into);
        let start = RealTime::ZERO + RealSpan::from_secs(5);
        let take = Take {
            span: RealSpan::from_millis(200),
            format,
            per_second: 30,
        };
        let mut recording = Recording::start_in(into.clone(), take, start).unwrap();
        let mut now = start;
        while !recording.is_over(now) {
            if recording.is_due(now) {
                let side = if recording.turns == 5 { 3 } else { 2 };
                recording.add(Pixels::blank((side, side)), now);
            }
            now += RealSpan::from_nanos(6_944_444);
        }
        assert!(!recording.is_due(now));
        (into, recording.finish())
    }

    #[test]
    fn thirty_pictures_a_second_are_taken_whatever_the_frame_rate() {
        let (folder, said) = recorded(Format::Png);
        assert!(
            said.starts_with("5 pictures in") && said.ends_with(", 1 left out"),
            "{said}"
        );
        assert!(folder.join("00004.png").is_file() && !folder.join("00005.png").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_while_is_one_file_that_moves() {
        let (file, said) = recorded(Format::Gif);
        assert!(said.starts_with("5 pictures in"), "{said}");
        let written = std::fs::read(&file).unwrap();
        assert!(written.starts_with(b"GIF89a") && written.ends_with(b";"));
        std::fs::remove_file(&file).unwrap();
    }
}
