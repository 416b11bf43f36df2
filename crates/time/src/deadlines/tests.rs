//! The store against a list that is searched from end to end and is too simple to be wrong.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand_core::Rng;
use rand_pcg::Pcg32;

use super::*;
use crate::units::RealSpan;
use crate::wheel::{WHEEL_RESOLUTION, round_up};

const STEP: i64 = WHEEL_RESOLUTION.as_nanos();
const REVOLUTION: i64 = 512 * STEP;

/// The sorted list, except that it is not even sorted.
#[derive(Default)]
struct Model {
    pending: Vec<Listed>,
    registered: u64,
}

#[derive(Clone, Copy)]
struct Listed {
    at: RealTime,
    order: u64,
    id: TimerId,
    item: u32,
}

impl Model {
    fn add(&mut self, at: RealTime, id: TimerId, item: u32) {
        self.registered += 1;
        self.pending.push(Listed {
            at,
            order: self.registered,
            id,
            item,
        });
    }

    fn cancel(&mut self, id: TimerId) -> Option<u32> {
        let index = self.pending.iter().position(|listed| listed.id == id)?;
        Some(self.pending.remove(index).item)
    }

    fn reschedule(&mut self, id: TimerId, at: RealTime) -> bool {
        self.registered += 1;
        let order = self.registered;
        let found = self.pending.iter_mut().find(|listed| listed.id == id);
        let moved = found.is_some();
        if let Some(listed) = found {
            (listed.at, listed.order) = (at, order);
        }
        moved
    }

    fn take_due(&mut self, now: RealTime) -> Option<Taken<u32>> {
        let due = |listed: &Listed| listed.at <= now;
        let first = self.sorted().into_iter().find(due)?;
        self.cancel(first.id);
        Some(Taken {
            id: first.id,
            at: first.at,
            item: first.item,
        })
    }

    fn sorted(&self) -> Vec<Listed> {
        let mut sorted = self.pending.clone();
        sorted.sort_by_key(|listed| (listed.at, listed.order));
        sorted
    }
}

#[derive(Clone, Debug)]
enum Call {
    Schedule(i64),
    /// As a limit, on the grid of the wheel.
    ScheduleRounded(i64),
    /// Of the ids given out so far, stale ones included, the one at this fraction.
    Cancel(prop::sample::Index),
    Reschedule(prop::sample::Index, i64),
    /// Lets time pass and takes at most so many.
    Take(i64, u8),
}

/// Spans that a wheel finds hard: below its resolution, at its edges, around and beyond its revolution.
fn spans_ns() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0..STEP,
        2 => (0..4_i64, -1..=1_i64).prop_map(|(steps, off)| (steps * STEP + off).max(0)),
        4 => 0..REVOLUTION,
        3 => (1..4_i64, -2 * STEP..=2 * STEP).prop_map(|(turns, off)| turns * REVOLUTION + off),
        1 => 0..100 * REVOLUTION,
        1 => 0..50 * 365 * 86_400 * 1_000_000_000_i64,
    ]
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let index = any::<prop::sample::Index>;
    let call = prop_oneof![
        8 => (spans_ns(), prop::bool::weighted(0.1)).prop_map(|(span, past)| Call::Schedule(if past { -span.min(1 << 40) } else { span })),
        6 => spans_ns().prop_map(Call::ScheduleRounded),
        4 => index().prop_map(Call::Cancel),
        3 => (index(), spans_ns()).prop_map(|(index, span)| Call::Reschedule(index, span)),
        6 => (spans_ns().prop_map(|span| span.min(1 << 42)), 0..6_u8).prop_map(|(span, most)| Call::Take(span, most)),
    ];
    prop::collection::vec(call, 1..400)
}

