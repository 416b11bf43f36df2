//! Files as the server needs them, and how one is written so that it is whole or absent.
//!
//! [`Files`] is all that recording, saving and resuming ask of a disk. [`SystemFiles`] is the real one; the simulation
//! has another, which fails. What the files hold is for [`crate::recorder`] and [`crate::autosave`] to say.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use trantor_runtime::files::{open_regular, open_to_hold};

/// The extension of a file that is not whole yet.
const ASIDE: &str = "aside";

pub trait Files: fmt::Debug + Send + Sync {
    /// Makes one directory; an error if it exists.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory and those above it, if they do not exist.
    fn create_directories(&self, path: &Path) -> io::Result<()>;
    /// Makes an empty file to append to; an error if it exists.
    fn create(&self, path: &Path) -> io::Result<OpenFile>;
    /// Opens a file or a directory, to lock or sync it.
    fn open(&self, path: &Path) -> io::Result<OpenFile>;
    fn read(&self, path: &Path) -> io::Result<Box<dyn Read>>;
    /// The entries of a directory, in any order.
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>>;
    /// Renames a file, replacing one that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Free bytes of the file system that holds both; `None` if there are two, or it does not say.
    fn free_beside(&self, path: &Path, other: &Path) -> Option<u64>;
}

/// An open file or directory. Closed when the last clone is dropped.
pub type OpenFile = Arc<dyn Handle>;

pub trait Handle: fmt::Debug + Send + Sync {
    /// Appends all bytes. After an error a part of them may be written.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&self, length: u64) -> io::Result<()>;
    /// Syncs content and metadata; of a directory the names in it. The system reports an error once: a second attempt
    /// succeeds whether or not the bytes are on the disk.
    fn sync(&self) -> io::Result<()>;
    /// Locks the file against other servers until it is closed.
    fn try_lock(&self) -> Result<(), TryLockError>;
    /// Whether `path` still names this file.
    fn is_at(&self, path: &Path) -> bool;
}

#[derive(Clone, Debug)]
pub struct Entry {
    /// With the directory.
    pub path: PathBuf,
    /// Not a directory, nor a link.
    pub is_file: bool,
    pub bytes: u64,
    pub modified: SystemTime,
}

impl Entry {
    /// The last part of the path; empty if it is not UTF-8, which none of our names is.
    pub(crate) fn name(&self) -> &str {
        self.path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SystemFiles;

impl SystemFiles {
    pub fn shared() -> Arc<dyn Files> {
        Arc::new(Self)
    }
}

impl Files for SystemFiles {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn create_directories(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn create(&self, path: &Path) -> io::Result<OpenFile> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Arc::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        Ok(Arc::new(open_to_hold(path)?))
    }

    fn read(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(open_regular(path)?))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let about = match entry.metadata() {
                // Another server has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                about => about?,
            };
            entries.push(Entry {
                path: entry.path(),
                is_file: about.is_file(),
                bytes: about.len(),
                modified: about.modified()?,
            });
        }
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn free_beside(&self, path: &Path, other: &Path) -> Option<u64> {
        system::free_beside(path, other)
    }
}

impl Handle for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        system::sync(self)
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        Self::try_lock(self)
    }

    fn is_at(&self, path: &Path) -> bool {
        match (self.metadata(), fs::metadata(path)) {
            (Ok(open), Ok(there)) => system::is_same_file(&open, &there),
            (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => true,
        }
    }
}

/// Writes `bytes` to `path` so that a crash at any moment leaves either what was there before or all of them: to another
/// file, synced, then renamed, then the directory synced.
///
/// # Errors
/// What the system says. Nothing has replaced the old file then, unless only the last step failed.
pub fn write_whole(files: &dyn Files, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".");
    aside.push(ASIDE);
    let aside = PathBuf::from(aside);
    let written = create_alone(files, &aside).and_then(|file| {
        file.append(bytes)?;
        file.sync()
    });
    if let Err(error) = written.and_then(|()| files.rename(&aside, path)) {
        // On a full disk its bytes are needed.
        let _gone_or_not = files.remove(&aside);
        return Err(error);
    }
    match path.parent() {
        Some(directory) => files.open(directory)?.sync(),
        None => Ok(()),
    }
}

/// Makes a new file. What has its name is removed and never followed: names can be guessed, and a link there
/// would lead to a file of an attacker's choice.
fn create_alone(files: &dyn Files, path: &Path) -> io::Result<OpenFile> {
    match files.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            files.remove(path)?;
            files.create(path)
        }
        created => created,
    }
}

/// Tries whether files can be written to a directory, and leaves none.
pub fn try_writing(files: &dyn Files, directory: &Path) -> io::Result<()> {
    let tried = directory.join(format!("try-{}.{ASIDE}", std::process::id()));
    create_alone(files, &tried)?;
    files.remove(&tried)
}

/// Locks a directory against other servers until the answer is dropped.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if another server holds it; else what the system says of the directory.
pub fn lock(files: &dyn Files, directory: &Path) -> io::Result<OpenFile> {
    let held = files.open(directory)?;
    match held.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => {
            // Some file systems have no locks.
            log::debug!("{}: no lock on it: {error}", directory.display());
            Ok(held)
        }
        Ok(()) => Ok(held),
    }
}

/// Removes files in `directory` that [`write_whole`] began and did not finish, because its process died.
pub fn remove_asides(files: &dyn Files, directory: &Path) -> io::Result<()> {
    for Entry { path, .. } in files.list(directory)? {
        if path.extension().is_some_and(|extension| extension == ASIDE) {
            log::info!("{}: a file that was never finished is removed", path.display());
            files.remove(&path)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
mod system {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    pub(super) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }

    /// Free bytes of the file system that holds both, if it is one.
    pub(super) fn free_beside(path: &Path, other: &Path) -> Option<u64> {
        let device = |path: &Path| fs::metadata(path).ok().map(|about| about.dev());
        if device(path)? != device(other)? {
            return None;
        }
        let disk = rustix::fs::statvfs(path).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    pub(super) fn sync(file: &File) -> io::Result<()> {
        file.sync_all()
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::Path;

    /// Not known: a file that was replaced counts as the same one.
    pub(super) fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
        true
    }

    /// Not known: recording ends when the disk is full, and leaves no room for saves.
    pub(super) fn free_beside(_: &Path, _: &Path) -> Option<u64> {
        None
    }

    /// Windows has no sync of a directory.
    pub(super) fn sync(file: &File) -> io::Result<()> {
        match file.metadata()?.is_dir() {
            true => Ok(()),
            false => file.sync_all(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_through_a_link_that_waits_at_a_temporary_name() {
        let directory = std::env::temp_dir().join(format!("trantor-links-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let of_others = directory.join("of-others");
        fs::write(&of_others, "theirs").unwrap();
        let saved = directory.join("save");
        let link = |at: &Path| std::os::unix::fs::symlink(&of_others, at).unwrap();
        link(&directory.join("save.aside"));
        link(&saved);
        link(&directory.join(format!("try-{}.{ASIDE}", std::process::id())));
        write_whole(&SystemFiles, &saved, b"ours").unwrap();
        try_writing(&SystemFiles, &directory).unwrap();
        assert_eq!(fs::read(&of_others).unwrap(), b"theirs");
        assert_eq!(fs::read(&saved).unwrap(), b"ours");
        assert!(!saved.is_symlink());
        assert_eq!(
            fs::read_dir(&directory).unwrap().count(),
            2,
            "nothing is left over"
        );
        fs::remove_dir_all(&directory).unwrap();
    }
}
