//! The journal of a run, as bytes for the shell to keep (R-001-41).
//!
//! Everything that reaches the game goes through here first, with its stamp; nothing else can change a game, so
//! the journal alone replays it. Where the bytes are kept, and how large a piece gets, is the shell's to say.

use trantor_game::journal::PieceWriter;
use trantor_game::{Game, GameInput};
use trantor_model::CommandKind;
use trantor_time::{GameSpan, GameTime};

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

/// Whether the journal has to be taken before anybody is told what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalPressure {
    /// Nothing was recorded that could have consequences.
    None,
    /// Something was; agents cannot have been told of it yet, viewers can.
    Waits,
    /// Something was of which agents may be told in this very pass.
    Presses,
}

/// Inputs that were not taken yet.
#[derive(Clone, Copy, Debug)]
struct Untaken {
    /// The stamp of the first.
    since: GameTime,
    /// Whether one of them has consequences at once.
    presses: bool,
}

/// How long after its stamp an input can have its first consequence for an agent, unless it has one at once: the
/// shortest command that is not answered as it begins takes a unit.
const FIRST_CONSEQUENCE: GameSpan = GameSpan::from_units(1);

/// Writes the journal while the game goes on.
#[derive(Debug)]
pub(crate) struct Recorder {
    writer: PieceWriter,
    piece: u32,
    program: String,
    /// The end of a piece before, not yet taken.
    ended: Option<JournalBytes>,
    bytes_waiting: usize,
    untaken: Option<Untaken>,
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
            untaken: Some(Untaken {
                since: game.now(),
                presses: true,
            }),
        }
    }

    /// Whether what was not taken yet can wait, as of the game time `now`.
    pub(crate) fn pressure(&self, now: GameTime) -> JournalPressure {
        match self.untaken {
            _ if self.ended.is_some() => JournalPressure::Presses,
            None => JournalPressure::None,
            Some(Untaken { since, presses }) if presses || now >= since + FIRST_CONSEQUENCE => {
                JournalPressure::Presses
            }
            Some(_) => JournalPressure::Waits,
        }
    }

    /// Notes an input that the game is about to be told at `at`.
    ///
    /// # Errors
    /// If nobody takes the journal.
    pub(crate) fn input(&mut self, game: &Game, input: &GameInput, at: GameTime) -> Result<(), JournalFull> {
        self.writer.input(game, input, at);
        let presses = !has_later_consequences(input);
        match &mut self.untaken {
            Some(untaken) => untaken.presses |= presses,
            None => self.untaken = Some(Untaken { since: at, presses }),
        }
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

    /// The bytes written since the last call; `None` if there are none.
    pub(crate) fn take(&mut self) -> Option<JournalBytes> {
        if let Some(ended) = self.ended.take() {
            return Some(ended);
        }
        self.bytes_waiting = 0;
        self.untaken = None;
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
        self.untaken = Some(Untaken {
            since: game.now(),
            presses: true,
        });
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

/// Whether agents hear nothing of an input before the shortest command is over: most commands are answered at their
/// ends. Forks and elevations are told of as they begin, and a line that is no command may be answered at once.
fn has_later_consequences(input: &GameInput) -> bool {
    let GameInput::Command { command, .. } = input else {
        return false;
    };
    match command.kind() {
        Some(kind) => {
            let is_told_at_once = matches!(kind, CommandKind::Fork | CommandKind::Incantation);
            kind.duration_units() > 0 && !is_told_at_once
        }
        None => false,
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
