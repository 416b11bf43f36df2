//! A game played again from its journal, and compared with what it was.
//!
//! A replay drives a game exactly as it was driven: so many deadlines, then the input. It needs no clock; a program that
//! shows it to people uses a [`Recording`]. Nothing is played beyond the last whole record.

mod marks;
mod recording;
mod roll_forward;
mod states;
mod track;

use std::sync::Arc;

use trantor_time::GameTime;

use crate::agenda::Fired;
use crate::digest::{Digest, Part};
use crate::game::Game;
use crate::input::GameInput;
use crate::journal::{Ending, Head, JournalError, Piece, Stamp};
use crate::save::Snapshot;

pub use recording::{Cursor, IndexedPiece, Recording, RecordingEnd, RecordingError};
pub use roll_forward::{RolledForward, roll_forward};
pub use track::Track;

/// A piece of a journal being played.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The metadata of the piece.
    pub head: Head,
    /// The game as it is at this point.
    pub game: Game,
    /// How far it has come.
    pub track: Track,
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Records played.
    pub records: u64,
    /// Inputs among them.
    pub inputs: u64,
    /// Digests compared, and found equal.
    pub digests: u64,
}

/// One step of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// A deadline was carried out.
    Fired(Fired),
    /// An input was handed in.
    Input(GameInput),
    /// The state was compared with what it had been, and was the same.
    Checked(Digest),
    /// The game is as far as it was recorded to have come.
    Reached,
}

/// A piece that was played to its end, every digest found equal.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What was played.
    pub played: Played,
    /// The last stamp.
    pub end: Stamp,
    /// How the piece ends.
    pub ending: Ending,
    /// The game as it was at the end.
    pub game: Game,
}

/// Where a replay and its journal part.
///
/// The journal is damaged in a way that no checksum detects, or this program's rules are not those of the one
/// that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {record} (after {} deadlines, at {:?}): {kind}{}", .stamp.steps, .stamp.at, agreement(.kind, *.agreed))]
pub struct Divergence {
    /// The record at which it showed, counted from 0.
    pub record: u64,
    /// That record's stamp.
    pub stamp: Stamp,
    /// Records up to the last one at which the state was compared and was the same; 0: only where the piece begins. What
    /// went wrong lies behind them.
    pub agreed: u64,
    /// What is different.
    pub kind: DivergenceKind,
}

/// What is different.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DivergenceKind {
    /// The state is not what it was.
    #[error("the state was {recorded:016x} and is {replayed:016x}; different: {parts:?}")]
    Digest {
        /// As it was.
        recorded: u64,
        /// As it is.
        replayed: u64,
        /// The parts that are different.
        parts: Vec<Part>,
    },
    /// The journal has more deadlines than are due.
    #[error("nothing is due any more after {steps} deadlines")]
    NothingDue {
        /// Deadlines carried out now.
        steps: u64,
    },
    /// So many deadlines lie before the record that a digest would have been noted first. How long a piece takes to play
    /// is bounded by that, whatever it claims.
    #[error("a digest was to come after {most} deadlines at the latest")]
    NoDigest {
        /// Deadlines after which there would have been one at the latest.
        most: u64,
    },
    /// The record lies before a deadline that was carried out, or after one that was not.
    #[error("it does not fit between {now:?} and the next deadline, {next_deadline:?}")]
    OutOfOrder {
        /// The time of the game now.
        now: GameTime,
        /// The earliest deadline now.
        next_deadline: Option<GameTime>,
    },
    /// The next piece begins with another state.
    #[error("the next piece begins with another state: {}", differences.join("; "))]
    Seam {
        /// In which ways, at most [`Divergence::DIFFERENCES_MAX`] of them.
        differences: Vec<String>,
    },
}

impl Replay {
    /// Opens a piece; nothing is played yet.
    ///
    /// # Errors
    /// If it is none, is of another version, or begins with a state that cannot be.
    pub fn open(bytes: impl Into<Arc<[u8]>>) -> Result<Self, JournalError> {
        let piece = Piece::open(bytes)?;
        Ok(Self {
            head: piece.head().clone(),
            game: Game::restore(piece.snapshot()?)?,
            track: Track::new(&piece),
        })
    }

    /// When something happens next; `None` at the end of what was recorded.
    pub fn next_time(&self) -> Option<GameTime> {
        self.track.next_time(&self.game)
    }

    /// Plays one deadline or one record, if it lies no later than `until`; `None` without one.
    ///
    /// # Errors
    /// As [`Track::step`].
    pub fn step(&mut self, until: GameTime) -> Result<Option<Replayed>, Divergence> {
        self.track.step(&mut self.game, until)
    }

    /// Plays everything up to `until`, or to the end of what was recorded, and lets time pass that far.
    pub fn run_to(&mut self, until: GameTime) -> Result<(), Divergence> {
        while self.step(until)?.is_some() {
            // There are no viewers yet; later ones get a snapshot.
            while self.game.poll_event().is_some() {}
        }
        if self.track.next_stamp().is_some() && until > self.game.now() {
            self.game.advance_to(until);
        }
        Ok(())
    }

    /// Plays all of it, comparing every digest.
    pub fn verify(mut self) -> Result<Verified, Divergence> {
        self.run_to(GameTime::from_nanounits(i128::MAX))?;
        let end = Stamp {
            steps: self.game.steps(),
            at: self.game.now(),
        };
        let ending = self.track.ending().expect("the entries are used up");
        Ok(Verified {
            played: self.track.played(),
            end,
            ending,
            game: self.game,
        })
    }
}

impl Verified {
    /// Whether the next piece begins where this one ends; if not, in which ways it differs.
    pub fn check_seam(&self, next: &Snapshot) -> Result<(), Divergence> {
        let here = self.game.snapshot();
        if here == *next {
            return Ok(());
        }
        Err(Divergence {
            record: self.played.records,
            stamp: self.end,
            agreed: self.played.records,
            kind: DivergenceKind::Seam {
                differences: here.differences(next, Divergence::DIFFERENCES_MAX),
            },
        })
    }
}

/// Up to where the state was the same, where it is not any more.
fn agreement(kind: &DivergenceKind, agreed: u64) -> String {
    match (kind, agreed) {
        (DivergenceKind::Digest { .. }, 0) => "; it was the same where the piece begins".to_owned(),
        (DivergenceKind::Digest { .. }, _) => format!("; it was last the same after {agreed} records"),
        _ => String::new(),
    }
}

impl Divergence {
    /// Differences listed between two states. The first few show what went wrong; the rest follows from them.
    pub const DIFFERENCES_MAX: usize = 20;
}
