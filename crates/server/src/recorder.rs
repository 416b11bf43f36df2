//! `--record`: the journal of a run on the disk, a file for each piece (R-001-41, R-001-44).
//!
//! ```text
//! DIR/run-0001/piece-00000.trj.zst     finished and packed
//!              piece-00001.trj         being written
//! ```
//!
//! The engine makes the bytes; here they are appended to a file once a pass, before anybody is told what happened in
//! it, so that a process that is killed leaves all it did. A finished piece is packed by a background job, one at a
//! time. If the disk refuses, that is said once, recording ends, and the game goes on.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use trantor_engine::{Engine, JournalBytes};
use trantor_runtime::jobs::{Job, JobSpec};
use trantor_runtime::service::Service;

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
    has_ended: bool,
    stats: RecorderStats,
}

/// What a recorder has done, all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderStats {
    /// Bytes written, before packing.
    pub bytes: u64,
    /// Pieces finished.
    pub pieces: u64,
    /// Pieces packed.
    pub packed: u64,
    /// Pieces that could not be packed, or waited with too many others. They are kept as they are.
    pub not_packed: u64,
    /// Times that recording ended because the disk refused; at most one.
    pub failures: u64,
}

impl Recorder {
    /// Makes a directory for this run in `directory`, which is made too if it is not there, and its first file.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let directory = new_run(directory)?;
        let file = new_file(&directory, 0)?;
        Ok(Self {
            directory,
            file,
            number: 0,
            piece_bytes: 0,
            head_bytes: 0,
            to_pack: VecDeque::new(),
            is_packing: false,
            has_ended: false,
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

    /// Takes what the engine has for the journal, and begins another piece if this one is long enough.
    pub(crate) fn write(&mut self, engine: &mut Engine) {
        if self.has_ended {
            return;
        }
        if !engine.is_recording() {
            // The engine has said why.
            self.end_early();
            return;
        }
        if let Err(error) = self.write_all(engine) {
            log::error!(
                "{}: {error}; recording ends here, the game goes on",
                self.directory.display()
            );
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
        self.piece_bytes += journal.bytes.len() as u64;
        self.stats.bytes += journal.bytes.len() as u64;
        if journal.is_last {
            self.stats.pieces += 1;
            match self.to_pack.len() < TO_PACK_MAX {
                true => self.to_pack.push_back(piece_path(&self.directory, self.number)),
                false => self.stats.not_packed += 1,
            }
        }
        Ok(())
    }

    fn end_early(&mut self) {
        self.has_ended = true;
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

/// Packs a finished piece; the plain file goes once the packed one is on the disk.
fn pack(piece: &Path) -> io::Result<()> {
    let packed = zstd::stream::encode_all(File::open(piece)?, PACK_LEVEL)?;
    store::write_whole(&piece.with_extension(COMPRESSED.trim_start_matches('.')), &packed)?;
    fs::remove_file(piece)
}

/// A directory for this run, of a number that none had before.
fn new_run(directory: &Path) -> io::Result<PathBuf> {
    let mut last = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("run-")?.parse().ok());
        last = last.max(number.unwrap_or(0));
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
