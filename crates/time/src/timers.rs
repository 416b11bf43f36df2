//! Named timers in real time: work that runs once after a delay, or again and again with a period.
//!
//! The payload is the caller's, usually a callback; nothing is called from here. A run is taken out, done, and
//! handed back, which starts the next period:
//!
//! ```text
//! while let Some(mut run) = timers.take_due(now) {
//!     (run.payload)(&mut timers, …);      // may register more
//!     timers.finish(run, took);
//! }
//! ```
//!
//! A repeating timer that missed periods runs once, counts them, and keeps its phase.

use crate::deadlines::TimerWheel;
use crate::units::{RealSpan, RealTime};
use crate::wheel::round_up;

/// Timers that may be registered at a time: an order of magnitude above what a full server needs, so that a leak
/// is refused while there is still memory to say so.
pub const TIMERS_MAX: usize = 65_536;

/// Named timers that carry `P`.
#[derive(Debug)]
pub struct Timers<P> {
    wheel: TimerWheel<Timer<P>>,
    stats: TimerStats,
}

#[derive(Debug)]
struct Timer<P> {
    /// The nominal deadline; in the wheel it is rounded up, so that timers and limits of one step share a wake-up.
    at: RealTime,
    name: &'static str,
    /// `None` for a timer that runs once.
    period: Option<RealSpan>,
    payload: P,
}

/// One run of a timer, to be done by the caller and handed to [`Timers::finish`].
#[derive(Debug)]
#[must_use = "a repeating timer starts its next period in `finish`"]
pub struct Run<P> {
    /// The name of the timer.
    pub name: &'static str,
    /// The logical time of the run: its nominal deadline.
    pub instant: RealTime,
    /// What was registered.
    pub payload: P,
    lateness: RealSpan,
    repeat: Option<(RealTime, RealSpan)>,
}

/// Why a timer was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The period or delay is zero or negative.
    #[error("a timer's period and delay are positive")]
    NotPositive,
    /// Too many timers are registered.
    #[error("all {TIMERS_MAX} timers are taken")]
    Full,
}

/// Counters of all timers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimerStats {
    /// Runs so far.
    pub executed: u64,
    /// Periods that were missed, and for which nothing ran.
    pub coalesced: u64,
    /// Longest time from a deadline to its run.
    pub lateness_ns_max: u64,
    /// Longest run.
    pub duration_ns_max: u64,
}

impl<P> Timers<P> {
    /// Registers a timer that runs once, `delay` after `now`.
    ///
    /// # Errors
    /// If the delay is not positive or too many timers are registered.
    pub fn once(
        &mut self,
        now: RealTime,
        name: &'static str,
        delay: RealSpan,
        payload: P,
    ) -> Result<(), RegisterError> {
        self.register(now, name, delay, None, payload)
    }

    /// Registers a timer that runs every `period`, the first time after one period.
    ///
    /// # Errors
    /// As [`Self::once`].
    pub fn every(
        &mut self,
        now: RealTime,
        name: &'static str,
        period: RealSpan,
        payload: P,
    ) -> Result<(), RegisterError> {
        self.register(now, name, period, Some(period), payload)
    }

    fn register(
        &mut self,
        now: RealTime,
        name: &'static str,
        delay: RealSpan,
        period: Option<RealSpan>,
        payload: P,
    ) -> Result<(), RegisterError> {
        if delay <= RealSpan::ZERO {
            return Err(RegisterError::NotPositive);
        }
        if self.wheel.len() >= TIMERS_MAX {
            return Err(RegisterError::Full);
        }
        let at = now.saturating_add(delay);
        let timer = Timer {
            at,
            name,
            period,
            payload,
        };
        self.wheel.schedule(round_up(at), timer);
        Ok(())
    }

    /// Takes the next run that is due at `now`. Do it, then call [`Self::finish`].
    pub fn take_due(&mut self, now: RealTime) -> Option<Run<P>> {
        let Timer {
            at,
            name,
            period,
            payload,
        } = self.wheel.take_due(now)?.item;
        let repeat = period.map(|period| {
            let missed = at.periods_until(now, period);
            self.stats.coalesced += missed;
            (at.after_periods(period, missed + 1), period)
        });
        Some(Run {
            name,
            instant: at,
            payload,
            lateness: now.since(at),
            repeat,
        })
    }

    /// Ends a run that took `took`: counts it and, if the timer repeats, starts its next period.
    pub fn finish(&mut self, run: Run<P>, took: RealSpan) {
        let stats = &mut self.stats;
        let took_ns = took.as_nanos().max(0).unsigned_abs();
        stats.executed += 1;
        stats.lateness_ns_max = stats.lateness_ns_max.max(run.lateness.as_nanos().unsigned_abs());
        stats.duration_ns_max = stats.duration_ns_max.max(took_ns);
        if let Some((next, period)) = run.repeat {
            let timer = Timer {
                at: next,
                name: run.name,
                period: Some(period),
                payload: run.payload,
            };
            self.wheel.schedule(round_up(next), timer);
        }
    }

    /// The earliest deadline, `None` if there are no timers.
    pub fn next_deadline(&self) -> Option<RealTime> {
        self.wheel.next_deadline()
    }

    /// Timers that are waiting; one whose run is out is not counted.
    pub fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Whether no timer is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counters of all timers together.
    pub fn stats(&self) -> &TimerStats {
        &self.stats
    }
}

impl<P> Default for Timers<P> {
    fn default() -> Self {
        Self {
            wheel: TimerWheel::new(),
            stats: TimerStats::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    fn span(millis: i64) -> RealSpan {
        RealSpan::from_millis(millis)
    }

    #[test]
    fn a_repeating_timer_that_missed_periods_runs_once_and_keeps_its_phase() {
        let mut timers = Timers::default();
        timers.every(ms(0), "sixteen", span(16), ()).expect("room");
        timers.once(ms(0), "once", span(40), ()).expect("room");
        let run = timers.take_due(ms(1000)).expect("due");
        assert_eq!((run.name, run.instant), ("sixteen", ms(16)));
        timers.finish(run, span(10));
        let once = timers.take_due(ms(1000)).expect("due");
        assert_eq!((once.name, once.instant), ("once", ms(40)));
        timers.finish(once, span(30));
        assert!(timers.take_due(ms(1000)).is_none(), "one run each");
        assert_eq!(timers.next_deadline(), Some(ms(1008)), "a multiple of the period");
        let expected = TimerStats {
            executed: 2,
            coalesced: 61,
            lateness_ns_max: 984_000_000,
            duration_ns_max: 30_000_000,
        };
        assert_eq!(timers.stats(), &expected);
    }

    #[test]
    fn a_timer_without_delay_or_beyond_the_limit_is_refused() {
        let mut timers = Timers::default();
        assert_eq!(
            timers.once(ms(1), "zero", span(0), ()),
            Err(RegisterError::NotPositive)
        );
        assert_eq!(
            timers.every(ms(1), "negative", span(-1), ()),
            Err(RegisterError::NotPositive)
        );
        for _ in 0..TIMERS_MAX {
            timers.once(ms(1), "far", RealSpan::MAX, ()).expect("room");
        }
        assert_eq!(timers.once(ms(1), "more", span(1), ()), Err(RegisterError::Full));
    }
}
