//! The journal of a run, as bytes for the shell to keep.
//!
//! Everything that reaches the game goes through here first, with its stamp; nothing else can change a game, so
//! the journal alone replays it. Where the bytes are kept, and how large a piece gets, is the shell's to say.

use trantor_game::journal::PieceWriter;
use trantor_game::{Game, GameInput};
use trantor_time::GameTime;

use crate::limits;

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

/// Writes the journal while the game goes on.
#[derive(Debug)]
pub(crate) struct Recorder {
    writer: PieceWriter,
    piece: u32,
    program: String,
    /// The end of a piece before, not yet taken.
    ended: Option<JournalBytes>,
    bytes_waiting: usize,
    /// Whether something was recorded that was not taken yet.
    has_untaken: bool,
}

/// The shell did not take the journal in time, and it has grown beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JournalFull;

impl Recorder {
    /// Begins with the game as it is now.
    pub(crate) fn new(game: &Game, program: &str) -> Self {
        Self {
            writer: PieceWriter::new(game, program, 0),
            piece: 0,
            program: program.to_owned(),
            ended: None,
            bytes_waiting: 0,
            // The beginning of the piece.
            has_untaken: true,
        }
    }

    /// Whether something was recorded that was not taken yet.
    pub(crate) fn has_untaken(&self) -> bool {
        self.has_untaken || self.ended.is_some()
    }

    /// Whether more was recorded than is to wait for something to be sent.
    pub(crate) fn is_much_untaken(&self) -> bool {
        self.bytes_waiting >= limits::JOURNAL_PRESSING_BYTES
    }

    /// Whether `game` has come further than a replay of what was taken would.
    pub(crate) fn is_behind(&self, game: &Game) -> bool {
        self.has_untaken() || self.writer.is_behind(game)
    }

    /// Notes an input that the game has taken at `at`.
    ///
    /// # Errors
    /// If nobody takes the journal.
    pub(crate) fn input(&mut self, game: &Game, input: &GameInput, at: GameTime) -> Result<(), JournalFull> {
        self.writer.input(game, input, at);
        self.has_untaken = true;
        // The writer does not say how much waits; inputs are small but for speeches, whose length is known.
        self.bytes_waiting += limits::JOURNAL_ENTRY_BYTES + spoken_bytes(input);
        if self.bytes_waiting > limits::JOURNAL_WAITING_BYTES_MAX {
            return Err(JournalFull);
        }
        Ok(())
    }

    /// Notes that the game has carried out a deadline.
    pub(crate) fn stepped(&mut self, game: &Game) {
        self.writer.stepped(game);
    }

    /// The bytes written since the last call, which play to where `game` is; `None` if there are none.
    pub(crate) fn take(&mut self, game: &Game) -> Option<JournalBytes> {
        if let Some(ended) = self.ended.take() {
            return Some(ended);
        }
        self.bytes_waiting = 0;
        self.has_untaken = false;
        self.writer.progress(game);
        let bytes = self.writer.take();
        (!bytes.is_empty()).then_some(JournalBytes {
            piece: self.piece,
            bytes,
            is_last: false,
        })
    }

    /// Ends the piece and begins the next one, with the game as it is now. The end of the one before must have
    /// been taken.
    pub(crate) fn begin_piece(&mut self, game: &Game) {
        debug_assert!(
            self.ended.is_none(),
            "a shell takes what it asked for before it asks again"
        );
        self.ended = Some(JournalBytes {
            piece: self.piece,
            bytes: self.writer.follow(game, &self.program, self.piece + 1),
            is_last: true,
        });
        self.piece += 1;
        self.has_untaken = true;
    }

    /// Ends the journal; its last bytes, those of an untaken piece before them.
    pub(crate) fn end(mut self, game: &Game) -> Vec<JournalBytes> {
        let last = JournalBytes {
            piece: self.piece,
            bytes: self.writer.close(game),
            is_last: true,
        };
        self.ended.take().into_iter().chain([last]).collect()
    }
}

/// Bytes of an input beyond the ordinary.
fn spoken_bytes(input: &GameInput) -> usize {
    match input {
        GameInput::Command {
            command: trantor_model::Command::Broadcast(text),
            ..
        } => text.len(),
        _ => 0,
    }
}