/// Makes the same calls on both and compares after each.
fn agree(calls: &[Call], start_ns: i64) {
    let mut store: TimerWheel<u32> = TimerWheel::new();
    let mut model = Model::default();
    let mut now = RealTime::from_nanos(start_ns);
    let mut ids: Vec<TimerId> = Vec::new();
    for (number, call) in (0_u32..).zip(calls) {
        match call {
            Call::Schedule(span) | Call::ScheduleRounded(span) => {
                let at = now + RealSpan::from_nanos(*span);
                let is_rounded = matches!(call, Call::ScheduleRounded(_));
                let at = if is_rounded { round_up(at) } else { at };
                let id = store.schedule(at, number);
                assert!(!ids.contains(&id), "an id never comes back");
                ids.push(id);
                model.add(at, id, number);
            }
            Call::Cancel(index) if !ids.is_empty() => {
                let id = *index.get(&ids);
                assert_eq!(store.cancel(id), model.cancel(id));
            }
            Call::Reschedule(index, span) if !ids.is_empty() => {
                let id = *index.get(&ids);
                let at = now + RealSpan::from_nanos(*span);
                let at = if span % 2 == 0 { round_up(at) } else { at };
                assert_eq!(store.reschedule(id, at), model.reschedule(id, at));
            }
            Call::Take(span, most) => {
                now += RealSpan::from_nanos(*span);
                for _ in 0..*most {
                    let taken = store.take_due(now);
                    assert_eq!(taken, model.take_due(now));
                    assert!(taken.is_none_or(|taken| taken.at <= now), "never early");
                }
            }
            Call::Cancel(_) | Call::Reschedule(..) => {}
        }
        let sorted = model.sorted();
        assert_eq!(store.len(), sorted.len());
        assert_eq!(store.is_empty(), sorted.is_empty());
        assert_eq!(store.next_deadline(), sorted.first().map(|listed| listed.at));
    }
    // In the end everything comes out, in order.
    for listed in model.sorted() {
        let taken = store.take_due(RealTime::MAX).expect("nothing pending is lost");
        assert_eq!(
            (taken.at, taken.id, taken.item),
            (listed.at, listed.id, listed.item)
        );
    }
    assert!(store.take_due(RealTime::MAX).is_none());
    assert_eq!(store.next_deadline(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_wheel_agrees_with_a_list(calls in calls(), start in 0..1_i64 << 50) {
        agree(&calls, start);
    }
}

/// Histories of thousands of items, beyond what a list that is searched can follow; the model is a tree.
fn agree_at_large(seed: u64, spread_ns: u64) {
    let mut rng = Pcg32::new(seed, 1);
    let mut below = move |bound: u64| rng.next_u64() % bound;
    let mut store: TimerWheel<u32> = TimerWheel::new();
    let mut model: BTreeMap<(RealTime, u64), (TimerId, u32)> = BTreeMap::new();
    let mut places: Vec<Option<(RealTime, u64)>> = Vec::new();
    let mut ids = Vec::new();
    let mut now = RealTime::from_nanos(1_000_000_000);
    let mut most = 0;
    for step in 0..60_000_u32 {
        most = most.max(store.len());
        let order = u64::from(step);
        let at = now + RealSpan::from_nanos(below(spread_ns) as i64);
        let at = if below(2) == 0 { round_up(at) } else { at };
        // It grows for a while, then shrinks, and so on.
        let grows = step / 15_000 % 2 == 0;
        match below(if grows { 10 } else { 12 }) {
            0..6 => {
                let item = ids.len() as u32;
                ids.push(store.schedule(at, item));
                places.push(Some((at, order)));
                model.insert((at, order), (ids[item as usize], item));
            }
            choice @ (6 | 7) if !ids.is_empty() => {
                let chosen = below(ids.len() as u64) as usize;
                let (id, place) = (ids[chosen], places[chosen].take());
                let known = place.and_then(|place| model.remove(&place));
                if choice == 6 {
                    assert_eq!(store.cancel(id), known.map(|(_, item)| item));
                } else {
                    assert_eq!(store.reschedule(id, at), known.is_some());
                    if let Some(known) = known {
                        places[chosen] = Some((at, order));
                        model.insert((at, order), known);
                    }
                }
            }
            _ => {
                now += RealSpan::from_nanos(below(spread_ns / 5_000 + 1) as i64);
                for _ in 0..below(if grows { 3 } else { 20 }) {
                    let taken = store.take_due(now);
                    let first = model.first_entry().filter(|first| first.key().0 <= now);
                    let expected = first.map(|first| {
                        let ((at, _), (id, item)) = first.remove_entry();
                        places[item as usize] = None;
                        Taken { id, at, item }
                    });
                    assert_eq!(taken, expected);
                }
            }
        }
        assert_eq!(store.len(), model.len());
        assert_eq!(store.next_deadline(), model.keys().next().map(|&(at, _)| at));
    }
    for (&(at, _), &(id, item)) in &model {
        assert_eq!(store.take_due(RealTime::MAX), Some(Taken { id, at, item }));
    }
    assert_eq!(store.take_due(RealTime::MAX), None);
    assert!(most > 3_000, "{most} pending is not large");
}

#[test]
fn the_wheel_agrees_with_a_tree_at_large() {
    for (seed, spread_ns) in [
        (1, 3),
        (2, 50_000_000),
        (3, 4_000_000_000),
        (4, 600_000_000_000),
        (5, 1 << 50),
    ] {
        agree_at_large(seed, spread_ns);
    }
}

fn ms(millis: i64) -> RealTime {
    RealTime::ZERO + RealSpan::from_millis(millis)
}

#[test]
fn a_limit_is_rounded_up_to_a_step_of_the_wheel() {
    for (at, rounded) in [(-1, 0), (0, 0), (1, STEP), (STEP, STEP), (STEP + 1, 2 * STEP)] {
        assert_eq!(round_up(RealTime::from_nanos(at)).as_nanos(), rounded);
    }
}

/// Faults that wheels are known for: a later deadline hides an earlier one, or the cursor's own slot is a revolution late.
#[test]
fn deadlines_around_a_revolution_of_the_wheel_are_found_from_every_cursor() {
    for start in (0..2 * REVOLUTION).step_by(37 * STEP as usize / 3) {
        let now = RealTime::from_nanos(start);
        for steps in [
            [515, 40],
            [511, 2],
            [512, 511],
            [2_561, 514],
            [1_536, 1_535],
            [1, 0],
            [0, 513],
        ] {
            let mut wheel = TimerWheel::new();
            assert_eq!(wheel.take_due(now), None);
            let mut deadlines = steps.map(|steps| round_up(now + RealSpan::from_nanos(steps * STEP)));
            for at in deadlines {
                wheel.schedule(at, at);
            }
            deadlines.sort();
            for at in deadlines {
                assert_eq!(wheel.next_deadline(), Some(at), "{steps:?} steps from {start} ns");
                assert_eq!(wheel.take_due(at - RealSpan::from_nanos(1)), None);
                assert_eq!(wheel.take_due(at).map(|taken| taken.item), Some(at));
            }
        }
    }
}

#[test]
fn a_pause_of_a_year_is_one_jump() {
    let mut wheel = TimerWheel::new();
    let mut now = ms(0);
    for _ in 0..1_000 {
        wheel.schedule(round_up(now + RealSpan::from_millis(3)), ());
        now += RealSpan::from_secs(365 * 86_400 / 1_000);
        // Walking would take four million steps each time: the test would not end.
        assert!(wheel.take_due(now).is_some());
        assert_eq!(wheel.take_due(now), None);
    }
}

/// Limits that are put off again and again, and work that is cancelled before it runs.
#[test]
fn garbage_of_cancels_and_moves_stays_bounded() {
    let mut store: TimerWheel<i64> = TimerWheel::new();
    let ids: Vec<_> = (0..1_000).map(|item| store.schedule(ms(item), item)).collect();
    let mut held_max = 0;
    for round in 0..1_000_000_i64 {
        // By turns into the ring, into one slot of it, far beyond it, and between its steps.
        let ahead_ns = [
            STEP * (round % 500),
            500 * STEP,
            7_500 * STEP,
            60_000_000_001 + round,
        ][round as usize % 4];
        let at = RealTime::from_nanos(ahead_ns);
        assert!(store.reschedule(ids[(round * 7919 % 1_000) as usize], at));
        let cancelled = store.schedule(at, 0);
        assert_eq!(store.cancel(cancelled), Some(0));
        if round % 97 == 0 {
            held_max = held_max.max(store.wheel.held());
        }
    }
    // Each of 512 slots may keep a few dead entries.
    assert!(
        held_max < 1_000 * 4 + 512 * 64,
        "{held_max} entries for a thousand items"
    );
    assert_eq!(store.len(), 1_000);
}
