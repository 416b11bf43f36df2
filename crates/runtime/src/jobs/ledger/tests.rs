//! The ledger without threads: keys, limits, priorities, and random histories.

use super::*;
use proptest::prelude::*;
use trantor_time::RealSpan;

fn ms(millis: i64) -> RealTime {
    RealTime::from_nanos(millis * 1_000_000)
}

/// Runs a started job to its end, callback included.
fn finish(ledger: &mut Ledger, id: JobId) -> Fate {
    ledger.end(id, true, ms(0));
    let fate = ledger.fate(id);
    ledger.retire(id);
    fate
}

#[test]
fn of_a_name_and_key_one_is_in_flight_until_its_callback_ran() {
    let mut ledger = Ledger::new(1, 8);
    let save = JobSpec::new("save").keyed(7);
    let id = ledger.submit(save, ms(0)).unwrap();
    assert_eq!(ledger.submit(save, ms(0)), Err(JobRefused::KeyBusy));
    ledger
        .submit(JobSpec::new("load").keyed(7), ms(0))
        .expect("another queue");
    ledger.submit(save.keyed(8), ms(0)).expect("another key");
    assert_eq!(ledger.start_next(ms(0)), Some(id));
    ledger.end(id, false, ms(1));
    assert_eq!(
        ledger.submit(save, ms(1)),
        Err(JobRefused::KeyBusy),
        "its callback has not run"
    );
    ledger.retire(id);
    assert!(ledger.submit(save, ms(1)).is_ok());
}

#[test]
fn a_time_limit_counts_as_failure_and_frees_the_key() {
    let mut ledger = Ledger::new(1, 8);
    let spec = JobSpec::new("save")
        .keyed(1)
        .limited_to(RealSpan::from_millis(100));
    let id = ledger.submit(spec, ms(0)).unwrap();
    ledger.start_next(ms(0)).unwrap();
    assert_eq!(ledger.next_deadline(), Some(ms(100)));
    assert_eq!(ledger.take_expired(ms(99)), None);
    assert_eq!(ledger.take_expired(ms(100)), Some((id, Cancelled::InFlight)));
    ledger.release_key(id);
    let second = ledger.submit(spec, ms(100)).expect("the key is free");
    assert_eq!(ledger.start_next(ms(100)), None, "the worker is not");
    ledger.end(id, true, ms(150));
    assert_eq!(ledger.fate(id), Fate::Late);
    ledger.retire(id);
    assert_eq!(
        ledger.submit(spec, ms(150)),
        Err(JobRefused::KeyBusy),
        "the second one holds it now"
    );
    assert_eq!(ledger.start_next(ms(150)), Some(second));
    assert_eq!(
        (ledger.stats().failed, ledger.stats().late, ledger.stats().done),
        (1, 1, 0)
    );
}

#[test]
fn a_cancelled_job_is_not_run_and_its_result_not_applied() {
    let mut ledger = Ledger::new(1, 8);
    let session = OwnerId(3);
    let running = ledger.submit(JobSpec::new("a").owned_by(session), ms(0)).unwrap();
    let waiting = ledger.submit(JobSpec::new("b").owned_by(session), ms(0)).unwrap();
    let other = ledger.submit(JobSpec::new("c"), ms(0)).unwrap();
    ledger.start_next(ms(0)).unwrap();
    assert_eq!(ledger.jobs_of(session), [running, waiting]);
    assert_eq!(ledger.cancel(running), Some(Cancelled::InFlight));
    assert_eq!(ledger.cancel(waiting), Some(Cancelled::Forgotten));
    assert_eq!(ledger.cancel(waiting), None);
    assert_eq!(finish(&mut ledger, running), Fate::Cancelled);
    assert_eq!(ledger.start_next(ms(0)), Some(other));
    assert_eq!(ledger.stats().cancelled, 2);
}

#[test]
fn interactive_first_and_one_start_in_four_for_the_others() {
    let mut ledger = Ledger::new(1, 100);
    for _ in 0..20 {
        ledger.submit(JobSpec::new("slow"), ms(0)).unwrap();
        ledger.submit(JobSpec::new("quick").interactive(), ms(0)).unwrap();
    }
    let order: Vec<_> = (0..8)
        .map(|_| {
            let id = ledger.start_next(ms(0)).unwrap();
            let name = ledger.name(id).unwrap();
            finish(&mut ledger, id);
            name
        })
        .collect();
    assert_eq!(
        order,
        [
            "quick", "quick", "quick", "slow", "quick", "quick", "quick", "slow"
        ]
    );
}

#[test]
fn the_queue_is_bounded_and_its_depth_and_age_known() {
    let mut ledger = Ledger::new(1, 2);
    let spec = JobSpec::new("work");
    ledger.submit(spec, ms(10)).unwrap();
    ledger.submit(spec, ms(20)).unwrap();
    assert_eq!(ledger.submit(spec, ms(30)), Err(JobRefused::Full));
    assert_eq!(ledger.oldest_waiting(), Some(ms(10)));
    ledger.start_next(ms(30)).unwrap();
    assert_eq!(ledger.oldest_waiting(), Some(ms(20)));
    let stats = ledger.stats();
    assert_eq!((stats.waiting, stats.running, stats.refused), (1, 1, 1));
    assert_eq!(stats.waited_ns_max, 20_000_000);
}

