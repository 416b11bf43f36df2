//! One suite for every deadline store, against a list that is searched from end to end.
//!
//! The list is too dull to be wrong; a store agrees with it after every call, or it is (T12).

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand_core::Rng;
use rand_pcg::Pcg32;
use trantor_time::{DeadlineHeap, DeadlineStore, RealSpan, RealTime, Taken, TimerId, TimerWheel};

/// What the suite needs to know of a store besides the contract.
trait Candidate: DeadlineStore<u32, Moment = RealTime> {
    fn fresh() -> Self;
    /// From when on the store gives out an item with this deadline: its stated resolution.
    fn ready_at(at: RealTime) -> RealTime;
}

impl Candidate for DeadlineHeap<RealTime, u32> {
    fn fresh() -> Self {
        Self::new()
    }

    fn ready_at(at: RealTime) -> RealTime {
        at
    }
}

impl Candidate for TimerWheel<u32> {
    fn fresh() -> Self {
        Self::new()
    }

    fn ready_at(at: RealTime) -> RealTime {
        const STEP: i64 = 8_000_000;
        RealTime::from_nanos(
            at.as_nanos().div_euclid(STEP) * STEP
                + if at.as_nanos().rem_euclid(STEP) == 0 {
                    0
                } else {
                    STEP
                },
        )
    }
}

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
    next_pass: bool,
}

