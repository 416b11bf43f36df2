//! What a pass does, how it sleeps, and that no stage starves another.

use super::*;

#[test]
fn messages_go_to_all_handlers_of_their_kind_whatever_one_does() {
    let handlers = Handlers::new()
        .on("join", "first", |service, _: &Text| {
            note(service, "first");
            Ok(())
        })
        .on("join", "broken", |_, _: &Text| Err("does not work".into()))
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
fn a_kind_without_handler_is_counted_by_name() {
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
fn the_first_pass_sets_the_baseline_without_waiting() {
    let mut rig = rig();
    rig.passes(1);
    assert_eq!((rig.wait.counts().slept, rig.wait.counts().passed), (0, 1));
}

#[test]
fn the_loop_sleeps_until_the_earliest_deadline_or_a_wake() {
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
fn a_deadline_costs_one_wake_up() {
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
fn idle_spacing_coalesces_deadlines_but_not_messages() {
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
fn what_a_budget_leaves_over_makes_the_next_pass_start_without_waiting() {
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
fn a_stage_is_cut_by_time_too_after_one_item_at_least() {
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
fn neither_due_work_nor_input_starves_the_other() {
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
fn with_nothing_scheduled_nothing_is_periodic() {
    let mut rig = rig();
    rig.passes(1);
    assert_eq!(rig.a_loop.next_wake(), None);
}

#[test]
fn a_year_of_a_service_loop_passes_on_a_manual_clock() {
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
fn logical_time_stands_still_while_a_stage_measures() {
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
fn a_pass_goes_on_at_the_latest_arrival_in_it() {
    let clock = ManualClock::default();
    let (hand, wait) = (clock.clone(), ManualWait::new(&clock));
    let builder = ServiceBuilder::new("test", ServiceSettings::default(), Log::default(), clock, wait);
    let mut a_loop = builder
        .stage_fn("read", INBOUND, move |service, turn| {
            hand.advance(ms(3));
            let arrived = turn.arrival();
            hand.advance(ms(4));
            note(service, &format!("read {arrived:?}"));
        })
        .posts(POSTED)
        .timers(TIMERS)
        .stage_fn("due", OUTBOUND, |service, _| {
            let now = service.now();
            note(service, &format!("due {now:?}"));
        })
        .build();
    a_loop.pass();
    let post = |service: &mut Service<Log>| {
        let now = service.now();
        note(service, &format!("posted {now:?}"));
    };
    a_loop.service().poster().post("post", post).unwrap();
    a_loop.pass();
    let at = |millis| format!("{:?}", at(millis));
    let expected = [
        format!("read {}", at(3)),
        format!("due {}", at(3)),
        format!("read {}", at(10)),
        format!("posted {}", at(14)),
        format!("due {}", at(14)),
    ];
    assert_eq!(*a_loop.service().state.borrow(), expected);
}

#[test]
fn only_a_stage_that_always_has_work_keeps_the_loop_from_sleeping() {
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
fn a_loop_without_work_rests() {
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
fn waking_without_anything_to_do_is_not_work() {
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
    assert_eq!(rig.count("loop.passes_without_work_count"), 3);
}

#[test]
fn a_handler_that_holds_the_loop_is_reported_by_name() {
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
fn a_handler_cannot_wait_for_the_loop_it_runs_on() {
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
        of_handler.put(Priority::Network, Text("ignored", ""))?;
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
