//! What the stages tell readers of the metrics.

use super::*;

#[test]
fn work_is_counted_and_a_pass_without_any_is_not_work() {
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
fn timers_tell_of_themselves() {
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
        .once("broken", ms(10), |_| Err("no".into()))
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
            .find(|sample| sample.name == format!("test.{name}"))
            .map(|sample| sample.value)
    };
    assert_eq!(told("timers.active_count"), Some(Value::Gauge(1.0)));
    assert_eq!(told("timers.registered_count"), Some(Value::Counter(2)));
    assert_eq!(told("timers.executed_count"), Some(Value::Counter(2)));
    assert_eq!(told("timers.failed_count"), Some(Value::Counter(1)));
    assert_eq!(told("timers.coalesced_count"), Some(Value::Counter(2)));
    assert_eq!(told("timers.duration_max_ns"), Some(Value::Gauge(4e6)));
    assert_eq!(told("timers.lateness_max_ns"), Some(Value::Gauge(25e6)));
    assert_eq!(
        told("timers.wheel_steps_count"),
        Some(Value::Counter(10_000_001)),
        "of a nanosecond each"
    );
}

#[test]
fn inbound_posts_and_jobs_are_sources_too() {
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
