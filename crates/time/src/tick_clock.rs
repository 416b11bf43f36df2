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
    use rand_core::Rng;
    use rand_pcg::Pcg32;

    use super::*;

    fn at(nanos: i64) -> RealTime {
        RealTime::from_nanos(nanos)
    }

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    /// Ten million ticks with durations and delays from nothing to several periods.
    #[test]
    fn ten_million_ticks_stay_on_the_grid() {
        const PERIOD: i64 = 50_000_000;
        const ORIGIN: i64 = 987_654_321;
        let mut rng = Pcg32::new(4, 4);
        let mut clock = TickClock::new(at(ORIGIN), RealSpan::from_nanos(PERIOD));
        let (mut now, mut last, mut skipped) = (ORIGIN, None, 0);
        let ticks = 10_000_000;
        for number in 0..ticks {
            let next = clock.next_instant().as_nanos();
            now = now.max(next) + draw_span(&mut rng, PERIOD);
            let tick = clock.start(at(now)).expect("its instant is reached");
            let instant = tick.instant.as_nanos();
            assert_eq!((instant - ORIGIN) % PERIOD, 0, "on the grid");
            assert!(
                instant <= now && now - instant < PERIOD,
                "never before its instant, and the latest on the grid"
            );
            assert!(last.is_none_or(|last| instant > last), "strictly increasing");
            assert_eq!(tick.number, number);
            skipped += tick.skipped_before;
            assert_eq!(
                tick.number + skipped,
                ((instant - ORIGIN) / PERIOD) as u64,
                "run + skipped = index"
            );
            now += draw_span(&mut rng, PERIOD);
            clock.end(at(now));
            last = Some(instant);
        }
        assert_eq!(clock.ticks_run(), ticks, "both counts are kept");
        assert_eq!(
            clock.instants_skipped(),
            ((clock.next_instant().as_nanos() - ORIGIN) / PERIOD) as u64 - ticks
        );
    }

    /// Mostly short, at times exactly a number of periods, at times long.
    fn draw_span(rng: &mut Pcg32, period: i64) -> i64 {
        let roll = rng.next_u32();
        match roll % 8 {
            0..4 => i64::from(roll / 8) % 1_000_000,
            4 => period * i64::from(roll / 8 % 3),
            5 => period * i64::from(roll / 8 % 3) + i64::from(roll / 32 % 3) - 1,
            6 => i64::from(roll / 8) % period,
            _ => i64::from(roll / 8) % (5 * period),
        }
        .max(0)
    }

    proptest! {
        /// The two rules as written: the first instant not before the end, the latest not after the start.
        #[test]
        fn the_two_rules(
            period in 1..1_000_000_i64, took in 0..10_000_000_i64, delay in 0..10_000_000_i64,
        ) {
            let mut clock = TickClock::new(at(0), RealSpan::from_nanos(period));
            clock.start(at(0));
            clock.end(at(took));
            let first_not_before = (1..).map(|k| k * period).find(|&instant| instant >= took);
            prop_assert_eq!(Some(clock.next_instant().as_nanos()), first_not_before);
            let started = clock.next_instant().as_nanos() + delay;
            let tick = clock.start(at(started)).expect("due");
            prop_assert_eq!(tick.instant.as_nanos(), started / period * period);
        }
    }

    #[test]
    #[should_panic(expected = "a tick ends before the next one starts")]
    fn ticks_of_one_clock_do_not_nest() {
        let mut clock = TickClock::new(ms(1000), TICK_PERIOD);
        clock.start(ms(1000));
        clock.start(ms(1050));
    }
}
