//! Systems at their own rates.

use proptest::prelude::*;
use trantor_time::{Due, Pace, Pacer, Pacing, Rate, RealSpan, RealTime};

fn pace(calls_per_second: f64) -> Pace {
    Pace::from_setting(calls_per_second).expect("a good rate")
}

fn at(nanos: i64) -> RealTime {
    RealTime::from_nanos(nanos)
}

#[test]
fn negative_is_uncapped_zero_is_refused_disabled_is_a_state() {
    assert_eq!(pace(-1.0), Pace::Uncapped);
    for refused in [0.0, -0.0, f64::NAN, f64::INFINITY, 2e6, 1e-7] {
        assert!(Pace::from_setting(refused).is_err(), "{refused}");
    }
    let mut pacer = Pacer::new(Pace::Uncapped, Pacing::Spacing);
    assert_eq!((0..100).filter(|&now| pacer.call(at(now)).is_some()).count(), 100);
    pacer.set_enabled(false);
    assert_eq!((pacer.due(), pacer.call(at(200))), (Due::Never, None));
    pacer.set_enabled(true);
    assert_eq!(pacer.call(at(300)), Some(RealSpan::from_nanos(201)));
}

#[test]
fn a_changed_rate_makes_no_burst_and_loses_no_wait() {
    for pacing in [Pacing::Spacing, Pacing::Grid] {
        let mut pacer = Pacer::new(pace(1.0), pacing);
        pacer.call(at(0));
        // 900 ms have been waited when the rate becomes 2 a second: due since 500 ms, once.
        pacer.set_pace(pace(2.0));
        assert!(pacer.call(at(900_000_000)).is_some());
        assert_eq!(pacer.call(at(900_000_001)), None, "no burst");
        // And a slower rate counts what was waited.
        let mut pacer = Pacer::new(pace(1.0), pacing);
        pacer.call(at(0));
        pacer.set_pace(pace(0.25));
        assert_eq!(pacer.due(), Due::At(at(4_000_000_000)));
    }
}

/// A system at thirty calls a second, beside another one whose calls take time.
#[test]
fn a_rate_is_kept_for_a_minute_whatever_else_runs() {
    let sixty = pace(60.0);
    for (pacing, beside, cost_us, calls) in [
        (Pacing::Spacing, sixty, 0, 1_800..=1_800),
        (Pacing::Spacing, Pace::Uncapped, 100, 1_790..=1_800),
        (Pacing::Spacing, sixty, 2_000, 1_770..=1_800),
        (Pacing::Grid, Pace::Uncapped, 100, 1_800..=1_800),
        (Pacing::Grid, Pace::Uncapped, 16_700, 1_799..=1_801),
    ] {
        let (mut thirty, mut beside) = (
            Pacer::new(pace(30.0), pacing),
            Pacer::new(beside, Pacing::Spacing),
        );
        let mut now = RealTime::ZERO;
        while now < RealTime::ZERO + RealSpan::from_secs(60) {
            thirty.call(now);
            if beside.call(now).is_some() {
                now += RealSpan::from_micros(cost_us);
            }
            let due = [thirty.due(), beside.due()].map(|due| match due {
                Due::At(instant) => instant,
                Due::Now | Due::Never => now,
            });
            now = (now + RealSpan::from_nanos(1)).max(due[0].min(due[1]));
        }
        let made = thirty.calls();
        assert!(calls.contains(&made), "{made} by {pacing:?} beside {cost_us} µs");
    }
}

proptest! {
    /// Whatever happens in between, elapsed times add up, and spacing is never undercut.
    #[test]
    fn elapsed_times_add_up_to_the_time_passed(
        millihertz in 1..1_000_000_u32,
        is_grid in any::<bool>(),
        gaps in prop::collection::vec((0..2_000_000_000_i64, 0..20_u8, 1..100_000_u32), 1..200),
    ) {
        let pacing = if is_grid { Pacing::Grid } else { Pacing::Spacing };
        let mut pacer = Pacer::new(pace(f64::from(millihertz) / 1000.0), pacing);
        let first = at(12_345);
        pacer.call(first);
        let (mut now, mut last, mut sum) = (first, first, RealSpan::ZERO);
        for (gap, change, new_rate) in gaps {
            now += RealSpan::from_nanos(gap);
            if change == 0 {
                pacer.set_pace(pace(f64::from(new_rate) / 10.0));
            }
            let due = pacer.due();
            if let Some(elapsed) = pacer.call(now) {
                if let (Pace::At(rate), Due::At(_), Pacing::Spacing) = (pacer.pace(), due, pacing) {
                    prop_assert!(now.since(last) >= rate.interval());
                }
                sum += elapsed;
                last = now;
                if let Due::At(next) = pacer.due() {
                    prop_assert!(next > now, "after a call the next one is ahead: no burst");
                }
            }
        }
        prop_assert_eq!(sum, last.since(first));
    }

    /// The k-th instant of a grid lies at k / rate, rounded up to a nanosecond, for ever.
    #[test]
    fn grid_instants_are_exact(millihertz in 1..10_000_000_u64, k in 1..100_000_000_u64) {
        let rate = Rate::per_second(millihertz as f64 / 1000.0).expect("a good rate");
        let mut pacer = Pacer::new(Pace::At(rate), Pacing::Grid);
        pacer.call(at(0));
        // Exactly: instant k is the least n with n · millihertz >= k · 10¹².
        let exact = (u128::from(k) * 1_000_000_000_000).div_ceil(u128::from(millihertz)) as i64;
        pacer.call(at(exact - 1));
        prop_assert_eq!(pacer.due(), Due::At(at(exact)));
    }
}
