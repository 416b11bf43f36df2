//! The files of one run: a directory of its own, a file for each piece, and what becomes of them.
//!
//! When anything is written, packed or synced is for [`super`] to say.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trantor_engine::JournalBytes;
use trantor_time::RealTime;

use super::RecorderConfig;
use crate::store::{self, COMPRESSED, Entry, Files, JOURNAL, OpenFile, PIECE};

/// How hard zstd tries. Its usual level: a second level of effort saves a few per cent.
const PACK_LEVEL: i32 = 3;

/// Finished pieces that wait for the next sync, at most: they are kept open, and descriptors are few. Beyond that the
/// loop syncs them itself and waits for the disk.
const UNSYNCED_MAX: usize = 16;

/// A run being recorded. One that is dropped before anything was recorded leaves nothing behind: a directory without a
/// record is no recording.
#[derive(Debug)]
pub(super) struct Run {
    files: Arc<dyn Files>,
    directory: PathBuf,
    /// The piece being written.
    file: OpenFile,
    /// To be synced besides the piece being written: finished pieces, and at first the directory that has the run's.
    pub(super) unsynced: Vec<OpenFile>,
    /// How many of those the sync under way is about.
    pub(super) syncing: Option<usize>,
    /// When what the engine has is written, if nothing is sent before.
    pub(super) write_at: Option<RealTime>,
    /// When what was written is synced.
    pub(super) sync_at: Option<RealTime>,
    number: u32,
    piece_bytes: u64,
    /// Size of the snapshot that the piece begins with.
    head_bytes: u64,
    /// The directory, locked as long as this run is being recorded.
    lock: OpenFile,
}

impl Run {
    /// Makes a directory for a run in `directory`, with a number above `last` and above all there, and its first file.
    pub(super) fn create(files: &Arc<dyn Files>, directory: &Path, last: u32) -> io::Result<Self> {
        let runs = numbered_runs(&**files, directory)?;
        let last = runs.last().map_or(last, |(number, _)| last.max(*number));
        for number in last + 1..=u32::MAX {
            let run = directory.join(run_name(number));
            match files
                .create_directory(&run)
                .and_then(|()| Self::begin(files, &run))
            {
                // Another server records here too, and was quicker, or its start took this one for a run left empty.
                Err(error) if is_others_doing(&error) => {}
                Err(error) => return Err(error),
                Ok(mut run) => {
                    // This may be the loop's thread, which is not to wait for the disk.
                    run.unsynced.push(files.open(directory)?);
                    return Ok(run);
                }
            }
        }
        Err(io::Error::other("there are too many runs in it"))
    }

    /// A run in the directory that was made for it, which is removed again if this fails.
    fn begin(files: &Arc<dyn Files>, directory: &Path) -> io::Result<Self> {
        let begun = store::lock(&**files, directory)
            .and_then(|lock| Ok((lock, files.create(&piece_path(directory, 0))?)));
        let (lock, file) = begun.inspect_err(|_| drop(files.remove_directory(directory)))?;
        Ok(Self {
            files: Arc::clone(files),
            directory: directory.to_owned(),
            file,
            unsynced: Vec::new(),
            syncing: None,
            write_at: None,
            sync_at: None,
            number: 0,
            piece_bytes: 0,
            head_bytes: 0,
            lock,
        })
    }

    /// Where its pieces are.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The number in its directory's name.
    pub(super) fn number(&self) -> u32 {
        let name = self.directory.file_name().and_then(|name| name.to_str());
        name.and_then(run_number).unwrap_or(0)
    }

    /// Whether the directory, or the piece being written, is no longer where it was.
    pub(super) fn is_removed(&self) -> bool {
        !self.lock.is_at(&self.directory) || !self.file.is_at(&piece_path(&self.directory, self.number))
    }

    /// Size of the snapshot that the piece being written begins with.
    pub(super) fn head_bytes(&self) -> u64 {
        self.head_bytes
    }

    /// Whether the piece is long enough for another one to begin.
    pub(super) fn is_piece_long(&self, config: &RecorderConfig) -> bool {
        let snapshots = self.head_bytes.saturating_mul(config.piece_snapshots);
        self.piece_bytes >= config.piece_bytes.max(snapshots)
    }

    /// Appends to the piece, or to a new one. Answers the piece that is finished with it.
    ///
    /// # Errors
    /// What the system says; a part of the bytes may have been written.
    pub(super) fn append(&mut self, journal: &JournalBytes) -> io::Result<Option<PathBuf>> {
        if journal.piece != self.number {
            let next = self.files.create(&piece_path(&self.directory, journal.piece))?;
            let finished = std::mem::replace(&mut self.file, next);
            self.number = journal.piece;
            self.piece_bytes = 0;
            match self.unsynced.len() < UNSYNCED_MAX {
                true => self.unsynced.push(finished),
                false => finished.sync()?,
            }
        }
        self.file.append(&journal.bytes)?;
        let count = journal.bytes.len() as u64;
        if self.piece_bytes == 0 {
            self.head_bytes = count;
        }
        self.piece_bytes += count;
        Ok(journal.is_last.then(|| piece_path(&self.directory, self.number)))
    }

