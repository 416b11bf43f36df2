//! The pictures of a while as numbered files, to be made into a film by whatever one likes.
//!
//! ```text
//! trantor-1763705400123/00000.png, 00001.png …      thirty for each second
//! ffmpeg -framerate 30 -i trantor-1763705400123/%05d.png match.webm
//! ```
//!
//! Pictures are taken on the loop and compressed on a thread of their own. When that does not keep up, pictures are
//! left out and counted; the game is never held up.

use std::io;
use std::path::{Path, PathBuf};

use crossbeam_channel::{Sender, TrySendError, bounded};
use trantor_runtime::real_clock::date_for_records;
use trantor_runtime::threads::{self, Thread};
use trantor_time::{RealSpan, RealTime};

use crate::console::RECORD_SECONDS_MAX;
use crate::gpu::Pixels;

/// Pictures a second: what films have, and half of what most displays show.
const PER_SECOND: i64 = 30;
/// Pictures that may wait to be compressed: at 1920 × 1080 about 130 MB.
const WAITING_MAX: usize = 16;

/// Pictures being taken.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    start: RealTime,
    end: RealTime,
    /// Pictures whose turn has come so far, left out or not.
    turns: i64,
    taken: u64,
    left_out: u64,
    to_writer: Option<Sender<(u64, Pixels)>>,
    writer: Option<Thread<io::Result<()>>>,
}

impl Recording {
    /// Records for `span` from `now` on, into a new folder where the program was started.
    ///
    /// # Errors
    /// If there can be no such folder, or no thread.
    pub fn start(span: RealSpan, now: RealTime) -> io::Result<Self> {
        let folder = PathBuf::from(format!("trantor-{}", date_for_records().as_millis()));
        Self::start_in(folder, span, now)
    }

    fn start_in(folder: PathBuf, span: RealSpan, now: RealTime) -> io::Result<Self> {
        std::fs::create_dir(&folder)?;
        let (to_writer, pictures) = bounded::<(u64, Pixels)>(WAITING_MAX);
        let into = folder.clone();
        let writer = threads::spawn("recording", move || {
            pictures
                .iter()
                .try_for_each(|(number, pixels)| pixels.write_png(&into.join(format!("{number:05}.png"))))
        })?;
        let most = RealSpan::from_nanos((RECORD_SECONDS_MAX * 1e9) as i64);
        Ok(Self {
            folder,
            start: now,
            end: now + span.min(most),
            turns: 0,
            taken: 0,
            left_out: 0,
            to_writer: Some(to_writer),
            writer: Some(writer),
        })
    }

    /// Where the pictures go.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is time for a picture.
    pub fn is_due(&self, now: RealTime) -> bool {
        !self.is_over(now) && self.turn_at(now) >= self.turns
    }

    /// Adds a picture.
    pub fn add(&mut self, pixels: Pixels, now: RealTime) {
        // Turns that no frame met are left out: the film keeps its speed.
        self.turns = self.turn_at(now) + 1;
        let Some(to_writer) = &self.to_writer else { return };
        match to_writer.try_send((self.taken, pixels)) {
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
            Some(Ok(Ok(()))) | None => format!("{} pictures in {}", self.taken, self.folder.display()),
            Some(Ok(Err(error))) => {
                format!("the recording in {} is not whole: {error}", self.folder.display())
            }
            Some(Err(panicked)) => format!("the recording ended early: {panicked}"),
        };
        match self.left_out {
            0 => written,
            count => format!("{written}, {count} left out"),
        }
    }

    fn turn_at(&self, now: RealTime) -> i64 {
        now.since(self.start).as_nanos() * PER_SECOND / trantor_time::NANOS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_pictures_a_second_are_taken_whatever_the_frame_rate() {
        let folder = std::env::temp_dir().join(format!("trantor-recording-test-{}", std::process::id()));
        // A run that was cut short may have left one.
        let _ = std::fs::remove_dir_all(&folder);
        let start = RealTime::ZERO + RealSpan::from_secs(5);
        let mut recording = Recording::start_in(folder.clone(), RealSpan::from_millis(200), start).unwrap();
        let mut now = start;
        while !recording.is_over(now) {
            if recording.is_due(now) {
                recording.add(Pixels::blank((2, 2)), now);
            }
            now += RealSpan::from_nanos(6_944_444);
        }
        assert!(!recording.is_due(now));
        let said = recording.finish();
        assert!(said.starts_with("6 pictures in"), "{said}");
        assert!(folder.join("00005.png").is_file() && !folder.join("00006.png").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
