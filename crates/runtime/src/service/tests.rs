//! The service loop on a manual clock: nothing here sleeps.

use std::cell::RefCell;
use std::rc::Rc;

use trantor_time::{LatePolicy, ManualClock};

use super::*;
use crate::inbox::{Priority, Sender};
use crate::metrics::Value;
use crate::metrics::collector::Source;
use crate::wait::ManualWait;

/// What happened, in order, shared between a loop and its test.
type Log = Rc<RefCell<Vec<String>>>;

#[derive(Debug)]
struct Text(&'static str, &'static str);

impl Message for Text {
    fn kind(&self) -> &'static str {
        self.0
    }
}

/// A loop with the four usual stages, its clock, its wait, and a sender of messages to it.
struct Rig {
    a_loop: ServiceLoop<Log, ManualClock, ManualWait>,
    clock: ManualClock,
    wait: ManualWait,
    sender: Sender<Text>,
    log: Log,
}

fn rig_with(settings: ServiceSettings, handlers: Handlers<Log, Text>) -> Rig {
    let clock = ManualClock::default();
    let wait = ManualWait::new(&clock);
    let log = Log::default();
    let builder = ServiceBuilder::new("test", settings, Rc::clone(&log), clock.clone(), wait.clone());
    let inbox = Inbox::new(8, builder.waker());
    let sender = inbox.sender();
    let a_loop = builder
        .inbound(INBOUND, inbox, handlers)
        .posts(POSTED)
        .timers(TIMERS)
        .stage_fn("flush", OUTBOUND, |service, _| note(service, "flush"))
        .build();
    Rig {
        a_loop,
        clock,
        wait,
        sender,
        log,
    }
}

fn rig() -> Rig {
    let handlers = Handlers::new().on("text", "reader", |service, text: &Text| {
        note(service, text.1);
        Ok(())
    });
    rig_with(
        ServiceSettings {
            workers: 1,
            ..ServiceSettings::default()
        },
        handlers,
    )
}

fn note(service: &mut Service<Log>, what: &str) {
    service.state.borrow_mut().push(what.to_owned());
}

impl Rig {
    fn passes(&mut self, count: usize) {
        for _ in 0..count {
            assert_eq!(self.a_loop.pass(), None);
        }
    }

    /// What was logged since the last call, flushes left out.
    fn noted(&self) -> Vec<String> {
        let mut log = self.log.take();
        log.retain(|line| line != "flush");
        log
    }

