//! What repeating work does about periods that it missed: four policies, as sums.
//!
//! ```text
//! period 10, deadlines 10 20 30 …, first looked at when the clock shows 47 (20, 30 and 40 are over as well)
//!
//!                 runs        told instant   missed   next deadline
//! coalesce        once        10             3        50
//! catch up, 3     three times 20, 30, 40     1        50
//! skip to grid    once        40             3        50
//! re-space        once        10             0        57
//! ```
//!
//! The decision is made when the work is taken, before it runs: delays that it asks for count from the
//! instant it is told.

use std::num::NonZeroU32;

use crate::moment::Moment;

/// How repeating work makes up for time in which it could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LatePolicy {
    /// Run once for all missed periods, for the first of them, and keep the phase.
    #[default]
    Coalesce,
    /// Run for each missed period, but for the last `runs_max` only; the phase stays.
    CatchUp {
        /// The most runs that may follow each other without a period in between.
        runs_max: NonZeroU32,
    },
    /// Run once, for the latest instant of the grid, as ticks do; the phase stays.
    SkipToGrid,
    /// Run once and count the next period from this run: nothing is owed, the phase moves.
    ReSpace,
}

/// One run of repeating work, and when the next is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition<M> {
    /// The instant that the run is told: its logical time.
    pub instant: M,
    /// Periods for which nothing runs.
    pub missed: u64,
    /// The next deadline. With [`LatePolicy::CatchUp`] it may be reached already.
    pub next: M,
}

impl LatePolicy {
    /// What to run, at `now`, of work that was `due` then and every `period` thereafter.
    ///
    /// Deadlines stop at the end of the range of `M`. `now` before `due` counts as on time.
    ///
    /// # Panics
    /// If `period` is not positive.
    pub fn repeat<M: Moment>(self, due: M, now: M, period: M::Span) -> Repetition<M> {
        let behind = due.whole_periods_until(now, period);
        let skip_to = |skipped: u64| {
            let instant = due.after_periods(period, skipped);
            Repetition {
                instant,
                missed: skipped,
                next: instant.after_periods(period, 1),
            }
        };
        match self {
            Self::Coalesce => Repetition {
                instant: due,
                ..skip_to(behind)
            },
            Self::CatchUp { runs_max } => {
                let others_max = u64::from(runs_max.get()) - 1;
                skip_to(behind.saturating_sub(others_max))
            }
            Self::SkipToGrid => skip_to(behind),
            Self::ReSpace => Repetition {
                instant: due,
                missed: 0,
                next: now.max(due).after_periods(period, 1),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{RealSpan, RealTime};

    fn at(nanos: i64) -> RealTime {
        RealTime::from_nanos(nanos)
    }

    fn catch_up(runs_max: u32) -> LatePolicy {
        LatePolicy::CatchUp {
            runs_max: NonZeroU32::new(runs_max).expect("not zero"),
        }
    }

    /// Every run that `policy` makes at `now`: instants told, periods missed, next deadline.
    fn runs(policy: LatePolicy, due: i64, now: i64, period: i64) -> (Vec<i64>, u64, i64) {
        let (mut due, mut told, mut missed) = (at(due), Vec::new(), 0);
        while due <= at(now) {
            let run = policy.repeat(due, at(now), RealSpan::from_nanos(period));
            told.push(run.instant.as_nanos());
            missed += run.missed;
            due = run.next;
        }
        (told, missed, due.as_nanos())
    }

    #[test]
    fn the_four_policies() {
        assert_eq!(runs(LatePolicy::Coalesce, 10, 47, 10), (vec![10], 3, 50));
        assert_eq!(runs(catch_up(3), 10, 47, 10), (vec![20, 30, 40], 1, 50));
        assert_eq!(runs(catch_up(9), 10, 47, 10), (vec![10, 20, 30, 40], 0, 50));
        assert_eq!(runs(LatePolicy::SkipToGrid, 10, 47, 10), (vec![40], 3, 50));
        assert_eq!(runs(LatePolicy::ReSpace, 10, 47, 10), (vec![10], 0, 57));
    }

    #[test]
    fn on_time_all_policies_agree_but_re_space() {
        for policy in [LatePolicy::Coalesce, catch_up(1), LatePolicy::SkipToGrid] {
            assert_eq!(runs(policy, 10, 10, 10), (vec![10], 0, 20));
            assert_eq!(runs(policy, 10, 19, 10), (vec![10], 0, 20));
            assert_eq!(runs(policy, 10, 20, 10).2, 30);
        }
        assert_eq!(runs(LatePolicy::ReSpace, 10, 19, 10), (vec![10], 0, 29));
    }

    #[test]
    fn sixteen_milliseconds_and_a_pause_of_a_thousand() {
        const MS: i64 = 1_000_000;
        let (told, missed, next) = runs(LatePolicy::Coalesce, 16 * MS, 1000 * MS, 16 * MS);
        assert_eq!((told, missed, next), (vec![16 * MS], 61, 1008 * MS));
    }

    proptest! {
        /// After any pause: bounded runs, nothing forgotten, and the phase kept where that is promised.
        #[test]
        fn a_long_stall_is_never_replayed_without_bound(
            due in 0..1_000_i64, late in 0..i64::MAX / 4, period in 1..1_000_000_i64, k in 1..20_u32,
        ) {
            let now = due + late;
            for policy in [LatePolicy::Coalesce, LatePolicy::SkipToGrid, catch_up(k), LatePolicy::ReSpace] {
                let runs_max = if policy == catch_up(k) { k as usize } else { 1 };
                let (told, missed, next) = runs(policy, due, now, period);
                prop_assert!(!told.is_empty() && told.len() <= runs_max);
                prop_assert!(next > now && next - now <= period);
                prop_assert!(told.iter().all(|&told| told <= now));
                if policy == LatePolicy::ReSpace {
                    prop_assert_eq!(next, now + period);
                } else {
                    prop_assert_eq!((next - due) % period, 0, "the phase stays");
                    prop_assert_eq!(told.len() as i64 + missed as i64, (next - due) / period, "each period run or missed");
                }
            }
        }
    }
}
