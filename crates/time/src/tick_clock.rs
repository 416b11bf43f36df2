//! The fixed grid: instants `X + k · P`, ticks that run on them, and instants that are skipped.
//!
//! Logic that counts in fixed steps treats each tick as exactly one period, whatever happened in between.
//! Two moments can lose instants, and each has its rule:
//!
//! ```text
//! a tick ends at r      the next one runs at the first instant that is not before r
//!                       skipped = ceil((r − next) / P), 0 if r <= next
//! a tick starts at r    late by other work: it stands for the latest instant that is not after r
//!                       skipped = floor((r − next) / P)
//! ```
//!
//! With P = 50 ms, a tick that took 49, 50, 51, 100, 101 or 170 ms skips 0, 0, 1, 1, 2 or 3 instants. One
//! that ends exactly on an instant does not skip it: that instant runs at once, with no lateness.
//! Everything is derived from `X` and an index, so nothing drifts.
//!
//! The clock does not wait and does not run anything.

use crate::units::{RealSpan, RealTime};

/// The usual period of ticks.
pub const TICK_PERIOD: RealSpan = RealSpan::from_millis(50);

/// A grid of instants and how far ticks have come on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickClock {
    origin: RealTime,
    period: RealSpan,
    /// Index on the grid of the next instant: ticks run plus instants skipped, at all times.
    next_index: u64,
    /// Number of the next tick.
    ticks_run: u64,
    /// Of the instants skipped, those since the last tick started.
    skipped_since_tick: u64,
    in_tick: bool,
}

/// One run of the fixed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// 0 for the first tick, one more for each that ran.
    pub number: u64,
    /// The scheduled instant: all that logic may know of the time.
    pub instant: RealTime,
    /// Instants skipped between the last tick and this one.
    pub skipped_before: u64,
}

impl TickClock {
    /// A clock whose first tick, number 0, runs at `origin`.
    ///
    /// # Panics
    /// If `period` is not positive; settings are checked where they are read.
    pub fn new(origin: RealTime, period: RealSpan) -> Self {
        assert!(period > RealSpan::ZERO, "a tick takes time");
        Self {
            origin,
            period,
            next_index: 0,
            ticks_run: 0,
            skipped_since_tick: 0,
            in_tick: false,
        }
    }

    /// When the next tick is due.
    pub fn next_instant(&self) -> RealTime {
        self.origin.after_periods(self.period, self.next_index)
    }

    /// Starts the tick that is due at `now`; `None` before its instant.
    ///
    /// # Panics
    /// If the tick before has not ended: ticks of one clock do not nest.
    pub fn start(&mut self, now: RealTime) -> Option<Tick> {
        assert!(!self.in_tick, "a tick ends before the next one starts");
        if now < self.next_instant() {
            return None;
        }
        self.skip(self.next_instant().periods_until(now, self.period));
        let tick = Tick {
            number: self.ticks_run,
            instant: self.next_instant(),
            skipped_before: self.skipped_since_tick,
        };
        self.in_tick = true;
        self.skipped_since_tick = 0;
        self.ticks_run += 1;
        self.next_index += 1;
        Some(tick)
    }

    /// Ends the tick at `now`; instants that it made impossible are skipped.
    ///
    /// # Panics
    /// If no tick was started.
    pub fn end(&mut self, now: RealTime) {
        assert!(self.in_tick, "only a tick that started can end");
        self.in_tick = false;
        self.skip(self.next_instant().periods_to_reach(now, self.period));
    }

    /// Ticks that ran, which is the number of the next one.
    pub fn ticks_run(&self) -> u64 {
        self.ticks_run
    }

    /// Instants at which no tick ran and none will.
    pub fn instants_skipped(&self) -> u64 {
        self.next_index - self.ticks_run
    }

    fn skip(&mut self, instants: u64) {
        self.next_index += instants;
        self.skipped_since_tick += instants;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: i64) -> RealTime {
        RealTime::from_nanos(nanos)
    }

    proptest! {
        /// The next tick runs at the first instant not before the end of the last, and one that starts late stands for
        /// the latest instant not after its start. Ticks run and instants skipped add up to the grid.
        #[test]
        fn ticks_stay_on_the_grid_by_the_two_rules(
            origin in 0..1_000_000_i64,
            period in 1..1_000_i64,
            // Mostly short, at times about a number of periods.
            ticks in prop::collection::vec((prop_oneof![0..10_i64, 0..5_000_i64], prop_oneof![0..10_i64, 0..5_000_i64]), 1..200),
        ) {
            let mut clock = TickClock::new(at(origin), RealSpan::from_nanos(period));
            let (mut next, mut skipped) = (origin, 0);
            for (number, (delay, took)) in (0..).zip(ticks) {
                prop_assert_eq!(clock.next_instant(), at(next));
                prop_assert_eq!(clock.start(at(next - 1)), None, "never early");
                let started = next + delay;
                let tick = clock.start(at(started)).expect("its instant is reached");
                let instant = started - (started - origin) % period;
                skipped += tick.skipped_before;
                prop_assert_eq!((tick.number, tick.instant), (number, at(instant)));
                prop_assert_eq!(number + skipped, ((instant - origin) / period) as u64);
                let ended = started + took;
                clock.end(at(ended));
                let index = (ended - origin).unsigned_abs().div_ceil(period.unsigned_abs()) as i64;
                next = origin + period * index.max((instant - origin) / period + 1);
                let passed = ((next - origin) / period) as u64;
                prop_assert_eq!(clock.ticks_run() + clock.instants_skipped(), passed);
            }
        }
    }

    #[test]
    #[should_panic(expected = "a tick ends before the next one starts")]
    fn ticks_of_one_clock_do_not_nest() {
        let mut clock = TickClock::new(at(0), TICK_PERIOD);
        clock.start(at(0));
        clock.start(at(50_000_000));
    }
}