    fn count(&self, name: &str) -> u64 {
        let mut samples = Vec::new();
        self.a_loop
            .metrics()
            .collect(self.clock.now(), &mut samples)
            .unwrap();
        match samples
            .iter()
            .find(|sample| sample.name == name)
            .map(|sample| sample.value)
        {
            Some(Value::Counter(count)) => count,
            other => panic!("{name} is {other:?}"),
        }
    }
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn at(millis: i64) -> RealTime {
    RealTime::ZERO + ms(millis)
}

#[test]
fn r_003_1_a_pass_drains_messages_runs_posts_advances_timers_and_flushes() {
    let mut rig = rig();
    assert_eq!(
        rig.a_loop.declared(),
        "inbound (128 items, 5 ms) > posts (100 items, 5 ms) > timers (256 items, 5 ms) > flush (1024 items, 5 ms)"
    );
    rig.passes(1);
    rig.log.take();
    rig.a_loop
        .service()
        .once("timer", ms(1), |service| {
            note(service, "timer");
            Ok(())
        })
        .unwrap();
    rig.clock.advance(ms(1));
    rig.a_loop
        .service()
        .poster()
        .post("post", |service| note(service, "post"))
        .unwrap();
    rig.sender
        .put(Priority::Network, Text("text", "message"))
        .unwrap();
    rig.passes(1);
    assert_eq!(rig.log.take(), ["message", "post", "timer", "flush"]);
}

#[test]
fn r_003_2_messages_go_to_all_handlers_of_their_kind_whatever_one_does() {
    let handlers = Handlers::new()
        .on("join", "first", |service, _: &Text| {
            note(service, "first");
            Ok(())
        })
        .on("join", "broken", |_, _: &Text| Err("does not work".to_owned()))
        .on("join", "panicking", |_, _: &Text| panic!("does not work at all"))
        .on("join", "last", |service, message: &Text| {
            note(service, message.1);
            Ok(())
        });
    let mut rig = rig_with(ServiceSettings::default(), handlers);
    rig.sender.put(Priority::Network, Text("join", "one")).unwrap();
    rig.sender.put(Priority::Network, Text("unknown", "two")).unwrap();
    rig.sender.put(Priority::Network, Text("join", "three")).unwrap();
    rig.passes(1);
    assert_eq!(rig.noted(), ["first", "one", "first", "three"]);
    assert_eq!(rig.a_loop.service().faults().count(), 4);
    assert_eq!(rig.a_loop.service().faults().first().unwrap().place, "broken");
}

#[test]
fn r_003_2_a_kind_without_handler_is_counted_by_name() {
    let mut handlers = Handlers::<Log, Text>::new();
    let mut rig = rig();
    let mut stages = Stages::declare("t", [StageSpec::new("inbound", INBOUND)], LONG_PASS);
    stages.begin_pass(at(0));
    let mut name = String::new();
    let mut turn = StageTurn::enter(&mut stages, 0, &rig.clock, at(0), &mut name);
    for _ in 0..3 {
        handlers.dispatch(rig.a_loop.service(), &Text("mystery", ""), &mut turn);
    }
    assert_eq!(handlers.unhandled().collect::<Vec<_>>(), [("mystery", 3)]);
}

#[test]
fn r_003_4_the_first_pass_sets_the_baseline_without_waiting() {
    let mut rig = rig();
    rig.passes(1);
    assert_eq!((rig.wait.counts().slept, rig.wait.counts().passed), (0, 1));
}

#[test]
fn r_000_19_the_loop_sleeps_until_the_earliest_deadline_or_a_wake() {
    let mut rig = rig();
    rig.passes(1);
    rig.a_loop.service().once("later", ms(50), |_| Ok(())).unwrap();
    rig.a_loop.service().once("earlier", ms(20), |_| Ok(())).unwrap();
    assert_eq!(rig.a_loop.next_wake(), Some(at(20)));
    let sender = rig.sender.clone();
    rig.wait.at(at(7), move |_| {
        sender.put(Priority::Network, Text("text", "hello")).unwrap();
        None
    });
    rig.passes(1);
    assert_eq!((rig.clock.now(), rig.noted()), (at(7), vec!["hello".to_owned()]));
    rig.passes(1);
    assert_eq!(rig.clock.now(), at(20));
    rig.passes(1);
    assert_eq!(rig.clock.now(), at(50));
    assert_eq!(
        rig.a_loop.next_wake(),
        None,
        "nothing asked for anything: it would sleep without limit"
    );
}

#[test]
fn r_000_22_a_deadline_costs_one_wake_up() {
    let mut rig = rig();
    rig.passes(1);
    for index in 1..=1_000 {
        rig.a_loop
            .service()
            .once("t", RealSpan::from_micros(index * 300), |_| Ok(()))
            .unwrap();
    }
    while !rig.a_loop.service().timers().is_empty() {
        rig.passes(1);
    }
    assert_eq!((rig.wait.counts().slept, rig.wait.counts().passed), (1_000, 1));
    assert_eq!(rig.count("loop.idle_sleeps_count"), 1_000);
    assert_eq!(rig.count("loop.passes_count"), 1_001);
}

#[test]
fn r_003_6_idle_spacing_coalesces_deadlines_but_not_messages() {
    let settings = ServiceSettings {
        idle_spacing: ms(1),
        ..ServiceSettings::default()
    };
    let mut rig = rig_with(settings, Handlers::new());
    rig.passes(1);
    for index in 1..=100 {
        rig.a_loop
            .service()
            .once("t", RealSpan::from_micros(index * 100), |_| Ok(()))
            .unwrap();
    }
    while !rig.a_loop.service().timers().is_empty() {
        rig.passes(1);
    }
    assert_eq!(rig.clock.now(), at(10));
    assert_eq!(
        rig.wait.counts().slept,
        10,
        "a wake-up a millisecond, not one for each deadline"
    );
    rig.a_loop.service().once("t", ms(500), |_| Ok(())).unwrap();
    let sender = rig.sender.clone();
    let soon = at(10) + RealSpan::from_micros(100);
    rig.wait.at(soon, move |_| {
        sender.put(Priority::Network, Text("text", "hello")).unwrap();
        None
    });
    rig.passes(1);
    assert_eq!(rig.clock.now(), soon, "a message ends the rest at once");
}

#[test]
fn r_003_8_what_a_budget_leaves_over_makes_the_next_pass_start_without_waiting() {
    let mut rig = rig();
    rig.passes(1);
    let poster = rig.a_loop.service().poster();
    for _ in 0..250 {
        poster.post("post", |service| note(service, "post")).unwrap();
    }
    let before = rig.wait.counts();
    for expected in [100, 100, 50] {
        rig.passes(1);
        assert_eq!(rig.noted().len(), expected);
    }
    assert_eq!(rig.a_loop.next_wake(), None);
    assert_eq!(rig.wait.counts().slept, before.slept);
}

#[test]
fn r_003_8_a_stage_is_cut_by_time_too_after_one_item_at_least() {
    let mut rig = rig();
    let clock = rig.clock.clone();
    for _ in 0..10 {
        let clock = clock.clone();
        rig.a_loop
            .service()
            .once("slow", ms(1), move |service| {
                clock.advance(ms(3));
                note(service, "slow");
                Ok(())
            })
            .unwrap();
    }
    rig.passes(2);
    assert_eq!(rig.noted().len(), 2, "the second item began within 5 ms");
}

#[test]
fn r_000_29_neither_due_work_nor_input_starves_the_other() {
    let mut rig = rig();
    rig.passes(1);
    // Input without end: each message costs 2 us and is followed by another; timers are 60 ms each, always due.
    let clock = rig.clock.clone();
    for _ in 0..200 {
        let clock = clock.clone();
        let timer = NewTimer::every(
            "storm",
            ms(1),
            Box::new(move |service: &mut Service<Log>| {
                clock.advance(ms(60));
                note(service, "timer");
                Ok(())
            }) as TimerCallback<Log>,
        );
        rig.a_loop.service().register(timer).unwrap();
    }
    rig.clock.advance(ms(1));
    for pass in 0..20 {
        for _ in 0..8 {
            rig.sender
                .put(Priority::Network, Text("text", "message"))
                .unwrap();
        }
        rig.passes(1);
        let noted = rig.noted();
        let messages = noted.iter().filter(|line| *line == "message").count();
        assert_eq!((messages, noted.len() - messages), (8, 1), "in pass {pass}");
    }
}

#[test]
fn r_x_6_a_chain_of_delays_counts_from_logical_time() {
    let mut rig = rig();
    rig.passes(1);
    rig.wait.set_oversleep(RealSpan::from_micros(400));
    fn step(service: &mut Service<Log>, left: u32) {
        if left > 0 {
            let next = move |service: &mut Service<Log>| {
                step(service, left - 1);
                Ok(())
            };
            service.once("step", ms(70), next).unwrap();
        }
    }
    step(rig.a_loop.service(), 1_000);
    let mut last = RealTime::ZERO;
    while !rig.a_loop.service().timers().is_empty() {
        rig.passes(1);
        last = rig.clock.now();
    }
    let end = last - RealTime::ZERO;
    assert!(
        end >= RealSpan::from_secs(70) && end <= RealSpan::from_secs(70) + RealSpan::from_micros(400),
        "{end:?}"
    );
}

#[test]
fn r_x_5_logical_time_is_the_deadline_in_a_timer_and_the_pass_elsewhere() {
    let mut rig = rig();
    rig.passes(1);
    rig.a_loop
        .service()
        .once("t", ms(10), |service| {
            assert_eq!(service.now(), at(10));
            Ok(())
        })
        .unwrap();
    rig.clock.advance(ms(25));
    rig.a_loop
        .service()
        .poster()
        .post("p", |service| assert_eq!(service.now(), at(25)))
        .unwrap();
    rig.passes(1);
    assert_eq!(rig.a_loop.service().faults().first(), None);
}

#[test]
fn r_000_14_a_failing_timer_is_contained_counted_and_goes_on() {
    let mut rig = rig();
    rig.passes(1);
    rig.a_loop
        .service()
        .every("broken", ms(10), |_| Err("always".to_owned()))
        .unwrap();
    rig.a_loop
        .service()
        .every("sound", ms(10), |service| {
            note(service, "sound");
            Ok(())
        })
        .unwrap();
    rig.passes(3);
    assert_eq!(rig.noted().len(), 3);
    assert_eq!(rig.a_loop.service().faults().count(), 3);
    assert_eq!(rig.a_loop.service().timers().stats().failed, 3);
}

#[test]
fn r_000_17_a_repeating_timer_coalesces_what_it_misses() {
    let mut rig = rig();
    rig.passes(1);
    let timer = NewTimer::every(
        "t",
        ms(16),
        Box::new(|service: &mut Service<Log>| {
            note(service, "ran");
            Ok(())
        }) as TimerCallback<Log>,
    );
    rig.a_loop
        .service()
        .register(timer.when_late(LatePolicy::Coalesce))
        .unwrap();
    rig.clock.advance(ms(1_000));
    rig.passes(1);
    assert_eq!(rig.noted().len(), 1);
    assert_eq!(rig.a_loop.service().timers().stats().coalesced, 61);
    assert_eq!(rig.a_loop.next_wake(), Some(at(1_008)), "the phase stays");
}

#[test]
fn r_003_23_a_timer_cancels_itself_and_others_of_the_same_batch() {
    let mut rig = rig();
    rig.passes(1);
    rig.a_loop
        .service()
        .every("first", ms(10), |service| {
            note(service, "first");
            let cancelled = service.timers().cancel_all();
            assert_eq!(cancelled, 2);
            Ok(())
        })
        .unwrap();
    rig.a_loop
        .service()
        .every("second", ms(10), |service| {
            note(service, "second");
            Ok(())
        })
        .unwrap();
    rig.passes(1);
    assert_eq!(rig.noted(), ["first"]);
    assert_eq!(
        (rig.a_loop.next_wake(), rig.a_loop.service().faults().count()),
        (None, 0)
    );
}

#[test]
fn r_000_10_an_owner_takes_its_timers_and_jobs_along() {
    let mut rig = rig();
    rig.passes(1);
    let session = OwnerId(9);
    let callback: TimerCallback<Log> = Box::new(|_| panic!("its owner is gone"));
    rig.a_loop
        .service()
        .register(NewTimer::once("t", ms(5), callback).owned_by(session))
        .unwrap();
    let job = Job::new(
        |_| Ok::<_, String>(()),
        |_: &mut Service<Log>, ()| panic!("its owner is gone"),
    );
    rig.a_loop
        .service()
        .submit(JobSpec::new("j").owned_by(session), job)
        .unwrap();
    assert_eq!(rig.a_loop.service().cancel_owned(session), 2);
    rig.clock.advance(ms(5));
    assert!(!rig.a_loop.service().jobs().work_here(&ManualClock::default()));
    rig.a_loop.service().poster().post("wake", |_| ()).unwrap();
    rig.passes(1);
    assert_eq!(rig.a_loop.service().faults().count(), 0);
}

#[test]
fn r_003_27_an_earlier_timer_from_another_thread_shortens_the_wait() {
    let mut rig = rig();
    rig.passes(1);
    rig.a_loop.service().once("late", ms(1_000), |_| Ok(())).unwrap();
    let poster = rig.a_loop.service().poster();
    rig.wait.at(at(100), move |_| {
        poster
            .post("register", |service| {
                let noted = |service: &mut Service<Log>| {
                    note(service, "early");
                    Ok(())
                };
                service.once("early", ms(50), noted).unwrap();
            })
            .unwrap();
        None
    });
    rig.passes(2);
    assert_eq!(
        (rig.clock.now(), rig.noted()),
        (at(150), vec!["early".to_owned()])
    );
}

#[test]
fn r_003_31_a_job_comes_back_to_the_loop() {
    let mut rig = rig();
    rig.passes(1);
    let job = Job::new(
        |_| Ok::<_, String>("navigation chunk"),
        |service: &mut Service<Log>, chunk| note(service, chunk),
    );
    rig.a_loop
        .service()
        .submit(JobSpec::new("chunk").keyed(3), job)
        .unwrap();
    let clock = rig.clock.clone();
    assert!(rig.a_loop.service().jobs().work_here(&clock));
    assert!(rig.noted().is_empty());
    rig.passes(1);
    assert_eq!(rig.noted(), ["navigation chunk"]);
}

#[test]
fn r_003_39_a_job_s_time_limit_is_a_deadline_of_the_loop() {
    let mut rig = rig();
    rig.passes(1);
    let job = Job::new(
        |_| Ok::<_, String>(()),
        |_: &mut Service<Log>, ()| unreachable!("it never ran"),
    )
    .on_error(|service, error| note(service, &error.to_string()));
    rig.a_loop
        .service()
        .submit(JobSpec::new("slow").limited_to(ms(30)), job)
        .unwrap();
    rig.passes(1);
    assert_eq!((rig.clock.now(), rig.noted().len()), (at(30), 1));
}

#[test]
fn r_003_10_a_stop_refuses_new_work_and_finishes_what_was_accepted() {
    let mut rig = rig();
    rig.passes(1);
    let job = Job::new(
        |_| Ok::<_, String>("saved"),
        |service: &mut Service<Log>, text| note(service, text),
    );
    rig.a_loop.service().submit(JobSpec::new("save"), job).unwrap();
    rig.sender
        .put(Priority::Network, Text("text", "accepted"))
        .unwrap();
    let signal = rig.a_loop.stop_signal();
    signal.request();
    signal.request();
    rig.passes(1);
    assert_eq!(rig.noted(), ["accepted"]);
    assert!(
        rig.sender
            .put(Priority::Network, Text("text", "too late"))
            .is_err()
    );
    assert!(rig.a_loop.service().poster().post("too late", |_| ()).is_err());
    assert_eq!(rig.a_loop.next_wake(), Some(at(10_000)), "a job is still out");
    let clock = rig.clock.clone();
    rig.a_loop.service().jobs().work_here(&clock);
    assert_eq!(rig.a_loop.pass(), Some(EndReason::Stopped));
    let ended = rig.a_loop.end(EndReason::Stopped);
    assert_eq!(ended.state.take(), ["saved", "flush"]);
}

#[test]
fn r_003_10_a_stop_has_a_limit() {
    let mut rig = rig();
    rig.passes(1);
    let job = Job::new(|_| Ok::<_, String>(()), |_: &mut Service<Log>, ()| ());
    rig.a_loop
        .service()
        .submit(JobSpec::new("never worked on"), job)
        .unwrap();
    rig.a_loop.stop_signal().request();
    rig.passes(1);
    assert_eq!(rig.a_loop.pass(), Some(EndReason::StopLimit));
    assert_eq!(rig.clock.now(), at(10_000));
}

#[test]
fn r_003_10_a_forced_stop_waits_for_nothing() {
    let mut rig = rig();
    rig.passes(1);
    let job = Job::new(|_| Ok::<_, String>(()), |_: &mut Service<Log>, ()| ());
    rig.a_loop
        .service()
        .submit(JobSpec::new("never worked on"), job)
        .unwrap();
    rig.a_loop.stop_signal().force();
    assert_eq!(rig.a_loop.pass(), Some(EndReason::Forced));
}

#[test]
fn r_x_31_under_fail_fast_the_first_failure_ends_the_loop() {
    let settings = ServiceSettings {
        on_fault: FaultPolicy::FailFast,
        ..ServiceSettings::default()
    };
    let mut rig = rig_with(settings, Handlers::new());
    rig.passes(1);
    rig.a_loop
        .service()
        .poster()
        .post("core", |_| panic!("invariant broken"))
        .unwrap();
    rig.a_loop
        .service()
        .poster()
        .post("never", |service| note(service, "never"))
        .unwrap();
    let Some(EndReason::Failed(fault)) = rig.a_loop.pass() else {
        panic!("it must end")
    };
    assert_eq!(fault.to_string(), "core failed: invariant broken");
    assert!(rig.noted().is_empty());
}

#[test]
fn r_003_58_work_is_counted_and_a_pass_without_any_is_not_work() {
    let mut rig = rig();
    rig.passes(1);
    rig.a_loop.service().once("t", ms(5), |_| Ok(())).unwrap();
    rig.sender.put(Priority::Network, Text("text", "hello")).unwrap();
    rig.passes(2);
    assert_eq!(rig.count("loop.work_count"), 2);
    assert_eq!(rig.count("loop.stage.inbound.items_count"), 1);
    assert_eq!(rig.count("loop.stage.timers.items_count"), 1);
}

#[test]
fn r_000_1_with_nothing_scheduled_nothing_is_periodic() {
    let mut rig = rig();
    rig.passes(1);
    assert_eq!(rig.a_loop.next_wake(), None);
}

#[test]
fn r_x_3_a_year_of_a_service_loop_passes_on_a_manual_clock() {
    const HOURS: u64 = 365 * 24;
    let mut rig = rig();
    rig.passes(1);
    let hourly = |service: &mut Service<Log>| {
        service.state.borrow_mut().clear();
        Ok(())
    };
    rig.a_loop
        .service()
        .every("hourly", RealSpan::from_secs(3_600), hourly)
        .unwrap();
    while rig.a_loop.service().timers().stats().executed < HOURS {
        rig.passes(1);
    }
    assert_eq!(
        rig.clock.now(),
        RealTime::ZERO + RealSpan::from_secs(3_600) * HOURS as i64
    );
}

#[test]
fn r_x_7_logical_time_stands_still_while_a_stage_measures() {
    let clock = ManualClock::default();
    let hand = clock.clone();
    let builder = ServiceBuilder::new(
        "test",
        ServiceSettings::default(),
        (),
        clock.clone(),
        ManualWait::new(&clock),
    );
    let mut a_loop = builder
        .stage_fn("measured", INBOUND, move |service, turn| {
            let before = (service.now(), turn.measured_now());
            hand.advance(ms(3));
            assert_eq!(service.now(), before.0);
            assert_eq!(turn.measured_now() - before.1, ms(3));
        })
        .posts(POSTED)
        .timers(TIMERS)
        .build();
    a_loop.pass();
    assert_eq!(a_loop.service().faults().first(), None);
}

#[test]
fn r_x_23_only_a_stage_that_always_has_work_keeps_the_loop_from_sleeping() {
    struct Uncapped;
    impl Stage<()> for Uncapped {
        fn run(&mut self, _service: &mut Service<()>, turn: &mut StageTurn<'_>) {
            turn.admits();
        }
        fn next_wake(&self, service: &Service<()>) -> Option<RealTime> {
            Some(service.now())
        }
    }
    let clock = ManualClock::default();
    let wait = ManualWait::new(&clock);
    let builder = ServiceBuilder::new(
        "test",
        ServiceSettings::default(),
        (),
        clock.clone(),
        wait.clone(),
    );
    let mut a_loop = builder
        .stage("uncapped", INBOUND, Uncapped)
        .posts(POSTED)
        .timers(TIMERS)
        .build();
    (0..100).for_each(|_| assert_eq!(a_loop.pass(), None));
    assert_eq!((wait.counts().slept, wait.counts().passed), (0, 100));
}

#[test]
fn r_003_3_timers_go_by_the_time_that_passed_and_not_by_sleeps() {
    let mut rig = rig();
    rig.passes(1);
    rig.wait.set_oversleep(ms(7));
    let noted = |service: &mut Service<Log>| {
        note(service, "ran");
        Ok(())
    };
    rig.a_loop.service().every("t", ms(10), noted).unwrap();
    rig.passes(100);
    // Sleeps end 7 ms late every time; the runs are those of the time that passed, on their grid.
    assert_eq!(rig.noted().len(), 100);
    assert_eq!(rig.clock.now(), at(1_007));
}

#[test]
fn r_003_5_a_loop_without_work_rests() {
    let settings = ServiceSettings {
        idle_spacing: ms(1),
        ..ServiceSettings::default()
    };
    let mut rig = rig_with(settings, Handlers::new());
    rig.passes(1);
    rig.a_loop.service().once("t", ms(30), |_| Ok(())).unwrap();
    rig.passes(1);
    assert_eq!(
        (rig.clock.now(), rig.wait.counts().slept),
        (at(30), 1),
        "it slept through, and did not poll"
    );
}

#[test]
fn r_003_7_waking_without_anything_to_do_is_not_work() {
    let mut rig = rig();
    rig.passes(1);
    let id = rig.a_loop.service().once("t", ms(10), |_| Ok(())).unwrap();
    let waker = rig.wait.waker();
    rig.wait.at(at(5), move |_| {
        waker.wake();
        None
    });
    rig.passes(1);
    rig.a_loop.service().timers().cancel(id);
    rig.clock.advance(ms(100));
    rig.wait.waker().wake();
    rig.passes(1);
    assert_eq!(
        (rig.count("loop.passes_count"), rig.count("loop.work_count")),
        (3, 0)
    );
}

#[test]
fn r_003_9_a_handler_that_holds_the_loop_is_reported_by_name() {
    let clock = ManualClock::default();
    let mut stages = Stages::declare("t", [StageSpec::new("inbound", INBOUND)], ms(50));
    stages.begin_pass(clock.now());
    let mut name = String::new();
    let mut turn = StageTurn::enter(&mut stages, 0, &clock, clock.now(), &mut name);
    for (handler, took) in [("quick", 1), ("greedy", 60)] {
        assert!(turn.admits());
        turn.name_item(handler);
        clock.advance(ms(took));
    }
    turn.leave();
    let report = stages.end_pass(clock.now());
    assert!(report.is_long());
    assert!(
        report
            .to_string()
            .ends_with("inbound 61.0 ms (2); slowest greedy 60.0 ms"),
        "{report}"
    );
}

#[test]
fn r_003_13_a_handler_cannot_wait_for_the_loop_it_runs_on() {
    let clock = ManualClock::default();
    let builder = ServiceBuilder::new(
        "test",
        ServiceSettings::default(),
        (),
        clock.clone(),
        ManualWait::new(&clock),
    );
    let inbox = Inbox::new(1, builder.waker());
    let sender = inbox.sender();
    let of_handler = sender.clone();
    let handlers = Handlers::new().on("text", "waits for itself", move |_, _: &Text| {
        of_handler
            .put(Priority::Network, Text("ignored", ""))
            .map_err(|error| error.to_string())?;
        // Only the loop could make room, and the loop is here: an hour is not waited.
        let refused =
            of_handler.put_waiting(Priority::Network, Text("ignored", ""), RealSpan::from_secs(3_600));
        assert!(refused.is_err());
        Ok(())
    });
    let mut a_loop = builder
        .inbound(INBOUND, inbox, handlers)
        .posts(POSTED)
        .timers(TIMERS)
        .build();
    sender.put(Priority::Network, Text("text", "")).unwrap();
    a_loop.pass();
    assert_eq!(a_loop.service().faults().first(), None);
}

#[test]
fn r_003_35_the_same_order_of_posts_gives_the_same_state() {
    let run = |work_order: [bool; 2]| {
        let mut rig = rig();
        rig.passes(1);
        let clock = rig.clock.clone();
        let poster = rig.a_loop.service().poster();
        for (name, works_early) in ["a", "b"].into_iter().zip(work_order) {
            let job = Job::new(
                |_| Ok::<_, String>(()),
                move |service: &mut Service<Log>, ()| note(service, name),
            );
            rig.a_loop.service().submit(JobSpec::new(name), job).unwrap();
            if works_early {
                rig.a_loop.service().jobs().work_here(&clock);
            }
        }
        while rig.a_loop.service().jobs().work_here(&clock) {}
        poster.post("c", |service| note(service, "c")).unwrap();
        rig.passes(1);
        rig.noted()
    };
    assert_eq!(
        run([true, true]),
        run([false, false]),
        "when work was done matters not, only when it was posted"
    );
}

#[test]
fn r_003_57_what_a_removed_session_owns_goes_with_it() {
    let mut rig = rig();
    rig.passes(1);
    let gone = OwnerId(1);
    let stays = OwnerId(2);
    for owner in [gone, stays] {
        let callback: TimerCallback<Log> = Box::new(|service| {
            note(service, "timer");
            Ok(())
        });
        rig.a_loop
            .service()
            .register(NewTimer::once("t", ms(5), callback).owned_by(owner))
            .unwrap();
        let job = Job::new(
            |_| Ok::<_, String>("job"),
            |service: &mut Service<Log>, what| note(service, what),
        );
        rig.a_loop
            .service()
            .submit(JobSpec::new("j").owned_by(owner), job)
            .unwrap();
    }
    assert_eq!(rig.a_loop.service().cancel_owned(gone), 2);
    let clock = rig.clock.clone();
    while rig.a_loop.service().jobs().work_here(&clock) {}
    rig.clock.advance(ms(5));
    rig.passes(1);
    assert_eq!(rig.noted(), ["job", "timer"]);
}

#[test]
fn r_003_59_timers_tell_of_themselves() {
    let mut rig = rig();
    rig.passes(1);
    let clock = rig.clock.clone();
    let slow = move |_: &mut Service<Log>| {
        clock.advance(ms(4));
        Ok(())
    };
    rig.a_loop.service().every("slow", ms(10), slow).unwrap();
    rig.a_loop
        .service()
        .once("broken", ms(10), |_| Err("no".to_owned()))
        .unwrap();
    rig.clock.advance(ms(35));
    rig.passes(1);
    let mut samples = Vec::new();
    rig.a_loop
        .metrics()
        .collect(rig.clock.now(), &mut samples)
        .unwrap();
    let told = |name: &str| {
        samples
            .iter()
            .find(|sample| sample.name == name)
            .map(|sample| sample.value)
    };
    assert_eq!(told("timers.active_count"), Some(Value::Gauge(1.0)));
    assert_eq!(told("timers.registered_count"), Some(Value::Counter(2)));
    assert_eq!(told("timers.executed_count"), Some(Value::Counter(2)));
    assert_eq!(told("timers.failed_count"), Some(Value::Counter(1)));
    assert_eq!(told("timers.coalesced_count"), Some(Value::Counter(2)));
    assert_eq!(told("timers.duration_max_ns"), Some(Value::Gauge(4e6)));
    assert_eq!(told("timers.lateness_max_ns"), Some(Value::Gauge(25e6)));
}

#[test]
fn r_003_63_inbound_posts_and_jobs_are_sources_too() {
    let mut rig = rig();
    rig.passes(1);
    (0..10).for_each(|_| drop(rig.sender.put(Priority::Network, Text("text", "hello"))));
    rig.sender.put(Priority::Other, Text("unknown", "")).unwrap();
    rig.a_loop.service().poster().post("p", |_| ()).unwrap();
    let job = Job::new(|_| Err::<(), _>("disk full"), |_: &mut Service<Log>, ()| ());
    rig.a_loop.service().submit(JobSpec::new("save"), job).unwrap();
    let clock = rig.clock.clone();
    rig.a_loop.service().jobs().work_here(&clock);
    rig.passes(1);
    assert_eq!(
        (
            rig.count("inbound.messages_count"),
            rig.count("inbound.refused_count")
        ),
        (9, 2)
    );
    assert_eq!(rig.count("inbound.unhandled_count"), 1);
    assert_eq!(rig.count("posts.run_count"), 2);
    assert_eq!(
        (rig.count("jobs.failed_count"), rig.count("jobs.done_count")),
        (1, 0)
    );
    assert_eq!(rig.count("loop.faults_count"), 1);
}

#[test]
fn r_000_30_a_loop_has_a_thread_of_its_own_and_several_run_in_one_process() {
    use crate::life::LoopThread;
    use crate::real_clock::RealClock;
    use crate::wait::Parker;
    let start = |name: &'static str| {
        LoopThread::start(
            name,
            move || {
                let settings = ServiceSettings::default();
                let builder = ServiceBuilder::new(name, settings, 0_u32, RealClock::new(), Parker::new());
                let mut a_loop = builder.posts(POSTED).timers(TIMERS).build();
                a_loop.start_workers(RealClock::new())?;
                // From the first pass on it asks itself to stop as soon as its job is done.
                let job = Job::new(
                    |_| Ok::<_, String>(7),
                    |service: &mut Service<u32>, n| {
                        service.state += n;
                        service.stop_signal().request();
                    },
                );
                a_loop
                    .service()
                    .submit(JobSpec::new("seven"), job)
                    .expect("nothing else waits");
                let signal = a_loop.stop_signal();
                Ok::<_, std::io::Error>((a_loop, signal))
            },
            ServiceLoop::run,
        )
        .unwrap()
    };
    let loops = [start("one"), start("two")];
    for a_loop in loops {
        let ended = a_loop.join().unwrap();
        assert_eq!((ended.state, ended.why), (7, EndReason::Stopped));
    }
}

