//! Files and directories that this user alone can read, and randomness: what is different from system to system.
//!
//! Elsewhere than on Unix there are none: a server has no token for its user, and clients find none.

pub(super) use system::{create_new, directories, fill_random, make_directory, open};

#[cfg(all(test, unix))]
pub(super) use system::make;

#[cfg(unix)]
mod system {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io::{self, Read as _};
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
    use std::path::{Path, PathBuf};

    /// Where tokens are, the first that can be used: the user's runtime directory, or one in the temporary directory.
    pub(in super::super) fn directories() -> impl Iterator<Item = PathBuf> {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let user = rustix::process::geteuid().as_raw();
        runtime
            .filter(|path| path.is_absolute())
            .map(|path| path.join("trantor"))
            .into_iter()
            .chain([std::env::temp_dir().join(format!("trantor-{user}"))])
            .filter(|path| !path.exists() || check_directory(path).is_ok())
    }

    /// The directory that a new token goes into, made if it is not there.
    pub(in super::super) fn make_directory() -> io::Result<PathBuf> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "no directory is this user's alone");
        for path in directories() {
            match make(&path) {
                Ok(()) => return Ok(path),
                Err(error) => last = io::Error::new(error.kind(), format!("{}: {error}", path.display())),
            }
        }
        Err(last)
    }

    pub(in super::super) fn make(path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => check_directory(path),
        }
    }

    fn check_directory(path: &Path) -> io::Result<()> {
        let found = path.symlink_metadata()?;
        check(found.is_dir(), &found)
    }

    fn check(is_expected: bool, found: &Metadata) -> io::Result<()> {
        let is_ours = found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0;
        match is_expected && is_ours {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it must belong to this user, and no other user may use it",
            )),
        }
    }

    /// Makes a file; nothing is followed or replaced.
    pub(in super::super) fn create_new(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    }

    /// Opens a file that only this user can have written and can read. A link is not followed.
    pub(in super::super) fn open(path: &Path) -> io::Result<File> {
        // Its directory is this user's alone: no other user exchanges it between the two looks.
        let found = path.symlink_metadata()?;
        check(found.is_file(), &found)?;
        File::open(path)
    }

    pub(in super::super) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
        File::open("/dev/urandom")?.read_exact(bytes)
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::{Path, PathBuf};

    pub(in super::super) fn directories() -> impl Iterator<Item = PathBuf> {
        std::iter::empty()
    }

    pub(in super::super) fn make_directory() -> io::Result<PathBuf> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in super::super) fn create_new(_: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in super::super) fn open(_: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in super::super) fn fill_random(_: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
