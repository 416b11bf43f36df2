//! A loop of few lines on both times: when it sleeps (T13 of docs/timing.md).

use std::collections::BTreeSet;

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::{Frequency, GameClock, GameTime, RealSpan, RealTime, TimerWheel};

fn at(nanos: i64) -> RealTime {
    RealTime::from_nanos(nanos)
}

/// A loop on two clocks, which counts how it sleeps.
#[test]
fn waits_are_never_early_never_zero_and_one_for_each_deadline() {
    let mut rng = Pcg32::new(13, 1);
    let mut clock = GameClock::new(
        RealTime::ZERO,
        GameTime::ZERO,
        Frequency::new(300).expect("a good frequency"),
    );
    let mut game = BTreeSet::new();
    let mut real: TimerWheel<()> = TimerWheel::new();
    let (mut now, mut wake_ups, mut inputs, mut woken_for) = (RealTime::ZERO, 0, 0, BTreeSet::new());
    for item in 0..20_000 {
        game.insert((
            GameTime::from_nanounits(i128::from(rng.next_u64() % 30_000_000_000)),
            item,
        ));
    }
    for _ in 0..2_000 {
        real.schedule(at((rng.next_u64() % 90_000_000_000) as i64), ());
    }
    loop {
        let game_wake = game.first().and_then(|&(next, _)| clock.real_at(next));
        let wake = [game_wake, real.next_deadline()].into_iter().flatten().min();
        let Some(wake) = wake else { break };
        assert!(wake > now, "what was due ran; a wait has a length");
        // Now and then something comes in before the deadline; it may change the speed.
        if rng.next_u32().is_multiple_of(16) {
            now += RealSpan::from_nanos((rng.next_u64() % (wake - now).as_nanos().unsigned_abs()) as i64);
            clock.set_frequency(
                now,
                Frequency::new(1 + rng.next_u64() % 1000).expect("a good frequency"),
            );
            inputs += 1;
        } else {
            // Waking is late by up to 80 µs, never early.
            woken_for.insert(wake);
            now = wake + RealSpan::from_nanos((rng.next_u64() % 80_000) as i64);
        }
        wake_ups += 1;
        let game_now = clock.now(now);
        while game.first().is_some_and(|&(at, _)| at <= game_now) {
            game.pop_first();
        }
        while real.take_due(now).is_some() {}
    }
    assert!(wake_ups <= woken_for.len() + inputs, "{wake_ups} wake-ups");
    assert_eq!(
        (game.len(), real.len()),
        (0, 0),
        "at rest there is nothing to wake up for"
    );
}
