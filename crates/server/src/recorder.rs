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
//! time, and forced to the disk with it. If the disk refuses, that is said once, what was written of the last record
//! is taken back, recording ends, and the game goes on.
//!
//! A recorder holds a lock on its run's directory. What a run without one left half done is removed at the start of
//! the next.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use trantor_engine::{Engine, JournalBytes, JournalPressure};
use trantor_runtime::jobs::{Job, JobSpec};
use trantor_runtime::service::Service;
use trantor_time::{RealSpan, RealTime};

use crate::shell::Shell;
use crate::store::{self, COMPRESSED, JOURNAL};

/// Bytes after which a piece is ended. A replay begins at a piece, so it bounds what a jump has to play: some
/// hundred thousand commands, which is a blink.
const PIECE_BYTES: u64 = 1024 * 1024;

/// A piece is at least so many times as long as the snapshot it begins with, or in large worlds the journal would
/// be made of snapshots.
const PIECE_SNAPSHOTS: u64 = 8;

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

/// The name of its timer and its job, as they stand in logs and metrics.
const SYNC: &str = "journal_sync";

/// How hard zstd tries. Its usual level: a second level of effort saves a few per cent.
const PACK_LEVEL: i32 = 3;

/// Runs in one directory. Past them somebody's script has gone wrong.
const RUNS_MAX: u32 = 9_999;

/// The journal of this run on the disk.
#[derive(Debug)]
pub struct Recorder {
    directory: PathBuf,
    /// The piece being written.
    file: File,
    number: u32,
    piece_bytes: u64,
    /// Of the snapshot that the piece begins with, as it is known once that is written.
    head_bytes: u64,
    to_pack: VecDeque<PathBuf>,
    is_packing: bool,
    /// Whether something was written that no job will force to the disk yet.
    is_unsynced: bool,
    /// When what the engine has is written, even if nothing presses.
    write_at: Option<RealTime>,
    is_sync_due: bool,
    has_ended: bool,
    /// Held as long as this run is being recorded.
    _lock: File,
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
    /// Times that recording ended because the disk refused; at most one.
    pub failures: u64,
    /// Times that what was written was forced to the disk.
    pub synced: u64,
    /// Times that it could not be.
    pub not_synced: u64,
}

impl Recorder {
    /// Makes a directory for this run in `directory`, which is made too if it is not there, and its first file.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        tidy_up(directory)?;
        let run = new_run(directory)?;
        let lock = File::open(&run)?;
        if let Err(error) = lock.try_lock() {
            // Some file systems have none. Then another server's start may tidy up under this one's hands, and a piece
            // that is being packed stays unpacked.
            log::debug!("{}: no lock on it: {error}", run.display());
        }
        store::sync_directory(directory)?;
        let directory = run;
        let file = new_file(&directory, 0)?;
        Ok(Self {
            directory,
            file,
            number: 0,
            piece_bytes: 0,
            head_bytes: 0,
            to_pack: VecDeque::new(),
            is_packing: false,
            is_unsynced: false,
            write_at: None,
            is_sync_due: false,
            has_ended: false,
            _lock: lock,
            stats: RecorderStats::default(),
        })
    }

    /// Where this run's pieces are.
    pub fn directory(&self) -> &Path {
        &self.directory
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
        if self.has_ended {
            return;
        }
        if !engine.is_recording() {
            // The engine has said why.
            self.end_early();
            return;
        }
        match engine.journal_pressure() {
            JournalPressure::None => return,
            JournalPressure::Waits if now < *self.write_at.get_or_insert(now + WRITE_SPAN) => return,
            JournalPressure::Waits | JournalPressure::Presses => self.write_at = None,
        }
        if let Err(error) = self.write_all(engine) {
            log::error!(
                "{}: {error}; recording ends here, the game goes on",
                self.directory.display()
            );
            // So that the file ends with a whole record.
            let _still_torn = self.file.set_len(self.piece_bytes);
            self.end_early();
            let _untaken = engine.stop_recording();
        }
    }

    fn write_all(&mut self, engine: &mut Engine) -> io::Result<()> {
        loop {
            while let Some(bytes) = engine.poll_journal() {
                self.append(&bytes)?;
            }
            if self.piece_bytes < PIECE_BYTES.max(self.head_bytes.saturating_mul(PIECE_SNAPSHOTS)) {
                return Ok(());
            }
            engine.begin_journal_piece();
        }
    }

    /// Ends the journal in order and packs what is left, on this thread: the loop is over.
    pub(crate) fn finish(mut self, engine: &mut Engine) {
        if self.has_ended {
            return;
        }
        for bytes in engine.stop_recording() {
            if let Err(error) = self.append(&bytes) {
                log::error!("{}: {error}; the end is not recorded", self.directory.display());
                return;
            }
        }
        while let Some(piece) = self.to_pack.pop_front() {
            self.note_packed(pack(&piece).map_err(|error| error.to_string()));
        }
        let RecorderStats { bytes, pieces, .. } = self.stats;
        log::info!(
            "recorded {bytes} bytes in {pieces} pieces in {}",
            self.directory.display()
        );
    }

    fn append(&mut self, journal: &JournalBytes) -> io::Result<()> {
        if journal.piece != self.number {
            self.file = new_file(&self.directory, journal.piece)?;
            self.number = journal.piece;
            self.piece_bytes = 0;
        }
        self.file.write_all(&journal.bytes)?;
        if self.piece_bytes == 0 {
            self.head_bytes = journal.bytes.len() as u64;
        }
        self.is_unsynced = true;
        self.piece_bytes += journal.bytes.len() as u64;
        self.stats.bytes += journal.bytes.len() as u64;
        self.stats.writes += 1;
        if journal.is_last {
            self.stats.pieces += 1;
            match self.to_pack.len() < TO_PACK_MAX {
                true => self.to_pack.push_back(piece_path(&self.directory, self.number)),
                false => self.stats.not_packed += 1,
            }
        }
        Ok(())
    }

    /// Another handle on what is to be forced to the disk: the file and the directory it lies in.
    fn take_to_sync(&mut self) -> io::Result<[File; 2]> {
        self.is_unsynced = false;
        Ok([self.file.try_clone()?, File::open(&self.directory)?])
    }

    fn note_synced(&mut self, synced: Result<(), String>) {
        match synced {
            Ok(()) => self.stats.synced += 1,
            Err(error) => {
                log::warn!("the journal cannot be forced to the disk: {error}");
                self.stats.not_synced += 1;
            }
        }
    }

    fn end_early(&mut self) {
        self.has_ended = true;
        self.write_at = None;
        self.stats.failures += 1;
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

    fn note_packed(&mut self, packed: Result<(), String>) {
        self.is_packing = false;
        match packed {
            Ok(()) => self.stats.packed += 1,
            Err(error) => {
                log::warn!("a piece of the journal stays unpacked: {error}");
                self.stats.not_packed += 1;
            }
        }
    }
}

