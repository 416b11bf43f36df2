//! Named timers: saves, signs of life. There are a handful, so a list does.
//!
//! A repeating timer that missed periods runs once, counts them, and keeps its phase.

use trantor_time::timers::round_up;
use trantor_time::{RealSpan, RealTime};

use super::Shell;

pub(crate) type TimerCallback = Box<dyn FnMut(&mut Shell)>;

/// The timers that are set, one of a name.
#[derive(Default)]
pub(crate) struct Timers {
    list: Vec<Timer>,
    pub(crate) stats: TimerStats,
}

/// A timer, set or taken out to be run.
pub(crate) struct Timer {
    pub(crate) name: &'static str,
    /// The nominal deadline; the wait ends at the next step of the grid for limits, so that timers and limits on sessions
    /// share wake-ups.
    pub(crate) at: RealTime,
    /// `None` for a timer that runs once.
    period: Option<RealSpan>,
    pub(crate) callback: TimerCallback,
}

/// Counts of all timers together, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimerStats {
    pub(crate) runs: u64,
    /// Periods that were missed, and for which nothing ran.
    pub(crate) coalesced: u64,
    pub(crate) lateness_max: RealSpan,
    pub(crate) duration_max: RealSpan,
}

impl Timers {
    /// Sets a timer, in place of the one of that name.
    pub(crate) fn set(
        &mut self,
        name: &'static str,
        at: RealTime,
        period: Option<RealSpan>,
        callback: TimerCallback,
    ) {
        self.list.retain(|timer| timer.name != name);
        self.list.push(Timer {
            name,
            at,
            period,
            callback,
        });
    }

    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        self.list.iter().map(|timer| round_up(timer.at)).min()
    }

    /// Removes the first that is due at `now`. Run it, then call [`Self::finish`].
    pub(crate) fn take_due(&mut self, now: RealTime) -> Option<Timer> {
        let due = |(_, timer): &(usize, &Timer)| round_up(timer.at) <= now;
        let first = self
            .list
            .iter()
            .enumerate()
            .filter(due)
            .min_by_key(|(_, timer)| timer.at);
        let (place, _) = first?;
        Some(self.list.swap_remove(place))
    }

    /// Finishes a run that took `took`; a repeating timer is set again.
    pub(crate) fn finish(&mut self, timer: Timer, now: RealTime, took: RealSpan) {
        self.stats.runs += 1;
        self.stats.lateness_max = self.stats.lateness_max.max(now.since(timer.at));
        self.stats.duration_max = self.stats.duration_max.max(took);
        if let Some(period) = timer.period {
            let missed = timer.at.periods_until(now, period);
            self.stats.coalesced += missed;
            let at = timer.at.after_periods(period, missed + 1);
            self.set(timer.name, at, Some(period), timer.callback);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeating_timer_that_missed_periods_runs_once_and_keeps_its_phase() {
        let ms = |millis| RealTime::ZERO + RealSpan::from_millis(millis);
        let mut timers = Timers::default();
        let period = Some(RealSpan::from_millis(16));
        timers.set("sixteen", ms(16), period, Box::new(|_| {}));
        timers.set("once", ms(99), None, Box::new(|_| {}));
        timers.set("once", ms(40), None, Box::new(|_| {}));
        assert!(timers.take_due(ms(15)).is_none(), "nothing is early");
        let mut ran = Vec::new();
        while let Some(timer) = timers.take_due(ms(1000)) {
            ran.push((timer.name, timer.at));
            timers.finish(timer, ms(1000), RealSpan::from_millis(30));
        }
        assert_eq!(ran, [("sixteen", ms(16)), ("once", ms(40))]);
        assert_eq!(timers.next_deadline(), Some(ms(1008)), "a multiple of the period");
        let expected = TimerStats {
            runs: 2,
            coalesced: 61,
            lateness_max: RealSpan::from_millis(984),
            duration_max: RealSpan::from_millis(30),
        };
        assert_eq!((timers.stats, timers.len()), (expected, 1));
    }
}
