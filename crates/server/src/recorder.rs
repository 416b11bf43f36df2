//! `--record`: the journal of a run on the disk, a file for each piece.
//!
//! ```text
//! DIR/run-0001/piece-00000.trj.zst     finished and packed
//!              piece-00001.trj         being written
//! ```
//!
//! The engine makes the bytes; here they are appended to a file before anything is sent that happened after the last of
//! them ([`Engine::journal_pressure`]), and at the latest after [`WRITE_SPAN`], so that a process that is killed has sent
//! nothing that its journal does not show. A disk job forces them to the disk a few seconds later
//! ([`SYNC_SPAN`]), which bounds what a power failure takes. A finished piece is packed by a disk job, one at a
//! time, and forced to the disk with it.
//!
//! If the disk refuses, that is said, what was written of the last record is taken back, and the game goes on without
//! being recorded. So it is where it cannot force what it had taken: the system tells that once, and a second attempt would succeed
//! whether the bytes are there or not. From then on it is tried again ([`RETRY_SPAN_MIN`]); what is recorded then is another run, since a run
//! is a stretch without gaps.
//!
//! A recorder holds a lock on its run's directory. What a run without one left half done is removed at the start of
//! the next.

mod keep;
mod run;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trantor_engine::{Engine, JournalBytes, JournalPressure};
use trantor_time::{RealSpan, RealTime};

use self::run::{Run, pack, tidy_up};
pub(crate) use self::run::{ToSync, force};
use crate::options::RecordKeep;

/// Finished pieces that may wait to be packed. More would mean that packing does not keep up; they stay as they are,
/// which every reader takes as well.
const TO_PACK_MAX: usize = 64;

/// The longest that what was written may lie with the system before it is forced to the disk. Forcing makes the disk busy
/// and with it, on some file systems, whoever writes; seldom enough, it is not felt.
pub(crate) const SYNC_SPAN: RealSpan = RealSpan::from_secs(5);

/// The longest that inputs wait to be written while nothing is sent. A server writes by need before, even where one agent
/// plays at 100 units a second, so that inputs do not wake it: with 10 ms every command did where few agents play.
const WRITE_SPAN: RealSpan = RealSpan::from_millis(100);

/// How long after the disk has refused it is tried again; after every other time twice as long. Somebody who makes room
/// does not wait for long, and a disk that stays full is not asked all the time: each attempt captures the game.
const RETRY_SPAN_MIN: RealSpan = RealSpan::from_secs(1);

/// The longest between two attempts.
const RETRY_SPAN_MAX: RealSpan = RealSpan::from_secs(64);

/// Bytes that recording leaves free for saves on the disk that both are on, at least: saves of ordinary worlds have
/// kilobytes, and other programs take room between two looks.
const SAVE_ROOM_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// As many saves have room at least: one is written while the last one is still there, and each may be larger than the one before.
const SAVE_ROOM_SAVES: u64 = 4;

/// The journals of a game on the disk.
#[derive(Debug)]
pub struct Recorder {
    /// Where runs have their directories.
    directory: PathBuf,
    /// How much is kept there.
    keep: RecordKeep,
    /// Of the latest snapshot that a piece began with, which is as large as a save.
    snapshot_bytes: u64,
    /// The run being written; `None` while the disk refuses.
    run: Option<Run>,
    /// Runs begun by this recorder: which one a job is about that ends later.
    runs_begun: u32,
    /// What was not packed yet.
    to_pack: VecDeque<PathBuf>,
    /// What a job is packing.
    packing: Option<PathBuf>,
    /// Whether something was written that no job will force to the disk yet.
    is_unsynced: bool,
    /// When what the engine has is written, even if nothing presses.
    write_at: Option<RealTime>,
    /// How long after the next refusal it is tried again.
    retry_span: RealSpan,
    stats: RecorderStats,
}

