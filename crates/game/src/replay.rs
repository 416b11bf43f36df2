//! A game played again from its journal, and compared with what it was.
//!
//! A replay drives a game exactly as it was driven: so many deadlines, then the input. It needs no clock; a program that
//! shows it to people uses a [`Recording`]. Nothing is played beyond the last whole record.

mod recording;

use std::sync::Arc;

use trantor_time::GameTime;

use crate::agenda::Fired;
use crate::digest::{Digest, Part};
use crate::game::Game;
use crate::input::GameInput;
use crate::journal::{Ending, Entries, Entry, Head, JournalError, Piece, Record, Stamp, digest_steps};

pub use recording::{Cursor, IndexedPiece, Recording, RecordingEnd, RecordingError};

/// Everything recorded lies before it.
const END_OF_TIME: GameTime = GameTime::from_nanounits(i128::MAX);

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
        self.run_to(END_OF_TIME)?;
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

/// Up to where the state was the same, where it is not any more.
fn agreement(kind: &DivergenceKind, agreed: u64) -> String {
    match (kind, agreed) {
        (DivergenceKind::Digest { .. }, 0) => "; it was the same where the piece begins".to_owned(),
        (DivergenceKind::Digest { .. }, _) => format!("; it was last the same after {agreed} records"),
        _ => String::new(),
    }
}

/// A place in a piece of a journal. It does not own the game, so that a game can go on from one piece to the next, and a place
/// can be kept and gone back to.
#[derive(Clone, Debug)]
pub struct Track {
    /// The next record.
    ahead: Option<Entry>,
    entries: Entries,
    played: Played,
    /// Records up to the last one at which the state was the same.
    agreed: u64,
    /// The step after which a writer notes a digest at the latest; not known before the first step is played.
    digest_due_steps: Option<u64>,
}

impl Track {
    /// The beginning of a piece.
    pub fn new(piece: &Piece) -> Self {
        let mut entries = piece.entries();
        Self {
            ahead: entries.next(),
            entries,
            played: Played::default(),
            agreed: 0,
            digest_due_steps: None,
        }
    }

    /// Continues with `more`, which the writer of the piece gave after the bytes there were.
    fn extend(&mut self, more: &[u8]) {
        self.entries.extend(more);
        if self.ahead.is_none() {
            self.ahead = self.entries.next();
        }
    }

    /// How far it has come.
    pub fn played(&self) -> Played {
        self.played
    }

    /// The stamp of the next record; `None` at the end.
    pub fn next_stamp(&self) -> Option<Stamp> {
        self.ahead.as_ref().map(|entry| entry.stamp)
    }

    /// How the piece ends, once there is no further record.
    pub fn ending(&self) -> Option<Ending> {
        self.entries.ending()
    }

    /// When something happens next in `game`; `None` at the end of what was recorded.
    pub fn next_time(&self, game: &Game) -> Option<GameTime> {
        let stamp = self.next_stamp()?;
        let deadline = game.next_deadline().filter(|_| game.steps() < stamp.steps);
        Some(deadline.map_or(stamp.at, |deadline| deadline.min(stamp.at)))
    }

    /// Plays one deadline or one record on `game`, if it lies no later than `until`; `None` without one.
    ///
    /// # Errors
    /// If the journal does not fit the game, or a digest is another one.
    pub fn step(&mut self, game: &mut Game, until: GameTime) -> Result<Option<Replayed>, Divergence> {
        let Some(stamp) = self.next_stamp() else {
            return Ok(None);
        };
        let most = *self
            .digest_due_steps
            .get_or_insert_with(|| game.steps() + digest_steps(game));
        if stamp.steps > most {
            return Err(self.divergence(stamp, DivergenceKind::NoDigest { most }));
        }
        let next_deadline = game.next_deadline();
        if game.steps() < stamp.steps {
            if next_deadline.is_none() {
                let steps = game.steps();
                return Err(self.divergence(stamp, DivergenceKind::NothingDue { steps }));
            }
            if next_deadline > Some(stamp.at) {
                return Err(self.out_of_order(game, stamp));
            }
            return Ok(game.fire_next(until).map(Replayed::Fired));
        }
        let fits = game.steps() == stamp.steps
            && stamp.at >= game.now()
            && next_deadline.is_none_or(|deadline| stamp.at <= deadline);
        if !fits {
            return Err(self.out_of_order(game, stamp));
        }
        if stamp.at > until {
            return Ok(None);
        }
        let Some(entry) = self.ahead.take() else {
            return Ok(None);
        };
        self.ahead = self.entries.next();
        let replayed = self.play(game, entry)?;
        self.played.records += 1;
        Ok(Some(replayed))
    }

