//! Folders of numbered entries: saves, runs, and the pieces of a run.
//!
//! [`Names`] says which entries of a folder are ours, an [`Archive`] is such a folder under a lock, and [`sweep`] removes
//! what is beyond the bounds of [`Keep`]. What the entries hold is for [`crate::autosave`] and [`crate::recorder`] to say.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::store::{self, Entry, Files, OpenFile};

/// The suffix of a journal piece while it is written.
pub(crate) const JOURNAL: &str = ".trj";

/// The suffix of a finished piece, packed with zstd.
pub(crate) const COMPRESSED: &str = ".trj.zst";

/// The name that a piece has once it is packed.
pub(crate) fn packed(piece: &Path) -> PathBuf {
    piece.with_extension(COMPRESSED.trim_start_matches('.'))
}

pub(crate) const SAVES: Names = Names {
    prefix: "save-",
    digits: 10,
    number_max: u64::MAX - 1,
    suffixes: &[".trs"],
};

/// Directories, one for each run.
pub(crate) const RUNS: Names = Names {
    prefix: "run-",
    digits: 4,
    number_max: u32::MAX as u64 - 1,
    suffixes: &[""],
};

pub(crate) const PIECES: Names = Names {
    prefix: "piece-",
    digits: 5,
    number_max: u32::MAX as u64,
    suffixes: &[JOURNAL, COMPRESSED],
};

/// How the entries of a folder are called: `piece-00001.trj`.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) prefix: &'static str,
    /// Of a number at least.
    digits: usize,
    /// What has a higher number is not ours, so that there is one after each of ours.
    pub(crate) number_max: u64,
    /// A new entry has the first one.
    suffixes: &'static [&'static str],
}

impl Names {
    fn name(&self, number: u64, suffix: &str) -> String {
        format!("{}{number:0digits$}{suffix}", self.prefix, digits = self.digits)
    }

    /// Where the entry of that number is made.
    pub(crate) fn path(&self, directory: &Path, number: u64) -> PathBuf {
        directory.join(self.name(number, self.suffixes[0]))
    }

    /// The number in a name of ours.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let rest = name.strip_prefix(self.prefix)?;
        self.suffixes.iter().find_map(|suffix| {
            let number = rest.strip_suffix(suffix)?.parse().ok()?;
            (name == self.name(number, suffix) && number <= self.number_max).then_some(number)
        })
    }

    /// The entries in a directory, whatever they are, by their numbers. Of one number the last is the one with the last
    /// suffix.
    pub(crate) fn list(&self, files: &dyn Files, directory: &Path) -> io::Result<Vec<(u64, Entry)>> {
        let entries = files.list(directory)?.into_iter();
        let mut ours: Vec<_> = entries
            .filter_map(|entry| Some((self.number(entry.name())?, entry)))
            .collect();
        ours.sort_by_cached_key(|(number, entry)| (*number, entry.path.clone()));
        Ok(ours)
    }

    /// The highest number in a directory; 0 if there is none.
    pub(crate) fn newest(&self, files: &dyn Files, directory: &Path) -> io::Result<u64> {
        let entries = self.list(files, directory)?;
        Ok(entries.last().map_or(0, |(number, _)| *number))
    }
}

/// A folder to which no other server writes as long as this is held.
#[derive(Debug)]
pub(crate) struct Archive {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) directory: PathBuf,
    names: &'static Names,
    /// The directory itself.
    pub(crate) lock: OpenFile,
}

impl Archive {
    /// # Errors
    /// Those of [`store::lock`].
    pub(crate) fn hold(files: &Arc<dyn Files>, directory: &Path, names: &'static Names) -> io::Result<Self> {
        Ok(Self {
            lock: store::lock(&**files, directory)?,
            files: Arc::clone(files),
            directory: directory.to_owned(),
            names,
        })
    }

    pub(crate) fn path(&self, number: u64) -> PathBuf {
        self.names.path(&self.directory, number)
    }

    /// Makes the entry of that number as an empty file to append to.
    pub(crate) fn create(&self, number: u64) -> io::Result<OpenFile> {
        self.files.create(&self.path(number))
    }

    pub(crate) fn list(&self) -> io::Result<Vec<(u64, Entry)>> {
        self.names.list(&*self.files, &self.directory)
    }

    /// Whether the directory is no longer where it was.
    pub(crate) fn is_removed(&self) -> bool {
        !self.lock.is_at(&self.directory)
    }
}

/// How much is kept. A bound that is not given has no end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    pub count: Option<usize>,
    pub bytes: Option<u64>,
    pub age: Option<Duration>,
}

/// What is removed at once: a save, a run that ended, or a piece of the one being written.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    /// Its own path, or those of the pieces of a run.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) bytes: u64,
    pub(crate) age: Duration,
    /// Held by a server that records, or needed.
    pub(crate) stays: bool,
}

impl Part {
    /// A file that may be removed, of no age.
    pub(crate) fn of(entry: Entry) -> Self {
        Self {
            files: vec![entry.path.clone()],
            path: entry.path,
            bytes: entry.bytes,
            age: Duration::ZERO,
            stays: false,
        }
    }
}

/// Removes what is beyond the bounds; `parts` are in order, the oldest first. Answers what was removed, each with the name
/// of its bound. What cannot be removed is logged and counts as removed: no newer part goes in its place.
pub(crate) fn sweep(files: &dyn Files, keep: Keep, parts: Vec<Part>) -> Vec<(PathBuf, &'static str)> {
    let (mut count, mut bytes) = (parts.len(), parts.iter().map(|part| part.bytes).sum::<u64>());
    let mut removed = Vec::new();
    for part in parts.into_iter().filter(|part| !part.stays) {
        let bound = if keep.age.is_some_and(|max| part.age > max) {
            "age"
        } else if keep.bytes.is_some_and(|max| bytes > max) {
            "bytes"
        } else if keep.count.is_some_and(|max| count > max) {
            "count"
        } else {
            continue;
        };
        count -= 1;
        bytes -= part.bytes;
        match part.files.iter().try_for_each(|file| files.remove(file)) {
            Ok(()) => {
                // Other files in it stay, and so does then the directory.
                let _has_more = files.remove_directory(&part.path);
                removed.push((part.path, bound));
            }
            Err(error) => log::warn!("{}: cannot be removed: {error}", part.path.display()),
        }
    }
    removed
}
