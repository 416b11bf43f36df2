//! `--save` and `--resume`: the game saved to the disk now and then, and a game continued from there.
//!
//! ```text
//! timer db_save ─> capture (on the loop) ─> disk job: digest, encode, write aside, sync, rename, prune ─> counted
//! ```
//!
//! The loop waits for the capture alone. One save is under way at a time; a timer that finds one skips its own and counts
//! it. A state that is the same as on the disk is not written again.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trantor_game::{Game, Snapshot};

use crate::archive::{self, Archive, Keep, Part, SAVES};
use crate::store::{self, Entry, Files};

/// The timer's name, as it stands in logs and metrics.
pub const TIMER: &str = "db_save";

/// The highest number of a save that others are counted on from: half of all numbers follow it. Where a file has a higher
/// one, which none of ours can have, no save could be the newest.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// The most bytes of a save that are read: the largest world with a million eggs and agents has a tenth of it.
const SAVE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

#[derive(Debug)]
pub struct Autosave {
    /// Held as long as this server saves there: two would remove each other's saves.
    archive: Arc<Archive>,
    keep: usize,
    next_number: u64,
    /// The digest of the newest save that this server wrote.
    on_disk: Option<u64>,
    is_under_way: bool,
    /// Captured, for a disk job.
    captured: Option<SaveTask>,
    /// Whether to save again once the save that is under way is written.
    is_wanted: bool,
    stats: SaveStats,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveStats {
    pub saved: u64,
    /// Saves not begun because one was under way.
    pub skipped: u64,
    /// States not written because they were on the disk already.
    pub unchanged: u64,
    pub failures: u64,
}

/// A captured state on its way to the disk.
#[derive(Debug)]
pub(crate) struct SaveTask {
    archive: Arc<Archive>,
    state: Arc<Snapshot>,
    path: PathBuf,
    keep: usize,
    on_disk: Option<u64>,
}

impl Autosave {
    /// Saving into `directory`, which is made if it does not exist, and is this server's alone from now on.
    ///
    /// # Errors
    /// If it cannot be made, read or written to, or has a save with a number that none could follow;
    /// [`io::ErrorKind::WouldBlock`] if another server saves there.
    pub fn new(files: Arc<dyn Files>, directory: &Path, keep: usize) -> io::Result<Self> {
        files.create_directories(directory)?;
        let archive = Archive::hold(&files, directory, &SAVES)?;
        store::remove_asides(&*files, directory)?;
        // The first save may be a day away, and what cannot be saved is to be known now.
        store::try_writing(&*files, directory)?;
        let newest = SAVES.newest(&*files, directory)?;
        if newest > NUMBER_MAX {
            let path = archive.path(newest);
            let name = path.file_name().unwrap_or_default().display();
            return Err(io::Error::other(format!(
                "no save could follow {name}; move it away"
            )));
        }
        Ok(Self {
            archive: Arc::new(archive),
            keep: keep.max(1),
            next_number: newest + 1,
            on_disk: None,
            is_under_way: false,
            captured: None,
            is_wanted: false,
            stats: SaveStats::default(),
        })
    }

    /// Saves as soon as no other save is under way.
    pub(crate) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Captures the game if that is wanted and no other save is under way.
    pub(crate) fn pass(&mut self, state: impl FnOnce() -> Arc<Snapshot>) {
        if self.is_wanted && !self.is_under_way {
            self.capture(state);
        }
    }

    /// Keeps so many of the newest saves from now on.
    pub(crate) fn set_keep(&mut self, keep: usize) {
        self.keep = keep.max(1);
    }

    pub fn directory(&self) -> &Path {
        &self.archive.directory
    }

    pub fn stats(&self) -> SaveStats {
        self.stats
    }

    /// Captures what is to be saved for a disk job. While another one is under way, it counts that, and answers `false`.
    pub(crate) fn capture(&mut self, state: impl FnOnce() -> Arc<Snapshot>) -> bool {
        if self.is_under_way {
            self.stats.skipped += 1;
            return false;
        }
        self.is_under_way = true;
        self.is_wanted = false;
        self.captured = Some(self.task(state()));
        true
    }

