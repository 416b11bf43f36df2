//! The mapping between real and game time: one anchor and one frequency.
//!
//! Game deadlines are stored in game time and never rewritten; speed and pause move the anchor.
//! The only rounding in the whole model is [`GameClock::real_at`], upwards.
//!
//! Which deadline is earliest is the caller's to know; this module holds no deadlines.

use crate::units::{Frequency, GameTime, NANOS, RealTime};

/// What the game clock shows, and how it moves.
///
/// With `r0`, `g0` the anchor and `f` the frequency (0 while paused), game time at `r >= r0` is
/// `g0 + f * (r - r0)`: exact, since one nanosecond at `f` hertz is `f` billionths of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameClock {
    real_anchor: RealTime,
    game_anchor: GameTime,
    frequency: Frequency,
    paused: bool,
}

impl GameClock {
    /// A clock that shows `game` at `real` and moves at `frequency`.
    pub fn new(real: RealTime, game: GameTime, frequency: Frequency) -> Self {
        Self {
            real_anchor: real,
            game_anchor: game,
            frequency,
            paused: false,
        }
    }

    /// Game time at `real`. Readings before the anchor show the anchor: the clock never goes back.
    pub fn now(&self, real: RealTime) -> GameTime {
        if self.paused {
            return self.game_anchor;
        }
        let elapsed_ns = i128::from(real.since(self.real_anchor).as_nanos());
        GameTime::from_nanounits(
            self.game_anchor.as_nanounits() + elapsed_ns * i128::from(self.frequency.get()),
        )
    }

    /// The first instant at which [`Self::now`] shows at least `game`: the anchor if that is reached
    /// already, `None` while paused or beyond the range of real time.
    pub fn real_at(&self, game: GameTime) -> Option<RealTime> {
        if game <= self.game_anchor {
            return Some(self.real_anchor);
        }
        if self.paused {
            return None;
        }
        let remaining_nu = (game - self.game_anchor).as_nanounits().unsigned_abs();
        let wait_ns = match u64::try_from(remaining_nu) {
            Ok(remaining_nu) => u128::from(remaining_nu.div_ceil(u64::from(self.frequency.get()))),
            Err(_) => remaining_nu.div_ceil(u128::from(self.frequency.get())),
        };
        let wait_ns = i64::try_from(wait_ns).ok()?;
        self.real_anchor
            .as_nanos()
            .checked_add(wait_ns)
            .map(RealTime::from_nanos)
    }

    /// Changes the speed at `real`, in O(1) and without losing a fraction.
    ///
    /// A paused clock stays paused and takes the new frequency when it is resumed.
    pub fn set_frequency(&mut self, real: RealTime, frequency: Frequency) {
        self.move_anchor(real);
        self.frequency = frequency;
    }

    /// Stops game time at what it shows at `real`; no game deadline maps to a real one until it is resumed.
    pub fn pause(&mut self, real: RealTime) {
        self.move_anchor(real);
        self.paused = true;
    }

    /// Resumes game time from where it stood, at the last frequency set. No effect unless paused.
    pub fn resume(&mut self, real: RealTime) {
        self.move_anchor(real);
        self.paused = false;
    }

    /// While paused, moves to the next whole unit. Answers where the clock then stands.
    ///
    /// # Panics
    /// If the clock is not paused: stepping a running clock is an inside mistake.
    pub fn step_unit(&mut self) -> GameTime {
        assert!(self.paused, "only a paused clock can be stepped");
        let next_unit = self.game_anchor.whole_units() + 1;
        self.game_anchor = GameTime::from_nanounits(next_unit * i128::from(NANOS));
        self.game_anchor
    }

    /// While paused, moves on to `deadline`, or stays where a later moment was reached already.
    ///
    /// # Panics
    /// If the clock is not paused.
    pub fn step_to(&mut self, deadline: GameTime) -> GameTime {
        assert!(self.paused, "only a paused clock can be stepped");
        self.game_anchor = self.game_anchor.max(deadline);
        self.game_anchor
    }

    /// Lets the game fall behind: the clock shows `game` at `real`, less than it would have (overload only).
    ///
    /// # Panics
    /// If that would move game time forwards or before the last anchor.
    pub fn slip(&mut self, real: RealTime, game: GameTime) {
        assert!(game <= self.now(real), "a slip never moves game time forwards");
        assert!(game >= self.game_anchor, "game time never goes back");
        self.game_anchor = game;
        self.real_anchor = real.max(self.real_anchor);
    }

    /// The frequency set, also while paused.
    pub fn frequency(&self) -> Frequency {
        self.frequency
    }

    /// Whether game time stands still.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The anchor: a real instant and what the clock showed then.
    pub fn anchor(&self) -> (RealTime, GameTime) {
        (self.real_anchor, self.game_anchor)
    }

    fn move_anchor(&mut self, real: RealTime) {
        // Game time first, from the old anchor; the other order would lose the time in between.
        self.game_anchor = self.now(real);
        self.real_anchor = real.max(self.real_anchor);
    }
}