    fn play(&mut self, game: &mut Game, entry: Entry) -> Result<Replayed, Divergence> {
        match entry.record {
            Record::Input(input) => {
                // What became of it is not recorded: it follows.
                let _ = game.handle(input.clone(), entry.stamp.at);
                self.played.inputs += 1;
                Ok(Replayed::Input(input))
            }
            Record::Progress => {
                game.advance_to(entry.stamp.at);
                Ok(Replayed::Reached)
            }
            Record::Digest(recorded) | Record::PieceEnd(recorded) | Record::End(recorded) => {
                game.advance_to(entry.stamp.at);
                let replayed = game.snapshot().digest();
                if replayed != recorded {
                    let kind = DivergenceKind::Digest {
                        recorded: recorded.whole,
                        replayed: replayed.whole,
                        parts: replayed.differing(&recorded),
                    };
                    return Err(self.divergence(entry.stamp, kind));
                }
                self.played.digests += 1;
                self.digest_due_steps = None;
                self.agreed = self.played.records + 1;
                Ok(Replayed::Checked(recorded))
            }
        }
    }

    fn out_of_order(&self, game: &Game, stamp: Stamp) -> Divergence {
        let (now, next_deadline) = (game.now(), game.next_deadline());
        self.divergence(stamp, DivergenceKind::OutOfOrder { now, next_deadline })
    }

    fn divergence(&self, stamp: Stamp, kind: DivergenceKind) -> Divergence {
        Divergence {
            record: self.played.records,
            stamp,
            agreed: self.agreed,
            kind,
        }
    }
}

/// A save rolled forward by the journal that continues it. A run belongs to the save if it passes through the very state that
/// was saved; then the game resumes from the run's end, or from its victory.
#[derive(Clone, Debug)]
pub struct RolledForward {
    /// The game to resume.
    pub game: Game,
    /// The place of the last piece that was played.
    pub piece: usize,
    /// How that ended; `None` where a victory was the end.
    pub ending: Option<Ending>,
}

/// The game at the end of a run of `pieces` pieces that `open` opens by their places; `None` if the run does not pass through
/// `saved`. A piece that cannot be opened is `None`, as the last one after a failure of the power: what was in it is lost, and
/// nothing before it.
///
/// # Errors
/// In words for a person, if a piece is played otherwise than it was.
pub fn roll_forward(
    saved: &Game,
    pieces: usize,
    open: impl Fn(usize) -> Option<Replay>,
) -> Result<Option<RolledForward>, String> {
    let Some((mut piece, mut replay)) = find_saved(saved, pieces, &open)? else {
        return Ok(None);
    };
    loop {
        while replay.game.winner().is_none() && step_silently(&mut replay)? {}
        let ending = replay.track.ending().filter(|_| replay.game.winner().is_none());
        let next = match ending {
            Some(Ending::Continued) if piece + 1 < pieces => open(piece + 1),
            _ => None,
        };
        let follows = |next: &Replay| next.head.number == replay.head.number + 1;
        let Some(next) = next.filter(follows) else {
            let game = replay.game.clone();
            return Ok(Some(RolledForward { game, piece, ending }));
        };
        if next.game.snapshot() != replay.game.snapshot() {
            let number = next.head.number;
            return Err(format!(
                "piece {number} begins with another state than the piece before ended with"
            ));
        }
        replay = next;
        piece += 1;
    }
}

/// The piece that passes through `saved`, played up to there.
fn find_saved(
    saved: &Game,
    pieces: usize,
    open: &impl Fn(usize) -> Option<Replay>,
) -> Result<Option<(usize, Replay)>, String> {
    let begins_before = |replay: &Replay| replay.game.steps() <= saved.steps();
    let first = if pieces > 0 { open(0) } else { None };
    if !first.is_some_and(|first| begins_before(&first)) {
        return Ok(None);
    }
    let digest = saved.digest();
    for piece in (0..pieces).rev() {
        let Some(mut replay) = open(piece).filter(begins_before) else {
            continue;
        };
        let is_only_one = replay.game.steps() < saved.steps();
        while replay.game.steps() <= saved.steps() {
            let game = &replay.game;
            if game.steps() == saved.steps() && game.digest() == digest {
                return Ok(Some((piece, replay)));
            }
            if !step_silently(&mut replay)? {
                break;
            }
        }
        // A piece may begin amid the inputs between two deadlines, and the save be of one of those before it.
        if is_only_one {
            break;
        }
    }
    Ok(None)
}

/// Plays the next thing that was recorded, if there is one.
fn step_silently(replay: &mut Replay) -> Result<bool, String> {
    let played = replay.step(END_OF_TIME).map_err(|error| error.to_string())?;
    while replay.game.poll_event().is_some() {}
    Ok(played.is_some())
}
