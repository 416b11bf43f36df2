//! What the loop does to keep the game on the disk: the timers and jobs of saves and of the journal.
//!
//! What is written, and when it has to be, is for [`crate::autosave`] and [`crate::recorder`] to say.

use std::path::PathBuf;

use trantor_runtime::RealClock;
use trantor_time::{Clock, RealSpan};

use crate::autosave::{Autosave, Saved, TIMER};
use crate::recorder::{Recorder, SYNC_SPAN, force};
use crate::shell::Shell;

/// The name of the timer and the job that force the journal to the disk, as they stand in logs and metrics.
const SYNC: &str = "journal_sync";

/// The name of the timer that tries to record again.
const RETRY: &str = "journal_retry";

/// Captures the game and has a disk job write it: what the timer does. Answers to which directory.
///
/// # Errors
/// If no save was begun, which is counted; in one line.
pub(crate) fn save(shell: &mut Shell) -> Result<PathBuf, String> {
    let clock = RealClock::new();
    let autosave = shell.autosave.as_mut();
    let autosave = autosave.ok_or("there is no place to save to: start the server with --save DIR")?;
    let directory = autosave.directory().to_owned();
    let began = clock.now();
    let task = autosave.capture(|| shell.engine.state_to_save());
    let task = task.ok_or("the last save is still being written; this one is skipped")?;
    shell.stats.save_capture.record(clock.now().since(began));
    let work = move || {
        let began = clock.now();
        task.write().map(|saved| (saved, clock.now().since(began)))
    };
    let done = |shell: &mut Shell, outcome: Result<(Saved, RealSpan), String>| {
        if let Ok((_, took)) = &outcome {
            shell.stats.save_write.record(*took);
        }
        note_saved(shell, outcome.map(|(saved, _)| saved));
    };
    match shell.disk.submit(TIMER, work, done) {
        Ok(()) => Ok(directory),
        Err(refused) => {
            note_saved(shell, Err(refused.to_string()));
            Err(refused.to_string())
        }
    }
}

pub(crate) fn save_or_warn(shell: &mut Shell) {
    if let Err(reason) = save(shell) {
        log::warn!("{reason}");
    }
}

/// Has the game saved in this pass, or in the one in which the save that is under way is written: a team has won, or
/// another run of the journal has begun.
pub(crate) fn save_soon(shell: &mut Shell) {
    shell.autosave.iter_mut().for_each(Autosave::want);
}

/// Does what [`save_soon`] asked for. An ending loop takes no jobs, and saves at its end.
pub(crate) fn save_if_wanted(shell: &mut Shell) {
    let is_ending = shell.listener.is_none();
    if !is_ending && shell.autosave.as_mut().is_some_and(Autosave::take_wanted) {
        save_or_warn(shell);
    }
}

fn note_saved(shell: &mut Shell, done: Result<Saved, String>) {
    if let Some(autosave) = &mut shell.autosave {
        autosave.note(done);
    }
}

/// Has a disk job pack the next finished piece of the journal, if there is one and no other job is packing. Called in each
/// pass, so that the one after it has its turn when this one is done.
pub(crate) fn pack_finished(shell: &mut Shell) {
    let Some(recorder) = &mut shell.recorder else {
        return;
    };
    let Some((piece, work)) = recorder.take_to_pack() else {
        return;
    };
    let packed = piece.clone();
    let done = move |shell: &mut Shell, outcome| {
        if let Some(recorder) = &mut shell.recorder {
            recorder.note_packed(&packed, outcome);
        }
    };
    if shell.disk.submit("pack journal", work, done).is_err() {
        recorder.put_back(piece);
    }
}

/// Sets a timer that has a job force to the disk what was written, unless one is set: an idle server is not woken for it.
pub(crate) fn sync_later(shell: &mut Shell) {
    let is_wanted = shell.recorder.as_ref().is_some_and(Recorder::is_unsynced);
    if is_wanted && !shell.timers.is_set(SYNC) {
        shell.once(SYNC, SYNC_SPAN, sync);
    }
}

/// Has a job force to the disk what was written.
pub(crate) fn sync(shell: &mut Shell) {
    let Some(recorder) = &mut shell.recorder else {
        return;
    };
    let saves = shell.autosave.as_ref().map(Autosave::directory);
    let Some(to_sync) = recorder.begin_sync(&mut shell.engine, saves) else {
        return;
    };
    let (of_run, files) = (to_sync.of_run, to_sync.files);
    let done = move |shell: &mut Shell, outcome| {
        if let Some(recorder) = &mut shell.recorder {
            recorder.end_sync(of_run, outcome, &mut shell.engine);
        }
    };
    if let Err(refused) = shell.disk.submit(SYNC, move || force(&files), done) {
        recorder.note_not_tried(&refused.to_string());
    }
}

/// Sets a timer that tries to record again, where the disk has refused and none is set.
pub(crate) fn retry_later(shell: &mut Shell) {
    if shell.timers.is_set(RETRY) {
        return;
    }
    let Some(span) = shell.recorder.as_mut().and_then(Recorder::take_retry_span) else {
        return;
    };
    shell.once(RETRY, span, |shell| {
        let saves = shell.autosave.as_ref().map(Autosave::directory);
        let recorder = shell.recorder.as_mut();
        if recorder.is_some_and(|recorder| recorder.retry(&mut shell.engine, saves)) {
            // A run goes on from a save only if it passes through it.
            save_soon(shell);
        }
    });
}
