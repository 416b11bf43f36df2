//! `--record`: the journal of a run on the disk, a file for each piece (R-001-41, R-001-44).
//!
//! ```text
//! DIR/run-0001/piece-00000.trj.zst     finished and packed
//!              piece-00001.trj         being written
//! ```
//!
//! The engine makes the bytes; here they are appended to a file before any agent is told what follows from them
//! ([`Engine::journal_pressure`]), and at the latest after [`WRITE_SPAN`], so that a process that is killed has answered
//! nothing that its journal does not know. A background job forces them to the disk a few seconds later
//! ([`SYNC_SPAN`]), which bounds what a power failure takes. A finished piece is packed by a background job, one at a
//! time, and forced to the disk with it.
//!
//! If the disk refuses, that is said, what was written of the last record is taken back, and the game goes on without
//! being recorded. From then on it is tried again ([`RETRY_SPAN_MIN`]); what is recorded then is another run, since a run
//! is a stretch without gaps.
//!
//! A recorder holds a lock on its run's directory. What a run without one left half done is removed at the start of
//! the next.

mod run;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use trantor_engine::{Engine, JournalBytes, JournalPressure};
use trantor_runtime::jobs::{Job, JobSpec};
use trantor_runtime::service::Service;
use trantor_time::{RealSpan, RealTime};

use self::run::{Run, pack, tidy_up};
use crate::shell::Shell;

/// Finished pieces that may wait to be packed. More would mean that packing does not keep up; they stay as they are,
/// which every reader takes as well.
const TO_PACK_MAX: usize = 64;

/// The longest that what was written may lie with the system before it is forced to the disk. Forcing makes the disk busy
/// and with it, on some file systems, whoever writes; seldom enough, it is not felt.
const SYNC_SPAN: RealSpan = RealSpan::from_secs(5);

/// The longest that what was recorded waits to be written. Writing in every pass would be a system call for every few
/// commands; a busy server writes by need long before, and viewers, who see an action begin, see it with the next
/// tick.
const WRITE_SPAN: RealSpan = RealSpan::from_millis(10);

/// How long after the disk has refused it is tried again; after every other time twice as long. Somebody who makes room
/// does not wait for long, and a disk that stays full is not asked all the time: each attempt captures the game.
const RETRY_SPAN_MIN: RealSpan = RealSpan::from_secs(1);

/// The longest between two attempts.
const RETRY_SPAN_MAX: RealSpan = RealSpan::from_secs(64);

/// The name of the timer and the job that force to the disk, as they stand in logs and metrics.
const SYNC: &str = "journal_sync";

/// The name of the timer that tries again.
const RETRY: &str = "journal_retry";

/// The journals of a game on the disk.
#[derive(Debug)]
pub struct Recorder {
    /// Where runs have their directories.
    directory: PathBuf,
    /// The run being written; `None` while the disk refuses.
    run: Option<Run>,
    /// What was not packed yet.
    to_pack: VecDeque<PathBuf>,
    is_packing: bool,
    /// Whether something was written that no job will force to the disk yet.
    is_unsynced: bool,
    /// When what the engine has is written, even if nothing presses.
    write_at: Option<RealTime>,
    is_sync_due: bool,
    is_retry_due: bool,
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
    /// Times that a run ended because the disk refused.
    pub failures: u64,
    /// Times that another run was begun after that. Where it is less than the failures, nothing is recorded now.
    pub resumed: u64,
    /// Times that what was written was forced to the disk.
    pub synced: u64,
    /// Times that it could not be.
    pub not_synced: u64,
}

