//! Ticks over long times: what the grid promises for ever (invariant T11).

use proptest::prelude::*;
use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::tick_clock::TICK_PERIOD;
use trantor_time::{RealSpan, RealTime, TickClock};

fn at(nanos: i64) -> RealTime {
    RealTime::from_nanos(nanos)
}

#[test]
fn the_first_tick_has_number_0_and_runs_at_the_origin() {
    assert_eq!(TICK_PERIOD, RealSpan::from_millis(50));
    let origin = at(123_456_789);
    let mut clock = TickClock::new(origin, TICK_PERIOD);
    for number in 0..100 {
        let instant = origin + RealSpan::from_millis(50 * number as i64);
        assert_eq!(
            clock.next_instant(),
            instant,
            "from the start of one tick to the start of the next"
        );
        let tick = clock.start(instant).expect("due");
        assert_eq!((tick.number, tick.instant), (number, instant));
        clock.end(instant + RealSpan::from_millis(7));
    }
}

#[test]
fn every_tick_is_one_period_to_logic_also_after_skips() {
    let mut clock = TickClock::new(at(0), TICK_PERIOD);
    let mut now = at(0);
    for number in 0..50_i64 {
        now = now.max(clock.next_instant());
        let tick = clock.start(now).expect("due");
        assert_eq!(tick.elapsed, RealSpan::from_millis(50 * number));
        now += RealSpan::from_millis(number * 17 % 180);
        clock.end(now);
    }
    assert!(clock.instants_skipped() > 10, "there were skips");
}

/// Ten million ticks with durations and delays from nothing to several periods.
#[test]
fn ten_million_ticks_stay_on_the_grid() {
    const PERIOD: i64 = 50_000_000;
    const ORIGIN: i64 = 987_654_321;
    let mut luck = Pcg32::new(4, 4);
    let mut clock = TickClock::new(at(ORIGIN), RealSpan::from_nanos(PERIOD));
    let (mut now, mut last, mut skipped) = (ORIGIN, None, 0);
    let ticks = 10_000_000;
    for number in 0..ticks {
        let next = clock.next_instant().as_nanos();
        now = now.max(next) + draw_span(&mut luck, PERIOD);
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
        now += draw_span(&mut luck, PERIOD);
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
fn draw_span(luck: &mut Pcg32, period: i64) -> i64 {
    let roll = luck.next_u32();
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
    /// The two rules in their own words: the first instant not before the end, the latest not after the start.
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
        let latest_not_after = started / period * period;
        prop_assert_eq!(tick.instant.as_nanos(), latest_not_after);
        prop_assert_eq!(tick.lateness.as_nanos(), started - latest_not_after);
    }
}