    /// What was captured for a disk job. Then call [`Self::end`].
    pub(crate) fn next_task(&mut self) -> Option<SaveTask> {
        self.captured.take()
    }

    /// The end of a task; see [`SaveTask::run`].
    pub(crate) fn end(&mut self, outcome: Result<Option<u64>, String>) {
        self.is_under_way = false;
        match outcome {
            Ok(Some(digest)) => {
                self.stats.saved += 1;
                self.on_disk = Some(digest);
            }
            Ok(None) => self.stats.unchanged += 1,
            Err(error) => {
                self.stats.failures += 1;
                log::error!(
                    "{}: the game could not be saved: {error}",
                    self.directory().display()
                );
            }
        }
    }

    /// Saves once more, on this thread: the loop is over.
    pub(crate) fn finish(mut self, state: Arc<Snapshot>) {
        // A save that is still under way has a number of its own.
        if let Err(error) = self.save_now(state) {
            self.end(Err(error.to_string()));
        }
    }

    /// Saves on this thread, which is not the loop's while it runs.
    pub fn save_now(&mut self, state: Arc<Snapshot>) -> io::Result<()> {
        let task = self.task(state);
        let path = task.path.clone();
        let written = task.run()?;
        if written.is_some() {
            log::info!("saved in {}", path.display());
        }
        self.end(Ok(written));
        Ok(())
    }

    fn task(&mut self, state: Arc<Snapshot>) -> SaveTask {
        let path = self.archive.path(self.next_number);
        self.next_number += 1;
        SaveTask {
            archive: Arc::clone(&self.archive),
            state,
            path,
            keep: self.keep,
            on_disk: self.on_disk,
        }
    }
}

impl SaveTask {
    /// Writes the state, unless it is on the disk already, and removes saves that are too old. Answers the digest of what
    /// was written.
    ///
    /// # Errors
    /// What the system says; the saves before are as they were.
    pub(crate) fn run(self) -> io::Result<Option<u64>> {
        let digest = self.state.digest().whole;
        if self.on_disk == Some(digest) {
            return Ok(None);
        }
        let files = &*self.archive.files;
        store::write_whole(files, &self.path, &self.state.encode())?;
        let saves = self.archive.list()?.into_iter();
        let keep = Keep {
            count: Some(self.keep),
            ..Keep::default()
        };
        // The save that was to be written is written, whether or not old ones can be removed.
        archive::sweep(files, keep, saves.map(|(_, save)| Part::of(save)).collect());
        Ok(Some(digest))
    }
}

/// Why no game can be continued from a directory.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// There are saves, and none of them is good. A new game would push them out, so none is begun.
    #[error("{0}: none of the {1} saves can be continued; move them away to begin a new game")]
    NoneGood(PathBuf, usize),
}

/// The game of the newest good save in `directory`, and its file; `None` if there are no saves at all.
pub fn newest_good(files: &dyn Files, directory: &Path) -> Result<Option<(Game, PathBuf)>, ResumeError> {
    let saves = match SAVES.list(files, directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        saves => saves.map_err(|error| ResumeError::Io(directory.to_owned(), error))?,
    };
    for (_, Entry { path, .. }) in saves.iter().rev() {
        match load(files, path) {
            Ok(game) => return Ok(Some((game, path.clone()))),
            Err(why) => log::warn!("{}: {why}; trying the one before", path.display()),
        }
    }
    match saves.len() {
        0 => Ok(None),
        count => Err(ResumeError::NoneGood(directory.to_owned(), count)),
    }
}

