//! The journal of a run, as bytes for the shell to keep, and the state to save.
//!
//! Every input of the game is journaled with its stamp; nothing else changes a game, so the journal alone replays it. Where the bytes
//! are kept, and how large a piece gets, is the shell's. A save holds the game as it is or, once a team has won, as it was then: all
//! agents leave at the instant of the victory, and a later save would resume as an empty board.

use std::sync::Arc;

use trantor_game::journal::PieceWriter;
use trantor_game::{Game, GameInput, PaceChange, Snapshot};
use trantor_model::Command;
use trantor_time::GameTime;

use super::Engine;
use crate::limits;

impl Engine {
    /// Records from now on: the journal begins with the game as it is. Right after [`Self::new`] nothing is
    /// missed. Take the bytes by [`Self::poll_journal`] as [`Self::journal_pressure`] demands.
    pub fn start_recording(&mut self) {
        self.record.recorder = Some(Recorder::new(&self.game, &self.config.program));
        self.record_speed();
    }

    /// Every piece contains the speed of the game, for playback at that speed.
    fn record_speed(&mut self) {
        self.note_pace(PaceChange::Frequency(self.course.pace.clock().frequency()));
    }

    /// The bytes of the journal since the last call: a replay of them comes to the game as it is now. `None` if there are
    /// none, or nothing is recorded. If it is not called for too long, recording ends.
    pub fn poll_journal(&mut self) -> Option<JournalBytes> {
        self.record.recorder.as_mut()?.take(&self.game)
    }

    /// Whether the journal has to be taken before this pass sends anything. A shell that takes it only then takes the inputs
    /// of many passes at once, and what it sends is in the journal.
    pub fn journal_pressure(&self) -> JournalPressure {
        match &self.record.recorder {
            Some(_) if self.is_ahead_of_journal() && self.sessions.has_dirty() => JournalPressure::Presses,
            Some(recorder) if recorder.bytes_waiting >= limits::JOURNAL_PRESSING_BYTES => {
                JournalPressure::Presses
            }
            Some(recorder) if recorder.has_untaken => JournalPressure::Waits,
            _ => JournalPressure::None,
        }
    }

    /// Whether something has happened that is not in what [`Self::poll_journal`] has answered: it is to be taken before
    /// anything is sent.
    pub fn is_ahead_of_journal(&self) -> bool {
        let recorder = self.record.recorder.as_ref();
        recorder.is_some_and(|recorder| recorder.has_untaken || recorder.writer.is_behind(&self.game))
    }

    /// Ends the piece of the journal and begins another, so that a replay can begin here; answers the last bytes of the one before.
    pub fn begin_journal_piece(&mut self) -> Option<JournalBytes> {
        let ended = self
            .record
            .recorder
            .as_mut()?
            .begin_piece(&self.game, &self.config.program);
        self.record_speed();
        Some(ended)
    }

    /// Ends the journal in order; answers its last bytes, if something was recorded.
    pub fn stop_recording(&mut self) -> Option<JournalBytes> {
        let recorder = self.record.recorder.take()?;
        Some(JournalBytes {
            piece: recorder.piece,
            bytes: recorder.writer.close(&self.game),
            is_last: true,
        })
    }

    /// Whether what happens is being recorded.
    pub fn is_recording(&self) -> bool {
        self.record.recorder.is_some()
    }

    /// Enables saves of the game. Call it before the first pass: when the game is won, its state is kept,
    /// which takes as long as a save's capture, and as much memory. Of one that was over before, that is how it is now.
    pub fn expect_saves(&mut self) {
        self.record.is_saved = true;
        if self.game.winner().is_some() {
            self.keep_victory();
        }
    }

    /// A team has won, and its agents are still there.
    pub(super) fn keep_victory(&mut self) {
        self.record.victory = self.record.is_saved.then(|| Arc::new(self.game.snapshot()));
    }

    /// What is to be saved at this moment, in time in proportion to the world, or at once of a match that is over.
    pub fn state_to_save(&self) -> Arc<Snapshot> {
        let victory = self.record.victory.as_ref().map(Arc::clone);
        victory.unwrap_or_else(|| Arc::new(self.game.snapshot()))
    }
}

/// A run of bytes of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalBytes {
    /// Which piece they belong to, from 0 on. Each piece stands alone and begins with a snapshot.
    pub piece: u32,
    /// To be appended to those before. Whole frames, so that what a crash leaves can be read.
    pub bytes: Vec<u8>,
    /// Whether the piece ends with them.
    pub is_last: bool,
}

/// Whether the journal has to be taken in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalPressure {
    /// Nothing was recorded, and nothing is to be sent that happened after the last record.
    None,
    /// Something was recorded; nothing is to be sent.
    Waits,
    /// Something is to be sent that may have happened after what was taken last, or much was recorded.
    Presses,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) writer: PieceWriter,
    piece: u32,
    bytes_waiting: usize,
    /// Whether something was recorded that was not taken yet.
    has_untaken: bool,
}

impl Recorder {
    fn new(game: &Game, program: &str) -> Self {
        Self {
            writer: PieceWriter::new(game, program, 0),
            piece: 0,
            bytes_waiting: 0,
            // The beginning of the piece.
            has_untaken: true,
        }
    }

    /// Notes an input that the game has taken at `at`. Returns whether so much was not taken that recording has to end.
    pub(crate) fn input(&mut self, game: &Game, input: &GameInput, at: GameTime) -> bool {
        self.writer.input(game, input, at);
        self.has_untaken = true;
        // The writer does not expose how much waits; inputs are small but for broadcasts, whose length is known.
        self.bytes_waiting += limits::JOURNAL_ENTRY_BYTES;
        if let GameInput::Command {
            command: Command::Broadcast(text),
            ..
        } = input
        {
            self.bytes_waiting += text.len();
        }
        self.bytes_waiting > limits::JOURNAL_WAITING_BYTES_MAX
    }

    /// The bytes written since the last call, which play to where `game` is; `None` if there are none.
    fn take(&mut self, game: &Game) -> Option<JournalBytes> {
        self.bytes_waiting = 0;
        self.has_untaken = false;
        self.writer.progress(game);
        let (piece, bytes, is_last) = (self.piece, self.writer.take(), false);
        (!bytes.is_empty()).then_some(JournalBytes {
            piece,
            bytes,
            is_last,
        })
    }

    /// Ends the piece and begins the next one, with the game as it is now; answers the last bytes of the one before.
    fn begin_piece(&mut self, game: &Game, program: &str) -> JournalBytes {
        let (piece, is_last) = (self.piece, true);
        self.piece += 1;
        self.has_untaken = true;
        let bytes = self.writer.follow(game, program, self.piece);
        JournalBytes {
            piece,
            bytes,
            is_last,
        }
    }
}