    /// What is to be synced now: all that is unsynced, the piece being written, and the directory.
    pub(super) fn begin_sync(&mut self) -> Vec<OpenFile> {
        self.sync_at = None;
        self.syncing = Some(self.unsynced.len());
        let others = [&self.file, &self.lock];
        self.unsynced.iter().chain(others).map(Arc::clone).collect()
    }

    /// Gives the run up after an error: its last piece ends with a whole record, and a piece or a directory without any
    /// is removed.
    pub(super) fn abandon(self) {
        let _still_torn = self.file.truncate(self.piece_bytes);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.piece_bytes == 0 {
            let piece = piece_path(&self.directory, self.number);
            let _left_empty = self
                .files
                .remove(&piece)
                .and_then(|()| self.files.remove_directory(&self.directory));
        }
    }
}

/// Whether a run could not begin only because another server did something in the same directory meanwhile.
fn is_others_doing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::WouldBlock
    )
}

/// Whether a running server records this run.
pub(super) fn is_held(files: &dyn Files, run: &Path) -> bool {
    store::lock(files, run).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Removes what runs without a recorder left half done: files that were never renamed, pieces that are also packed, and
/// pieces and runs without content.
///
/// # Errors
/// What the system says of the directory. A run that cannot be tidied up is logged, and stays as it is.
pub(super) fn tidy_up(files: &dyn Files, directory: &Path) -> io::Result<()> {
    for run in runs_in(files, directory)? {
        if let Err(error) = tidy_up_run(files, &run) {
            log::warn!("{}: what it left half done stays: {error}", run.display());
        }
    }
    Ok(())
}

fn tidy_up_run(files: &dyn Files, run: &Path) -> io::Result<()> {
    let lock = files.open(run)?;
    if lock.try_lock().is_err() {
        return Ok(());
    }
    store::remove_asides(files, run)?;
    let entries = files.list(run)?;
    for Entry { path, bytes, .. } in &entries {
        let is_packed = || entries.iter().any(|other| other.path == store::packed(path));
        if path.to_string_lossy().ends_with(JOURNAL) && (*bytes == 0 || is_packed()) {
            files.remove(path)?;
        }
    }
    // Only one that is empty can be removed like this.
    let _has_pieces = files.remove_directory(run);
    Ok(())
}

/// The number of a run of ours. There is one after it, or nothing could be recorded beside it.
fn run_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix("run-")?.parse().ok()?;
    (name == run_name(number) && number < u32::MAX).then_some(number)
}

/// Of four digits, or as many as it takes.
fn run_name(number: u32) -> String {
    format!("run-{number:04}")
}

/// Packs a finished piece; the plain file is removed once the packed one is on the disk.
pub(super) fn pack(files: &dyn Files, piece: &Path) -> io::Result<()> {
    let packed = zstd::stream::encode_all(files.read(piece)?, PACK_LEVEL)?;
    store::write_whole(files, &store::packed(piece), &packed)?;
    files.remove(piece)
}

/// The directories of the runs in `directory`, in order.
pub fn runs_in(files: &dyn Files, directory: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(numbered_runs(files, directory)?
        .into_iter()
        .map(|(_, run)| run)
        .collect())
}

fn numbered_runs(files: &dyn Files, directory: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let entries = files.list(directory)?.into_iter().filter(|entry| !entry.is_file);
    let mut runs: Vec<_> = entries
        .filter_map(|entry| Some((run_number(entry.name())?, entry.path)))
        .collect();
    runs.sort();
    Ok(runs)
}

/// The pieces of a run, in order. Of one that is there packed and unpacked, the packed one is last, and whole.
pub fn pieces_of(files: &dyn Files, run: &Path) -> io::Result<Vec<Entry>> {
    let is_piece = |entry: &Entry| {
        let is_journal = [JOURNAL, COMPRESSED]
            .iter()
            .any(|end| entry.name().ends_with(end));
        entry.is_file && entry.name().starts_with(PIECE) && is_journal
    };
    let mut pieces = files.list(run)?;
    pieces.retain(is_piece);
    // A number may have a digit more than those before.
    pieces.sort_by_cached_key(|piece| (piece.name().find('.'), piece.path.clone()));
    Ok(pieces)
}

fn piece_path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{PIECE}{number:05}{JOURNAL}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SystemFiles;
    use std::fs;

    #[test]
    fn a_run_without_a_record_leaves_no_directory() {
        let directory = std::env::temp_dir().join(format!("trantor-run-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let files = SystemFiles::shared();
        let runs = || fs::read_dir(&directory).unwrap().count();
        let run = Run::create(&files, &directory, 0).unwrap();
        assert!(run.directory().join("piece-00000.trj").exists());
        drop(run);
        assert_eq!(runs(), 0, "it ended before anything was recorded");

        // Another server's start is just looking at it.
        let made = directory.join("run-0001");
        fs::create_dir(&made).unwrap();
        let held = store::lock(&*files, &made).unwrap();
        assert!(Run::begin(&files, &made).is_err_and(|error| is_others_doing(&error)));
        assert_eq!(runs(), 0, "it could not begin");
        drop(held);

        let mut run = Run::create(&files, &directory, 0).unwrap();
        let journal = JournalBytes {
            piece: 0,
            bytes: b"a record".to_vec(),
            is_last: false,
        };
        run.append(&journal).unwrap();
        drop(run);
        assert_eq!(runs(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }
}
