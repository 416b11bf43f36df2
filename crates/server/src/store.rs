//! Files that a run leaves: their names, and how one is written so that it is whole or not there.
//!
//! What is in them is for [`crate::recorder`] and [`crate::autosave`] to say.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How the name of a piece of a journal ends while it is written.
pub const JOURNAL: &str = ".trj";

/// What the names of a run's pieces begin with, before their numbers.
pub const PIECE: &str = "piece-";

/// How it ends once the piece is finished and packed with zstd.
pub const COMPRESSED: &str = ".trj.zst";

/// How the name of a file ends that is not whole yet.
const ASIDE: &str = "aside";

/// Writes `bytes` to `path` so that, whenever the machine stops, there is either what was there before or all of
/// them: aside first, to the disk, then renamed, then the directory to the disk.
///
/// # Errors
/// What the system says. Nothing has replaced the old file then, unless only the last step failed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".");
    aside.push(ASIDE);
    let aside = PathBuf::from(aside);
    let written = create_alone(&aside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&aside, path)) {
        // It is no use to anybody, and on a full disk its bytes are wanted.
        let _gone_or_not = fs::remove_file(&aside);
        return Err(error);
    }
    match path.parent() {
        Some(directory) => sync_directory(directory),
        None => Ok(()),
    }
}

/// Makes a file that is not there yet. What has its name is removed and never followed: names can be guessed, and a link there
/// would lead to a file of somebody else's choice.
fn create_alone(path: &Path) -> io::Result<File> {
    let create = || OpenOptions::new().write(true).create_new(true).open(path);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()
        }
        created => created,
    }
}

/// Tries whether files can be written to a directory. Nothing is left of the one that was tried.
///
/// # Errors
/// What the system says.
pub fn try_writing(directory: &Path) -> io::Result<()> {
    let tried = directory.join(format!("try-{}.{ASIDE}", std::process::id()));
    create_alone(&tried)?;
    fs::remove_file(&tried)
}

/// Locks a directory against other servers, for as long as what is answered is held.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if another server holds it; else what the system says of the directory.
pub fn lock(directory: &Path) -> io::Result<File> {
    let held = File::open(directory)?;
    match held.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => {
            // Some file systems have none, and on them nobody is kept from anything.
            log::debug!("{}: no lock on it: {error}", directory.display());
            Ok(held)
        }
        Ok(()) => Ok(held),
    }
}

/// Forces to the disk which files a directory has.
///
/// # Errors
/// What the system says.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Removes files in `directory` that [`write_whole`] began and could not end, because its process died.
///
/// # Errors
/// What the system says.
pub fn remove_asides(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ASIDE) {
            log::info!("{}: a file that was never finished is removed", path.display());
            fs::remove_file(path)?;
        }
    }
    Ok(())
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
        write_whole(&saved, b"ours").unwrap();
        try_writing(&directory).unwrap();
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
