//! A game had again from its journal, and compared with what it was.
//!
//! A replay drives a game exactly as it was driven: so many deadlines, then the input. It needs no clock; who
//! shows it to people paces it by [`Replay::next_time`]. Nothing is played beyond the last whole record.

use std::fmt;

use trantor_time::GameTime;

use crate::agenda::Fired;
use crate::digest::{Digest, Part};
use crate::event::GameEvent;
use crate::game::Game;
use crate::input::GameInput;
use crate::journal::{Ending, Entries, Entry, Head, JournalError, Piece, Record, Stamp};
use crate::save::Snapshot;

/// A piece of a journal being played.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    head: Head,
    game: Game,
    /// The next record.
    ahead: Option<Entry>,
    entries: Entries<'a>,
    played: Played,
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
/// The journal is damaged in a way that no checksum tells, or this program's rules are not those of the one
/// that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The record at which it showed, counted from 0.
    pub record: u64,
    /// That record's stamp.
    pub stamp: Stamp,
    /// What is different.
    pub kind: DivergenceKind,
}

/// What is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DivergenceKind {
    /// The state is not what it was.
    Digest {
        /// As it was.
        recorded: u64,
        /// As it is.
        replayed: u64,
        /// The parts that are different.
        parts: Vec<Part>,
    },
    /// More deadlines had been carried out by then than are due now.
    NothingDue {
        /// Deadlines carried out now.
        steps: u64,
    },
    /// The record lies before a deadline that was carried out, or after one that was not.
    OutOfOrder {
        /// The time of the game now.
        now: GameTime,
        /// The earliest deadline now.
        next_deadline: Option<GameTime>,
    },
    /// The next piece begins with another state.
    Seam {
        /// In which ways, at most [`Divergence::DIFFERENCES_MAX`] of them.
        differences: Vec<String>,
    },
}

impl<'a> Replay<'a> {
    /// Opens a piece; nothing is played yet.
    pub fn open(bytes: &'a [u8]) -> Result<Self, JournalError> {
        let piece = Piece::open(bytes)?;
        let game = Game::restore(piece.snapshot()?)?;
        let mut entries = piece.entries();
        Ok(Self {
            head: piece.head().clone(),
            game,
            ahead: entries.next(),
            entries,
            played: Played::default(),
        })
    }

    /// What the piece says of itself.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The game as it is at this point.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// The next thing that was seen to happen; see [`Game::poll_event`].
    pub fn poll_event(&mut self) -> Option<GameEvent> {
        self.game.poll_event()
    }

    /// How far it has come.
    pub fn played(&self) -> Played {
        self.played
    }

    /// When something happens next; `None` at the end of what was recorded.
    pub fn next_time(&self) -> Option<GameTime> {
        let stamp = self.ahead.as_ref()?.stamp;
        let deadline = self
            .game
            .next_deadline()
            .filter(|_| self.game.steps() < stamp.steps);
        Some(deadline.map_or(stamp.at, |deadline| deadline.min(stamp.at)))
    }

    /// Plays one deadline or one record, if it lies no later than `until`. `None` says that there is none.
    pub fn step(&mut self, until: GameTime) -> Result<Option<Replayed>, Divergence> {
        let Some(stamp) = self.ahead.as_ref().map(|entry| entry.stamp) else {
            return Ok(None);
        };
        let next_deadline = self.game.next_deadline();
        if self.game.steps() < stamp.steps {
            if next_deadline.is_none() {
                let steps = self.game.steps();
                return Err(self.divergence(stamp, DivergenceKind::NothingDue { steps }));
            }
            if next_deadline > Some(stamp.at) {
                return Err(self.out_of_order(stamp));
            }
            return Ok(self.game.fire_next(until).map(Replayed::Fired));
        }
        let fits = self.game.steps() == stamp.steps
            && stamp.at >= self.game.now()
            && next_deadline.is_none_or(|deadline| stamp.at <= deadline);
        if !fits {
            return Err(self.out_of_order(stamp));
        }
        if stamp.at > until {
            return Ok(None);
        }
        let Some(entry) = self.ahead.take() else {
            return Ok(None);
        };
        self.ahead = self.entries.next();
        let replayed = self.play(entry)?;
        self.played.records += 1;
        Ok(Some(replayed))
    }

    /// Plays everything up to `until`, or to the end of what was recorded, and lets time pass that far.
    pub fn run_to(&mut self, until: GameTime) -> Result<(), Divergence> {
        while self.step(until)?.is_some() {
            // Nobody watches: whoever joins afterwards is shown the world as it is then.
            while self.game.poll_event().is_some() {}
        }
        if self.ahead.is_some() && until > self.game.now() {
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
        let ending = self.entries.ending().expect("the entries are used up");
        Ok(Verified {
            played: self.played,
            end,
            ending,
            game: self.game,
        })
    }

    fn play(&mut self, entry: Entry) -> Result<Replayed, Divergence> {
        match entry.record {
            Record::Input(input) => {
                // What became of it is not recorded: it follows.
                let _ = self.game.handle(input.clone(), entry.stamp.at);
                self.played.inputs += 1;
                Ok(Replayed::Input(input))
            }
            Record::Digest(recorded) | Record::End(recorded) => {
                self.game.advance_to(entry.stamp.at);
                let replayed = self.game.snapshot().digest();
                if replayed != recorded {
                    let kind = DivergenceKind::Digest {
                        recorded: recorded.whole,
                        replayed: replayed.whole,
                        parts: replayed.differing(&recorded),
                    };
                    return Err(self.divergence(entry.stamp, kind));
                }
                self.played.digests += 1;
                Ok(Replayed::Checked(recorded))
            }
        }
    }

    fn out_of_order(&self, stamp: Stamp) -> Divergence {
        let (now, next_deadline) = (self.game.now(), self.game.next_deadline());
        self.divergence(stamp, DivergenceKind::OutOfOrder { now, next_deadline })
    }

    fn divergence(&self, stamp: Stamp, kind: DivergenceKind) -> Divergence {
        Divergence {
            record: self.played.records,
            stamp,
            kind,
        }
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
            kind: DivergenceKind::Seam {
                differences: here.differences(next, Divergence::DIFFERENCES_MAX),
            },
        })
    }
}

impl Divergence {
    /// Differences told between two states. The first few say what went wrong; the rest follows from them.
    pub const DIFFERENCES_MAX: usize = 20;
}

impl std::error::Error for Divergence {}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stamp { steps, at } = self.stamp;
        write!(f, "record {} (after {steps} deadlines, at {at:?}): ", self.record)?;
        match &self.kind {
            DivergenceKind::Digest {
                recorded,
                replayed,
                parts,
            } => {
                write!(
                    f,
                    "the state was {recorded:016x} and is {replayed:016x}; different: {parts:?}"
                )
            }
            DivergenceKind::NothingDue { steps } => {
                write!(f, "nothing is due any more after {steps} deadlines")
            }
            DivergenceKind::OutOfOrder { now, next_deadline } => {
                write!(
                    f,
                    "it does not fit between {now:?} and the next deadline, {next_deadline:?}"
                )
            }
            DivergenceKind::Seam { differences } => {
                write!(
                    f,
                    "the next piece begins with another state: {}",
                    differences.join("; ")
                )
            }
        }
    }
}
