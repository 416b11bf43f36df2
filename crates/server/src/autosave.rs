//! `--save` and `--resume`: the whole game on the disk now and then, and a game continued from there.
//!
//! ```text
//! timer db_save ─> capture (on the loop) ─> disk job: digest, encode, write aside, sync, rename, prune ─> counted
//! ```
//!
//! The loop is held for the capture alone. One save is under way at a time; a timer that finds one is skipped and
//! counted. A state that is the same as on the disk is not written again.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trantor_game::{Game, Snapshot};

use crate::store;

/// The timer's name, as it stands in logs and metrics.
pub const TIMER: &str = "db_save";

/// How the name of a save ends.
const SAVE: &str = ".trs";

/// The highest number of a save that others are counted on from: half of all numbers follow it. Where a file has a higher
/// one, which none of ours can have, no save could be the newest.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// The most bytes of a save that are read: the largest world with a million eggs and agents has a tenth of it.
const SAVE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Saving, as the loop knows it.
#[derive(Debug)]
pub struct Autosave {
    directory: PathBuf,
    keep: usize,
    next_number: u64,
    /// The digest of the newest save that this run wrote.
    on_disk: Option<u64>,
    is_under_way: bool,
    /// Whether the game is to be saved again once the save that is under way is written.
    is_wanted: bool,
    stats: SaveStats,
    /// Held as long as this server saves there: two would push out each other's saves.
    _lock: File,
}

/// What came of saving, all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveStats {
    /// Saves written.
    pub saved: u64,
    /// Saves not begun because one was under way.
    pub skipped: u64,
    /// States not written because they were on the disk already.
    pub unchanged: u64,
    /// Saves that failed.
    pub failures: u64,
}

/// A captured state on its way to the disk.
#[derive(Debug)]
pub(crate) struct SaveTask {
    state: Arc<Snapshot>,
    path: PathBuf,
    keep: usize,
    on_disk: Option<u64>,
}

/// What a task did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// A file was written, with a state of this digest.
    Written(u64),
    /// The same state was on the disk already.
    Unchanged,
}

impl Autosave {
    /// Saving into `directory`, which is made if it is not there, and is this server's alone from now on.
    ///
    /// # Errors
    /// If it cannot be made, read or written to, or has a save with a number that none could follow;
    /// [`io::ErrorKind::WouldBlock`] if another server saves there.
    pub fn new(directory: &Path, keep: usize) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let lock = store::lock(directory)?;
        store::remove_asides(directory)?;
        // The first save may be a day away, and what cannot be saved is to be known now.
        store::try_writing(directory)?;
        let newest = match saves_in(directory)?.pop() {
            Some((number, path)) if number > NUMBER_MAX => {
                let name = path.file_name().unwrap_or_default().display();
                return Err(io::Error::other(format!(
                    "no save could follow {name}; move it away"
                )));
            }
            newest => newest.map_or(0, |(number, _)| number),
        };
        Ok(Self {
            directory: directory.to_owned(),
            keep: keep.max(1),
            next_number: newest + 1,
            on_disk: None,
            is_under_way: false,
            is_wanted: false,
            stats: SaveStats::default(),
            _lock: lock,
        })
    }

    /// Has the game saved as soon as no other save is under way.
    pub(crate) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Whether that is to be done now, which it then counts as.
    pub(crate) fn take_wanted(&mut self) -> bool {
        !self.is_under_way && std::mem::take(&mut self.is_wanted)
    }

    /// Keeps so many of the newest saves from now on.
    pub(crate) fn set_keep(&mut self, keep: usize) {
        self.keep = keep.max(1);
    }

    /// Where saves are kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What came of it so far.
    pub fn stats(&self) -> SaveStats {
        self.stats
    }

    /// Captures what is to be saved for a task; `None`, and counted, while another one is under way.
    pub(crate) fn capture(&mut self, state: impl FnOnce() -> Arc<Snapshot>) -> Option<SaveTask> {
        if self.is_under_way {
            self.stats.skipped += 1;
            return None;
        }
        self.is_under_way = true;
        Some(self.task(state()))
    }

    /// Takes note of what a task did.
    pub(crate) fn note(&mut self, done: Result<Saved, String>) {
        self.is_under_way = false;
        match done {
            Ok(Saved::Written(digest)) => {
                self.stats.saved += 1;
                self.on_disk = Some(digest);
            }
            Ok(Saved::Unchanged) => self.stats.unchanged += 1,
            Err(error) => {
                self.stats.failures += 1;
                log::error!(
                    "{}: the game could not be saved: {error}",
                    self.directory.display()
                );
            }
        }
    }

    /// Saves once more, on this thread: the loop is over.
    pub(crate) fn finish(mut self, state: Arc<Snapshot>) {
        // Whatever is still under way has a number of its own, below.
        if let Err(error) = self.save_now(state) {
            self.note(Err(error.to_string()));
        }
    }

    /// Saves on this thread, which is not to be the loop's while it runs.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn save_now(&mut self, state: Arc<Snapshot>) -> io::Result<()> {
        let task = self.task(state);
        let path = task.path.clone();
        let saved = task.write()?;
        if saved != Saved::Unchanged {
            log::info!("saved in {}", path.display());
        }
        self.note(Ok(saved));
        Ok(())
    }

    fn task(&mut self, state: Arc<Snapshot>) -> SaveTask {
        let path = self
            .directory
            .join(format!("save-{:010}{SAVE}", self.next_number));
        self.next_number += 1;
        SaveTask {
            state,
            path,
            keep: self.keep,
            on_disk: self.on_disk,
        }
    }
}