mod outbound {
    use super::super::outbound::{OutboundFull, OutboundStats, SendError};
    use super::*;

    /// Sessions 1 to 9 exist; what is written to each is kept, one entry a write.
    #[derive(Default)]
    struct Sessions {
        encoded: Vec<(u32, String)>,
        written: Vec<(u32, String)>,
    }

    impl Peers<u32, &'static str> for Sessions {
        fn encode(&mut self, session: u32, message: &'static str) -> Result<(), SendError> {
            match (session, message) {
                (10.., _) => Err(SendError::Gone),
                (_, "bad") => Err(SendError::NotEncoded("bad".to_owned())),
                _ => {
                    self.encoded.push((session, message.to_owned()));
                    Ok(())
                }
            }
        }

        fn write(&mut self, session: u32) {
            let joined: String = self.encoded.drain(..).map(|(_, message)| message).collect();
            self.written.push((session, joined));
        }
    }

    struct Program {
        outbound: Outbound<u32, &'static str>,
        sessions: Sessions,
    }

    fn program_loop(budget: Budget) -> (ServiceLoop<Program, ManualClock, ManualWait>, ManualClock) {
        let clock = ManualClock::default();
        let program = Program {
            outbound: Outbound::new(8),
            sessions: Sessions::default(),
        };
        let wait = ManualWait::new(&clock);
        let a_loop = ServiceBuilder::new("test", ServiceSettings::default(), program, clock.clone(), wait)
            .posts(POSTED)
            .timers(TIMERS)
            .stage_fn("flush", budget, |service, turn| {
                let now = service.now();
                let Program { outbound, sessions } = &mut service.state;
                outbound.flush(sessions, turn, now);
            })
            .build();
        (a_loop, clock)
    }

    fn queue(
        a_loop: &mut ServiceLoop<Program, ManualClock, ManualWait>,
        session: u32,
        message: &'static str,
    ) {
        let now = a_loop.service().now();
        a_loop
            .service()
            .state
            .outbound
            .queue(session, message, now)
            .unwrap();
    }

    fn written(a_loop: &mut ServiceLoop<Program, ManualClock, ManualWait>) -> Vec<(u32, String)> {
        std::mem::take(&mut a_loop.service().state.sessions.written)
    }

    #[test]
    fn r_003_45_messages_of_a_session_leave_in_order_and_not_before_the_flush() {
        let (mut a_loop, clock) = program_loop(OUTBOUND);
        a_loop.pass();
        let poster = a_loop.service().poster();
        poster
            .post("talk", |service| {
                let now = service.now();
                for (session, message) in [(2, "a"), (1, "b"), (2, "c"), (1, "d")] {
                    service.state.outbound.queue(session, message, now).unwrap();
                }
                assert!(
                    service.state.sessions.encoded.is_empty(),
                    "nothing leaves before the flush"
                );
            })
            .unwrap();
        clock.advance(ms(3));
        a_loop.pass();
        // R-003-50: one write for each session.
        assert_eq!(written(&mut a_loop), [(1, "bd".to_owned()), (2, "ac".to_owned())]);
        assert_eq!(a_loop.service().faults().count(), 0);
    }

    #[test]
    fn r_003_46_a_message_for_a_session_that_is_gone_is_dropped_and_counted() {
        let (mut a_loop, _) = program_loop(OUTBOUND);
        queue(&mut a_loop, 99, "lost");
        a_loop.pass();
        assert!(a_loop.service().state.sessions.encoded.is_empty());
        assert_eq!(a_loop.service().state.outbound.stats().gone, 1);
    }

    #[test]
    fn r_003_51_a_message_that_cannot_be_encoded_costs_no_other_its_way() {
        let (mut a_loop, _) = program_loop(OUTBOUND);
        for message in ["a", "bad", "b"] {
            queue(&mut a_loop, 1, message);
        }
        a_loop.pass();
        assert_eq!(written(&mut a_loop), [(1, "ab".to_owned())]);
        assert_eq!(a_loop.service().state.outbound.stats().failed, 1);
    }

    #[test]
    fn r_003_49_another_thread_may_move_the_bytes_and_not_their_order() {
        use std::sync::mpsc::{SyncSender, sync_channel};
        /// Hands each session's bytes to a thread that writes them; the channel keeps what the loop decided.
        struct ByThread(Vec<u8>, SyncSender<(u32, Vec<u8>)>);
        impl Peers<u32, u8> for ByThread {
            fn encode(&mut self, _session: u32, message: u8) -> Result<(), SendError> {
                self.0.push(message);
                Ok(())
            }
            fn write(&mut self, session: u32) {
                self.1.send((session, std::mem::take(&mut self.0))).unwrap();
            }
        }
        let (bytes, to_write) = sync_channel(64);
        let writer = crate::threads::spawn("writer", move || to_write.iter().collect::<Vec<_>>()).unwrap();
        let clock = ManualClock::default();
        let mut stages = Stages::declare("t", [StageSpec::new("flush", OUTBOUND)], LONG_PASS);
        let (mut outbound, mut peers) = (Outbound::new(64), ByThread(Vec::new(), bytes));
        for pass in 0..10_u8 {
            for session in [2, 1] {
                outbound.queue(session, pass, clock.now()).unwrap();
                outbound.queue(session, pass + 100, clock.now()).unwrap();
            }
            stages.begin_pass(clock.now());
            let mut name = String::new();
            let mut turn = StageTurn::enter(&mut stages, 0, &clock, clock.now(), &mut name);
            outbound.flush(&mut peers, &mut turn, clock.now());
            turn.leave();
        }
        drop(peers);
        // R-X-28: the order was fixed in the loop.
        let expected = (0..10_u8).flat_map(|pass| [1, 2].map(|session| (session, vec![pass, pass + 100])));
        assert_eq!(writer.join().unwrap(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn r_x_28_outbound_order_is_that_of_the_loop() {
        let (mut a_loop, _) = program_loop(Budget::new(3, STAGE_TIME));
        for message in ["a", "b", "c", "d"] {
            queue(&mut a_loop, 1, message);
        }
        // A flush cut short by its budget goes on where it stopped.
        (0..2).for_each(|_| assert_eq!(a_loop.pass(), None));
        assert_eq!(written(&mut a_loop), [(1, "abc".to_owned()), (1, "d".to_owned())]);
    }

    #[test]
    fn r_003_47_a_session_that_is_gone_does_not_end_the_drain() {
        let (mut a_loop, _) = program_loop(OUTBOUND);
        for (session, message) in [(1, "a"), (99, "lost"), (2, "bad"), (2, "b")] {
            queue(&mut a_loop, session, message);
        }
        a_loop.pass();
        let written: Vec<_> = written(&mut a_loop)
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .collect();
        assert_eq!(written, [(1, "a".to_owned()), (2, "b".to_owned())]);
        let stats = a_loop.service().state.outbound.stats();
        // R-003-46 and R-003-51: each dropped message is counted by its reason.
        assert_eq!((stats.sent, stats.gone, stats.failed, stats.depth), (2, 1, 1, 0));
    }

    #[test]
    fn r_003_52_messages_know_their_age() {
        let (mut a_loop, clock) = program_loop(Budget::new(1, STAGE_TIME));
        a_loop.pass();
        queue(&mut a_loop, 1, "a");
        queue(&mut a_loop, 1, "b");
        a_loop.service().poster().post("wake", |_| ()).unwrap();
        a_loop.pass();
        clock.advance(ms(7));
        assert_eq!(a_loop.service().state.outbound.age_of_oldest(clock.now()), ms(7));
        a_loop.pass();
        assert_eq!(a_loop.service().state.outbound.stats().age_ns_max, 7_000_000);
        assert_eq!(written(&mut a_loop), [(1, "a".to_owned()), (1, "b".to_owned())]);
    }

    #[test]
    fn r_003_12_the_outbound_queue_is_bounded() {
        let mut outbound = Outbound::new(1);
        outbound.queue(1, "a", at(0)).unwrap();
        assert_eq!(outbound.queue(1, "b", at(0)), Err(OutboundFull("b")));
        assert_eq!(
            outbound.stats(),
            OutboundStats {
                depth: 1,
                refused: 1,
                ..OutboundStats::default()
            }
        );
        assert_eq!(outbound.forget(1), 1);
        assert!(outbound.is_empty());
    }
}
