//! The journal of what reaches the game, as the shell asks for it.

use trantor_game::{GameInput, Handled, PaceChange};

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
}
