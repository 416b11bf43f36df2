//! The pictures of a while, as the window shows them, into numbered files or an animated GIF.
//!
//! ```text
//! trantor-1763705400123.gif                         to be shown as it is
//! trantor-1763705400123/00000.png, 00001.png …      to be made into a film by whatever one likes:
//! ffmpeg -framerate 30 -i trantor-1763705400123/%05d.png match.webm
//! ```
//!
//! Pictures are taken on the loop and compressed on a thread of their own. When that does not keep up, pictures are
//! left out and counted, and the one before stands in their places, so that a film keeps its speed; the game is never
//! held up, nor when the last of them are still being compressed.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use trantor_runtime::real_clock::date_for_records;
use trantor_runtime::threads::{self, Thread};
use trantor_time::{RealSpan, RealTime};

use super::gif::GifFilm;
use trantor_render::gpu::Pixels;

/// Longest span that is recorded, in seconds; ten of them are hundreds of large files already.
pub const RECORD_SECONDS_MAX: f64 = 60.0;

/// Pictures that may wait to be compressed: at 1920 × 1080 about 130 MB.
const WAITING_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    /// For how long, unless it is asked for again before.
    pub span: RealSpan,
    pub format: Format,
    /// Pictures a second, `1..=`[`super::gif::PER_SECOND_MAX`].
    pub per_second: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Files of their own in a folder.
    Png,
    /// One that moves.
    Gif,
}

impl Format {
    /// Pictures a second, by default: of a film, what films have; of an animated GIF, one that its
    /// hundredths of a second can express.
    pub const fn usual_rate(self) -> u32 {
        match self {
            Self::Png => 30,
            Self::Gif => 20,
        }
    }
}

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
        let sink = match take.format {
            Format::Png => {
                std::fs::create_dir(&into)?;
                Sink::Png(into.clone(), 0)
            }
            Format::Gif => {
                let file = BufWriter::new(File::create_new(&into)?);
                Sink::Gif(GifFilm::new(file, take.per_second))
            }
        };
        let writer = threads::spawn("recording", move || write(sink, &pictures))?;
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

    pub fn target(&self) -> &Path {
        &self.into
    }

    pub fn is_due(&self, now: RealTime) -> bool {
        !self.is_over(now) && self.turn_at(now) >= self.turns
    }

    pub fn add(&mut self, pixels: Pixels, now: RealTime) {
        let turn = self.turn_at(now);
        let Some(to_writer) = &self.to_writer else { return };
        if self.size.is_some() {
            // No frame met them.
            self.left_out += turn.saturating_sub(self.turns);
        }
        self.turns = turn + 1;
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

    /// Whether its time is over, or it was stopped.
    pub fn is_over(&self, now: RealTime) -> bool {
        now >= self.end || self.to_writer.is_none()
    }

    /// Takes no more pictures. Those taken are still being written.
    pub fn stop(&mut self) {
        self.to_writer = None;
    }

    /// What the user should read once all is written, or cannot be; `None` until then, and afterwards.
    pub fn poll_end(&mut self, now: RealTime) -> Option<String> {
        if self.is_over(now) {
            self.stop();
        }
        let writer = self.writer.take_if(|writer| writer.has_ended())?;
        let written = match writer.join() {
            Ok(Ok(())) => format!("{} pictures in {}", self.taken, self.into.display()),
            Ok(Err(error)) => {
                format!("the recording in {} is not whole: {error}", self.into.display())
            }
            Err(panicked) => format!("the recording ended early: {panicked}"),
        };
        Some(match self.left_out {
            0 => written,
            count => format!("{written}, {count} left out"),
        })
    }

    fn turn_at(&self, now: RealTime) -> u64 {
        let turn = now.since(self.start).as_nanos().max(0) * i64::from(self.per_second) / trantor_time::NANOS;
        turn.unsigned_abs()
    }
}

enum Sink {
    /// Numbered files in a folder, with the number of the last.
    Png(PathBuf, u64),
    Gif(GifFilm<BufWriter<File>>),
}

impl Sink {
    fn add(&mut self, turn: u64, pixels: &Pixels) -> io::Result<()> {
        let (folder, last) = match self {
            Self::Gif(film) => return film.add(turn, pixels),
            Self::Png(folder, last) => (folder, last),
        };
        let file = |turn: u64| folder.join(format!("{turn:05}.png"));
        // Where some were left out the one before is there again: what makes a film of them takes one after the other.
        for left_out in *last + 1..turn {
            // Not every file system has files under two names.
            std::fs::hard_link(file(*last), file(left_out))
                .or_else(|_| std::fs::copy(file(*last), file(left_out)).map(drop))?;
        }
        *last = turn;
        pixels.write_png(&file(turn))
    }
}

/// Writes pictures with their turns. The film begins with its first picture, whenever that came.
fn write(mut sink: Sink, pictures: &Receiver<(u64, Pixels)>) -> io::Result<()> {
    let (begin, first) = pictures
        .recv()
        .map_err(|_| io::Error::other("no picture was taken"))?;
    sink.add(0, &first)?;
    let mut last = 0;
    for (turn, pixels) in pictures {
        last = turn - begin;
        sink.add(last, &pixels)?;
    }
    match sink {
        Sink::Gif(film) => film.finish(last + 1).map(drop),
        Sink::Png(..) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pictures of 200 ms of frames at 144 a second, except for turns in which no frame came; the last is of another size.
    fn recorded(format: Format, without: &[u64]) -> (PathBuf, String) {
        let name = format!(
            "trantor-recording-test-{}-{format:?}-{}",
            std::process::id(),
            without.len()
        );
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
            if recording.is_due(now) && !without.contains(&recording.turn_at(now)) {
                assert_eq!(recording.poll_end(now), None, "it goes on");
                let side = if recording.turns == 5 { 3 } else { 2 };
                let rgba = vec![0; side as usize * side as usize * 4];
                let (width, height) = (side, side);
                recording.add(Pixels { width, height, rgba }, now);
            }
            now += RealSpan::from_nanos(6_944_444);
        }
        assert!(!recording.is_due(now));
        loop {
            match recording.poll_end(now) {
                Some(said) => return (into, said),
                None => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn where_pictures_are_left_out_the_one_before_stays() {
        let (folder, said) = recorded(Format::Png, &[0, 2, 3]);
        assert!(
            said.starts_with("2 pictures in") && said.ends_with(", 3 left out"),
            "{said}"
        );
        let read = |number: u32| std::fs::read(folder.join(format!("{number:05}.png"))).unwrap();
        assert_eq!((read(1), read(2)), (read(0), read(0)), "turns 2 and 3 of 1 to 4");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn thirty_pictures_a_second_are_taken_whatever_the_frame_rate() {
        for format in [Format::Png, Format::Gif] {
            let (into, said) = recorded(format, &[]);
            assert!(
                said.starts_with("5 pictures in") && said.ends_with(", 1 left out"),
                "{said}"
            );
            if format == Format::Gif {
                let written = std::fs::read(&into).unwrap();
                assert!(written.starts_with(b"GIF89a") && written.ends_with(b";"));
                std::fs::remove_file(&into).unwrap();
            } else {
                assert!(into.join("00004.png").is_file() && !into.join("00005.png").exists());
                std::fs::remove_dir_all(&into).unwrap();
            }
        }
    }
}
