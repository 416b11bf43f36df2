//! In the steady state nothing is allocated.

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::{DeadlineHeap, DeadlineStore, NewTimer, RealSpan, RealTime, TimerId, TimerWheel, Timers};

/// Allocations made by `work`.
fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// Takes, schedules, moves and cancels with much the same number pending all the time.
fn churn<S: DeadlineStore<u64, Moment = RealTime>>(
    store: &mut S,
    luck: &mut Pcg32,
    now: &mut RealTime,
    rounds: u32,
) {
    let mut recent = [None::<TimerId>; 64];
    for round in 0..rounds {
        *now += RealSpan::from_micros(200);
        while let Some(taken) = store.take_due(*now) {
            let delay = RealSpan::from_micros(i64::from(luck.next_u32() % 10_000_000));
            recent[(luck.next_u32() % 64) as usize] = Some(store.schedule(taken.at + delay, taken.item));
        }
        let chosen = recent[(round % 64) as usize].take();
        if let Some(id) = chosen.filter(|&id| store.get(id).is_some()) {
            let later = *now + RealSpan::from_micros(i64::from(luck.next_u32() % 10_000_000));
            assert!(store.reschedule(id, later));
            if round.is_multiple_of(2) {
                let item = store.cancel(id).expect("it was just moved");
                store.schedule_next_pass(later, item);
            }
        }
        store.begin_pass();
    }
}

fn steady<S: DeadlineStore<u64, Moment = RealTime>>(mut store: S) -> u64 {
    let (mut luck, mut now) = (Pcg32::new(18, 0), RealTime::ZERO);
    for item in 0..20_000 {
        let delay = RealSpan::from_micros(i64::from(luck.next_u32() % 10_000_000));
        store.schedule(now + delay, item);
    }
    churn(&mut store, &mut luck, &mut now, 150_000);
    let count = allocations(|| churn(&mut store, &mut luck, &mut now, 50_000));
    assert_eq!(store.len(), 20_000);
    count
}

#[test]
fn the_heap_allocates_nothing_in_the_steady_state() {
    assert_eq!(steady(DeadlineHeap::new()), 0);
}

#[test]
fn turning_the_wheel_allocates_nothing() {
    assert_eq!(steady(TimerWheel::new()), 0);
}

/// A payload that cannot be copied, and would be seen to be dropped.
struct Callback(Box<dyn FnMut() -> u32>);

#[test]
fn a_run_moves_its_callback_and_allocates_nothing() {
    let mut timers: Timers<_, u32, Callback> = Timers::new(TimerWheel::new());
    for owner in 0..100 {
        let mut calls = 0;
        let callback = Callback(Box::new(move || {
            calls += 1;
            calls
        }));
        let period = RealSpan::from_millis(10 + i64::from(owner));
        let new = NewTimer::every("beat", period, callback).owned_by(owner);
        timers.register(RealTime::ZERO, new).expect("room");
    }
    let mut now = RealTime::ZERO;
    let mut turn = |millis: i64| {
        let mut calls_max = 0;
        for _ in 0..millis {
            now += RealSpan::from_millis(1);
            while let Some(mut run) = timers.take_due(now) {
                calls_max = calls_max.max((run.payload.0)());
                timers.finish(run, RealSpan::ZERO, false);
            }
        }
        calls_max
    };
    turn(10_000);
    let mut calls_max = 0;
    assert_eq!(allocations(|| calls_max = turn(10_000)), 0);
    // Every ten milliseconds, on an eight-millisecond wheel; the callback's own state went with it.
    assert!((1_900..=2_000).contains(&calls_max), "{calls_max} calls");
}