/// Has a background job pack the next finished piece, if there is one and no other job is packing.
pub(crate) fn pack_finished(service: &mut Service<Shell>) {
    let Some(piece) = service.state.recorder.as_mut().and_then(Recorder::take_to_pack) else {
        return;
    };
    let note = |service: &mut Service<Shell>, packed| {
        if let Some(recorder) = &mut service.state.recorder {
            recorder.note_packed(packed);
        }
        pack_finished(service);
    };
    let of_job = piece.clone();
    let job = Job::new(move |_| pack(&of_job), move |service, ()| note(service, Ok(())))
        .on_error(move |service, error| note(service, Err(error.to_string())));
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

/// Has a job force to the disk what was written.
pub(crate) fn sync(service: &mut Service<Shell>) {
    let Some(recorder) = &mut service.state.recorder else {
        return;
    };
    recorder.is_sync_due = false;
    let files = match recorder.take_to_sync() {
        Ok(files) => files,
        Err(error) => return recorder.note_synced(Err(error.to_string())),
    };
    let note = |service: &mut Service<Shell>, synced| {
        if let Some(recorder) = &mut service.state.recorder {
            recorder.note_synced(synced);
        }
    };
    let work = move |_: &_| {
        let [file, directory] = &files;
        file.sync_data()?;
        directory.sync_all()
    };
    let job = Job::new(work, move |service, ()| note(service, Ok(())))
        .on_error(move |service, error| note(service, Err(error.to_string())));
    if let Err(refused) = service.submit(JobSpec::new(SYNC).keyed(0), job) {
        note(service, Err(refused.to_string()));
    }
}

/// Removes what runs left half done whose recorders are gone: files that were never renamed, and pieces of which there is
/// a packed one too.
fn tidy_up(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let run = entry?.path();
        let is_run = run
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(run_number);
        if is_run.is_none() || !run.is_dir() || File::open(&run)?.try_lock().is_err() {
            continue;
        }
        store::remove_asides(&run)?;
        for entry in fs::read_dir(&run)? {
            let piece = entry?.path();
            let is_plain = piece.to_string_lossy().ends_with(JOURNAL);
            if is_plain && packed_path(&piece).exists() {
                fs::remove_file(piece)?;
            }
        }
    }
    Ok(())
}

fn run_number(name: &str) -> Option<u32> {
    name.strip_prefix("run-")?.parse().ok()
}

fn packed_path(piece: &Path) -> PathBuf {
    piece.with_extension(COMPRESSED.trim_start_matches('.'))
}

/// Packs a finished piece; the plain file goes once the packed one is on the disk.
fn pack(piece: &Path) -> io::Result<()> {
    let packed = zstd::stream::encode_all(File::open(piece)?, PACK_LEVEL)?;
    store::write_whole(&packed_path(piece), &packed)?;
    fs::remove_file(piece)
}

/// A directory for this run, of a number that none had before.
fn new_run(directory: &Path) -> io::Result<PathBuf> {
    let mut last = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        last = last.max(name.to_str().and_then(run_number).unwrap_or(0));
    }
    for number in last + 1..=RUNS_MAX {
        let run = directory.join(format!("run-{number:04}"));
        match fs::create_dir(&run) {
            // Another server records here too, and was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| run),
        }
    }
    Err(io::Error::other("there are too many runs in it"))
}

fn piece_path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("piece-{number:05}{JOURNAL}"))
}

fn new_file(directory: &Path, number: u32) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(piece_path(directory, number))
}
