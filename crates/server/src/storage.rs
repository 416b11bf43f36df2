//! What the loop keeps on the disk: the journal, saves, and the disk jobs of both.
//!
//! ```text
//!  journal stage ─> pass ─> tasks of recorder and autosave ─> disk worker ─> their ends
//!  before a write to a socket ─> write_ahead
//! ```
//!
//! What is written and when is for [`crate::recorder`] and [`crate::autosave`] to say.
//!
//! [`resume`] finds the game to go on with. A save is as old as `--save-every` allows; the journal has everything that
//! peers were sent. So the run that continues the save is found, and [`replay::roll_forward`] plays it. A save is written
//! where a run begins, so that each run passes through one.

use std::path::{Path, PathBuf};

use trantor_engine::Engine;
use trantor_game::journal::{CutShort, Ending};
use trantor_game::{Game, Replay, replay};
use trantor_time::RealTime;

use crate::autosave::{Autosave, ResumeError, newest_good};
use crate::recorder::{self, Recorder, pieces_of};
use crate::replay::read_from;
use crate::store::{self, Files};

/// See the module. Without `--record` and `--save` it does nothing.
#[derive(Debug, Default)]
pub struct Storage {
    /// The journal, if one is kept.
    pub recorder: Option<Recorder>,
    /// Saves, if any are made.
    pub autosave: Option<Autosave>,
}

impl Storage {
    /// When [`Self::pass`] has to be called, if the engine does not wake the loop before.
    pub fn next_deadline(&self) -> Option<RealTime> {
        self.recorder.as_ref().and_then(Recorder::next_deadline)
    }

    /// Writes the journal, before anything is sent of what happened, and captures a save that is wanted.
    pub fn pass(&mut self, engine: &mut Engine, now: RealTime) {
        let saves = self.autosave.as_ref().map(Autosave::directory);
        if let Some(recorder) = &mut self.recorder
            && recorder.pass(engine, now, saves)
        {
            // A run continues a save only if it passes through it.
            self.save_soon();
        }
        if let Some(autosave) = &mut self.autosave {
            autosave.pass(|| engine.state_to_save());
        }
    }

    /// Writes what has happened to the journal: something is about to be sent.
    pub fn write_ahead(&mut self, engine: &mut Engine, now: RealTime) {
        if let Some(recorder) = &mut self.recorder {
            recorder.write_ahead(engine, now);
        }
    }

    /// Saves in this pass, or in the one in which the save that is under way is written.
    pub fn save_soon(&mut self) {
        self.autosave.iter_mut().for_each(Autosave::want);
    }

    /// Ends the journal in order and saves once more, on this thread: the loop is over.
    pub fn finish(self, engine: &mut Engine, now: RealTime) {
        if let Some(recorder) = self.recorder {
            recorder.finish(engine, now);
        }
        if let Some(autosave) = self.autosave {
            autosave.finish(engine.state_to_save());
        }
    }
}

/// The game to continue: the newest good save, rolled forward by the journal that it is from. `None` without a save.
pub fn resume(
    files: &dyn Files,
    saves: &Path,
    recordings: Option<&Path>,
) -> Result<Option<Game>, ResumeError> {
    let Some((game, file)) = newest_good(files, saves)? else {
        log::info!("{}: no save to go on with: a new game", saves.display());
        return Ok(None);
    };
    let units = game.now().whole_units();
    log::info!("{}: going on at {units} units", file.display());
    let Some((rolled, run)) = recordings.and_then(|recordings| roll_forward(files, &game, recordings)) else {
        return Ok(Some(game));
    };
    let units = rolled.now().whole_units();
    log::info!(
        "{}: it was recorded up to {units} units, and goes on there",
        run.display()
    );
    Ok(Some(rolled))
}

/// Runs that are tried, from the newest on. The newest continues the save, unless servers with saves of their own record in
/// one directory.
const RUNS_MAX: usize = 16;

/// Plays `saved` on to the end of a run in `recordings`, and answers the game and that run. `None` if no run passes through
/// it, as for a save that is newer than the journal.
fn roll_forward(files: &dyn Files, saved: &Game, recordings: &Path) -> Option<(Game, PathBuf)> {
    if saved.winner().is_some() {
        return None;
    }
    let runs = recorder::runs_in(files, recordings).unwrap_or_default();
    for run in runs.into_iter().rev().take(RUNS_MAX) {
        // A locked run belongs to a running server.
        let Ok(_lock) = store::lock(files, &run) else {
            continue;
        };
        match play_from(files, saved, &run) {
            Ok(Some(game)) => return Some((game, run)),
            Ok(None) => {}
            Err(why) => log::warn!("{}: the save is not rolled forward by it: {why}", run.display()),
        }
    }
    None
}

