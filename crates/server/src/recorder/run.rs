//! The files of one run: a directory of its own, a file for each piece, and what becomes of them.
//!
//! When anything is written, packed or forced to the disk is for [`super`] to say.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trantor_engine::JournalBytes;

use crate::store::{self, COMPRESSED, JOURNAL, PIECE};

/// Bytes after which a piece is ended. A replay begins at a piece, so it bounds what a jump has to play: some
/// hundred thousand commands, which is a blink.
const PIECE_BYTES: u64 = 1024 * 1024;

/// A piece is at least so many times as long as the snapshot it begins with, or in large worlds the journal would
/// be made of snapshots.
const PIECE_SNAPSHOTS: u64 = 8;

/// How hard zstd tries. Its usual level: a second level of effort saves a few per cent.
const PACK_LEVEL: i32 = 3;

/// Pieces left unpacked that are kept open until they are forced to the disk, which is every few seconds. Where a disk is
/// given more than that meanwhile, the loop waits for it.
const UNSYNCED_MAX: usize = 16;

/// A run being recorded. One that is dropped before anything was recorded leaves nothing behind: a directory without a
/// record is no recording.
#[derive(Debug)]
pub(super) struct Run {
    directory: PathBuf,
    /// The piece being written.
    file: File,
    /// What may not be on the disk besides the piece being written: finished pieces that nobody packs, and at first the
    /// directory that has the run's.
    unsynced: Vec<File>,
    number: u32,
    piece_bytes: u64,
    /// Of the snapshot that the piece begins with, as it is known once that is written.
    head_bytes: u64,
    /// The directory, held as long as this run is being recorded.
    lock: File,
}

/// What is to be forced to the disk.
#[derive(Debug)]
pub(crate) struct ToSync {
    /// All of it.
    pub(crate) files: Vec<File>,
    /// Which run it belongs to, by the number of runs begun, and how many of the files that run keeps open until this is
    /// done, the longest kept first.
    pub(crate) of_run: (u32, usize),
}

