//! Named timers against a dull list, on both stores, with every way to take them back.

use proptest::prelude::*;
use trantor_time::{DeadlineHeap, DeadlineStore, NewTimer, RealSpan, RealTime, TimerId, TimerWheel, Timers};

const NAMES: [&str; 4] = ["greeting", "idle", "db_save", "script"];
const CAPACITY: usize = 24;

#[derive(Clone, Debug)]
enum Call {
    /// Name, owner, first delay, period: of which some are refused.
    Register(usize, Option<u8>, i64, Option<i64>),
    Cancel(prop::sample::Index),
    CancelNamed(usize),
    CancelOwned(u8),
    CancelAll,
    Move(prop::sample::Index, i64),
    /// Lets time pass and does what is due, up to so many runs.
    Run(i64, u8),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let index = any::<prop::sample::Index>;
    let span = || prop_oneof![1 => -1..=0_i64, 12 => 1..100_000_000_i64, 2 => 1..10_000_000_000_i64];
    let call = prop_oneof![
        10 => (0..4_usize, prop::option::of(0..4_u8), span(), prop::option::of(span()))
            .prop_map(|(name, owner, first, period)| Call::Register(name, owner, first, period)),
        3 => index().prop_map(Call::Cancel),
        1 => (0..4_usize).prop_map(Call::CancelNamed),
        1 => (0..4_u8).prop_map(Call::CancelOwned),
        1 => Just(Call::CancelAll),
        2 => (index(), 0..200_000_000_i64).prop_map(|(index, ahead)| Call::Move(index, ahead)),
        8 => (0..300_000_000_i64, 0..12_u8).prop_map(|(span, most)| Call::Run(span, most)),
    ];
    prop::collection::vec(call, 1..150)
}

#[derive(Clone, Copy, Debug)]
struct Listed {
    id: TimerId,
    name: usize,
    owner: Option<u8>,
    deadline: i64,
    order: u64,
    period: Option<i64>,
}

#[derive(Default)]
struct Model {
    timers: Vec<Listed>,
    orders: u64,
    coalesced: u64,
    cancelled: u64,
}

impl Model {
    fn next_order(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }

    fn cancel(&mut self, is_doomed: impl Fn(&Listed) -> bool) -> usize {
        let before = self.timers.len();
        self.timers.retain(|timer| !is_doomed(timer));
        let cancelled = before - self.timers.len();
        self.cancelled += cancelled as u64;
        cancelled
    }

    /// The next run at `now`: which timer, for which deadline, and how many periods it missed.
    fn take_due(&mut self, now: i64, ready_at: impl Fn(i64) -> i64) -> Option<(TimerId, i64, u64)> {
        let due = self.timers.iter().filter(|timer| ready_at(timer.deadline) <= now);
        let first = *due.min_by_key(|timer| (timer.deadline, timer.order))?;
        let order = self.next_order();
        let index = self.timers.iter().position(|timer| timer.id == first.id)?;
        let Some(period) = first.period else {
            self.timers.remove(index);
            return Some((first.id, first.deadline, 0));
        };
        let missed = (now - first.deadline) / period;
        self.coalesced += missed as u64;
        let timer = &mut self.timers[index];
        (timer.deadline, timer.order) = (first.deadline + (missed + 1) * period, order);
        Some((first.id, first.deadline, missed as u64))
    }
}

