//! The files of runs: a directory for each, a file for each piece, and what becomes of them.
//!
//! When anything is written, packed or synced is for [`super`] to say.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use trantor_engine::JournalBytes;
use trantor_time::RealTime;

use super::RecorderConfig;
use crate::archive::{self, Archive, JOURNAL, Keep, PIECES, Part, RUNS};
use crate::store::{self, Entry, Files, OpenFile};

/// How hard zstd tries. Its usual level: a second level of effort saves a few per cent.
const PACK_LEVEL: i32 = 3;

/// Finished pieces that wait for the next sync, at most: they are kept open, and descriptors are few. Beyond that the
/// loop syncs them itself and waits for the disk.
const UNSYNCED_MAX: usize = 16;

/// Directories that are tried for one run. Servers that start in one place at the same time take each other's numbers, one
/// each; a file system that refuses all of them will not take another one.
const RUN_TRIES_MAX: usize = 64;

/// A run being recorded. One that is dropped before anything was recorded leaves nothing behind: a directory without a
/// record is no recording.
#[derive(Debug)]
pub(super) struct Run {
    /// Its directory, held as long as this run is being recorded.
    archive: Archive,
    file: OpenFile,
    /// To be synced besides the piece being written: finished pieces, and at first the directory that has the run's.
    pub(super) unsynced: Vec<OpenFile>,
    /// How many of those the sync under way is about.
    pub(super) syncing: Option<usize>,
    /// When what the engine has is written, if nothing is sent before.
    pub(super) write_at: Option<RealTime>,
    /// When what was written is synced.
    pub(super) sync_at: Option<RealTime>,
    /// Of the piece being written.
    piece: u64,
    piece_bytes: u64,
    /// Size of the snapshot that the piece begins with.
    pub(super) head_bytes: u64,
}

impl Run {
    /// Makes a directory for a run in `directory`, with a number above `last` and above all there, and its first file.
    pub(super) fn create(files: &Arc<dyn Files>, directory: &Path, last: u64) -> io::Result<Self> {
        let last = RUNS.newest(&**files, directory)?.max(last);
        let mut refused = None;
        for number in (last + 1..=RUNS.number_max).take(RUN_TRIES_MAX) {
            let run = RUNS.path(directory, number);
            match files
                .create_directory(&run)
                .and_then(|()| Self::begin(files, &run))
            {
                // Another server records here too, and was quicker, or its start took this one for a run left empty.
                Err(error) if is_others_doing(&error) => refused = Some(error),
                Err(error) => return Err(error),
                Ok(mut run) => {
                    // This may be the loop's thread, which is not to wait for the disk.
                    run.unsynced.push(files.open(directory)?);
                    return Ok(run);
                }
            }
        }
        Err(match refused {
            None => io::Error::other("there are too many runs in it"),
            Some(error) => io::Error::new(
                error.kind(),
                format!("of {RUN_TRIES_MAX} directories for a run none could be made in it: {error}"),
            ),
        })
    }

    /// A run in the directory that was made for it, which is removed again if this fails.
    fn begin(files: &Arc<dyn Files>, directory: &Path) -> io::Result<Self> {
        let started = Archive::hold(files, directory, &PIECES).and_then(|archive| {
            let first = archive.create(0)?;
            Ok((archive, first))
        });
        let (archive, file) = started.inspect_err(|_| drop(files.remove_directory(directory)))?;
        Ok(Self {
            archive,
            file,
            unsynced: Vec::new(),
            syncing: None,
            write_at: None,
            sync_at: None,
            piece: 0,
            piece_bytes: 0,
            head_bytes: 0,
        })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.archive.directory
    }

    pub(super) fn number(&self) -> u64 {
        let name = self.directory().file_name().and_then(|name| name.to_str());
        name.and_then(|name| RUNS.number(name)).unwrap_or(0)
    }

    /// Whether the directory, or the piece being written, is no longer where it was.
    pub(super) fn is_removed(&self) -> bool {
        self.archive.is_removed() || !self.file.is_at(&self.archive.path(self.piece))
    }

    pub(super) fn is_piece_long(&self, config: &RecorderConfig) -> bool {
        let snapshots = self.head_bytes.saturating_mul(config.piece_snapshots);
        self.piece_bytes >= config.piece_bytes.max(snapshots)
    }

