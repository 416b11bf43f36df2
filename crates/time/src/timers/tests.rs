//! Named timers on the exact store.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::rc::Rc;

use super::*;
use crate::heap::DeadlineHeap;
use crate::late::LatePolicy;
use crate::units::{GameSpan, GameTime, RealTime};

type OnHeap<P> = Timers<DeadlineHeap<RealTime, TimerId>, u32, P>;

fn ms(millis: i64) -> RealTime {
    RealTime::ZERO + span(millis)
}

fn span(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn timers<P>() -> OnHeap<P> {
    Timers::new(DeadlineHeap::new())
}

/// Runs all that is due and tells the names, in order.
fn run<P>(timers: &mut OnHeap<P>, now: RealTime) -> Vec<String> {
    let mut names = Vec::new();
    timers.begin_pass();
    while let Some(run) = timers.take_due(now) {
        names.push(run.name.to_string());
        timers.finish(run, span(0), false);
    }
    names
}

#[test]
fn names_may_be_shared_and_ids_are_unique() {
    let mut timers = timers();
    let once = timers
        .register(ms(0), NewTimer::once("save", span(10), ()))
        .expect("room");
    let every = timers
        .register(ms(0), NewTimer::every("save", span(10), ()).first_after(span(3)))
        .expect("room");
    assert_ne!(once, every);
    assert_eq!(timers.next_deadline(), Some(ms(3)));
    assert_eq!(run(&mut timers, ms(3)), ["save"]);
    assert_eq!(run(&mut timers, ms(12)), ["save"], "the one-shot, at 10");
    assert_eq!(timers.view(once), None);
    assert_eq!(run(&mut timers, ms(13)), ["save"], "the other, at 3 + 10");
    assert_eq!(timers.len(), 1);
}

#[test]
fn unregister_by_id_by_name_by_owner_and_all() {
    let mut timers = timers();
    let mut ids = Vec::new();
    for number in 0..100_u32 {
        let name = ["greeting", "idle"][number as usize % 2];
        let new = NewTimer::every(name, span(10), ()).owned_by(number % 5);
        ids.push(timers.register(ms(0), new).expect("room"));
    }
    assert!(timers.cancel(ids[0]));
    assert!(!timers.cancel(ids[0]), "it answers whether there was one");
    assert_eq!(timers.cancel_owned(0), 19);
    assert_eq!(timers.cancel_owned(0), 0);
    assert_eq!(timers.cancel_named("idle"), 40);
    assert_eq!(timers.cancel_named("idle"), 0);
    assert_eq!(timers.cancel_named("never heard of"), 0);
    assert_eq!(timers.len(), 40);
    assert_eq!(timers.cancel_all(), 40);
    assert_eq!((timers.len(), timers.next_deadline()), (0, None));
    assert_eq!((timers.stats().active, timers.stats().cancelled), (0, 100));
}

#[test]
fn refusals_leave_no_trace() {
    let mut timers: OnHeap<()> = Timers::with_capacity(DeadlineHeap::new(), 2);
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    let refused = [
        (NewTimer::once("", span(1), ()), RegisterError::NameEmpty),
        (
            NewTimer::once(&long, span(1), ()),
            RegisterError::NameTooLong {
                len: NAME_BYTES_MAX + 1,
            },
        ),
        (NewTimer::once("zero", span(0), ()), RegisterError::NotPositive),
        (
            NewTimer::every("negative", span(-1), ()),
            RegisterError::NotPositive,
        ),
        (
            NewTimer::every("zero", span(0), ()).first_after(span(1)),
            RegisterError::NotPositive,
        ),
        (
            NewTimer::every("first", span(1), ()).first_after(span(0)),
            RegisterError::NotPositive,
        ),
        (
            NewTimer::once("far", RealSpan::MAX, ()),
            RegisterError::OutOfRange,
        ),
    ];
    for (new, why) in refused {
        assert_eq!(timers.register(ms(1), new.owned_by(7)), Err(why));
    }
    assert_eq!((timers.len(), timers.next_deadline()), (0, None));
    assert_eq!(timers.stats_by_name().count(), 0, "not even a name");
    assert_eq!(timers.cancel_owned(7), 0);
    assert_eq!((timers.stats().registered, timers.stats().refused), (0, 7));
}

#[test]
fn at_capacity_registration_is_refused_and_cancelling_frees_at_once() {
    let mut timers: OnHeap<()> = Timers::with_capacity(DeadlineHeap::new(), 2);
    let first = timers
        .register(ms(0), NewTimer::once("a", span(1), ()))
        .expect("room");
    timers
        .register(ms(0), NewTimer::once("b", span(1), ()))
        .expect("room");
    let more = || NewTimer::once("c", span(1), ());
    assert_eq!(
        timers.register(ms(0), more()),
        Err(RegisterError::Full { capacity: 2 })
    );
    assert!(timers.cancel(first));
    assert!(timers.register(ms(0), more()).is_ok());
    assert_eq!(TIMERS_MAX, 65_536);
}

#[test]
fn a_repeating_timer_that_missed_periods_runs_once_counts_them_and_keeps_its_phase() {
    let mut timers = timers();
    timers
        .register(ms(0), NewTimer::every("sixteen", span(16), ()))
        .expect("room");
    let run = timers.take_due(ms(1000)).expect("due");
    assert_eq!((run.instant, run.missed, run.lateness), (ms(16), 61, span(984)));
    timers.finish(run, span(0), false);
    assert!(timers.take_due(ms(1000)).is_none(), "one run");
    assert_eq!(timers.stats().coalesced, 61);
    assert_eq!(timers.next_deadline(), Some(ms(1008)), "on the old grid");
}

#[test]
fn each_timer_has_its_own_late_policy() {
    let policies = [
        (LatePolicy::Coalesce, 1, 50),
        (
            LatePolicy::CatchUp {
                runs_max: NonZeroU32::new(3).expect("not zero"),
            },
            3,
            50,
        ),
        (LatePolicy::SkipToGrid, 1, 50),
        (LatePolicy::ReSpace, 1, 57),
    ];
    for (policy, runs, next) in policies {
        let mut timers = timers();
        timers
            .register(ms(0), NewTimer::every("x", span(10), ()).when_late(policy))
            .expect("room");
        assert_eq!(run(&mut timers, ms(47)).len(), runs, "{policy:?}");
        assert_eq!(timers.next_deadline(), Some(ms(next)), "{policy:?}");
    }
}

/// A callback that may use the timers it runs in.
type Callback = Rc<dyn Fn(&mut OnHeap<Callbacks>, TimerId)>;

#[derive(Clone)]
struct Callbacks(Callback);

/// Runs callbacks and tells the names of those that ran.
fn call_due(timers: &mut OnHeap<Callbacks>, now: RealTime) -> Vec<String> {
    let mut ran = Vec::new();
    while let Some(run) = timers.take_due(now) {
        ran.push(run.name.to_string());
        (run.payload.0)(timers, run.id);
        timers.finish(run, span(0), false);
    }
    ran
}

fn callback(call: impl Fn(&mut OnHeap<Callbacks>, TimerId) + 'static) -> Callbacks {
    Callbacks(Rc::new(call))
}

#[test]
fn unregister_all_from_a_callback_stops_the_rest_of_the_batch() {
    let mut timers: OnHeap<Callbacks> = timers();
    let all = callback(|timers, _| assert_eq!(timers.cancel_all(), 12));
    let nothing = callback(|_, _| ());
    timers
        .register(ms(0), NewTimer::every("first", span(1), nothing.clone()))
        .expect("room");
    timers
        .register(ms(0), NewTimer::every("all", span(1), all))
        .expect("room");
    for _ in 0..10 {
        timers
            .register(ms(0), NewTimer::every("rest", span(1), nothing.clone()))
            .expect("room");
    }
    assert_eq!(call_due(&mut timers, ms(5)), ["first", "all"]);
    assert_eq!((timers.len(), timers.next_deadline()), (0, None));
}

#[test]
fn a_repeating_callback_can_cancel_itself() {
    let mut timers: OnHeap<Callbacks> = timers();
    let itself = callback(|timers, id| assert!(timers.cancel(id)));
    timers
        .register(ms(0), NewTimer::every("itself", span(1), itself))
        .expect("room");
    assert_eq!(call_due(&mut timers, ms(9)), ["itself"]);
    assert!(timers.is_empty());
    assert_eq!(call_due(&mut timers, ms(99)).len(), 0);
}

#[test]
fn what_an_earlier_callback_of_the_pass_cancels_does_not_run() {
    let mut timers: OnHeap<Callbacks> = timers();
    let victim = Rc::new(RefCell::new(None));
    let killer = callback({
        let victim = victim.clone();
        move |timers, _| assert!(timers.cancel(victim.borrow().expect("set below")))
    });
    timers
        .register(ms(0), NewTimer::once("killer", span(1), killer))
        .expect("room");
    let nothing = callback(|_, _| ());
    let id = timers
        .register(ms(0), NewTimer::once("victim", span(1), nothing.clone()))
        .expect("room");
    timers
        .register(ms(0), NewTimer::once("other", span(1), nothing))
        .expect("room");
    *victim.borrow_mut() = Some(id);
    assert_eq!(call_due(&mut timers, ms(1)), ["killer", "other"]);
}

#[test]
fn no_callback_sees_a_removed_owner() {
    let mut timers: OnHeap<Callbacks> = timers();
    let leave = callback(|timers, _| assert_eq!(timers.cancel_owned(3), 2));
    let nothing = callback(|_, _| ());
    timers
        .register(ms(0), NewTimer::once("leave", span(1), leave))
        .expect("room");
    for owner in [3, 4, 3] {
        let new = NewTimer::every("of an owner", span(1), nothing.clone()).owned_by(owner);
        timers.register(ms(0), new).expect("room");
    }
    assert_eq!(call_due(&mut timers, ms(1)), ["leave", "of an owner"]);
    assert_eq!(timers.in_order().len(), 1);
}

#[test]
fn a_failing_run_is_counted_and_a_repeating_timer_goes_on() {
    let mut timers = timers();
    timers
        .register(ms(0), NewTimer::every("bad", span(10), ()))
        .expect("room");
    timers
        .register(ms(0), NewTimer::every("good", span(10), ()))
        .expect("room");
    for pass in 1..=5 {
        while let Some(run) = timers.take_due(ms(10 * pass)) {
            let failed = &*run.name == "bad";
            timers.finish(run, span(1), failed);
        }
    }
    let by_name: Vec<_> = timers
        .stats_by_name()
        .map(|(name, stats)| (name, stats.executed, stats.failed))
        .collect();
    assert_eq!(by_name, [("bad", 5, 5), ("good", 5, 0)]);
    assert_eq!((timers.stats().executed, timers.stats().failed), (10, 5));
}

#[test]
fn what_timers_expose() {
    let mut timers = timers();
    timers
        .register(ms(0), NewTimer::every("db_save", span(10), ()))
        .expect("room");
    let once = timers
        .register(ms(0), NewTimer::once("greeting", span(5), ()))
        .expect("room");
    timers.cancel(once);
    let run = timers.take_due(ms(13)).expect("due");
    timers.finish(run, span(10), true);
    let expected = WorkStats {
        active: 1,
        registered: 2,
        cancelled: 1,
        executed: 1,
        failed: 1,
        lateness_nanos_total: 3_000_000,
        lateness_nanos_max: 3_000_000,
        duration_ns_total: 10_000_000,
        duration_ns_max: 10_000_000,
        duration_ns_recent: 10_000_000.0,
        ..WorkStats::default()
    };
    assert_eq!(timers.stats(), &expected);
    timers.reset_maxima();
    assert_eq!(
        (timers.stats().lateness_nanos_max, timers.stats().duration_ns_max),
        (0, 0)
    );
}

#[test]
fn moving_keeps_the_timer_and_a_repeating_one_goes_on_from_there() {
    let mut timers = timers();
    let id = timers
        .register(ms(0), NewTimer::every("idle", span(60), ()))
        .expect("room");
    assert!(timers.reschedule(id, ms(75)));
    assert_eq!(run(&mut timers, ms(74)).len(), 0);
    assert_eq!(run(&mut timers, ms(75)).len(), 1);
    assert_eq!(timers.view(id).map(|view| view.deadline), Some(ms(135)));
    assert!(timers.cancel(id));
    assert!(!timers.reschedule(id, ms(80)));
}

#[test]
fn a_run_that_is_still_out_makes_the_next_period_miss() {
    let mut timers = timers();
    timers
        .register(ms(0), NewTimer::every("nested", span(10), ()))
        .expect("room");
    let outer = timers.take_due(ms(10)).expect("due");
    assert!(timers.take_due(ms(25)).is_none(), "its payload is out");
    assert_eq!(timers.stats().coalesced, 1);
    timers.finish(outer, span(15), false);
    assert_eq!(run(&mut timers, ms(30)).len(), 1);
}

#[test]
fn timers_in_game_time_use_the_same_code() {
    let mut timers: Timers<DeadlineHeap<GameTime, TimerId>, u32, ()> = Timers::new(DeadlineHeap::new());
    let (start, period) = (GameTime::from_units(3), GameSpan::from_units(7));
    timers
        .register(start, NewTimer::every("hunger", period, ()))
        .expect("room");
    let run = timers.take_due(GameTime::from_units(25)).expect("due");
    assert_eq!((run.instant, run.missed), (GameTime::from_units(10), 2));
    timers.finish(run, span(0), false);
    assert_eq!(timers.next_deadline(), Some(GameTime::from_units(31)));
}

#[test]
fn timers_can_be_listed_by_deadline() {
    let mut timers = timers();
    timers
        .register(ms(0), NewTimer::every("b", span(20), ()).owned_by(1))
        .expect("room");
    timers
        .register(ms(0), NewTimer::once("a", span(10), ()))
        .expect("room");
    let seen: Vec<_> = timers
        .in_order()
        .into_iter()
        .map(|view| (view.name.to_string(), view.owner, view.deadline, view.period))
        .collect();
    assert_eq!(
        seen,
        [
            ("a".into(), None, ms(10), None),
            ("b".into(), Some(1), ms(20), Some(span(20)))
        ]
    );
}