#[test]
fn waiting_for_something_else_holds_no_worker() {
    let mut ledger = Ledger::new(1, 8);
    let asynchronous = ledger.submit(JobSpec::new("async"), ms(0)).unwrap();
    let plain = ledger.submit(JobSpec::new("plain"), ms(0)).unwrap();
    assert_eq!(ledger.start_next(ms(0)), Some(asynchronous));
    assert!(!ledger.suspend(asynchronous));
    assert_eq!(ledger.start_next(ms(0)), Some(plain));
    assert!(ledger.make_ready(asynchronous));
    assert!(!ledger.make_ready(asynchronous), "once is enough");
    finish(&mut ledger, plain);
    assert_eq!(ledger.start_next(ms(0)), Some(asynchronous));
    assert!(
        !ledger.make_ready(asynchronous),
        "its worker is told when it suspends"
    );
    assert!(ledger.suspend(asynchronous));
    assert_eq!(ledger.start_next(ms(0)), Some(asynchronous));
    assert_eq!(finish(&mut ledger, asynchronous), Fate::Apply);
    assert_eq!(ledger.in_flight(), 0);
}

#[test]
fn after_closing_nothing_is_accepted_and_waiting_jobs_can_be_dropped() {
    let mut ledger = Ledger::new(1, 8);
    let running = ledger.submit(JobSpec::new("a"), ms(0)).unwrap();
    let waiting = ledger.submit(JobSpec::new("b").keyed(1), ms(0)).unwrap();
    ledger.start_next(ms(0)).unwrap();
    ledger.close();
    assert_eq!(ledger.submit(JobSpec::new("c"), ms(0)), Err(JobRefused::Closed));
    assert_eq!(ledger.take_dropped(), Some(waiting));
    ledger.retire(waiting);
    assert_eq!(ledger.take_dropped(), None);
    assert_eq!(finish(&mut ledger, running), Fate::Apply);
    assert_eq!((ledger.in_flight(), ledger.stats().dropped), (0, 1));
}

#[derive(Clone, Debug)]
enum Step {
    Submit {
        key: Option<u64>,
        interactive: bool,
        limit: Option<i64>,
    },
    Start,
    End(usize),
    Cancel(usize),
    Suspend(usize),
    Ready(usize),
    Pass(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (
            proptest::option::of(0..3_u64),
            any::<bool>(),
            proptest::option::of(1..50_i64)
        )
            .prop_map(|(key, interactive, limit)| Step::Submit {
                key,
                interactive,
                limit
            }),
        Just(Step::Start),
        (0..8_usize).prop_map(Step::End),
        (0..8_usize).prop_map(Step::Cancel),
        (0..8_usize).prop_map(Step::Suspend),
        (0..8_usize).prop_map(Step::Ready),
        (0..20_i64).prop_map(Step::Pass),
    ]
}

proptest! {
    /// Whatever happens, limits hold, keys are exclusive, and in the end every job has had exactly one outcome.
    #[test]
    fn every_job_ends_once_and_no_limit_is_passed(
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        const WORKERS: usize = 2;
        /// Small, so that random steps reach it.
        const WAITING_MAX: usize = 5;
        let mut ledger = Ledger::new(WORKERS, WAITING_MAX);
        let mut now = ms(0);
        let (mut ids, mut with_worker, mut accepted) = (Vec::new(), Vec::new(), 0_u64);
        let mut applied = 0_u64;
        for step in steps {
            match step {
                Step::Submit { key, interactive, limit } => {
                    let mut spec = JobSpec::new("job");
                    spec.key = key;
                    spec.time_limit = limit.map(RealSpan::from_millis);
                    if interactive { spec = spec.interactive(); }
                    if let Ok(id) = ledger.submit(spec, now) {
                        accepted += 1;
                        ids.push(id);
                    }
                }
                Step::Start => with_worker.extend(ledger.start_next(now)),
                Step::End(which) if !with_worker.is_empty() => {
                    let id = with_worker.remove(which % with_worker.len());
                    ledger.end(id, true, now);
                    applied += u64::from(ledger.fate(id) == Fate::Apply);
                    ledger.retire(id);
                }
                Step::Suspend(which) if !with_worker.is_empty() => {
                    ledger.suspend(with_worker.remove(which % with_worker.len()));
                }
                Step::Cancel(which) if !ids.is_empty() => { ledger.cancel(ids[which % ids.len()]); }
                Step::Ready(which) if !ids.is_empty() => { ledger.make_ready(ids[which % ids.len()]); }
                Step::Pass(millis) => {
                    now += RealSpan::from_millis(millis);
                    while let Some((id, how)) = ledger.take_expired(now) {
                        match how {
                            Cancelled::InFlight => ledger.release_key(id),
                            Cancelled::Forgotten => ledger.retire(id),
                        }
                    }
                }
                Step::End(_) | Step::Suspend(_) | Step::Cancel(_) | Step::Ready(_) => {}
            }
            let stats = ledger.stats();
            prop_assert!(stats.running <= WORKERS as u64 && stats.waiting <= WAITING_MAX as u64);
            prop_assert_eq!(stats.running, with_worker.len() as u64);
            prop_assert_eq!(stats.running, ledger.running().count() as u64);
        }
        // All that is left is brought to its end.
        for id in with_worker { ledger.end(id, true, now); applied += u64::from(ledger.fate(id) == Fate::Apply); ledger.retire(id); }
        for id in ids { ledger.make_ready(id); }
        while let Some(id) = ledger.start_next(now) { applied += u64::from(finish(&mut ledger, id) == Fate::Apply); }
        let stats = ledger.stats();
        prop_assert_eq!(ledger.in_flight(), 0);
        prop_assert_eq!(applied, stats.done);
        prop_assert_eq!(stats.done + stats.failed + stats.cancelled, accepted);
        prop_assert_eq!(ledger.next_deadline(), None);
    }
}
