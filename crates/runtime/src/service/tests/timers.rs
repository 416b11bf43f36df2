//! Timers of the loop, and the time they are told.

use super::*;

#[test]
fn a_pass_drains_messages_runs_posts_advances_timers_and_flushes() {
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
fn timers_of_a_step_share_one_wake_up() {
    let clock = ManualClock::default();
    let wait = ManualWait::new(&clock);
    let settings = ServiceSettings::default();
    let builder = ServiceBuilder::new("test", settings, Log::default(), clock.clone(), wait);
    let mut a_loop = builder.posts(POSTED).timers(TIMERS).build();
    assert_eq!(a_loop.pass(), None);
    for late_ms in [9, 12, 15] {
        let name = format!("{late_ms} ms");
        let heard = name.clone();
        let tell = move |service: &mut Service<Log>| {
            note(service, &heard);
            Ok(())
        };
        a_loop.service().once(&name, ms(late_ms), tell).unwrap();
    }
    assert_eq!(a_loop.next_wake(), Some(at(16)), "the end of the second step");
    assert_eq!(a_loop.pass(), None);
    assert_eq!(clock.now(), at(16));
    assert_eq!(a_loop.service().state.take(), ["9 ms", "12 ms", "15 ms"]);
    assert_eq!(a_loop.next_wake(), None);
}

#[test]
fn a_chain_of_delays_counts_from_logical_time() {
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
fn logical_time_is_the_deadline_in_a_timer_and_the_pass_elsewhere() {
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
fn a_failing_timer_is_contained_counted_and_goes_on() {
    let mut rig = rig();
    rig.passes(1);
    rig.a_loop
        .service()
        .every("broken", ms(10), |_| Err("always".into()))
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
fn a_repeating_timer_coalesces_what_it_misses() {
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
fn a_timer_cancels_itself_and_others_of_the_same_batch() {
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
fn an_earlier_timer_from_another_thread_shortens_the_wait() {
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
fn timers_go_by_the_time_that_passed_and_not_by_sleeps() {
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