impl SaveTask {
    /// Writes the state, unless it is on the disk already, and removes saves that are too old.
    ///
    /// # Errors
    /// What the system says; the saves before are as they were.
    pub(crate) fn write(self) -> io::Result<Saved> {
        let digest = self.state.digest().whole;
        if self.on_disk == Some(digest) {
            return Ok(Saved::Unchanged);
        }
        store::write_whole(&self.path, &self.state.encode())?;
        let directory = self.path.parent().expect("a save lies in a directory");
        let saves = saves_in(directory)?;
        let too_old = saves.len().saturating_sub(self.keep);
        for (_, path) in &saves[..too_old] {
            // The save that was to be written is written.
            if let Err(error) = fs::remove_file(path) {
                log::warn!("{}: cannot be removed: {error}", path.display());
            }
        }
        Ok(Saved::Written(digest))
    }
}

/// Why no game can go on from a directory.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// There are saves, and none of them is good. A new game would push them out, so none is begun.
    #[error("{0}: none of the {1} saves can be continued; move them away to begin a new game")]
    NoneGood(PathBuf, usize),
}

/// The game of the newest good save in `directory`, and its file; `None` if there are no saves at all.
///
/// # Errors
/// If the directory cannot be read, or has saves of which none is good.
pub fn newest_good(directory: &Path) -> Result<Option<(Game, PathBuf)>, ResumeError> {
    let saves = match saves_in(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        saves => saves.map_err(|error| ResumeError::Io(directory.to_owned(), error))?,
    };
    for (_, path) in saves.iter().rev() {
        match load(path) {
            Ok(game) => return Ok(Some((game, path.clone()))),
            Err(why) => log::warn!("{}: {why}; trying the one before", path.display()),
        }
    }
    match saves.len() {
        0 => Ok(None),
        count => Err(ResumeError::NoneGood(directory.to_owned(), count)),
    }
}

fn load(path: &Path) -> Result<Game, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(SAVE_BYTES_MAX).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    Snapshot::decode(&bytes)
        .and_then(Game::restore)
        .map_err(|error| error.to_string())
}

