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

    /// The bytes of the journal since the last call; `None` if there are none, or nothing is recorded. If
    /// nobody asks for too long, recording ends.
    pub fn poll_journal(&mut self) -> Option<JournalBytes> {
        self.recorder.as_mut()?.take()
    }

    /// Whether the journal has to be taken in this pass, before anybody is told what happened in it. Whoever takes it only
    /// then takes many passes' worth at once, and no agent is answered what is not taken.
    pub fn journal_pressure(&self) -> JournalPressure {
        let now = self.pace.game_now();
        let recorder = self.recorder.as_ref();
        recorder.map_or(JournalPressure::None, |recorder| recorder.pressure(now))
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
