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
//! The clock does not wait and does not run anything; events between ticks have their share by
//! [`crate::frame_budget::events_until`].

use std::num::NonZeroU64;

use crate::moment::Moment;
use crate::units::{RealSpan, RealTime};

/// The usual period of ticks.
pub const TICK_PERIOD: RealSpan = RealSpan::from_millis(50);

/// A grid of instants and how far ticks have come on it, in either time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickClock<M: Moment> {
    origin: M,
    period: M::Span,
    time_in_skips: TimeInSkips,
    /// Index on the grid of the next instant: ticks run plus instants skipped, at all times.
    next_index: u64,
    /// Number of the next tick.
    ticks_run: u64,
    /// Of the instants skipped, those since the last tick started.
    skipped_since_tick: u64,
    in_tick: bool,
}

/// Whether the time that logic counts goes on while instants are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimeInSkips {
    /// Logic has seen `number` periods, no more: a stall is lost time to it.
    #[default]
    StandsStill,
    /// Logic is told how far the grid has come.
    GoesOn,
}

/// One run of the fixed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick<M: Moment> {
    /// 0 for the first tick, one more for each that ran.
    pub number: u64,
    /// The scheduled instant: all that logic may know of the time.
    pub instant: M,
    /// Instants skipped between the last tick and this one.
    pub skipped_before: u64,
    /// How long after its instant the tick started; less than a period.
    pub lateness: M::Span,
    /// Time that passed for logic since the first tick, by the clock's [`TimeInSkips`].
    pub elapsed: M::Span,
}

impl<M: Moment> TickClock<M> {
    /// A clock whose first tick, number 0, runs at `origin`.
    ///
    /// # Panics
    /// If `period` is not positive; settings are checked where they are read.
    pub fn new(origin: M, period: M::Span) -> Self {
        assert!(M::span_to_nanos(period) > 0, "a tick takes time");
        Self {
            origin,
            period,
            time_in_skips: TimeInSkips::default(),
            next_index: 0,
            ticks_run: 0,
            skipped_since_tick: 0,
            in_tick: false,
        }
    }

    /// The same clock with another rule for the time in skips.
    pub fn with_time_in_skips(self, time_in_skips: TimeInSkips) -> Self {
        Self {
            time_in_skips,
            ..self
        }
    }

    /// When the next tick is due.
    pub fn next_instant(&self) -> M {
        self.origin.after_periods(self.period, self.next_index)
    }

    /// Starts the tick that is due at `now`; `None` before its instant.
    ///
    /// # Panics
    /// If the tick before has not ended: ticks of one clock do not nest.
    pub fn start(&mut self, now: M) -> Option<Tick<M>> {
        assert!(!self.in_tick, "a tick ends before the next one starts");
        if now < self.next_instant() {
            return None;
        }
        self.skip(self.next_instant().whole_periods_until(now, self.period));
        let instant = self.next_instant();
        let periods_seen = match self.time_in_skips {
            TimeInSkips::StandsStill => self.ticks_run,
            TimeInSkips::GoesOn => self.next_index,
        };
        let tick = Tick {
            number: self.ticks_run,
            instant,
            skipped_before: self.skipped_since_tick,
            lateness: now.span_since(instant),
            elapsed: self
                .origin
                .after_periods(self.period, periods_seen)
                .span_since(self.origin),
        };
        self.in_tick = true;
        self.skipped_since_tick = 0;
        self.ticks_run += 1;
        self.next_index += 1;
        Some(tick)
    }

    /// Ends the tick at `now`; answers how many instants it made impossible.
    ///
    /// # Panics
    /// If no tick was started.
    pub fn end(&mut self, now: M) -> u64 {
        assert!(self.in_tick, "only a tick that started can end");
        self.in_tick = false;
        let skipped = self.next_instant().periods_to_reach(now, self.period);
        self.skip(skipped);
        skipped
    }

    /// The length of a step.
    pub fn period(&self) -> M::Span {
        self.period
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

impl<M: Moment> Tick<M> {
    /// Whether something that happens every `ticks` ticks happens in this one, first in tick 0.
    pub fn is_every(&self, ticks: NonZeroU64) -> bool {
        self.number.is_multiple_of(ticks.get())
    }
}

/// Of several clocks in one loop, the one whose tick comes next; of equal instants the first declared.
///
/// Answers its place in `clocks`, `None` if there are none.
pub fn next_of<M: Moment>(clocks: &[TickClock<M>]) -> Option<usize> {
    (0..clocks.len()).min_by_key(|&index| clocks[index].next_instant())
}

/// Holds back reports of skips, so that a log has one line a second at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct SkipReport {
    unreported: u64,
    last: Option<RealTime>,
}

impl SkipReport {
    /// The least time between two reports.
    pub const SPACING: RealSpan = RealSpan::from_secs(1);