/// The saves in a directory, by their numbers.
fn saves_in(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut saves = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number: Option<u64> =
            name.and_then(|name| name.strip_prefix("save-")?.strip_suffix(SAVE)?.parse().ok());
        if let Some(number) = number {
            saves.push((number, path));
        }
    }
    saves.sort();
    Ok(saves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trantor_game::{GameConfig, GameInput};
    use trantor_model::{MapSize, TeamId};

    fn game() -> Game {
        Game::new(GameConfig {
            size: MapSize::new(6, 6).unwrap(),
            teams: vec!["red".to_owned()],
            places_per_team: 9,
            seed: 3,
            rules: Default::default(),
        })
    }

    fn state(game: &Game) -> Arc<Snapshot> {
        Arc::new(game.snapshot())
    }

    fn join(game: &mut Game) {
        let _ = game.handle(GameInput::Join { team: TeamId(0) }, game.now());
    }

    fn save(autosave: &mut Autosave, game: &Game) {
        let task = autosave.capture(|| state(game)).unwrap();
        autosave.note(task.write().map_err(|error| error.to_string()));
    }

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("trantor-autosave-{name}-{}", std::process::id()));
        let _none_left = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_save_under_way_makes_the_next_one_be_skipped_and_counted() {
        let directory = directory("skip");
        let mut autosave = Autosave::new(&directory, 2).unwrap();
        let task = autosave.capture(|| state(&game())).unwrap();
        assert!(autosave.capture(|| state(&game())).is_none());
        autosave.note(task.write().map_err(|error| error.to_string()));
        assert!(autosave.capture(|| state(&game())).is_some());
        let stats = autosave.stats();
        assert_eq!((stats.saved, stats.skipped, stats.failures), (1, 1, 0));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_cannot_be_removed_among_the_saves_makes_none_fail() {
        let directory = directory("kept");
        // A directory is not removed as a file is.
        fs::create_dir_all(directory.join("save-0000000001.trs")).unwrap();
        let mut game = game();
        let mut autosave = Autosave::new(&directory, 1).unwrap();
        for _ in 0..3 {
            join(&mut game);
            save(&mut autosave, &game);
        }
        let stats = autosave.stats();
        assert_eq!((stats.saved, stats.failures), (3, 0));
        let numbers: Vec<u64> = saves_in(&directory).unwrap().iter().map(|save| save.0).collect();
        assert_eq!(numbers, [1, 4]);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_save_that_none_could_follow_is_refused_at_the_start() {
        let directory = directory("last");
        fs::create_dir_all(&directory).unwrap();
        let last = directory.join("save-18446744073709551614.trs");
        fs::write(&last, b"").unwrap();
        let refused = Autosave::new(&directory, 3).unwrap_err().to_string();
        assert_eq!(
            refused,
            "no save could follow save-18446744073709551614.trs; move it away"
        );
        fs::remove_file(&last).unwrap();
        fs::write(directory.join(format!("save-{NUMBER_MAX}.trs")), b"").unwrap();
        let next = Autosave::new(&directory, 3).unwrap().next_number;
        assert_eq!(next, NUMBER_MAX + 1);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn nothing_changed_nothing_written() {
        let directory = directory("same");
        let mut game = game();
        let mut autosave = Autosave::new(&directory, 10).unwrap();
        save(&mut autosave, &game);
        save(&mut autosave, &game);
        assert_eq!(autosave.stats().unchanged, 1);
        join(&mut game);
        save(&mut autosave, &game);
        let stats = autosave.stats();
        assert_eq!((stats.saved, stats.unchanged), (2, 1));
        assert_eq!(saves_in(&directory).unwrap().len(), 2);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_newest_good_save_is_continued_and_old_ones_go() {
        let directory = directory("good");
        let mut game = game();
        let mut autosave = Autosave::new(&directory, 3).unwrap();
        let mut digests = Vec::new();
        for _ in 0..5 {
            join(&mut game);
            digests.push(game.digest());
            save(&mut autosave, &game);
        }
        let saves = saves_in(&directory).unwrap();
        let numbers: Vec<u64> = saves.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [3, 4, 5]);

        // The newest is damaged, and a crash left one that never was renamed.
        let bytes = fs::read(&saves[2].1).unwrap();
        fs::write(&saves[2].1, &bytes[..bytes.len() / 2]).unwrap();
        let half = directory.join("save-0000000009.trs.aside");
        fs::write(&half, b"half").unwrap();
        let (loaded, path) = newest_good(&directory).unwrap().unwrap();
        assert_eq!((loaded.digest(), &path), (digests[3], &saves[1].1));
        // Whoever saves there has it alone.
        let other = Autosave::new(&directory, 3).map_err(|error| error.kind());
        assert_eq!(other.err(), Some(io::ErrorKind::WouldBlock));
        assert!(half.exists(), "what another server may be writing is left alone");
        drop(autosave);
        // Numbers go on, so that no save takes the place of another.
        assert_eq!(Autosave::new(&directory, 3).unwrap().next_number, 6);
        assert!(
            !half.exists(),
            "what was never finished is removed at the next start"
        );

        for (_, path) in &saves {
            fs::write(path, b"nothing").unwrap();
        }
        assert!(matches!(
            newest_good(&directory),
            Err(ResumeError::NoneGood(_, 3))
        ));
        fs::remove_dir_all(&directory).unwrap();
        assert!(newest_good(&directory).unwrap().is_none());
    }

    #[test]
    fn a_save_that_fails_is_counted_and_the_next_one_is_tried() {
        let directory = directory("fails");
        let mut autosave = Autosave::new(&directory, 3).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        save(&mut autosave, &game());
        assert_eq!((autosave.stats().failures, autosave.stats().saved), (1, 0));
        fs::create_dir_all(&directory).unwrap();
        save(&mut autosave, &game());
        assert_eq!(autosave.stats().saved, 1);
        fs::remove_dir_all(&directory).unwrap();
    }
}
