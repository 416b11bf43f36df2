//! The wheel beyond the contract: its resolution, and its quiet.

use trantor_time::{RealSpan, RealTime, TimerWheel};

fn ms(millis: i64) -> RealTime {
    RealTime::ZERO + RealSpan::from_millis(millis)
}

#[test]
fn resolution_and_slots_are_settable() {
    assert_eq!(TimerWheel::<()>::new().resolution(), RealSpan::from_millis(8));
    let mut wheel = TimerWheel::with_size(RealSpan::from_millis(100), 64);
    wheel.schedule(ms(250), ());
    assert_eq!(wheel.next_deadline(), Some(ms(300)));
    assert_eq!(wheel.take_due(ms(299)), None);
    assert!(wheel.take_due(ms(300)).is_some());
    // A step of a nanosecond makes it exact.
    let mut exact = TimerWheel::with_size(RealSpan::from_nanos(1), 4096);
    exact.schedule(RealTime::from_nanos(12_345), ());
    assert_eq!(exact.next_deadline(), Some(RealTime::from_nanos(12_345)));
}

#[test]
fn nine_milliseconds_on_an_eight_millisecond_wheel_from_every_offset() {
    let nine = RealSpan::from_millis(9);
    for offset_ns in (0..16_000_000).step_by(7_919) {
        let mut wheel = TimerWheel::new();
        let registered = ms(1_000) + RealSpan::from_nanos(offset_ns);
        assert_eq!(wheel.take_due(registered), None);
        wheel.schedule(registered + nine, ());
        let fires = wheel.next_deadline().expect("one is pending");
        assert_eq!(wheel.take_due(fires - RealSpan::from_nanos(1)), None);
        assert!(wheel.take_due(fires).is_some());
        let after = fires - registered;
        assert!(
            after >= nine && after < RealSpan::from_millis(17),
            "{after:?} from offset {offset_ns}"
        );
    }
}

#[test]
fn delays_longer_than_a_revolution_work() {
    let mut wheel = TimerWheel::new();
    for turns in [1, 2, 10, 1000] {
        wheel.schedule(ms(turns * 4096 + 20), turns);
    }
    for turns in [1, 2, 10, 1000] {
        let fires = ms(turns * 4096 + 24);
        assert_eq!(wheel.next_deadline(), Some(fires));
        assert_eq!(wheel.take_due(fires).map(|taken| taken.item), Some(turns));
    }
}

#[test]
fn a_pause_of_a_year_is_one_jump() {
    let mut wheel = TimerWheel::new();
    let mut now = ms(0);
    for _ in 0..1_000 {
        wheel.schedule(now + RealSpan::from_millis(3), ());
        now += RealSpan::from_secs(365 * 86_400 / 1_000);
        // Walking would take four million steps each time: the test would not end.
        assert!(wheel.take_due(now).is_some());
        assert_eq!(wheel.take_due(now), None);
    }
    assert_eq!(wheel.steps(), 365 * 86_400 * 125 + 1);
}

#[test]
fn a_quiet_wheel_causes_no_wake_ups() {
    let mut wheel = TimerWheel::new();
    let hour = ms(3_600_000);
    wheel.schedule(hour, 0);
    let others: Vec<_> = (0..100_000).map(|n| wheel.schedule(ms(n * 35), 1)).collect();
    for (count, id) in others.into_iter().enumerate() {
        assert_eq!(wheel.cancel(id), Some(1), "{count}");
    }
    let (mut now, mut wake_ups) = (ms(0), 0);
    while let Some(wake) = wheel.next_deadline() {
        assert!(wake > now);
        (now, wake_ups) = (wake, wake_ups + 1);
        while wheel.take_due(now).is_some() {}
    }
    assert_eq!((now, wake_ups), (hour, 1), "one timer, one wake-up");
}

#[test]
fn an_earlier_timer_shortens_the_wait() {
    let mut wheel = TimerWheel::new();
    wheel.schedule(ms(60_000), 1);
    assert_eq!(wheel.next_deadline(), Some(ms(60_000)));
    wheel.schedule(ms(16), 2);
    assert_eq!(wheel.next_deadline(), Some(ms(16)));
}
