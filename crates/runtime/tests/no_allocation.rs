//! What runs in every pass allocates nothing, once it has run.

use trantor_runtime::ManualWait;
use trantor_runtime::metrics::{LoopMeter, MeterBuilder};
use trantor_runtime::service::{POSTED, Service, ServiceBuilder, ServiceSettings, TIMERS};
use trantor_runtime::stages::{Budget, LONG_PASS, StageSpec, Stages};
use trantor_time::{Clock, ManualClock, RealSpan};

/// Allocations of this thread while `work` runs.
fn allocations_of(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations_of(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn counting_and_publishing_a_pass_allocates_nothing() {
    let clock = ManualClock::default();
    let specs = [StageSpec::new("work", Budget::new(64, RealSpan::from_millis(5)))];
    let mut stages = Stages::declare("test", specs, LONG_PASS);
    let (mut meter, _reader) = LoopMeter::build(MeterBuilder::new(), specs, clock.now());
    let mut passes = |count: u32| {
        for _ in 0..count {
            stages.begin_pass(clock.now());
            let mut turn = stages.enter(0, clock.now());
            while turn.admits(clock.now()) {
                clock.advance(RealSpan::from_micros(1));
            }
            stages.leave(turn, clock.now());
            meter.count_pass(&stages.end_pass(clock.now()));
            meter.record_lateness(RealSpan::from_micros(60));
            meter.count_sleep();
        }
    };
    passes(2);
    assert_eq!(allocations_of(|| passes(1_000)), 0);
}

#[test]
fn a_repeating_timer_of_a_service_loop_allocates_nothing() {
    let clock = ManualClock::default();
    let settings = ServiceSettings::default();
    let mut builder = ServiceBuilder::new("test", settings, 0_u64, clock.clone(), ManualWait::new(&clock));
    for _ in 0..100 {
        let count = |service: &mut Service<u64>| {
            service.state += 1;
            Ok(())
        };
        builder
            .service()
            .every("count", RealSpan::from_millis(10), count)
            .expect("a fine timer");
    }
    let mut a_loop = builder.posts(POSTED).timers(TIMERS).build();
    let mut passes = |count: u32| (0..count).for_each(|_| assert_eq!(a_loop.pass(), None));
    passes(3);
    assert_eq!(allocations_of(|| passes(1_000)), 0);
    assert!(a_loop.service().state >= 100_000);
}
