//! Background work, owners, and how a loop ends.

use super::*;

#[test]
fn an_owner_takes_its_timers_and_jobs_along() {
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
fn a_job_comes_back_to_the_loop() {
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
fn a_job_s_time_limit_is_a_deadline_of_the_loop() {
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
fn a_stop_refuses_new_work_and_finishes_what_was_accepted() {
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
fn a_stop_has_a_limit() {
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
fn a_forced_stop_waits_for_nothing() {
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
fn under_fail_fast_the_first_failure_ends_the_loop() {
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
fn the_same_order_of_posts_gives_the_same_state() {
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
fn what_a_removed_session_owns_goes_with_it() {
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
fn a_loop_has_a_thread_of_its_own_and_several_run_in_one_process() {
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
