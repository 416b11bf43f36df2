//! Loops of few lines on the stores: what a pass promises, and when the loop sleeps (invariant T13).

use std::cell::Cell;
use std::cmp::Ordering;

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::{
    DeadlineHeap, DeadlineStore, Frequency, GameClock, GameSpan, GameTime, RealSpan, RealTime, TimerWheel,
};

fn at(nanos: i64) -> RealTime {
    RealTime::from_nanos(nanos)
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

#[test]
fn delays_in_units_in_real_time_and_absolute_instants_each_give_an_id() {
    let now = GameTime::from_nanounits(1_500_000_000);
    let mut game = DeadlineHeap::new();
    let units = game.schedule(now + GameSpan::from_units(7), "in units");
    let absolute = game.schedule(GameTime::from_units(3), "at an instant");
    assert_ne!(units, absolute);
    assert_eq!(
        game.deadline_of(units),
        Some(GameTime::from_nanounits(8_500_000_000))
    );
    assert_eq!(game.next_deadline(), Some(GameTime::from_units(3)));
    let mut real = DeadlineHeap::new();
    let id = real.schedule(at(5) + ms(70), "in real time");
    assert_eq!(real.deadline_of(id), Some(at(70_000_005)));
}

/// A million timers with random delays; each schedules nothing, and none may come early.
fn a_million_random_timers<S: DeadlineStore<RealTime, Moment = RealTime>>(
    mut store: S,
    resolution: RealSpan,
) {
    let mut luck = Pcg32::new(5, 0);
    let count = 1_000_000;
    for _ in 0..count {
        let deadline = at((luck.next_u64() % 60_000_000_000) as i64);
        store.schedule(deadline, deadline);
    }
    let mut taken = 0;
    let mut now = RealTime::ZERO;
    while let Some(next) = store.next_deadline() {
        // At times the loop wakes on time, at times long after, at times for something else before.
        now = match luck.next_u32() % 3 {
            0 => now.max(next - RealSpan::from_nanos(1)),
            1 => now.max(next),
            _ => now.max(next) + RealSpan::from_micros(i64::from(luck.next_u32() % 30_000)),
        };
        while let Some(due) = store.take_due(now) {
            assert!(due.item <= now, "early");
            assert!(
                next - due.item < resolution || due.item >= next,
                "later than the resolution allows"
            );
            taken += 1;
        }
    }
    assert_eq!(taken, count);
}

#[test]
fn of_a_million_random_timers_none_runs_before_its_deadline() {
    a_million_random_timers(DeadlineHeap::new(), RealSpan::from_nanos(1));
    a_million_random_timers(TimerWheel::new(), ms(8));
}

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// A moment that counts how often it is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counting(u64);

impl Ord for Counting {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Counting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[test]
fn with_a_million_pending_no_call_looks_at_all_of_them() {
    let mut luck = Pcg32::new(13, 0);
    let mut heap = DeadlineHeap::new();
    let mut ids = Vec::new();
    let (mut worst, mut total, mut calls) = (0, 0, 0_u64);
    let mut counted = |heap: &mut DeadlineHeap<Counting, ()>,
                       call: &mut dyn FnMut(&mut DeadlineHeap<Counting, ()>)| {
        COMPARISONS.set(0);
        call(heap);
        worst = worst.max(COMPARISONS.get());
        total += COMPARISONS.get();
        calls += 1;
    };
    for _ in 0..1_000_000 {
        let deadline = Counting(luck.next_u64() >> 1);
        counted(&mut heap, &mut |heap| ids.push(heap.schedule(deadline, ())));
    }
    for round in 0..300_000 {
        let chosen = ids[(luck.next_u64() % ids.len() as u64) as usize];
        let deadline = Counting(luck.next_u64() >> 1);
        counted(&mut heap, &mut |heap| match round % 3 {
            0 => {
                heap.cancel(chosen);
            }
            1 => {
                heap.reschedule(chosen, deadline);
            }
            _ => {
                heap.take_due(Counting(u64::MAX));
            }
        });
        COMPARISONS.set(0);
        assert!(heap.next_deadline().is_some());
        assert_eq!(COMPARISONS.get(), 0, "the next deadline is at hand");
    }
    assert!(total / calls < 60, "{} comparisons on average", total / calls);
    assert!(
        worst < 20_000,
        "{worst} comparisons at worst, of a million entries"
    );
}

#[test]
fn a_budget_cuts_a_pass_and_the_rest_keeps_its_order() {
    let mut heap = DeadlineHeap::new();
    for item in 0..1000 {
        heap.schedule(at(item % 7), item);
    }
    let expected: Vec<_> = heap.in_order().into_iter().map(|(_, &item)| item).collect();
    let mut done = Vec::new();
    let mut passes = 0;
    while heap.next_deadline().is_some_and(|next| next <= at(10)) {
        heap.begin_pass();
        // At least one, at most 64: what is left over makes the next pass start without waiting.
        done.extend(
            std::iter::from_fn(|| heap.take_due(at(10)))
                .take(64)
                .map(|taken| taken.item),
        );
        passes += 1;
    }
    assert_eq!(done, expected);
    assert_eq!(passes, 16);
}

#[test]
fn logical_time_is_the_nominal_deadline_however_late_the_pass() {
    let mut wheel = TimerWheel::new();
    wheel.schedule(at(1_234_567), ());
    let taken = wheel.take_due(at(99_999_999_999)).expect("due");
    assert_eq!(taken.at, at(1_234_567));
}

/// A loop with a pretend wait on two clocks, which counts how it sleeps.
#[test]
fn waits_are_never_early_never_zero_and_one_for_each_deadline() {
    let mut luck = Pcg32::new(13, 1);
    let mut clock = GameClock::new(
        RealTime::ZERO,
        GameTime::ZERO,
        Frequency::new(300).expect("a good frequency"),
    );
    let mut game = DeadlineHeap::new();
    let mut real: TimerWheel<()> = TimerWheel::new();
    let (mut now, mut wake_ups, mut inputs, mut woken_for) =
        (RealTime::ZERO, 0, 0, std::collections::BTreeSet::new());
    for item in 0..20_000 {
        game.schedule(
            GameTime::from_nanounits(i128::from(luck.next_u64() % 30_000_000_000)),
            item,
        );
    }
    for _ in 0..2_000 {
        real.schedule(at((luck.next_u64() % 90_000_000_000) as i64), ());
    }
    loop {
        let game_wake = game.next_deadline().and_then(|next| clock.real_at(next));
        let wake = [game_wake, real.next_deadline()].into_iter().flatten().min();
        let Some(wake) = wake else { break };
        assert!(wake > now, "what was due ran; a wait has a length");
        // Now and then something comes in before the deadline; it may change the speed.
        if luck.next_u32().is_multiple_of(16) {
            now += RealSpan::from_nanos((luck.next_u64() % (wake - now).as_nanos().unsigned_abs()) as i64);
            clock.set_frequency(
                now,
                Frequency::new(1 + luck.next_u64() % 1000).expect("a good frequency"),
            );
            inputs += 1;
        } else {
            // Waking is late by up to 80 µs, never early.
            woken_for.insert(wake);
            now = wake + RealSpan::from_nanos((luck.next_u64() % 80_000) as i64);
        }
        wake_ups += 1;
        let game_now = clock.now(now);
        while let Some(taken) = game.take_due(game_now) {
            assert!(taken.at <= game_now, "early");
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

#[test]
fn deliveries_obey_speed_and_pause_like_all_other_work() {
    use trantor_time::{Fate, Link, LinkSettings};
    let second = RealSpan::from_secs(1);
    let mut clock = GameClock::new(
        RealTime::ZERO,
        GameTime::ZERO,
        Frequency::new(10).expect("a good frequency"),
    );
    let settings = LinkSettings {
        latency: GameSpan::from_units(10),
        ..LinkSettings::perfect(GameSpan::ZERO)
    };
    let mut link = Link::new(settings, 1, 1).expect("good settings");
    let mut agenda = DeadlineHeap::new();
    let Fate::Arrives { at: arrival, .. } = link.send(clock.now(RealTime::ZERO), 0, 0) else {
        panic!("nothing is lost on this link")
    };
    agenda.schedule(arrival, "hello");
    let wake = |clock: &GameClock, agenda: &DeadlineHeap<_, _>| {
        agenda.next_deadline().and_then(|next| clock.real_at(next))
    };
    assert_eq!(wake(&clock, &agenda), Some(RealTime::ZERO + second));
    clock.pause(RealTime::ZERO + ms(500));
    assert_eq!(wake(&clock, &agenda), None);
    let resumed = RealTime::ZERO + second * 60;
    clock.resume(resumed);
    clock.set_frequency(resumed, Frequency::new(100).expect("a good frequency"));
    assert_eq!(
        wake(&clock, &agenda),
        Some(resumed + ms(50)),
        "five units were left"
    );
}
