//! The journal of what reaches the game, and what a save holds, as the shell asks for them.
//!
//! A save is of the game as it is or, once a team has won, as it was then: all agents leave in the instant of the victory, and a
//! save from after it would go on as an empty board.

use std::sync::Arc;

use trantor_game::{GameInput, Handled, PaceChange, Snapshot};

use super::Engine;
use crate::recorder::{JournalBytes, JournalPressure, Recorder};

impl Engine {
    /// Records from now on: the journal begins with the game as it is. Right after [`Self::new`] nothing is
    /// missed. The bytes are to be taken by [`Self::poll_journal`] when [`Self::journal_pressure`] says so.
    pub fn start_recording(&mut self) {
        self.recorder = Some(Recorder::new(&self.game, &self.config.program));
        self.record_speed();
    }

    /// Every piece says at which speed it was played, so that it can be shown at that.
    fn record_speed(&mut self) {
        let change = PaceChange::Frequency(self.pace.clock().frequency());
        let handled = self.apply(GameInput::Pace(change));
        debug_assert_eq!(handled, Handled::Done, "a speed changes nothing in the game");
    }

    /// The bytes of the journal since the last call: a replay of them comes to the game as it is now. `None` if there are
    /// none, or nothing is recorded. If nobody asks for too long, recording ends.
    pub fn poll_journal(&mut self) -> Option<JournalBytes> {
        self.recorder.as_mut()?.take(&self.game)
    }

    /// Whether the journal has to be taken before this pass sends anything. A shell that takes it only then takes the inputs
    /// of many passes at once, and what it sends is in the journal.
    pub fn journal_pressure(&self) -> JournalPressure {
        match &self.recorder {
            Some(_) if self.is_ahead_of_journal() && self.sessions.has_dirty() => JournalPressure::Presses,
            Some(recorder) if recorder.is_much_untaken() => JournalPressure::Presses,
            Some(recorder) if recorder.has_untaken() => JournalPressure::Waits,
            _ => JournalPressure::None,
        }
    }

    /// Whether something has happened that is not in what [`Self::poll_journal`] has answered: it is to be taken before
    /// anything is sent.
    pub fn is_ahead_of_journal(&self) -> bool {
        let recorder = self.recorder.as_ref();
        recorder.is_some_and(|recorder| recorder.is_behind(&self.game))
    }

    /// Ends the piece of the journal and begins another, so that a replay can begin here.
    pub fn begin_journal_piece(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_piece(&self.game);
            self.record_speed();
        }
    }

    /// Ends the journal in order; answers its last bytes, none if nothing was recorded.
    pub fn stop_recording(&mut self) -> Vec<JournalBytes> {
        self.recorder
            .take()
            .map_or_else(Vec::new, |recorder| recorder.end(&self.game))
    }

    /// Whether what happens is being recorded.
    pub fn is_recording(&self) -> bool {
        self.recorder.is_some()
    }

    /// Saves are made of the game from now on. To be said before the first pass: when the game is won, its state is kept,
    /// which takes as long as a save's capture, and as much memory. Of one that was over before, that is how it is now.
    pub fn expect_saves(&mut self) {
        self.is_saved = true;
        if self.game.winner().is_some() {
            self.keep_victory();
        }
    }

    /// A team has won, and its agents are still there.
    pub(super) fn keep_victory(&mut self) {
        self.victory = self.is_saved.then(|| Arc::new(self.game.snapshot()));
    }

    /// What is to be saved at this moment, in time in proportion to the world, or at once of a match that is over.
    pub fn state_to_save(&self) -> Arc<Snapshot> {
        let victory = self.victory.as_ref().map(Arc::clone);
        victory.unwrap_or_else(|| Arc::new(self.game.snapshot()))
    }
}
