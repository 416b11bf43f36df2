//! In the steady state nothing is allocated, in the wheel or in the queues beside it, which are those of the heap.

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::wheel::round_up;
use trantor_time::{RealSpan, RealTime, TimerWheel};

/// Takes, schedules, moves and cancels with the same number pending all the time; half of them are limits.
fn churn(wheel: &mut TimerWheel<u64>, rng: &mut Pcg32, now: &mut RealTime, rounds: u32) {
    let mut recent = [None; 64];
    let mut draw = |from: RealTime| {
        let at = from + RealSpan::from_micros(i64::from(rng.next_u32() % 10_000_000));
        if rng.next_u32().is_multiple_of(2) {
            round_up(at)
        } else {
            at
        }
    };
    for round in 0..rounds {
        *now += RealSpan::from_micros(200);
        while let Some(taken) = wheel.take_due(*now) {
            recent[taken.item as usize % 64] = Some(wheel.schedule(draw(taken.at), taken.item));
        }
        if let Some(id) = recent[round as usize % 64].take()
            && wheel.reschedule(id, draw(*now))
            && round.is_multiple_of(2)
        {
            let item = wheel.cancel(id).expect("it was just moved");
            wheel.schedule(draw(*now), item);
        }
    }
}

#[test]
fn the_wheel_allocates_nothing_in_the_steady_state() {
    let (mut rng, mut now) = (Pcg32::new(18, 0), RealTime::ZERO);
    let mut wheel = TimerWheel::new();
    for item in 0..20_000 {
        let delay = RealSpan::from_micros(i64::from(rng.next_u32() % 10_000_000));
        wheel.schedule(now + delay, item);
    }
    churn(&mut wheel, &mut rng, &mut now, 500_000);
    let measured = allocation_counter::measure(|| churn(&mut wheel, &mut rng, &mut now, 50_000));
    assert_eq!((measured.count_total, wheel.len()), (0, 20_000));
}
