//! What the loop keeps on the disk: the journal, saves, and the disk jobs of both.
//!
//! ```text
//!  journal stage ─> pass ─> tasks of recorder and autosave ─> disk worker ─> their ends
//!  before a write to a socket ─> write_ahead
//! ```
//!
//! What is written and when is for [`crate::recorder`] and [`crate::autosave`] to say.

use std::path::Path;

use trantor_engine::Engine;
use trantor_game::Game;
use trantor_time::RealTime;

use crate::autosave::{Autosave, ResumeError, newest_good};
use crate::recorder::Recorder;
use crate::roll_forward::roll_forward;
use crate::store::Files;

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

    /// Captures the game for a save. Answers to which directory.
    pub fn save(&mut self, engine: &Engine) -> Result<&Path, &'static str> {
        let autosave = self.autosave.as_mut();
        let autosave = autosave.ok_or("there is no place to save to: start the server with --save DIR")?;
        match autosave.capture(|| engine.state_to_save()) {
            true => Ok(autosave.directory()),
            false => Err("the last save is still being written; this one is skipped"),
        }
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
