//! What the loop keeps on the disk: the journal, saves, and the disk jobs of both.
//!
//! ```text
//!  journal stage ─> pass ─> next_job ─> disk worker ─> end_job
//!  before a write to a socket ─> write_ahead
//! ```
//!
//! What is written and when is for [`crate::recorder`] and [`crate::autosave`] to say.

use std::path::Path;

use trantor_engine::Engine;
use trantor_game::Game;
use trantor_time::RealTime;

use crate::autosave::{Autosave, ResumeError, SaveTask, TIMER, newest_good};
use crate::recorder::{PackTask, Recorder, sync_all};
use crate::roll_forward::roll_forward;
use crate::store::{Files, OpenFile};

/// See the module. Without `--record` and `--save` it does nothing.
#[derive(Debug, Default)]
pub struct Storage {
    /// The journal, if one is kept.
    pub recorder: Option<Recorder>,
    /// Saves, if any are made.
    pub autosave: Option<Autosave>,
}

/// Work that waits for the disk. There is one job of each kind at a time.
#[derive(Debug)]
pub struct Job(Task);

#[derive(Debug)]
enum Task {
    Save(SaveTask),
    Pack(PackTask),
    Sync(Vec<OpenFile>),
}

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Writes a save.
    Save,
    /// Packs a finished piece of the journal.
    Pack,
    /// Syncs the journal.
    Sync,
}

/// What a job did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The digest of the state that was written; `None` if it was on the disk already.
    Saved(Option<u64>),
    /// A piece is packed.
    Packed,
    /// Whether the file system can sync all of it.
    Synced(bool),
}

impl JobKind {
    /// The name in logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Save => TIMER,
            Self::Pack => "pack journal",
            Self::Sync => "journal_sync",
        }
    }
}

impl Job {
    /// Which kind it is.
    pub fn kind(&self) -> JobKind {
        match self.0 {
            Task::Save(_) => JobKind::Save,
            Task::Pack(_) => JobKind::Pack,
            Task::Sync(_) => JobKind::Sync,
        }
    }

    /// Does it, on any thread.
    ///
    /// # Errors
    /// What the system says.
    pub fn run(self) -> Result<Done, String> {
        let done = match self.0 {
            Task::Save(task) => task.run().map(Done::Saved),
            Task::Pack(task) => task.run().map(|()| Done::Packed),
            Task::Sync(files) => sync_all(&files).map(Done::Synced),
        };
        done.map_err(|error| error.to_string())
    }
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
    ///
    /// # Errors
    /// If no save is begun; in one line.
    pub fn save(&mut self, engine: &Engine) -> Result<&Path, &'static str> {
        let autosave = self.autosave.as_mut();
        let autosave = autosave.ok_or("there is no place to save to: start the server with --save DIR")?;
        match autosave.capture(|| engine.state_to_save()) {
            true => Ok(autosave.directory()),
            false => Err("the last save is still being written; this one is skipped"),
        }
    }

    /// The next job for the disk worker, if there is one. After it call [`Self::end_job`].
    pub fn next_job(&mut self, now: RealTime) -> Option<Job> {
        let save = self.autosave.as_mut().and_then(Autosave::next_task);
        if let Some(task) = save {
            return Some(Job(Task::Save(task)));
        }
        let recorder = self.recorder.as_mut()?;
        let pack = recorder.next_pack().map(Task::Pack);
        pack.or_else(|| recorder.next_sync(now).map(Task::Sync)).map(Job)
    }

    /// The end of a job.
    pub fn end_job(&mut self, kind: JobKind, done: Result<Done, String>, engine: &mut Engine, now: RealTime) {
        match (kind, &mut self.recorder, &mut self.autosave) {
            (JobKind::Save, _, Some(autosave)) => autosave.end(done.map(|done| match done {
                Done::Saved(written) => written,
                Done::Packed | Done::Synced(_) => None,
            })),
            (JobKind::Pack, Some(recorder), _) => recorder.end_pack(done.map(|_| ())),
            (JobKind::Sync, Some(recorder), _) => {
                recorder.end_sync(done.map(|done| done == Done::Synced(true)), engine, now);
            }
            _ => {}
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
///
/// # Errors
/// If the directory of saves cannot be read, or has saves of which none is good.
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