fn load(files: &dyn Files, path: &Path) -> Result<Game, String> {
    let mut bytes = Vec::new();
    files
        .read(path)
        .and_then(|file| file.take(SAVE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > SAVE_BYTES_MAX {
        return Err(format!(
            "it has more than the {SAVE_BYTES_MAX} bytes that are read"
        ));
    }
    Snapshot::decode(&bytes)
        .and_then(Game::restore)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::store::SystemFiles;
    use std::fs;
    use trantor_game::GameInput;
    use trantor_model::TeamId;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("trantor-autosave-{name}-{}", std::process::id()));
        let _none_left = fs::remove_dir_all(&path);
        path
    }

    fn open(directory: &Path, keep: usize) -> io::Result<Autosave> {
        Autosave::new(SystemFiles::shared(), directory, keep)
    }

    fn game() -> Game {
        Game::new(Options::default().engine_config(3).game)
    }

    /// A change of the game, and a save of it.
    fn save(autosave: &mut Autosave, game: &mut Game) {
        let _ = game.handle(GameInput::Join { team: TeamId(0) }, game.now());
        assert!(autosave.capture(|| Arc::new(game.snapshot())));
        end(autosave);
    }

    fn end(autosave: &mut Autosave) {
        let task = autosave.next_task().unwrap();
        autosave.end(task.run().map_err(|error| error.to_string()));
    }

    fn numbers(directory: &Path) -> Vec<u64> {
        let saves = SAVES.list(&SystemFiles, directory).unwrap();
        saves.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn saves_are_written_skipped_unchanged_or_fail_and_each_is_counted() {
        let directory = directory("counted");
        // A directory is not removed as a file is, and makes no save fail.
        fs::create_dir_all(directory.join("save-0000000001.trs")).unwrap();
        let (mut game, mut autosave) = (game(), open(&directory, 1).unwrap());
        save(&mut autosave, &mut game);
        let state = || Arc::new(game.snapshot());
        assert!(autosave.capture(state) && !autosave.capture(state));
        end(&mut autosave);
        save(&mut autosave, &mut game);
        assert_eq!(numbers(&directory), [1, 4]);
        fs::remove_dir_all(&directory).unwrap();
        save(&mut autosave, &mut game);
        fs::create_dir_all(&directory).unwrap();
        save(&mut autosave, &mut game);
        let expected = SaveStats {
            saved: 3,
            skipped: 1,
            unchanged: 1,
            failures: 1,
        };
        assert_eq!(autosave.stats(), expected);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_save_that_none_could_follow_is_refused_at_the_start() {
        let directory = directory("last");
        fs::create_dir_all(&directory).unwrap();
        let last = directory.join("save-18446744073709551614.trs");
        fs::write(&last, b"").unwrap();
        assert_eq!(
            open(&directory, 3).unwrap_err().to_string(),
            "no save could follow save-18446744073709551614.trs; move it away"
        );
        fs::rename(&last, directory.join(format!("save-{NUMBER_MAX}.trs"))).unwrap();
        assert_eq!(open(&directory, 3).unwrap().next_number, NUMBER_MAX + 1);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_newest_good_save_is_continued_and_old_ones_go() {
        let directory = directory("good");
        let (mut game, mut autosave) = (game(), open(&directory, 3).unwrap());
        let digests = [(); 5].map(|()| {
            save(&mut autosave, &mut game);
            game.digest()
        });
        assert_eq!(numbers(&directory), [3, 4, 5]);
        // The newest is damaged, and a crash left one that never was renamed.
        let newest = directory.join("save-0000000005.trs");
        let bytes = fs::read(&newest).unwrap();
        fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
        let half = directory.join("save-0000000009.trs.aside");
        fs::write(&half, b"half").unwrap();
        let (loaded, path) = newest_good(&SystemFiles, &directory).unwrap().unwrap();
        assert!(loaded.digest() == digests[3] && path.ends_with("save-0000000004.trs"));
        let other = open(&directory, 3).map_err(|error| error.kind());
        assert_eq!(other.err(), Some(io::ErrorKind::WouldBlock));
        assert!(half.exists(), "another server may be writing it");
        drop(autosave);
        assert_eq!(open(&directory, 3).unwrap().next_number, 6);
        assert!(!half.exists(), "it is removed at the next start");
        for number in 3..=5 {
            fs::write(directory.join(format!("save-000000000{number}.trs")), b"nothing").unwrap();
        }
        assert!(matches!(
            newest_good(&SystemFiles, &directory),
            Err(ResumeError::NoneGood(_, 3))
        ));
        fs::remove_dir_all(&directory).unwrap();
        assert!(newest_good(&SystemFiles, &directory).unwrap().is_none());
    }
}
