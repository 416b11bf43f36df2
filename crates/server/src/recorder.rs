//! `--record`: the journal of a game on the disk, a file for each piece.
//!
//! ```text
//! DIR/run-0001/piece-00000.trj.zst     finished and packed
//!              piece-00001.trj         being written
//!
//!            the disk refuses, the run was removed, saves have no room
//! recording ──────────────────────────────────────────────────────────> no run
//!     ^                                                                     │
//!     └──────────────── at `retry_at`: another run begins ──────────────────┘
//! ```
//!
//! The engine makes the bytes. They are written before anything is sent that happened after the last of them
//! ([`Engine::journal_pressure`]), and at the latest after [`WRITE_SPAN`]: a process that is killed has sent nothing that
//! its journal does not show. A disk job syncs them a few seconds later, which bounds what a power failure takes. Finished
//! pieces are packed by disk jobs, one at a time.
//!
//! A run is a stretch without gaps. If the disk refuses a write or a sync, the run ends with its last whole record, the
//! game goes on, and another run is tried later.
//!
//! A recorder holds a lock on its run's directory. What a run without one left half done is removed at the next start.

mod run;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trantor_engine::{Engine, JournalBytes, JournalPressure};
use trantor_time::timers::round_up;
use trantor_time::{RealSpan, RealTime};

use self::run::{Run, pack, tidy_old, tidy_up};
pub use self::run::{pieces_of, runs_in};
use crate::archive::Keep;
use crate::store::{Files, OpenFile};

/// The disk job that packs a finished piece, by its name in logs.
pub const PACK: &str = "pack journal";

pub const SYNC: &str = "journal_sync";

/// Finished pieces that wait to be packed, at most. Beyond that they stay unpacked, which every reader takes as well.
const TO_PACK_MAX: usize = 64;

/// The longest that inputs wait to be written while nothing is sent. A server has to write sooner even where one agent
/// plays at 100 units a second, so that inputs do not wake it: with 10 ms every command did where few agents play.
const WRITE_SPAN: RealSpan = RealSpan::from_millis(100);

/// Bytes that recording leaves free for saves on the disk that both are on, at least: saves of ordinary worlds have
/// kilobytes, and other programs take room between two checks.
const SAVE_ROOM_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// So many saves have room at least: one is written while the last one is still there, and each may be larger than the
/// one before.
const SAVE_ROOM_SAVES: u64 = 4;

/// Sizes and spans of a recorder. Only the simulation has other spans than the default.
#[derive(Clone, Copy, Debug)]
pub struct RecorderConfig {
    pub keep: Keep,
    /// Bytes after which a piece ends. A replay begins at a piece, so it bounds what a jump has to play: some hundred
    /// thousand commands, which take a blink.
    pub piece_bytes: u64,
    /// A piece is at least so many times as long as the snapshot that it begins with, or journals of large worlds would
    /// be made of snapshots. At least two.
    pub piece_snapshots: u64,
    /// The longest that written bytes wait to be synced. A sync makes the disk busy, and with it, on some file systems,
    /// every writer; this seldom, it is not felt.
    pub sync_span: RealSpan,
    /// The first and the longest wait before another run is tried; each is twice the one before. Room on the disk is soon
    /// noticed, and a disk that stays full is not asked all the time: each attempt captures the game.
    pub retry_spans: (RealSpan, RealSpan),
}

impl Default for RecorderConfig {
    fn default() -> Self {
        Self {
            keep: Keep::default(),
            piece_bytes: 1024 * 1024,
            piece_snapshots: 8,
            sync_span: RealSpan::from_secs(5),
            retry_spans: (RealSpan::from_secs(1), RealSpan::from_secs(64)),
        }
    }
}

