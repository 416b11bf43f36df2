//! How far a game that another thread plays was shown, reported to that thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use trantor_engine::Engine;
use trantor_time::{GameSpan, GameTime, RealSpan};

/// How far the player may be ahead of what is shown, besides its last step: long enough to hide the time that most steps take, too
/// short to be noticed after a pause.
const LEAD: RealSpan = RealSpan::from_millis(100);

/// What the loop and the player share.
#[derive(Default)]
pub(crate) struct Progress {
    shown: Mutex<Shown>,
    pub(crate) has_changed: Condvar,
}

/// How far a game was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) is_watched: bool,
    /// All that was received.
    pub(crate) is_all: bool,
    /// Where the player may be, but for its last step.
    pub(crate) lead: GameTime,
    /// Messages taken from the player.
    pub(crate) taken: u64,
}

impl Progress {
    pub(crate) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().expect("no holder panics")
    }

    fn set(&self, shown: Shown) {
        let before = std::mem::replace(&mut *self.shown(), shown);
        if shown != before {
            self.has_changed.notify_all();
        }
    }
}

/// What the loop reports, at the end of each of its passes.
pub(crate) struct Report {
    progress: Arc<Progress>,
    pub(crate) taken: u64,
}

impl Report {
    pub(crate) fn new(progress: Arc<Progress>) -> Self {
        Self { progress, taken: 0 }
    }

    pub(crate) fn report(&self, engine: &Engine) {
        let frequency = engine.game_clock().frequency();
        let lead_nu = i128::from(LEAD.as_nanos()) * i128::from(frequency.get());
        self.progress.set(Shown {
            is_watched: engine.is_watched(),
            is_all: engine.is_recording_over(),
            lead: engine.game().now() + GameSpan::from_nanounits(lead_nu),
            taken: self.taken,
        });
    }
}

impl Drop for Report {
    /// Nothing waits for a loop that has ended.
    fn drop(&mut self) {
        self.progress.set(Shown::default());
    }
}