impl Run {
    /// Makes a directory for a run in `directory`, and its first file.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn create(directory: &Path) -> io::Result<Self> {
        let last = runs_in(directory)?.last().map_or(0, |(number, _)| *number);
        for number in last + 1..=u32::MAX {
            let run = directory.join(run_name(number));
            match fs::create_dir(&run).and_then(|()| Self::begin(&run)) {
                // Another server records here too, and was quicker, or its start took this one for a run left empty.
                Err(error) if is_others_doing(&error) => {}
                Err(error) => return Err(error),
                Ok(mut run) => {
                    // This may be the loop's thread, which is not to wait for the disk.
                    run.unsynced.push(File::open(directory)?);
                    return Ok(run);
                }
            }
        }
        Err(io::Error::other("there are too many runs in it"))
    }

    /// A run in the directory that was made for it, which goes again if this fails.
    fn begin(directory: &Path) -> io::Result<Self> {
        let begun = store::lock(directory).and_then(|lock| Ok((lock, new_file(directory, 0)?)));
        let (lock, file) = begun.inspect_err(|_| drop(fs::remove_dir(directory)))?;
        Ok(Self {
            file,
            unsynced: Vec::new(),
            directory: directory.to_owned(),
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

    /// Whether the directory, or the piece being written, is no longer where it was.
    pub(super) fn is_removed(&self) -> bool {
        is_elsewhere(&self.lock, &self.directory)
            || is_elsewhere(&self.file, &piece_path(&self.directory, self.number))
    }

    /// Bytes of the snapshot that the piece being written begins with.
    pub(super) fn head_bytes(&self) -> u64 {
        self.head_bytes
    }

    /// Whether the piece is long enough for another one to begin.
    pub(super) fn is_piece_long(&self) -> bool {
        self.piece_bytes >= PIECE_BYTES.max(self.head_bytes.saturating_mul(PIECE_SNAPSHOTS))
    }

    /// Appends to the piece, or to a new one. Answers the piece that is finished with it.
    ///
    /// # Errors
    /// What the system says; a part of the bytes may have been written.
    pub(super) fn append(&mut self, journal: &JournalBytes) -> io::Result<Option<PathBuf>> {
        if journal.piece != self.number {
            self.file = new_file(&self.directory, journal.piece)?;
            self.number = journal.piece;
            self.piece_bytes = 0;
        }
        self.file.write_all(&journal.bytes)?;
        let count = journal.bytes.len() as u64;
        if self.piece_bytes == 0 {
            self.head_bytes = count;
        }
        self.piece_bytes += count;
        Ok(journal.is_last.then(|| piece_path(&self.directory, self.number)))
    }

    /// A finished piece will not be packed, which would force it to the disk.
    ///
    /// # Errors
    /// If there is no descriptor for it, or it cannot be forced to the disk where it has to be at once.
    pub(super) fn leave_unpacked(&mut self, piece: &Path) -> io::Result<()> {
        let file = File::open(piece)?;
        match self.unsynced.len() < UNSYNCED_MAX {
            true => self.unsynced.push(file),
            false => file.sync_data()?,
        }
        Ok(())
    }

    /// Handles on what is to be forced to the disk: what is unsynced, the piece being written, the directory it lies in, and those
    /// of the `waiting` pieces that were not packed meanwhile.
    ///
    /// # Errors
    /// If there is no descriptor for it.
    pub(super) fn to_sync<'a>(
        &self,
        number: u32,
        waiting: impl Iterator<Item = &'a Path>,
    ) -> io::Result<ToSync> {
        let of_run = self.unsynced.iter().chain([&self.file]).map(File::try_clone);
        let waiting = waiting
            .map(File::open)
            .filter(|opened| !matches!(opened, Err(error) if error.kind() == io::ErrorKind::NotFound));
        Ok(ToSync {
            files: of_run
                .chain([File::open(&self.directory)])
                .chain(waiting)
                .collect::<io::Result<_>>()?,
            of_run: (number, self.unsynced.len()),
        })
    }

    /// The first so many of what was unsynced are on the disk.
    pub(super) fn were_synced(&mut self, unsynced: usize) {
        self.unsynced.drain(..unsynced.min(self.unsynced.len()));
    }

    /// Gives the run up after an error: its last piece ends with a whole record, and a piece or a directory without any goes.
    pub(super) fn abandon(self) {
        let _still_torn = self.file.set_len(self.piece_bytes);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.piece_bytes == 0 {
            let _left_empty = fs::remove_file(piece_path(&self.directory, self.number))
                .and_then(|()| fs::remove_dir(&self.directory));
        }
    }
}

/// Whether a run could not be begun only because another server did something in the same directory meanwhile.
fn is_others_doing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::WouldBlock
    )
}

/// Whether `path` is not, or no longer, the file that is open.
fn is_elsewhere(open: &File, path: &Path) -> bool {
    let identity = |about: fs::Metadata| (about.dev(), about.ino());
    match (open.metadata().map(identity), fs::metadata(path).map(identity)) {
        (Ok(open), Ok(there)) => open != there,
        (_, Err(error)) => error.kind() == io::ErrorKind::NotFound,
        (Err(_), Ok(_)) => false,
    }
}