#[derive(Debug)]
pub struct Recorder {
    files: Arc<dyn Files>,
    /// Where runs have their directories.
    directory: PathBuf,
    config: RecorderConfig,
    /// `None` while nothing is recorded, until `retry_at`.
    run: Option<Run>,
    retry_at: RealTime,
    /// The number of the latest run. If that is removed, the next one has another name: jobs may still be about its pieces.
    last_run: u64,
    /// Size of the latest snapshot that a piece began with, which is as large as a save.
    snapshot_bytes: u64,
    to_pack: VecDeque<PathBuf>,
    is_packing: bool,
    /// A sync is under way, of this run or of one before.
    is_syncing: bool,
    /// The wait after the next failure.
    retry_span: RealSpan,
    /// Why no other run could begin was said since the last one ended.
    is_refusal_said: bool,
    stats: RecorderStats,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderStats {
    pub bytes: u64,
    pub writes: u64,
    pub pieces: u64,
    pub packed: u64,
    /// Pieces that could not be packed, or waited with too many others. They stay as they are.
    pub not_packed: u64,
    /// Times that a run ended because the disk refused, or for one of the two reasons below.
    pub failures: u64,
    pub no_room: u64,
    /// Times that a run ended because its directory or the piece being written was removed.
    pub removed: u64,
    /// Times that another run began after that. While it is less than the failures, nothing is recorded.
    pub resumed: u64,
    pub synced: u64,
    pub not_synced: u64,
}

impl Recorder {
    /// Makes a run in `directory`, which is made too if it does not exist. Removes old recordings beyond what is kept.
    pub fn create(files: Arc<dyn Files>, directory: &Path, config: RecorderConfig) -> io::Result<Self> {
        files.create_directories(directory)?;
        tidy_up(&*files, directory)?;
        let run = Run::create(&files, directory, 0)?;
        tidy_old(&*files, config.keep, directory, run.directory());
        Ok(Self {
            files,
            directory: directory.to_owned(),
            config,
            last_run: run.number(),
            run: Some(run),
            retry_at: RealTime::ZERO,
            snapshot_bytes: 0,
            to_pack: VecDeque::new(),
            is_packing: false,
            is_syncing: false,
            retry_span: config.retry_spans.0,
            is_refusal_said: false,
            stats: RecorderStats::default(),
        })
    }

    /// Keeps so much from now on: old recordings are removed when a piece is packed.
    pub(crate) fn set_keep(&mut self, keep: Keep) {
        self.config.keep = keep;
    }

    pub fn stats(&self) -> RecorderStats {
        self.stats
    }

    /// The directory of the run being recorded, if one is.
    pub fn run(&self) -> Option<&Path> {
        self.run.as_ref().map(Run::directory)
    }

    /// When [`Self::pass`] has to be called, if the engine does not wake the loop before.
    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        let Some(run) = &self.run else {
            return Some(self.retry_at);
        };
        let sync_at = run.sync_at.filter(|_| !self.is_syncing);
        run.write_at.into_iter().chain(sync_at).min()
    }

    /// Writes what must not wait any longer, checks the run before a sync, or tries to begin another run. Answers whether
    /// another one began.
    pub(crate) fn pass(&mut self, engine: &mut Engine, now: RealTime, saves: Option<&Path>) -> bool {
        let Some(run) = &mut self.run else {
            return self.retry_at <= now && self.retry(engine, now, saves);
        };
        match engine.journal_pressure() {
            // The engine has logged why.
            _ if !engine.is_recording() => self.fail(engine, now),
            JournalPressure::None => {}
            JournalPressure::Waits if now < *run.write_at.get_or_insert(now + WRITE_SPAN) => {}
            JournalPressure::Waits | JournalPressure::Presses => self.write_ahead(engine, now),
        }
        if self.is_sync_due(now) {
            self.check_run(engine, now, saves);
        }
        false
    }

    /// Writes what the engine has for the journal: something is about to be sent.
    pub(crate) fn write_ahead(&mut self, engine: &mut Engine, now: RealTime) {
        if !engine.is_ahead_of_journal() {
            return;
        }
        if let Some(run) = &mut self.run {
            run.write_at = None;
        }
        if let Err(error) = self.write_all(engine, now) {
            log::error!("{}: {error}; recording ends here, the game goes on", self.place());
            self.fail(engine, now);
        }
    }