fn agree<S: DeadlineStore<TimerId, Moment = RealTime>>(
    store: S,
    step_ns: i64,
    calls: &[Call],
) -> Result<(), TestCaseError> {
    let at = RealTime::from_nanos;
    let span = RealSpan::from_nanos;
    let ready_at = |deadline: i64| (deadline + step_ns - 1) / step_ns * step_ns;
    let mut timers: Timers<S, u8, usize> = Timers::with_capacity(store, CAPACITY);
    let mut model = Model::default();
    let mut ids = Vec::new();
    let mut now = 1_000_000_007;
    for call in calls {
        match *call {
            Call::Register(name, owner, first, period) => {
                let new = match period {
                    None => NewTimer::once(NAMES[name], span(first), name),
                    Some(period) => NewTimer::every(NAMES[name], span(period), name).first_after(span(first)),
                };
                let new = if let Some(owner) = owner {
                    new.owned_by(owner)
                } else {
                    new
                };
                let is_good =
                    first > 0 && period.is_none_or(|period| period > 0) && model.timers.len() < CAPACITY;
                let registered = timers.register(at(now), new);
                prop_assert_eq!(registered.is_ok(), is_good);
                if let Ok(id) = registered {
                    let order = model.next_order();
                    model.timers.push(Listed {
                        id,
                        name,
                        owner,
                        deadline: now + first,
                        order,
                        period,
                    });
                    prop_assert!(!ids.contains(&id), "ids are unique");
                    ids.push(id);
                }
            }
            Call::Cancel(index) if !ids.is_empty() => {
                let id = *index.get(&ids);
                prop_assert_eq!(
                    usize::from(timers.cancel(id)),
                    model.cancel(|timer| timer.id == id)
                );
            }
            Call::CancelNamed(name) => {
                prop_assert_eq!(
                    timers.cancel_named(NAMES[name]),
                    model.cancel(|timer| timer.name == name)
                );
            }
            Call::CancelOwned(owner) => {
                prop_assert_eq!(
                    timers.cancel_owned(owner),
                    model.cancel(|timer| timer.owner == Some(owner))
                );
            }
            Call::CancelAll => prop_assert_eq!(timers.cancel_all(), model.cancel(|_| true)),
            Call::Move(index, ahead) if !ids.is_empty() => {
                let id = *index.get(&ids);
                let order = model.next_order();
                let moved = model.timers.iter_mut().find(|timer| timer.id == id);
                prop_assert_eq!(timers.reschedule(id, at(now + ahead)), moved.is_some());
                if let Some(timer) = moved {
                    (timer.deadline, timer.order) = (now + ahead, order);
                }
            }
            Call::Run(passed, most) => {
                now += passed;
                timers.begin_pass();
                for _ in 0..most {
                    let run = timers.take_due(at(now));
                    let seen = run
                        .as_ref()
                        .map(|run| (run.id, run.instant.as_nanos(), run.missed));
                    prop_assert_eq!(seen, model.take_due(now, ready_at));
                    let Some(run) = run else { break };
                    prop_assert_eq!(&*run.name, NAMES[run.payload]);
                    timers.finish(run, span(1), false);
                }
            }
            Call::Cancel(_) | Call::Move(..) => {}
        }
        let mut listed = model.timers.clone();
        listed.sort_by_key(|timer| (timer.deadline, timer.order));
        let expected: Vec<_> = listed
            .iter()
            .map(|timer| (timer.id, timer.owner, at(timer.deadline)))
            .collect();
        let seen: Vec<_> = timers
            .in_order()
            .iter()
            .map(|view| (view.id, view.owner, view.deadline))
            .collect();
        prop_assert_eq!(seen, expected);
        prop_assert_eq!(
            timers.next_deadline(),
            listed.first().map(|timer| at(ready_at(timer.deadline)))
        );
        let stats = timers.stats();
        prop_assert_eq!(
            (stats.active, stats.coalesced, stats.cancelled),
            (model.timers.len() as u64, model.coalesced, model.cancelled)
        );
        let by_name: u64 = timers.stats_by_name().map(|(_, stats)| stats.active).sum();
        prop_assert_eq!(by_name, stats.active);
    }
    Ok(())
}

proptest! {
    #[test]
    fn named_timers_agree_with_a_list_on_the_heap(calls in calls()) {
        agree(DeadlineHeap::new(), 1, &calls)?;
    }

    #[test]
    fn named_timers_agree_with_a_list_on_the_wheel(calls in calls()) {
        agree(TimerWheel::new(), 8_000_000, &calls)?;
    }
}
