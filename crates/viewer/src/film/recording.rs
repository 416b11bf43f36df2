//! The pictures of a while, as the window shows them, as a film.
//!
//! Pictures are taken on the loop and compressed on a thread of their own, which also finds out what can encode them. When that does not keep up, pictures are
//! left out and counted, and the one before stands in their places, so that a film keeps its speed; the game is never
//! throttled, nor when the last of them are still being compressed.

use std::io;
use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use trantor_cli::check_writable;
use trantor_runtime::threads::{self, Thread};
use trantor_time::{RealSpan, RealTime};

use super::{Film, Format, Shape};
use trantor_render::gpu::Pixels;

/// Longest span that is recorded, in seconds; ten of them are hundreds of large files already.
pub const RECORD_SECONDS_MAX: f64 = 60.0;

/// Pictures that may wait to be compressed: at 1920 × 1080 about 130 MB.
const WAITING_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    /// For how long, unless it is asked for again before.
    pub span: RealSpan,
    /// Pictures a second, `1..=`[`super::PER_SECOND_MAX`].
    pub per_second: u32,
    /// As a GIF, also where there is an encoder.
    pub is_gif: bool,
}

impl Take {
    /// Pictures a second by default: a rate that a GIF's hundredths of a second can express.
    pub const PER_SECOND: u32 = 20;
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
    writer: Option<Thread<io::Result<Written>>>,
}

/// The file of a recording, and what there is to say of it.
#[derive(Debug)]
struct Written {
    file: PathBuf,
    said: String,
}

impl Recording {
    /// Records from `now` on, into a file of at most `bytes_max`; `into` is its path without an ending.
    pub fn start(into: PathBuf, take: Take, bytes_max: u64, now: RealTime) -> io::Result<Self> {
        check_writable(&into.with_extension("gif")).map_err(io::Error::other)?;
        let (to_writer, pictures) = bounded(WAITING_MAX);
        let most = RealSpan::from_nanos((RECORD_SECONDS_MAX * 1e9) as i64);
        let span = take.span.min(most);
        let file = into.clone();
        let writer = threads::spawn("recording", move || {
            let turns = turns_in(span, take.per_second);
            write(&file, take, turns, bytes_max, &pictures)
        })?;
        Ok(Self {
            into,
            start: now,
            end: now + span,
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
            Ok(Ok(Written { file, said })) => {
                format!("{} pictures in {}, {said}", self.taken, file.display())
            }
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
        turns_in(now.since(self.start), self.per_second)
    }
}

fn turns_in(span: RealSpan, per_second: u32) -> u64 {
    let turns = span.as_nanos().max(0) * i64::from(per_second) / trantor_time::NANOS;
    turns.unsigned_abs()
}

/// Writes pictures with their turns. The film begins with its first picture, whenever that came.
fn write(
    into: &Path,
    take: Take,
    turns: u64,
    bytes_max: u64,
    pictures: &Receiver<(u64, Pixels)>,
) -> io::Result<Written> {
    let format = if take.is_gif { Format::Gif } else { Format::best() };
    let file = into.with_extension(format.ending());
    let first = pictures.recv();
    let (begin, pixels) = first.map_err(|_| io::Error::other("no picture was taken"))?;
    let shape = Shape {
        size: (pixels.width, pixels.height),
        per_second: take.per_second,
        turns,
        bytes_max,
    };
    let mut film = Film::new(file.clone(), &format, shape)?;
    film.add(0, &pixels)?;
    let mut last = 0;
    for (turn, pixels) in pictures {
        last = turn - begin;
        film.add(last, &pixels)?;
    }
    let said = film.finish(last + 1)?;
    Ok(Written { file, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 200 ms of frames at 144 a second thirty pictures a second are taken, and left out where no frame came and where
    /// the size is another.
    #[test]
    fn pictures_are_taken_at_their_rate_whatever_the_frame_rate() {
        for (without, taken, left_out) in [(&[][..], 5, 1), (&[0, 2, 3], 2, 3)] {
            let name = format!("trantor-recording-{}-{taken}.gif", std::process::id());
            let into = std::env::temp_dir().join(name);
            // A run that was cut short may have left one.
            let _ = std::fs::remove_file(&into);
            let start = RealTime::ZERO + RealSpan::from_secs(5);
            let take = Take {
                span: RealSpan::from_millis(200),
                per_second: 30,
                is_gif: true,
            };
            let mut recording = Recording::start(into.with_extension(""), take, 1_000_000, start).unwrap();
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
            let said = loop {
                match recording.poll_end(now) {
                    Some(said) => break said,
                    None => std::thread::yield_now(),
                }
            };
            let file = into.display();
            assert_eq!(
                said,
                format!("{taken} pictures in {file}, 0.0 MB, {left_out} left out")
            );
            let written = std::fs::read(&into).unwrap();
            assert!(written.starts_with(b"GIF89a") && written.ends_with(b";"));
            std::fs::remove_file(&into).unwrap();
        }
    }
}