    fn write_all(&mut self, engine: &mut Engine, now: RealTime) -> io::Result<()> {
        loop {
            while let Some(bytes) = engine.poll_journal() {
                self.append(&bytes, now)?;
            }
            match &self.run {
                Some(run) if run.is_piece_long(&self.config) => {
                    let ended = engine.begin_journal_piece();
                    ended.map_or(Ok(()), |ended| self.append(&ended, now))?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn append(&mut self, journal: &JournalBytes, now: RealTime) -> io::Result<()> {
        let Some(run) = &mut self.run else { return Ok(()) };
        let finished = run.append(journal)?;
        run.sync_at.get_or_insert(round_up(now + self.config.sync_span));
        self.stats.bytes += journal.bytes.len() as u64;
        self.stats.writes += 1;
        if let Some(piece) = finished {
            self.stats.pieces += 1;
            match self.to_pack.len() < TO_PACK_MAX {
                true => self.to_pack.push_back(piece),
                false => self.stats.not_packed += 1,
            }
        }
        Ok(())
    }

    /// Ends the journal in order and packs what is left, on this thread: the loop is over.
    pub(crate) fn finish(mut self, engine: &mut Engine, now: RealTime) {
        if let Some(bytes) = engine.stop_recording()
            && let Err(error) = self.append(&bytes, now)
        {
            log::error!("{}: {error}; the end is not recorded", self.place());
            return self.fail(engine, now);
        }
        // Packing removes the last piece as it was written, so this comes first.
        let is_removed = self.run.as_ref().is_some_and(Run::is_removed);
        self.is_packing = false;
        while let Some(pack) = self.next_pack() {
            self.end_pack(pack().map_err(|error| error.to_string()));
        }
        let RecorderStats { bytes, pieces, .. } = self.stats;
        let place = self.place();
        match &self.run {
            Some(_) if is_removed => log::warn!("{place}: it was removed: the run is lost"),
            Some(_) => log::info!("recorded {bytes} bytes in {pieces} pieces in {place}"),
            None => log::warn!("{place}: the game was not recorded to its end"),
        }
    }

    /// Where the run has its pieces, or else where it would have its directory.
    fn place(&self) -> std::path::Display<'_> {
        self.run().unwrap_or(&self.directory).display()
    }

    fn is_sync_due(&self, now: RealTime) -> bool {
        let sync_at = self.run.as_ref().and_then(|run| run.sync_at);
        !self.is_syncing && sync_at.is_some_and(|at| at <= now)
    }

    /// The files that a disk job has to sync now, if there are any. Then call [`Self::end_sync`].
    pub(crate) fn next_sync(&mut self, now: RealTime) -> Option<Vec<OpenFile>> {
        if !self.is_sync_due(now) {
            return None;
        }
        self.is_syncing = true;
        self.run.as_mut().map(Run::begin_sync)
    }

    /// The end of a sync: whether the file system supports it.
    pub(crate) fn end_sync(&mut self, outcome: Result<bool, String>, engine: &mut Engine, now: RealTime) {
        self.is_syncing = false;
        match outcome {
            Ok(true) => self.stats.synced += 1,
            _ => self.stats.not_synced += 1,
        }
        let Some(run) = &mut self.run else { return };
        // The job may have been about a run before this one.
        let Some(synced) = run.syncing.take() else { return };
        match outcome {
            Ok(true) => {
                run.unsynced.drain(..synced);
                self.retry_span = self.config.retry_spans.0;
            }
            Ok(false) => {
                log::warn!("the journal cannot be synced: its file system does not support it");
                run.sync_at.get_or_insert(round_up(now + self.config.sync_span));
            }
            Err(error) => {
                log::error!(
                    "{}: cannot be synced: {error}; recording ends here, the game goes on",
                    self.place()
                );
                self.fail(engine, now);
            }
        }
    }

    /// Ends the run if it was removed, or would take the room that saves need.
    fn check_run(&mut self, engine: &mut Engine, now: RealTime, saves: Option<&Path>) {
        let Some(run) = &self.run else { return };
        let place = run.directory().display();
        if run.is_removed() {
            log::warn!(
                "{place}: it was removed: what happened in it is lost, and recording goes on in another run"
            );
            self.stats.removed += 1;
            return self.fail(engine, now);
        }
        self.snapshot_bytes = run.head_bytes;
        let needed = self.save_room_bytes();
        if let Some(free) = self.free_beside(saves).filter(|free| *free < needed) {
            log::warn!(
                "{place}: {free} bytes are free, and {needed} are for saves: recording ends here, the game goes on"
            );
            self.stats.no_room += 1;
            self.fail(engine, now);
        }
    }

    fn save_room_bytes(&self) -> u64 {
        SAVE_ROOM_BYTES_MIN.max(self.snapshot_bytes.saturating_mul(SAVE_ROOM_SAVES))
    }

    /// Free bytes where runs are, if saves are there too.
    fn free_beside(&self, saves: Option<&Path>) -> Option<u64> {
        self.files.free_beside(&self.directory, saves?)
    }

    fn fail(&mut self, engine: &mut Engine, now: RealTime) {
        self.stats.failures += 1;
        self.stop(engine, now);
    }

    fn stop(&mut self, engine: &mut Engine, now: RealTime) {
        let _untaken = engine.stop_recording();
        self.retry_at = round_up(now + self.retry_span);
        self.retry_span = (self.retry_span * 2).min(self.config.retry_spans.1);
        if let Some(run) = self.run.take() {
            run.abandon();
        }
    }

    /// Begins another run with the game as it is now, if the disk takes its beginning.
    fn retry(&mut self, engine: &mut Engine, now: RealTime, saves: Option<&Path>) -> bool {
        // More room than the run needed that ended, or this one would end as soon as it began.
        let needed = self.save_room_bytes().saturating_mul(2);
        let has_room = self.free_beside(saves).is_none_or(|free| free >= needed);
        let begun = match has_room {
            true => self.begin_again(engine, now),
            false => Err(io::ErrorKind::StorageFull.into()),
        };
        match begun {
            Ok(()) => {
                log::warn!("{}: the game is recorded again from here on", self.place());
                self.stats.resumed += 1;
                self.is_refusal_said = false;
                true
            }
            Err(error) => {
                // Once: it is tried for as long as the server runs.
                let level = match std::mem::replace(&mut self.is_refusal_said, true) {
                    false => log::Level::Warn,
                    true => log::Level::Debug,
                };
                let span_max = self.config.retry_spans.1.to_std().as_secs();
                log::log!(
                    level,
                    "{}: still not recorded, it is tried again each {span_max} s at least: {error}",
                    self.place()
                );
                self.stop(engine, now);
                false
            }
        }
    }

    fn begin_again(&mut self, engine: &mut Engine, now: RealTime) -> io::Result<()> {
        self.files.create_directories(&self.directory)?;
        let run = Run::create(&self.files, &self.directory, self.last_run)?;
        let number = run.number();
        self.run = Some(run);
        engine.start_recording();
        self.write_all(engine, now)?;
        self.last_run = number;
        Ok(())
    }

    /// What packs the next finished piece, and then removes recordings that are too old or too many; for a disk job, unless
    /// one is at it. Then call [`Self::end_pack`].
    pub(crate) fn next_pack(&mut self) -> Option<impl FnOnce() -> io::Result<()> + Send + use<>> {
        if self.is_packing {
            return None;
        }
        let piece = self.to_pack.pop_front()?;
        self.is_packing = true;
        let (files, directory, keep) = (Arc::clone(&self.files), self.directory.clone(), self.config.keep);
        Some(move || {
            pack(&*files, &piece)?;
            if let Some(run) = piece.parent() {
                tidy_old(&*files, keep, &directory, run);
            }
            Ok(())
        })
    }

    pub(crate) fn end_pack(&mut self, outcome: Result<(), String>) {
        self.is_packing = false;
        match outcome {
            Ok(()) => self.stats.packed += 1,
            Err(error) => {
                log::warn!("a piece of the journal stays unpacked: {error}");
                self.stats.not_packed += 1;
            }
        }
    }
}

/// Syncs all of them. Answers whether the file system can: some cannot sync a directory.
///
/// # Errors
/// What the system says, once: afterwards, lost bytes count as written.
pub(crate) fn sync_all(files: &[OpenFile]) -> io::Result<bool> {
    let mut can = true;
    for file in files {
        match file.sync() {
            Ok(()) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                can = false;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(can)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::store::SystemFiles;
    use std::fs;

    #[test]
    fn a_run_that_is_removed_under_the_server_is_noticed_and_another_one_begins() {
        let directory = std::env::temp_dir().join(format!("trantor-removed-{}", std::process::id()));
        let mut now = RealTime::ZERO;
        let mut engine = Engine::new(Options::default().engine_config(1), now);
        let files = SystemFiles::shared();
        let mut recorder = Recorder::create(files, &directory, RecorderConfig::default()).unwrap();
        engine.start_recording();
        recorder.pass(&mut engine, now, None);
        recorder.pass(&mut engine, now + WRITE_SPAN, None);
        recorder.check_run(&mut engine, now, None);
        let run = recorder.run().unwrap().to_owned();
        // Another directory in its place is not the run.
        fs::rename(&run, directory.join("moved")).unwrap();
        fs::create_dir(&run).unwrap();
        recorder.check_run(&mut engine, now, None);
        assert_eq!((recorder.run(), recorder.stats.removed), (None, 1));
        fs::remove_dir_all(&directory).unwrap();
        now = recorder.next_deadline().unwrap();
        assert!(recorder.pass(&mut engine, now, None), "all of it is made again");
        let again = recorder.run().unwrap().to_owned();
        assert_ne!(again, run, "jobs may still be about the pieces of the first");
        fs::remove_file(again.join("piece-00000.trj")).unwrap();
        recorder.check_run(&mut engine, now, None);
        assert_eq!((recorder.stats.failures, recorder.stats.removed), (2, 2));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn only_room_beside_saves_counts() {
        let free_beside = |other: &str| SystemFiles.free_beside(&std::env::temp_dir(), Path::new(other));
        assert!(free_beside(std::env::temp_dir().to_str().unwrap()).is_some());
        assert!(free_beside("/proc").is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_cannot_sync_is_no_error() {
        let device: OpenFile = Arc::new(fs::File::open("/dev/null").unwrap());
        assert!(!sync_all(&[device]).unwrap());
        let directory = SystemFiles.open(&std::env::temp_dir()).unwrap();
        assert!(sync_all(&[directory]).unwrap());
    }
}