/// What a recorder has done, all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderStats {
    /// Bytes written, before packing.
    pub bytes: u64,
    /// Writes they took.
    pub writes: u64,
    /// Pieces finished.
    pub pieces: u64,
    /// Pieces packed.
    pub packed: u64,
    /// Pieces that could not be packed, or waited with too many others. They are kept as they are.
    pub not_packed: u64,
    /// Times that a run ended because the disk refused, or for one of the two reasons below.
    pub failures: u64,
    /// Times that a run ended because saves would have had no room.
    pub no_room: u64,
    /// Times that a run ended because its directory or the piece being written was removed.
    pub removed: u64,
    /// Times that another run was begun after that. Where it is less than the failures, nothing is recorded now.
    pub resumed: u64,
    /// Times that what was written was forced to the disk.
    pub synced: u64,
    /// Times that it could not be.
    pub not_synced: u64,
}

impl Recorder {
    /// Makes a directory for a run in `directory`, which is made too if it is not there, and its first file. Of what was recorded
    /// there before as much stays as `keep` says.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(directory: &Path, keep: RecordKeep) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        tidy_up(directory)?;
        let run = Run::create(directory)?;
        tidy_old(keep, directory, run.directory());
        Ok(Self {
            directory: directory.to_owned(),
            keep,
            snapshot_bytes: 0,
            run: Some(run),
            runs_begun: 1,
            to_pack: VecDeque::new(),
            packing: None,
            is_unsynced: false,
            write_at: None,
            retry_span: RETRY_SPAN_MIN,
            stats: RecorderStats::default(),
        })
    }

    /// Keeps so much from now on: old recordings are removed when a piece is finished.
    pub(crate) fn set_keep(&mut self, keep: RecordKeep) {
        self.keep = keep;
    }

    /// What it has done.
    pub fn stats(&self) -> RecorderStats {
        self.stats
    }

    /// When there is something to write, if nothing presses before.
    pub(crate) fn write_at(&self) -> Option<RealTime> {
        self.write_at
    }

    /// Takes what the engine has for the journal if that must not wait any longer, and begins another piece if this one
    /// is long enough.
    pub(crate) fn write(&mut self, engine: &mut Engine, now: RealTime) {
        if self.run.is_none() {
            return;
        }
        if !engine.is_recording() {
            // The engine has said why.
            return self.fail(engine);
        }
        match engine.journal_pressure() {
            JournalPressure::None => {}
            JournalPressure::Waits if now < *self.write_at.get_or_insert(now + WRITE_SPAN) => {}
            JournalPressure::Waits | JournalPressure::Presses => self.write_ahead(engine),
        }
    }

    /// Takes what the engine has for the journal, if there is anything: something is about to be sent.
    pub(crate) fn write_ahead(&mut self, engine: &mut Engine) {
        if !engine.is_ahead_of_journal() {
            return;
        }
        self.write_at = None;
        if let Err(error) = self.write_all(engine) {
            log::error!("{}: {error}; recording ends here, the game goes on", self.place());
            self.fail(engine);
        }
    }

    fn write_all(&mut self, engine: &mut Engine) -> io::Result<()> {
        loop {
            while let Some(bytes) = engine.poll_journal() {
                self.append(&bytes)?;
            }
            match &self.run {
                Some(run) if run.is_piece_long() => engine.begin_journal_piece(),
                _ => return Ok(()),
            }
        }
    }

    /// Ends the journal in order and packs what is left, on this thread: the loop is over.
    pub(crate) fn finish(mut self, engine: &mut Engine) {
        for bytes in engine.stop_recording() {
            if let Err(error) = self.append(&bytes) {
                log::error!("{}: {error}; the end is not recorded", self.place());
                return self.fail(engine);
            }
        }
        // Packing removes the last piece as it was written, so this comes first.
        let is_removed = self.run.as_ref().is_some_and(Run::is_removed);
        while let Some(piece) = self.to_pack.pop_front() {
            self.note_packed(&piece, pack(&piece).map_err(|error| error.to_string()));
        }
        let RecorderStats { bytes, pieces, .. } = self.stats;
        match &self.run {
            Some(_) if is_removed => log::warn!("{}: it was removed: the run is lost", self.place()),
            Some(_) => log::info!("recorded {bytes} bytes in {pieces} pieces in {}", self.place()),
            None => log::warn!("{}: the game was not recorded to its end", self.place()),
        }
    }

    /// Where the run has its pieces, or else where it would have its directory.
    fn place(&self) -> std::path::Display<'_> {
        let run = self.run.as_ref();
        run.map_or(&*self.directory, Run::directory).display()
    }

    fn append(&mut self, journal: &JournalBytes) -> io::Result<()> {
        let Some(run) = &mut self.run else {
            return Ok(());
        };
        let finished = run.append(journal)?;
        self.is_unsynced = true;
        self.stats.bytes += journal.bytes.len() as u64;
        self.stats.writes += 1;
        if let Some(piece) = finished {
            self.stats.pieces += 1;
            match self.to_pack.len() < TO_PACK_MAX {
                true => self.to_pack.push_back(piece),
                false => self.leave_unpacked(&piece),
            }
        }
        Ok(())
    }

    /// Whether something was written that no job will force to the disk yet.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.is_unsynced
    }

    /// Begins a sync: looks whether the run can go on, and answers what a job is to force to the disk, if there is anything.
    pub(crate) fn begin_sync(&mut self, engine: &mut Engine, saves: Option<&Path>) -> Option<ToSync> {
        self.look_for_removal(engine);
        if let Some(free) = self.free_beside(saves) {
            self.look_for_room(free, engine);
        }
        self.take_to_sync().unwrap_or_else(|error| {
            self.note_not_tried(&error.to_string());
            None
        })
    }

    /// What is to be forced to the disk, if there is anything: of the run, and finished pieces that were not packed yet.
    fn take_to_sync(&mut self) -> io::Result<Option<ToSync>> {
        self.is_unsynced = false;
        let waiting = self.to_pack.iter().chain(&self.packing);
        let run = self.run.as_ref();
        let to_sync = run.map(|run| run.to_sync(self.runs_begun, waiting.map(PathBuf::as_path)));
        to_sync.transpose()
    }

    /// What became of forcing to the disk what belongs to the run that was begun as number `run`.
    pub(crate) fn end_sync(
        &mut self,
        (run, unsynced): (u32, usize),
        outcome: Result<bool, String>,
        engine: &mut Engine,
    ) {
        match outcome {
            Ok(true) => self.note_synced(run, unsynced),
            Ok(false) => self.note_not_tried("its file system has no way to"),
            Err(error) => self.note_sync_failed(run, &error, engine),
        }
    }

    /// What a job about the run that was begun as number `run` forced to the disk is there.
    fn note_synced(&mut self, run: u32, synced: usize) {
        self.stats.synced += 1;
        if let (true, Some(run)) = (run == self.runs_begun, &mut self.run) {
            run.were_synced(synced);
            self.retry_span = RETRY_SPAN_MIN;
        }
    }

    /// It was not tried to force anything to the disk, for want of something else than the disk: it is tried again.
    pub(crate) fn note_not_tried(&mut self, error: &str) {
        log::warn!("the journal cannot be forced to the disk: {error}");
        self.stats.not_synced += 1;
        self.is_unsynced = self.run.is_some();
    }

    /// The disk did not take what it was forced to, of the run that was begun as number `run`.
    fn note_sync_failed(&mut self, run: u32, error: &str, engine: &mut Engine) {
        self.stats.not_synced += 1;
        if run == self.runs_begun && self.run.is_some() {
            let place = self.place();
            log::error!(
                "{place}: cannot be forced to the disk: {error}; recording ends here, the game goes on"
            );
            self.fail(engine);
        }
    }

    /// Ends the run if it was removed from the disk under it: what is written to it is lost.
    fn look_for_removal(&mut self, engine: &mut Engine) {
        if self.run.as_ref().is_some_and(Run::is_removed) {
            log::warn!(
                "{}: it was removed: what happened in it is lost, and recording goes on in another run",
                self.place()
            );
            self.stats.removed += 1;
            self.fail(engine);
        }
    }

    /// Bytes that are to stay free on the disk.
    fn save_room_bytes(&self) -> u64 {
        SAVE_ROOM_BYTES_MIN.max(self.snapshot_bytes.saturating_mul(SAVE_ROOM_SAVES))
    }

    /// Ends the run if so many bytes that are `free` do not leave enough for saves.
    fn look_for_room(&mut self, free: u64, engine: &mut Engine) {
        let Some(run) = &self.run else { return };
        self.snapshot_bytes = run.head_bytes();
        let needed = self.save_room_bytes();
        if free < needed {
            log::warn!(
                "{}: {free} bytes are free, and {needed} are for saves: recording ends here, the game goes on",
                self.place()
            );
            self.stats.no_room += 1;
            self.fail(engine);
        }
    }

    /// Bytes that are free where runs are, if that is also where `saves` are.
    fn free_beside(&self, saves: Option<&Path>) -> Option<u64> {
        let device = |path: &Path| fs::metadata(path).ok().map(|about| about.dev());
        if device(&self.directory)? != device(saves?)? {
            return None;
        }
        let disk = rustix::fs::statvfs(&self.directory).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Ends the run: the disk refuses.
    fn fail(&mut self, engine: &mut Engine) {
        self.stats.failures += 1;
        self.give_up(engine);
    }

    fn give_up(&mut self, engine: &mut Engine) {
        let _untaken = engine.stop_recording();
        if let Some(run) = self.run.take() {
            run.abandon();
        }
        self.is_unsynced = false;
        self.write_at = None;
    }

    /// Begins another run with the game as it is now, if the disk takes the beginning of it. Answers whether it did.
    fn resume(&mut self, engine: &mut Engine) -> bool {
        let directory = &self.directory;
        let begun = fs::create_dir_all(directory).and_then(|()| Run::create(directory));
        let begun = begun.and_then(|run| {
            self.run = Some(run);
            self.runs_begun += 1;
            engine.start_recording();
            self.write_all(engine)
        });
        match begun {
            Ok(()) => {
                log::warn!("{}: the game is recorded again from here on", self.place());
                self.stats.resumed += 1;
                true
            }
            Err(error) => {
                log::debug!("{}: still not recorded: {error}", self.place());
                self.give_up(engine);
                false
            }
        }
    }

    /// The next piece for a job to pack, and its work; `None` while another one is at it.
    pub(crate) fn take_to_pack(
        &mut self,
    ) -> Option<(PathBuf, impl FnOnce() -> io::Result<()> + Send + use<>)> {
        if self.packing.is_some() {
            return None;
        }
        self.packing = self.to_pack.pop_front();
        let (keep, directory) = (self.keep, self.directory.clone());
        let piece = self.packing.clone()?;
        let of_job = piece.clone();
        let work = move || {
            pack(&of_job)?;
            if let Some(run) = of_job.parent() {
                tidy_old(keep, &directory, run);
            }
            Ok(())
        };
        Some((piece, work))
    }

    /// No job packs it: the loop is ending, after which the rest is packed.
    pub(crate) fn put_back(&mut self, piece: PathBuf) {
        self.packing = None;
        self.to_pack.push_front(piece);
    }

    /// How long until it is to be tried again, where the disk has refused.
    pub(crate) fn take_retry_span(&mut self) -> Option<RealSpan> {
        if self.run.is_some() {
            return None;
        }
        let span = self.retry_span;
        self.retry_span = (span * 2).min(RETRY_SPAN_MAX);
        Some(span)
    }

    /// Tries again. Answers whether another run was begun.
    pub(crate) fn retry(&mut self, engine: &mut Engine, saves: Option<&Path>) -> bool {
        // More than what ended it: a run that ends as soon as it is begun is of no use.
        let needed = self.save_room_bytes().saturating_mul(2);
        let free = self.free_beside(saves);
        free.is_none_or(|free| free >= needed) && self.resume(engine)
    }

    /// What became of packing a piece.
    pub(crate) fn note_packed(&mut self, piece: &Path, packed: Result<(), String>) {
        self.packing = None;
        let Err(error) = packed else {
            self.stats.packed += 1;
            return;
        };
        log::warn!("a piece of the journal stays unpacked: {error}");
        self.leave_unpacked(piece);
    }

    /// A finished piece will not be packed, which would force it to the disk: that is done with the next one.
    fn leave_unpacked(&mut self, piece: &Path) {
        self.stats.not_packed += 1;
        let Some(run) = &mut self.run else { return };
        self.is_unsynced = true;
        if let Err(error) = run.leave_unpacked(piece) {
            log::warn!("{}: may not be on the disk: {error}", piece.display());
        }
    }
}

