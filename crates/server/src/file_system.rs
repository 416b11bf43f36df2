//! What the standard library does not say of files on every system: which one it is, the room beside it, how to open a
//! directory.

pub(crate) use system::{free_beside, is_same_file, open, sync};

#[cfg(unix)]
mod system {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }

    /// Free bytes of the file system that holds both, if it is one.
    pub(crate) fn free_beside(path: &Path, other: &Path) -> Option<u64> {
        let device = |path: &Path| fs::metadata(path).ok().map(|about| about.dev());
        if device(path)? != device(other)? {
            return None;
        }
        let disk = rustix::fs::statvfs(path).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Opens a file or a directory, to lock or sync it.
    pub(crate) fn open(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(crate) fn sync(file: &File) -> io::Result<()> {
        file.sync_all()
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::Path;

    /// Without it Windows opens no directory (`FILE_FLAG_BACKUP_SEMANTICS`).
    const OF_DIRECTORY: u32 = 0x0200_0000;

    /// Not known: a file that was replaced counts as the same one.
    pub(crate) fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
        true
    }

    /// Not known: recording ends when the disk is full, and leaves no room for saves.
    pub(crate) fn free_beside(_: &Path, _: &Path) -> Option<u64> {
        None
    }

    /// Opens a file or a directory, to lock or sync it. Only what is open for writing can be synced.
    pub(crate) fn open(path: &Path) -> io::Result<File> {
        let writes = path.is_file();
        OpenOptions::new()
            .read(true)
            .write(writes)
            .custom_flags(OF_DIRECTORY)
            .open(path)
    }

    /// Windows has no sync of a directory.
    pub(crate) fn sync(file: &File) -> io::Result<()> {
        match file.metadata()?.is_dir() {
            true => Ok(()),
            false => file.sync_all(),
        }
    }
}
