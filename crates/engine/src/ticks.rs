//! The grid of ticks that carries replication to frame viewers.
//!
//! Ticks run only while a frame viewer is connected: an empty server makes no wake-ups. The grid itself
//! continues, and the begin mark after a break counts all instants without a tick, so that every viewer's sum
//! is right; for metrics, instants without a viewer are not skips.

use trantor_time::tick_clock::TICK_PERIOD;
use trantor_time::{RealSpan, RealTime, Tick, TickClock};

/// The tick clock, and where it stands.
#[derive(Debug, Default)]
pub(crate) struct Ticks {
    /// From the first viewer on.
    clock: Option<TickClock>,
    last: Option<(u64, RealTime)>,
    next: RealTime,
    /// Instants that passed without a viewer, and those of them since the last tick.
    unwatched: u64,
    unwatched_since_tick: u64,
}

impl Ticks {
    /// The length of a tick.
    pub(crate) const PERIOD: RealSpan = TICK_PERIOD;

    /// The first viewer watches from `now` on. Answers when the next tick is due.
    pub(crate) fn resume(&mut self, now: RealTime) -> RealTime {
        // A grid on which no tick ever ran is laid anew: a viewer that joins is sent the first
        // tick's instant, and takes skipped instants before that tick for ones after it joined.
        let clock = match &mut self.clock {
            Some(clock) if self.last.is_some() => clock,
            unused => unused.insert(TickClock::new(now + TICK_PERIOD, TICK_PERIOD)),
        };
        let next = clock.next_instant();
        let missed = next.periods_to_reach(now, TICK_PERIOD);
        self.unwatched_since_tick = missed;
        self.next = next.after_periods(TICK_PERIOD, missed);
        self.next
    }

    /// Starts the tick that is due.
    ///
    /// # Panics
    /// If none is, or without a viewer: ticks are scheduled by what this module answers.
    pub(crate) fn start(&mut self, now: RealTime) -> Tick {
        let tick = self
            .clock
            .as_mut()
            .and_then(|clock| clock.start(now))
            .expect("ticks are scheduled when due");
        self.last = Some((tick.number, tick.instant));
        self.unwatched += std::mem::take(&mut self.unwatched_since_tick);
        tick
    }

    /// Ends the tick; returns when the next one is due.
    pub(crate) fn end(&mut self, now: RealTime) -> RealTime {
        let clock = self.clock.as_mut().expect("a tick that ends has started");
        clock.end(now);
        self.next = clock.next_instant();
        self.next
    }

    /// Number and instant of the last tick that ran.
    pub(crate) fn last(&self) -> Option<(u64, RealTime)> {
        self.last
    }

    /// The instant of the next tick, below which events before it stay; of use while a viewer watches.
    pub(crate) fn next(&self) -> RealTime {
        self.next
    }

    /// Ticks that ran, and instants skipped while a viewer watched.
    pub(crate) fn counts(&self) -> (u64, u64) {
        self.clock.as_ref().map_or((0, 0), |clock| {
            (
                clock.ticks_run(),
                clock.instants_skipped().saturating_sub(self.unwatched),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    #[test]
    fn a_viewer_that_left_before_the_first_tick_leaves_no_skips_behind() {
        let mut ticks = Ticks::default();
        ticks.resume(ms(0));
        assert_eq!(ticks.resume(ms(1_010)), ms(1_060));
        let first = ticks.start(ms(1_060));
        assert_eq!(
            (first.number, first.instant, first.skipped_before),
            (0, ms(1_060), 0)
        );
    }
}
