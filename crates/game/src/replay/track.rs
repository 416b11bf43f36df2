//! One piece of a journal, carried out on a game: so many deadlines, then the record.
//!
//! A track is a place in a piece. It does not own the game, so that a game can go on from one piece to the next, and
//! a place can be kept and gone back to.

use trantor_time::GameTime;

use super::{Divergence, DivergenceKind, Played, Replayed};
use crate::game::Game;
use crate::journal::{Ending, Entries, Entry, Piece, Record, Stamp, digest_steps};

/// A place in a piece of a journal.
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
    pub(super) fn extend(&mut self, more: &[u8]) {
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