    /// Notes that `skipped` instants were lost at `now`; answers how many to report, if it is time to.
    pub fn note(&mut self, now: RealTime, skipped: u64) -> Option<u64> {
        self.unreported += skipped;
        let too_soon = self.last.is_some_and(|last| now.since(last) < Self::SPACING);
        if self.unreported == 0 || too_soon {
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.unreported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{GameSpan, GameTime};

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    fn clock() -> TickClock<RealTime> {
        TickClock::new(ms(1000), TICK_PERIOD)
    }

    #[test]
    fn durations_and_the_instants_they_skip() {
        for (took, skipped) in [(0, 0), (49, 0), (50, 0), (51, 1), (100, 1), (101, 2), (170, 3)] {
            let mut clock = clock();
            assert_eq!(clock.start(ms(1000)).map(|tick| tick.number), Some(0));
            assert_eq!(clock.end(ms(1000 + took)), skipped, "a tick of {took} ms");
            let tick = clock.start(clock.next_instant()).expect("it is time");
            assert_eq!((tick.number, tick.skipped_before), (1, skipped));
            assert_eq!(tick.instant, ms(1050 + 50 * skipped as i64));
        }
    }

    #[test]
    fn an_instant_on_which_a_tick_ends_runs_at_once() {
        let mut clock = clock();
        clock.start(ms(1000));
        clock.end(ms(1050));
        let tick = clock.start(ms(1050)).expect("due at once");
        assert_eq!(
            (tick.instant, tick.lateness, tick.skipped_before),
            (ms(1050), RealSpan::ZERO, 0)
        );
    }

    #[test]
    fn no_tick_starts_before_its_instant() {
        let mut clock = clock();
        assert_eq!(clock.start(ms(1000) - RealSpan::from_nanos(1)), None);
        assert!(clock.start(ms(1000)).is_some());
    }

    #[test]
    fn other_work_delays_and_then_skips() {
        for (delay, skipped, late) in [(0, 0, 0), (49, 0, 49), (50, 1, 0), (51, 1, 1), (170, 3, 20)] {
            let mut clock = clock();
            let tick = clock.start(ms(1000 + delay)).expect("due");
            assert_eq!(tick.skipped_before, skipped);
            assert_eq!(tick.lateness, RealSpan::from_millis(late));
            assert_eq!(tick.instant, ms(1000 + 50 * skipped as i64));
            assert_eq!(tick.number, 0, "the first tick that runs has number 0");
        }
    }

    #[test]
    fn a_stall_after_tick_one() {
        let mut clock = TickClock::new(ms(0), TICK_PERIOD);
        for instant in [0, 50] {
            clock.start(ms(instant));
            clock.end(ms(instant + 1));
        }
        let tick = clock.start(ms(260)).expect("due");
        assert_eq!((tick.number, tick.instant, tick.skipped_before), (2, ms(250), 3));
        clock.end(ms(262));
        assert_eq!(clock.next_instant(), ms(300));
        assert_eq!((clock.ticks_run(), clock.instants_skipped()), (3, 3));
    }

    #[test]
    fn equal_instants_run_in_the_declared_order() {
        let mut clocks = [
            TickClock::new(ms(0), TICK_PERIOD),
            TickClock::new(ms(0), RealSpan::from_millis(25)),
        ];
        let mut order = Vec::new();
        while order.len() < 6 {
            let next = next_of(&clocks).expect("two clocks");
            let now = clocks[next].next_instant();
            order.push((now, next));
            clocks[next].start(now);
            clocks[next].end(now);
        }
        let expected = [(0, 0), (0, 1), (25, 1), (50, 0), (50, 1), (75, 1)];
        assert_eq!(order, expected.map(|(at, clock)| (ms(at), clock)));
    }

    #[test]
    fn time_in_skips_stands_still_or_goes_on() {
        for (rule, elapsed) in [(TimeInSkips::StandsStill, 50), (TimeInSkips::GoesOn, 200)] {
            let mut clock = clock().with_time_in_skips(rule);
            clock.start(ms(1000));
            clock.end(ms(1170));
            let tick = clock.start(ms(1200)).expect("due");
            assert_eq!(tick.elapsed, RealSpan::from_millis(elapsed));
        }
    }

    #[test]
    fn every_200_ticks() {
        let every = NonZeroU64::new(200).expect("not zero");
        let mut clock = clock();
        let happened = (0..1000).filter(|_| {
            let now = clock.next_instant();
            let tick = clock.start(now).expect("due");
            clock.end(now);
            tick.is_every(every)
        });
        assert_eq!(happened.count(), 5);
    }

    #[test]
    fn a_grid_in_game_time() {
        let mut clock = TickClock::new(GameTime::ZERO, GameSpan::from_units(7));
        clock.start(GameTime::ZERO);
        assert_eq!(
            clock.end(GameTime::from_units(7) + GameSpan::from_nanounits(1)),
            1
        );
        assert_eq!(clock.next_instant(), GameTime::from_units(14));
    }

    #[test]
    fn skips_are_reported_at_most_once_a_second() {
        let mut report = SkipReport::default();
        assert_eq!(report.note(ms(0), 0), None);
        assert_eq!(report.note(ms(50), 3), Some(3));
        assert_eq!(report.note(ms(100), 1), None);
        assert_eq!(report.note(ms(1049), 1), None);
        assert_eq!(report.note(ms(1050), 0), Some(2));
        assert_eq!(report.note(ms(9000), 0), None);
    }

    #[test]
    #[should_panic(expected = "a tick ends before the next one starts")]
    fn ticks_of_one_clock_do_not_nest() {
        let mut clock = clock();
        clock.start(ms(1000));
        clock.start(ms(1050));
    }
}