impl Recorder {
    /// Makes a directory for a run in `directory`, which is made too if it is not there, and its first file.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        tidy_up(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            run: Some(Run::create(directory)?),
            to_pack: VecDeque::new(),
            is_packing: false,
            is_unsynced: false,
            write_at: None,
            is_sync_due: false,
            is_retry_due: false,
            retry_span: RETRY_SPAN_MIN,
            stats: RecorderStats::default(),
        })
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
            JournalPressure::None => return,
            JournalPressure::Waits if now < *self.write_at.get_or_insert(now + WRITE_SPAN) => return,
            JournalPressure::Waits | JournalPressure::Presses => self.write_at = None,
        }
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
        while let Some(piece) = self.to_pack.pop_front() {
            self.note_packed(&piece, pack(&piece).map_err(|error| error.to_string()));
        }
        let RecorderStats { bytes, pieces, .. } = self.stats;
        match &self.run {
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

    /// Handles on what is to be forced to the disk, if there is anything.
    fn take_to_sync(&mut self) -> io::Result<Option<Vec<File>>> {
        self.is_unsynced = false;
        self.run.as_ref().map(Run::handles).transpose()
    }

    /// So many handles were forced to the disk, or could not be.
    fn note_synced(&mut self, synced: Result<usize, String>) {
        match synced {
            Ok(handles) => {
                if let Some(run) = &mut self.run {
                    run.were_synced(handles);
                }
                self.stats.synced += 1;
                self.retry_span = RETRY_SPAN_MIN;
            }
            Err(error) => {
                log::warn!("the journal cannot be forced to the disk: {error}");
                self.stats.not_synced += 1;
                self.is_unsynced = self.run.is_some();
            }
        }
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

    /// Begins another run with the game as it is now, if the disk takes the beginning of it.
    fn resume(&mut self, engine: &mut Engine) {
        let begun = Run::create(&self.directory).and_then(|run| {
            self.run = Some(run);
            engine.start_recording();
            self.write_all(engine)
        });
        match begun {
            Ok(()) => {
                log::warn!("{}: the game is recorded again from here on", self.place());
                self.stats.resumed += 1;
            }
            Err(error) => {
                log::debug!("{}: still not recorded: {error}", self.place());
                self.give_up(engine);
            }
        }
    }

    /// The next piece for a job to pack; `None` while another one is at it.
    fn take_to_pack(&mut self) -> Option<PathBuf> {
        if self.is_packing {
            return None;
        }
        let piece = self.to_pack.pop_front()?;
        self.is_packing = true;
        Some(piece)
    }

    fn note_packed(&mut self, piece: &Path, packed: Result<(), String>) {
        self.is_packing = false;
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

/// Has a background job pack the next finished piece, if there is one and no other job is packing.
pub(crate) fn pack_finished(service: &mut Service<Shell>) {
    let Some(piece) = service.state.recorder.as_mut().and_then(Recorder::take_to_pack) else {
        return;
    };
    let note = |service: &mut Service<Shell>, piece: &Path, packed| {
        if let Some(recorder) = &mut service.state.recorder {
            recorder.note_packed(piece, packed);
        }
        pack_finished(service);
    };
    let [of_job, when_done, when_failed] = [(); 3].map(|()| piece.clone());
    let job = Job::new(
        move |_| pack(&of_job),
        move |service, ()| note(service, &when_done, Ok(())),
    )
    .on_error(move |service, error| note(service, &when_failed, Err(error.to_string())));
    let spec = JobSpec::new("pack journal").keyed(0);
    if service.submit(spec, job).is_err()
        && let Some(recorder) = &mut service.state.recorder
    {
        // Other work is in the way, or the loop is ending, after which the rest is packed.
        recorder.is_packing = false;
        recorder.to_pack.push_front(piece);
    }
}

/// Sets a timer that has a job force to the disk what was written, unless one is set: a server in which nothing happens
/// is not woken for it.
pub(crate) fn sync_later(service: &mut Service<Shell>) {
    match &mut service.state.recorder {
        Some(recorder) if recorder.is_unsynced && !recorder.is_sync_due => recorder.is_sync_due = true,
        _ => return,
    }
    let registered = service.once(SYNC, SYNC_SPAN, |service| {
        sync(service);
        Ok(())
    });
    if let (Err(error), Some(recorder)) = (registered, &mut service.state.recorder) {
        recorder.is_sync_due = false;
        recorder.note_synced(Err(error.to_string()));
    }
}

/// Sets a timer that tries again, where the disk has refused and none is set.
pub(crate) fn retry_later(service: &mut Service<Shell>) {
    let Some(recorder) = &mut service.state.recorder else {
        return;
    };
    if recorder.run.is_some() || recorder.is_retry_due {
        return;
    }
    recorder.is_retry_due = true;
    let span = recorder.retry_span;
    recorder.retry_span = (span * 2).min(RETRY_SPAN_MAX);
    let registered = service.once(RETRY, span, |service| {
        let Shell { recorder, engine, .. } = &mut service.state;
        if let Some(recorder) = recorder {
            recorder.is_retry_due = false;
            recorder.resume(engine);
        }
        Ok(())
    });
    if let Err(error) = registered {
        log::error!("the game is not recorded any more: {error}");
    }
}

/// Has a job force to the disk what was written.
pub(crate) fn sync(service: &mut Service<Shell>) {
    let Some(recorder) = &mut service.state.recorder else {
        return;
    };
    recorder.is_sync_due = false;
    let files = match recorder.take_to_sync() {
        Ok(Some(files)) => files,
        Ok(None) => return,
        Err(error) => return recorder.note_synced(Err(error.to_string())),
    };
    let note = |service: &mut Service<Shell>, synced| {
        if let Some(recorder) = &mut service.state.recorder {
            recorder.note_synced(synced);
        }
    };
    let handles = files.len();
    let work = move |_: &_| files.iter().try_for_each(File::sync_all);
    let job = Job::new(work, move |service, ()| note(service, Ok(handles)))
        .on_error(move |service, error| note(service, Err(error.to_string())));
    if let Err(refused) = service.submit(JobSpec::new(SYNC).keyed(0), job) {
        note(service, Err(refused.to_string()));
    }
}