/// The game at the end of a run; `None` if the run does not pass through `saved`.
fn play_from(files: &dyn Files, saved: &Game, run: &Path) -> Result<Option<Game>, String> {
    let pieces = pieces_of(files, run).map_err(|error| error.to_string())?;
    let rolled = replay::roll_forward(saved, pieces.len(), |place| {
        open(files, &pieces[place])
            .inspect_err(|why| log::warn!("{why}: what happened in this piece is lost"))
            .ok()?
    })?;
    if let Some(rolled) = &rolled
        && let Some(Ending::CutOff { whole_bytes, why }) = rolled.ending
        && !matches!(why, CutShort::Nothing | CutShort::Torn)
    {
        let file = pieces[rolled.piece].display();
        log::warn!("{file}: at byte {whole_bytes}, {why}: what happened after it is lost");
    }
    Ok(rolled.map(|rolled| rolled.game))
}

/// `None` for a piece whose writer died before it held anything.
fn open(files: &dyn Files, file: &Path) -> Result<Option<Replay>, String> {
    let bytes = files.read(file).and_then(read_from);
    let bytes = bytes.map_err(|error| format!("{}: {error}", file.display()))?;
    match Replay::open(bytes) {
        Ok(replay) => Ok(Some(replay)),
        Err(error) if error.is_of_begun() => Ok(None),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::store::SystemFiles;
    use std::fs;
    use trantor_game::{GameInput, PieceWriter};
    use trantor_model::{AdminAction, Command, TeamId};
    use trantor_time::GameTime;

    /// A game that is recorded in pieces of one run.
    struct Recorded {
        game: Game,
        writer: PieceWriter,
        run: PathBuf,
        piece: u32,
    }

    impl Recorded {
        fn new(run: PathBuf) -> Self {
            fs::create_dir_all(&run).unwrap();
            let game = Game::new(Options::default().engine_config(1).game);
            let writer = PieceWriter::new(&game, "test", 0);
            let piece = 0;
            Self {
                game,
                writer,
                run,
                piece,
            }
        }

        fn input(&mut self, input: GameInput) {
            let now = self.game.now();
            let _ = self.game.handle(input.clone(), now);
            self.writer.input(&self.game, &input, now);
        }

        /// Another agent joins, all idle ones look around, and deadlines fire.
        fn play(&mut self, deadlines: usize) {
            self.input(GameInput::Join { team: TeamId(0) });
            for agent in self.game.idle_agents().collect::<Vec<_>>() {
                let command = Command::Look;
                self.input(GameInput::Command { agent, command });
            }
            for _ in 0..deadlines {
                let end_of_time = GameTime::from_nanounits(i128::MAX);
                self.game.fire_next(end_of_time).unwrap();
            }
        }

        fn append(&mut self, bytes: &[u8]) {
            let path = self.run.join(format!("piece-{:05}.trj", self.piece));
            let before = fs::read(&path).unwrap_or_default();
            fs::write(path, [&before, bytes].concat()).unwrap();
        }

        fn next_piece(&mut self) {
            let end = self.writer.follow(&self.game, "test", self.piece + 1);
            self.append(&end);
            self.piece += 1;
        }

        /// Writes what is on the disk before a reply is sent.
        fn write(&mut self) {
            self.writer.progress(&self.game);
            let bytes = self.writer.take();
            self.append(&bytes);
        }
    }

    #[test]
    fn a_save_goes_on_as_far_as_the_journal_or_to_the_victory() {
        let folder = std::env::temp_dir().join(format!("trantor-roll-{}", std::process::id()));
        let _none_left = fs::remove_dir_all(&folder);
        let mut other = Recorded::new(folder.join("run-0002"));
        other.play(3);
        other.write();
        let mut recorded = Recorded::new(folder.join("run-0001"));
        let run = recorded.run.clone();
        recorded.play(4);
        recorded.next_piece();
        let saved = recorded.game.clone();
        let rolled = || Some(roll_forward(&SystemFiles, &saved, &folder)?.0.digest());
        recorded.play(2);
        recorded.next_piece();
        let cut = recorded.game.digest();
        recorded.play(5);
        recorded.write();
        assert_eq!(rolled(), Some(recorded.game.digest()), "in run 1 to its end");
        let unsent = {
            let mut game = recorded.game.clone();
            let _ = game.handle(GameInput::Join { team: TeamId(1) }, game.now());
            game
        };
        assert!(roll_forward(&SystemFiles, &unsent, &folder).is_none());
        recorded.input(GameInput::Admin(AdminAction::EndMatch));
        let victory = recorded.game.clone();
        for agent in victory.world().agents() {
            let cause = trantor_model::LeaveCause::Dismissed;
            recorded.input(GameInput::Leave {
                agent: agent.id,
                cause,
            });
        }
        recorded.write();
        assert_eq!(rolled(), Some(victory.digest()), "its winners are still there");
        let held = store::lock(&SystemFiles, &run).unwrap();
        assert_eq!(rolled(), None, "its server runs");
        drop(held);
        // The power failed before the head of the last piece was on the disk, which is as long all the same.
        fs::write(run.join("piece-00002.trj"), [0; 100]).unwrap();
        assert_eq!(rolled(), Some(cut));
        fs::remove_dir_all(&folder).unwrap();
    }
}