/// Whether a run is being recorded by a server that lives.
pub(super) fn is_held(run: &Path) -> bool {
    File::open(run).is_ok_and(|lock| matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

/// Whether a file is a piece of a journal, packed or not.
pub(super) fn is_piece(path: &Path) -> bool {
    let name = path
        .file_name()
        .map_or_else(Default::default, |name| name.to_string_lossy());
    name.starts_with(PIECE) && (name.ends_with(JOURNAL) || name.ends_with(COMPRESSED))
}

/// Removes what runs left half done whose recorders are gone: files that were never renamed, pieces of which there is
/// a packed one too, and pieces and runs without anything in them.
///
/// # Errors
/// What the system says of the directory. A run that cannot be tidied up is logged, and stays as it is.
pub(super) fn tidy_up(directory: &Path) -> io::Result<()> {
    for (_, run) in runs_in(directory)? {
        if !run.is_dir() {
            continue;
        }
        if let Err(error) = tidy_up_run(&run) {
            log::warn!("{}: what it left half done stays: {error}", run.display());
        }
    }
    Ok(())
}

fn tidy_up_run(run: &Path) -> io::Result<()> {
    let lock = File::open(run)?;
    if lock.try_lock().is_err() {
        return Ok(());
    }
    store::remove_asides(run)?;
    for entry in fs::read_dir(run)? {
        let piece = entry?.path();
        let is_plain = piece.to_string_lossy().ends_with(JOURNAL);
        if is_plain && (packed_path(&piece).exists() || fs::metadata(&piece)?.len() == 0) {
            fs::remove_file(piece)?;
        }
    }
    // Only one that is empty can be removed like this.
    let _has_pieces = fs::remove_dir(run);
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

fn packed_path(piece: &Path) -> PathBuf {
    piece.with_extension(COMPRESSED.trim_start_matches('.'))
}

/// Forces all of it to the disk. Answers whether the file system can do that: some have no way to for a directory.
///
/// # Errors
/// What the system says. It says so once: what was not written then counts as written from then on.
pub(crate) fn force(files: &[File]) -> io::Result<bool> {
    let mut can = true;
    for file in files {
        match file.sync_all() {
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

/// Packs a finished piece; the plain file goes once the packed one is on the disk.
pub(super) fn pack(piece: &Path) -> io::Result<()> {
    let packed = zstd::stream::encode_all(File::open(piece)?, PACK_LEVEL)?;
    store::write_whole(&packed_path(piece), &packed)?;
    fs::remove_file(piece)
}

/// The runs in `directory` with their numbers, in order.
///
/// # Errors
/// What the system says of it.
pub(super) fn runs_in(directory: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(run_number) {
            runs.push((number, entry.path()));
        }
    }
    runs.sort();
    Ok(runs)
}

fn piece_path(directory: &Path, number: u32) -> PathBuf {
    directory.join(format!("{PIECE}{number:05}{JOURNAL}"))
}

fn new_file(directory: &Path, number: u32) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(piece_path(directory, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_record_leaves_no_directory() {
        let directory = std::env::temp_dir().join(format!("trantor-run-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let runs = || fs::read_dir(&directory).unwrap().count();
        let run = Run::create(&directory).unwrap();
        assert!(run.directory().join("piece-00000.trj").exists());
        drop(run);
        assert_eq!(runs(), 0, "it ended before anything was recorded");

        // Another server's start is just looking at it.
        let made = directory.join("run-0001");
        fs::create_dir(&made).unwrap();
        let held = store::lock(&made).unwrap();
        assert!(Run::begin(&made).is_err_and(|error| is_others_doing(&error)));
        assert_eq!(runs(), 0, "it could not be begun");
        drop(held);

        let mut run = Run::create(&directory).unwrap();
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

    /// A run may be begun on the loop's thread, which waits for no disk.
    #[test]
    fn the_list_of_runs_is_forced_to_the_disk_with_the_first_piece() {
        let directory = std::env::temp_dir().join(format!("trantor-runs-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut run = Run::create(&directory).unwrap();
        let to_sync = |run: &Run, waiting: &[&Path]| run.to_sync(1, waiting.iter().copied()).unwrap();
        let first = to_sync(&run, &[]);
        assert_eq!(
            first.files.len(),
            3,
            "the list of runs, the piece, and the list of pieces"
        );
        run.were_synced(first.of_run.1);
        assert_eq!(to_sync(&run, &[]).files.len(), 2);

        // A finished piece is there until it is packed, and with it the power may fail as well.
        let (waiting, packed) = (run.directory().join("waiting"), run.directory().join("packed"));
        fs::write(&waiting, "a piece").unwrap();
        assert_eq!(to_sync(&run, &[&waiting, &packed]).files.len(), 3);
        fs::remove_dir_all(&directory).unwrap();
    }
}
