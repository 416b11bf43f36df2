//! Loops of few lines on the stores: what a call costs, and when the loop sleeps (invariant T13).

use std::cell::Cell;
use std::cmp::Ordering;

use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::{DeadlineHeap, Frequency, GameClock, GameTime, RealSpan, RealTime, TimerWheel};

fn at(nanos: i64) -> RealTime {
    RealTime::from_nanos(nanos)
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
    let mut rng = Pcg32::new(13, 0);
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
        let deadline = Counting(rng.next_u64() >> 1);
        counted(&mut heap, &mut |heap| ids.push(heap.schedule(deadline, ())));
    }
    for round in 0..300_000 {
        let chosen = ids[(rng.next_u64() % ids.len() as u64) as usize];
        let deadline = Counting(rng.next_u64() >> 1);
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

/// A loop with a pretend wait on two clocks, which counts how it sleeps.
#[test]
fn waits_are_never_early_never_zero_and_one_for_each_deadline() {
    let mut rng = Pcg32::new(13, 1);
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
            GameTime::from_nanounits(i128::from(rng.next_u64() % 30_000_000_000)),
            item,
        );
    }
    for _ in 0..2_000 {
        real.schedule(at((rng.next_u64() % 90_000_000_000) as i64), ());
    }
    loop {
        let game_wake = game.next_deadline().and_then(|next| clock.real_at(next));
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