/// The directories of the runs in `directory`, in order.
///
/// # Errors
/// What the system says of it.
pub fn runs_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(run::runs_in(directory)?.into_iter().map(|(_, run)| run).collect())
}

/// Removes recordings that are too old or too many. That some cannot be removed stops nobody from recording.
fn tidy_old(keep: RecordKeep, directory: &Path, current: &Path) {
    if keep.is_bounded()
        && let Err(error) = keep::tidy(keep, directory, current)
    {
        log::warn!(
            "{}: old recordings cannot be removed: {error}",
            directory.display()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use trantor_engine::EngineConfig;

    /// One that has written the beginning of a game.
    fn recorder(directory: &Path) -> (Recorder, Engine) {
        let config: EngineConfig = Options::default().engine_config(1);
        let mut engine = Engine::new(config, RealTime::ZERO);
        let mut recorder = Recorder::create(directory, RecordKeep::default()).unwrap();
        engine.start_recording();
        recorder.write(&mut engine, RealTime::ZERO);
        recorder.write(&mut engine, RealTime::ZERO + WRITE_SPAN);
        assert!(recorder.is_unsynced);
        (recorder, engine)
    }

    #[test]
    fn a_disk_that_loses_what_it_had_taken_ends_the_run() {
        let directory = std::env::temp_dir().join(format!("trantor-lost-{}", std::process::id()));
        let (mut recorder, mut engine) = recorder(&directory);
        let first = recorder.runs_begun;
        recorder.note_not_tried("no descriptor");
        assert!(recorder.is_unsynced, "it is tried again");

        recorder.note_sync_failed(first, "input/output error", &mut engine);
        assert!(recorder.run.is_none());
        assert_eq!((recorder.stats.failures, recorder.stats.not_synced), (1, 2));

        recorder.resume(&mut engine);
        assert_eq!(recorder.stats.resumed, 1);
        // A job about the first run that took long says nothing of the second.
        let unsynced = recorder.take_to_sync().unwrap().unwrap().of_run.1;
        recorder.note_sync_failed(first, "input/output error", &mut engine);
        recorder.note_synced(first, unsynced);
        assert!(recorder.run.is_some());
        assert_eq!(recorder.take_to_sync().unwrap().unwrap().of_run.1, unsynced);
        recorder.note_synced(recorder.runs_begun, unsynced);
        assert_eq!(recorder.take_to_sync().unwrap().unwrap().of_run.1, 0);
        drop(recorder);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn recording_ends_before_a_save_has_no_room() {
        let directory = std::env::temp_dir().join(format!("trantor-room-{}", std::process::id()));
        let (mut recorder, mut engine) = recorder(&directory);
        recorder.look_for_room(SAVE_ROOM_BYTES_MIN, &mut engine);
        assert!(engine.is_recording());
        recorder.look_for_room(SAVE_ROOM_BYTES_MIN - 1, &mut engine);
        assert!(!engine.is_recording() && recorder.run.is_none());
        assert_eq!((recorder.stats.failures, recorder.stats.no_room), (1, 1));
        assert!(recorder.free_beside(Some(&directory)).is_some());
        assert!(recorder.free_beside(None).is_none());
        assert!(recorder.free_beside(Some(Path::new("/proc"))).is_none());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_run_that_is_removed_under_the_server_is_noticed_and_another_one_begins() {
        let directory = std::env::temp_dir().join(format!("trantor-removed-{}", std::process::id()));
        let (mut recorder, mut engine) = recorder(&directory);
        recorder.look_for_removal(&mut engine);
        assert!(engine.is_recording());
        let run = recorder.run.as_ref().unwrap().directory().to_owned();
        // Another one in its place is not the one.
        fs::rename(&run, directory.join("moved")).unwrap();
        fs::create_dir(&run).unwrap();
        recorder.look_for_removal(&mut engine);
        assert_eq!((recorder.stats.failures, recorder.stats.removed), (1, 1));
        fs::remove_dir_all(&directory).unwrap();
        assert!(recorder.resume(&mut engine), "all of it is made again");
        fs::remove_file(run.join("piece-00000.trj")).unwrap();
        recorder.look_for_removal(&mut engine);
        assert_eq!(recorder.stats.removed, 2);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_cannot_be_forced_does_not_end_the_run() {
        let forced = |path: &str| force(&[fs::File::open(path).unwrap()]);
        assert!(!forced("/dev/null").unwrap());
        assert!(forced(std::env::temp_dir().to_str().unwrap()).unwrap());
    }
}