impl Model {
    fn add(&mut self, at: RealTime, id: TimerId, item: u32, next_pass: bool) {
        self.registered += 1;
        self.pending.push(Listed {
            at,
            order: self.registered,
            id,
            item,
            next_pass,
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
            (listed.at, listed.order, listed.next_pass) = (at, order, false);
        }
        moved
    }

    fn take_due<S: Candidate>(&mut self, now: RealTime) -> Option<Taken<RealTime, u32>> {
        let due = |listed: &Listed| !listed.next_pass && S::ready_at(listed.at) <= now;
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
    ScheduleNextPass(i64),
    BeginPass,
    /// Of the ids given out so far, stale ones included, the one at this fraction.
    Cancel(prop::sample::Index),
    Reschedule(prop::sample::Index, i64),
    /// Lets time pass and takes at most so many.
    Take(i64, u8),
    Clear,
}

/// Spans that a wheel finds hard: below its resolution, at its edges, around and beyond its revolution.
fn spans_ns() -> impl Strategy<Value = i64> {
    const STEP: i64 = 8_000_000;
    const REVOLUTION: i64 = 512 * STEP;
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
        1 => spans_ns().prop_map(Call::ScheduleNextPass),
        1 => Just(Call::BeginPass),
        4 => index().prop_map(Call::Cancel),
        3 => (index(), spans_ns()).prop_map(|(index, span)| Call::Reschedule(index, span)),
        6 => (spans_ns().prop_map(|span| span.min(1 << 42)), 0..6_u8).prop_map(|(span, most)| Call::Take(span, most)),
    ];
    let mostly = prop_oneof![400 => call, 1 => Just(Call::Clear)];
    prop::collection::vec(mostly, 1..400)
}

/// Makes the same calls on both and compares after each.
fn agree<S: Candidate>(calls: &[Call], start_ns: i64) {
    let mut store = S::fresh();
    let mut model = Model::default();
    let mut now = RealTime::from_nanos(start_ns);
    let mut ids: Vec<TimerId> = Vec::new();
    for (number, call) in (0_u32..).zip(calls) {
        match call {
            Call::Schedule(span) => {
                let at = now + RealSpan::from_nanos(*span);
                let id = store.schedule(at, number);
                assert!(!ids.contains(&id), "an id never comes back");
                ids.push(id);
                model.add(at, id, number, false);
            }
            Call::ScheduleNextPass(span) => {
                let at = now + RealSpan::from_nanos(*span);
                let id = store.schedule_next_pass(at, number);
                assert!(!ids.contains(&id), "an id never comes back");
                ids.push(id);
                model.add(at, id, number, true);
            }
            Call::BeginPass => {
                store.begin_pass();
                model
                    .pending
                    .iter_mut()
                    .for_each(|listed| listed.next_pass = false);
            }
            Call::Cancel(index) if !ids.is_empty() => {
                let id = *index.get(&ids);
                assert_eq!(store.cancel(id), model.cancel(id));
            }
            Call::Reschedule(index, span) if !ids.is_empty() => {
                let id = *index.get(&ids);
                let at = now + RealSpan::from_nanos(*span);
                assert_eq!(store.reschedule(id, at), model.reschedule(id, at));
                assert_eq!(store.deadline_of(id).is_some(), store.get(id).is_some());
            }
            Call::Take(span, most) => {
                now += RealSpan::from_nanos(*span);
                for _ in 0..*most {
                    let taken = store.take_due(now);
                    assert_eq!(taken, model.take_due::<S>(now));
                    assert!(taken.is_none_or(|taken| taken.at <= now), "never early");
                }
            }
            Call::Clear => {
                store.clear();
                model.pending.clear();
            }
            Call::Cancel(_) | Call::Reschedule(..) => {}
        }
        let sorted = model.sorted();
        let expected: Vec<_> = sorted.iter().map(|listed| (listed.at, listed.item)).collect();
        let in_order: Vec<_> = store
            .in_order()
            .into_iter()
            .map(|(at, &item)| (at, item))
            .collect();
        assert_eq!(in_order, expected);
        assert_eq!(store.len(), sorted.len());
        assert_eq!(store.is_empty(), sorted.is_empty());
        assert_eq!(
            store.next_deadline(),
            sorted.first().map(|listed| S::ready_at(listed.at))
        );
    }
    // In the end everything comes out, in order.
    store.begin_pass();
    model
        .pending
        .iter_mut()
        .for_each(|listed| listed.next_pass = false);
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
    fn the_heap_agrees_with_a_list(calls in calls(), start in 0..1_i64 << 50) {
        agree::<DeadlineHeap<RealTime, u32>>(&calls, start);
    }

    #[test]
    fn the_wheel_agrees_with_a_list(calls in calls(), start in 0..1_i64 << 50) {
        agree::<TimerWheel<u32>>(&calls, start);
    }
}

/// Histories of thousands of items, beyond what a list that is searched can follow; the model is a tree.
fn agree_at_large<S: Candidate>(seed: u64, spread_ns: u64) {
    let mut luck = Pcg32::new(seed, 1);
    let mut below = move |bound: u64| luck.next_u64() % bound;
    let mut store = S::fresh();
    let mut model: BTreeMap<(RealTime, u64), (TimerId, u32)> = BTreeMap::new();
    let mut places: Vec<Option<(RealTime, u64)>> = Vec::new();
    let mut ids = Vec::new();
    let mut now = RealTime::from_nanos(1_000_000_000);
    let mut most = 0;
    for step in 0..60_000_u32 {
        most = most.max(store.len());
        let order = u64::from(step);
        let at = now + RealSpan::from_nanos(below(spread_ns) as i64);
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
                    let first = model
                        .first_entry()
                        .filter(|first| S::ready_at(first.key().0) <= now);
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
        assert_eq!(
            store.next_deadline(),
            model.keys().next().map(|&(at, _)| S::ready_at(at))
        );
    }
    let expected: Vec<_> = model.iter().map(|(&(at, _), &(_, item))| (at, item)).collect();
    let in_order: Vec<_> = store
        .in_order()
        .into_iter()
        .map(|(at, &item)| (at, item))
        .collect();
    assert_eq!(in_order, expected);
    assert!(most > 3_000, "{most} pending is not large");
}

#[test]
fn both_stores_agree_with_a_tree_at_large() {
    for (seed, spread_ns) in [
        (1, 3),
        (2, 50_000_000),
        (3, 4_000_000_000),
        (4, 600_000_000_000),
        (5, 1 << 50),
    ] {
        agree_at_large::<DeadlineHeap<RealTime, u32>>(seed, spread_ns);
        agree_at_large::<TimerWheel<u32>>(seed, spread_ns);
    }
}

/// Cases by name, for each store.
macro_rules! cases {
    ($store:ty, $module:ident) => {
        mod $module {
            use super::*;

            fn fresh() -> $store {
                <$store as Candidate>::fresh()
            }

            fn ms(millis: i64) -> RealTime {
                RealTime::ZERO + RealSpan::from_millis(millis)
            }

            #[test]
            fn equal_deadlines_run_in_the_order_they_were_scheduled() {
                let mut store = fresh();
                for item in 0..1000 {
                    store.schedule(ms(i64::from(item % 3) * 8), item);
                }
                let mut taken = Vec::new();
                while let Some(next) = store.take_due(ms(1000)) {
                    taken.push((next.item % 3, next.item));
                }
                assert_eq!(taken.len(), 1000);
                assert!(taken.is_sorted());
            }

            #[test]
            fn a_deadline_already_reached_runs_in_the_same_pass() {
                let mut store = fresh();
                store.schedule(ms(16), 1);
                store.schedule(ms(32), 3);
                store.begin_pass();
                assert_eq!(store.take_due(ms(40)).map(|taken| taken.item), Some(1));
                store.schedule(ms(24), 2);
                store.schedule(ms(48), 4);
                assert_eq!(store.take_due(ms(40)).map(|taken| taken.item), Some(2));
                assert_eq!(store.take_due(ms(40)).map(|taken| taken.item), Some(3));
                assert_eq!(store.take_due(ms(40)), None, "a later deadline waits");
            }

            #[test]
            fn zero_delay_runs_in_the_next_pass_and_never_holds_one() {
                let mut store = fresh();
                store.schedule(ms(8), 0);
                for pass in 0..100 {
                    store.begin_pass();
                    let taken = store
                        .take_due(ms(8))
                        .expect("the loop does not sleep over it");
                    assert_eq!(taken.item, pass);
                    store.schedule_next_pass(taken.at, pass + 1);
                    assert_eq!(store.next_deadline(), Some(ms(8)));
                    assert_eq!(store.take_due(ms(8)), None, "this pass is over");
                }
            }

            #[test]
            fn a_cancel_holds_inside_a_pass() {
                let mut store = fresh();
                store.schedule(ms(8), 1);
                let second = store.schedule(ms(8), 2);
                store.begin_pass();
                assert_eq!(store.take_due(ms(9000)).map(|taken| taken.item), Some(1));
                assert_eq!(store.cancel(second), Some(2));
                assert_eq!(store.take_due(ms(9000)), None);
                assert_eq!(
                    store.cancel(second),
                    None,
                    "it answers whether something was cancelled"
                );
            }

            #[test]
            fn cancelling_an_old_id_is_harmless() {
                let mut store = fresh();
                let old = store.schedule(ms(8), 1);
                assert!(store.take_due(ms(8)).is_some());
                let new = store.schedule(ms(16), 2);
                assert_ne!(old, new);
                assert_eq!(store.cancel(old), None);
                assert!(!store.reschedule(old, ms(0)));
                assert_eq!(store.get(new), Some(&2));
            }

            #[test]
            fn moving_keeps_the_id_and_takes_a_new_place_in_line() {
                let mut store = fresh();
                let first = store.schedule(ms(8), 1);
                store.schedule(ms(16), 2);
                assert!(store.reschedule(first, ms(16)));
                assert_eq!(store.take_due(ms(16)).map(|taken| taken.item), Some(2));
                let taken = store.take_due(ms(16)).expect("still pending");
                assert_eq!((taken.id, taken.item), (first, 1));
            }

            #[test]
            fn the_next_deadline_is_that_of_a_live_item() {
                let mut store = fresh();
                let ids: Vec<_> = (1..100)
                    .map(|n| store.schedule(ms(n * 8), n as u32))
                    .collect();
                store.schedule(ms(3_600_000), 0);
                ids.into_iter()
                    .for_each(|id| assert!(store.cancel(id).is_some()));
                assert_eq!(store.next_deadline(), Some(ms(3_600_000)));
            }

            /// Steps and a revolution of the usual wheel: where wheels go wrong. The heap has no such places.
            const STEP: i64 = 8;
            const REVOLUTION: i64 = 512 * STEP;

            /// A store whose hands stand at `now`, having been asked there.
            fn standing_at(now: RealTime) -> $store {
                let mut store = fresh();
                assert_eq!(store.take_due(now), None);
                store
            }

            #[test]
            fn wheel_bug_1_a_later_timer_does_not_hide_an_earlier_deadline() {
                for start in (0..2 * REVOLUTION).step_by(120) {
                    let now = ms(start);
                    for (later, earlier) in [
                        (REVOLUTION + 3 * STEP, 40 * STEP),
                        (REVOLUTION - STEP, 2 * STEP),
                        (5 * REVOLUTION + STEP, REVOLUTION + 2 * STEP),
                        (3 * REVOLUTION, 3 * REVOLUTION - STEP),
                    ] {
                        let mut store = standing_at(now);
                        let [later, earlier] = [later, earlier].map(|span| now + RealSpan::from_millis(span));
                        store.schedule(later, 2);
                        store.schedule(earlier, 1);
                        for (at, item) in [(earlier, 1), (later, 2)] {
                            assert_eq!(
                                store.next_deadline(),
                                Some(<$store as Candidate>::ready_at(at)),
                                "at {start} ms"
                            );
                            assert_eq!(
                                store
                                    .take_due(<$store as Candidate>::ready_at(at))
                                    .map(|taken| taken.item),
                                Some(item)
                            );
                        }
                    }
                }
            }

            #[test]
            fn wheel_bug_2_the_cursors_slot_is_not_reported_a_revolution_late() {
                for start_ns in (0..600 * STEP * 1_000_000).step_by(5_234_567) {
                    let now = RealTime::from_nanos(start_ns);
                    let mut store = standing_at(now);
                    for span_ns in [0, 1, 999_999, 7_999_999, 8_000_000] {
                        let at = now + RealSpan::from_nanos(span_ns);
                        let id = store.schedule(at, 0);
                        let next = store.next_deadline().expect("something is pending");
                        assert_eq!(
                            next,
                            <$store as Candidate>::ready_at(at),
                            "{span_ns} ns from {start_ns} ns"
                        );
                        assert!(
                            next - at < RealSpan::from_millis(STEP),
                            "late by less than the resolution"
                        );
                        assert!(store.cancel(id).is_some());
                    }
                }
            }

            #[test]
            fn wheel_bug_3_a_fractional_deadline_at_a_cascade_edge_is_neither_early_nor_lost() {
                for turns in 1..5 {
                    for off_ns in [-1, 0, 1, 3_999_999, 7_999_999, 8_000_000, 8_000_001] {
                        for start_ns in [0, 1, 4_000_000, 7_999_999] {
                            let now = RealTime::from_nanos(start_ns);
                            let mut store = standing_at(now);
                            let at = ms(turns * REVOLUTION) + RealSpan::from_nanos(off_ns);
                            store.schedule(at, 9);
                            let ready = <$store as Candidate>::ready_at(at);
                            assert_eq!(store.next_deadline(), Some(ready));
                            // Looked at all the way, so that it crosses every edge there is.
                            for step in 1..turns * 512 {
                                let looked = ms(step * STEP).min(ready - RealSpan::from_nanos(1));
                                assert_eq!(store.take_due(looked), None, "early");
                            }
                            assert_eq!(
                                store.take_due(ready).map(|taken| (taken.at, taken.item)),
                                Some((at, 9))
                            );
                        }
                    }
                }
            }

            #[test]
            fn after_a_pause_what_is_due_runs_in_order_of_deadline_not_of_slot() {
                let mut store = fresh();
                // In slot order these would come out as 3, 4, 1, 5, 2: some are a revolution or more ahead.
                for (at, item) in [
                    (4_000, 1),
                    (5_000, 2),
                    (30, 0),
                    (8_200, 4),
                    (6_000, 3),
                    (20_000, 5),
                ] {
                    store.schedule(ms(at), item);
                }
                let hour = ms(3_600_000);
                let order: Vec<_> = std::iter::from_fn(|| store.take_due(hour))
                    .map(|taken| taken.item)
                    .collect();
                assert_eq!(order, [0, 1, 2, 3, 4, 5]);
            }

            #[test]
            fn deadlines_30_days_60_days_and_50_years_ahead() {
                let day = 86_400_000;
                let mut store = fresh();
                for days in [50 * 365, 60, 30] {
                    store.schedule(ms(days * day), days as u32);
                }
                for days in [30, 60, 50 * 365] {
                    let at = ms(days * day);
                    assert_eq!(store.next_deadline(), Some(at));
                    assert_eq!(store.take_due(at - RealSpan::from_nanos(1)), None);
                    assert_eq!(
                        store.take_due(at).map(|taken| taken.item),
                        Some(days as u32)
                    );
                }
            }
        }
    };
}

cases!(DeadlineHeap<RealTime, u32>, heap);
cases!(TimerWheel<u32>, wheel);