    /// Appends to the piece, or to a new one. Answers the piece that is finished with it.
    ///
    /// # Errors
    /// What the system says; a part of the bytes may have been written.
    pub(super) fn append(&mut self, journal: &JournalBytes) -> io::Result<Option<PathBuf>> {
        let piece = u64::from(journal.piece);
        if piece != self.piece {
            let next = self.archive.create(piece)?;
            let finished = std::mem::replace(&mut self.file, next);
            self.piece = piece;
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
        Ok(journal.is_last.then(|| self.archive.path(self.piece)))
    }

    /// What is to be synced now: all that is unsynced, the piece being written, and the directory.
    pub(super) fn begin_sync(&mut self) -> Vec<OpenFile> {
        self.sync_at = None;
        self.syncing = Some(self.unsynced.len());
        let others = [&self.file, &self.archive.lock];
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
            let Archive { files, directory, .. } = &self.archive;
            let _left_empty = files
                .remove(&self.archive.path(self.piece))
                .and_then(|()| files.remove_directory(directory));
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
        let is_packed = || entries.iter().any(|other| other.path == archive::packed(path));
        if path.to_string_lossy().ends_with(JOURNAL) && (*bytes == 0 || is_packed()) {
            files.remove(path)?;
        }
    }
    // Only one that is empty can be removed like this.
    let _has_pieces = files.remove_directory(run);
    Ok(())
}

/// Packs a finished piece; the plain file is removed once the packed one is on the disk.
pub(super) fn pack(files: &dyn Files, piece: &Path) -> io::Result<()> {
    let packed = zstd::stream::encode_all(files.read(piece)?, PACK_LEVEL)?;
    store::write_whole(files, &archive::packed(piece), &packed)?;
    files.remove(piece)
}

/// The directories of the runs in `directory`, in order.
pub fn runs_in(files: &dyn Files, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let runs = RUNS.list(files, directory)?.into_iter();
    Ok(runs
        .filter(|(_, run)| !run.is_file)
        .map(|(_, run)| run.path)
        .collect())
}

/// The pieces of a run, in order. Of one that is there packed and unpacked it is the packed one, which is whole.
pub fn pieces_of(files: &dyn Files, run: &Path) -> io::Result<Vec<PathBuf>> {
    let pieces = piece_files(files, run)?.into_iter();
    let last_of_each: BTreeMap<_, _> = pieces.map(|(number, piece)| (number, piece.path)).collect();
    Ok(last_of_each.into_values().collect())
}

/// The files of a run's pieces, in order; of one number the packed one is last.
fn piece_files(files: &dyn Files, run: &Path) -> io::Result<Vec<(u64, Entry)>> {
    let mut pieces = PIECES.list(files, run)?;
    pieces.retain(|(_, piece)| piece.is_file);
    Ok(pieces)
}

/// Pieces of the run being written that always stay: the one being written, and the one before it, which may be about to be
/// packed.
const PIECES_KEPT: usize = 2;

/// `--record-keep`: removes what is too old beside what is written now, or too much, so that the directory of recordings
/// stays within bounds. Runs that ended are removed as a whole, the oldest first, so that what is left of others is whole.
/// Of `current`, the run being written, pieces are removed, never the last ones ([`PIECES_KEPT`]). If that fails, recording
/// goes on.
pub(super) fn tidy_old(files: &dyn Files, keep: Keep, recordings: &Path, current: &Path) {
    if keep == Keep::default() {
        return;
    }
    match parts(files, recordings, current) {
        Ok(parts) => {
            for (path, bound) in archive::sweep(files, keep, parts) {
                log::info!("{}: removed, beyond the {bound} of --record-keep", path.display());
            }
        }
        Err(error) => {
            let shown = recordings.display();
            log::warn!("{shown}: old recordings cannot be removed: {error}");
        }
    }
}

/// What can be removed, the oldest first: runs, and pieces of `current`.
fn parts(files: &dyn Files, recordings: &Path, current: &Path) -> io::Result<Vec<Part>> {
    let newest = |pieces: &[(u64, Entry)]| pieces.iter().map(|(_, piece)| piece.modified).max();
    // The piece being written is as new as the clock; whether that is right does not matter.
    let Some(now) = newest(&piece_files(files, current)?) else {
        return Ok(Vec::new());
    };
    let age = |modified: SystemTime| now.duration_since(modified).unwrap_or_default();
    let mut parts = Vec::new();
    for run in runs_in(files, recordings)? {
        let pieces = piece_files(files, &run)?;
        if run == current {
            let kept = pieces.len().saturating_sub(PIECES_KEPT);
            parts.extend(pieces.into_iter().enumerate().map(|(place, (_, piece))| Part {
                age: age(piece.modified),
                stays: place >= kept,
                ..Part::of(piece)
            }));
        } else if let Some(modified) = newest(&pieces) {
            parts.push(Part {
                bytes: pieces.iter().map(|(_, piece)| piece.bytes).sum(),
                age: age(modified),
                stays: is_held(files, &run),
                files: pieces.into_iter().map(|(_, piece)| piece.path).collect(),
                path: run,
            });
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SystemFiles;
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// A directory in which none can be made, as `/proc` is, and one that was removed while it was the present one.
    #[derive(Debug, Default)]
    struct Barren {
        tries: AtomicUsize,
    }

    impl Files for Barren {
        fn create_directory(&self, _: &Path) -> io::Result<()> {
            let tries = 1 + self.tries.fetch_add(1, Ordering::Relaxed);
            assert!(tries <= RUN_TRIES_MAX, "it is tried without end");
            Err(io::ErrorKind::NotFound.into())
        }
        fn create_directories(&self, _: &Path) -> io::Result<()> {
            Ok(())
        }
        fn create(&self, _: &Path) -> io::Result<OpenFile> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn open(&self, _: &Path) -> io::Result<OpenFile> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn read(&self, _: &Path) -> io::Result<Box<dyn io::Read>> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn list(&self, _: &Path) -> io::Result<Vec<Entry>> {
            Ok(Vec::new())
        }
        fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn remove(&self, _: &Path) -> io::Result<()> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn remove_directory(&self, _: &Path) -> io::Result<()> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn free_beside(&self, _: &Path, _: &Path) -> Option<u64> {
            None
        }
    }

    #[test]
    fn a_directory_in_which_none_can_be_made_is_given_up_in_words() {
        let files: Arc<dyn Files> = Arc::new(Barren::default());
        let refused = Run::create(&files, Path::new("."), 0).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NotFound);
        let words = "of 64 directories for a run none could be made in it: ";
        assert!(refused.to_string().starts_with(words), "{refused}");
    }

    #[test]
    fn what_has_the_name_of_a_run_keeps_its_number_whatever_it_is() {
        let directory = std::env::temp_dir().join(format!("trantor-numbers-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        for number in 1..=2 * RUN_TRIES_MAX as u64 {
            fs::write(RUNS.path(&directory, number), "no directory").unwrap();
        }
        let run = Run::create(&SystemFiles::shared(), &directory, 0).unwrap();
        assert_eq!(run.number(), 2 * RUN_TRIES_MAX as u64 + 1);
        drop(run);
        fs::remove_dir_all(&directory).unwrap();
    }

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

    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    #[test]
    fn the_oldest_go_first_and_what_is_written_stays() {
        let folder = std::env::temp_dir().join(format!("trantor-keep-{}", std::process::id()));
        let _none_left = fs::remove_dir_all(&folder);
        let write = |name: &str, bytes: usize| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![0; bytes]).unwrap();
            path
        };
        let piece =
            |run: u32, number: u32, bytes| write(&format!("run-000{run}/piece-{number:05}.trj.zst"), bytes);
        let by_hand = [write("run-0001/notes", 1), write("by-hand.trj", 1)];
        for (run, number, bytes) in [(1, 0, 40), (1, 1, 40), (2, 0, 40)] {
            piece(run, number, bytes);
        }
        (0..4).for_each(|number| drop(piece(3, number, 10)));
        let left = |bytes: Option<u64>, age: Option<Duration>| {
            let keep = Keep {
                bytes,
                age,
                count: None,
            };
            tidy_old(&SystemFiles, keep, &folder, &folder.join("run-0003"));
            ["run-0001", "run-0002", "run-0003"]
                .map(|run| pieces_of(&SystemFiles, &folder.join(run)).map_or(0, |all| all.len()))
        };
        assert_eq!(left(Some(160), None), [2, 1, 4]);
        // One that is held by another server stays, and what comes after it goes.
        let held = store::lock(&SystemFiles, &folder.join("run-0002")).unwrap();
        assert_eq!(left(Some(70), None), [0, 1, 3]);
        drop(held);
        assert!(by_hand.iter().all(|path| path.exists()));
        assert_eq!(left(Some(0), None), [0, 0, 2]);
        assert!(!folder.join("run-0002").exists());

        let old = [piece(2, 0, 40), folder.join("run-0003/piece-00002.trj.zst")];
        piece(3, 4, 10);
        assert_eq!(left(None, Some(WEEK)), [0, 1, 3]);
        for path in old {
            let file = fs::File::options().write(true).open(path).unwrap();
            let written = file.metadata().unwrap().modified().unwrap();
            file.set_modified(written - WEEK - WEEK).unwrap();
        }
        assert_eq!(left(None, Some(WEEK)), [0, 0, 2]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
