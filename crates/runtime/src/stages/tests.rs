//! Order, budgets and fairness of stages on a manual clock.

use super::*;
use trantor_time::{Clock, ManualClock};

const CHEAP: usize = 0;
const DEAR: usize = 1;

fn two_stages(cheap_items: u32) -> Stages {
    let five_ms = RealSpan::from_millis(5);
    Stages::declare(
        "test",
        [
            StageSpec::new("cheap", Budget::new(cheap_items, five_ms)),
            StageSpec::new("dear", Budget::new(64, five_ms)),
        ],
        LONG_PASS,
    )
}

/// One turn of a stage that always has work, each item of which takes `item`.
fn saturate(stages: &mut Stages, stage: usize, clock: &ManualClock, item: RealSpan) -> RealSpan {
    let start = clock.now();
    let mut turn = stages.enter(stage, start);
    while turn.admits(clock.now()) {
        clock.advance(item);
    }
    stages.leave(turn, clock.now());
    clock.now() - start
}

#[test]
fn a_stage_takes_one_item_at_least_and_stops_at_count_or_time() {
    let clock = ManualClock::default();
    let mut stages = two_stages(10);
    stages.begin_pass(clock.now());
    saturate(&mut stages, CHEAP, &clock, RealSpan::ZERO);
    saturate(&mut stages, DEAR, &clock, RealSpan::from_secs(1));
    let taken: Vec<_> = stages.uses().map(|(_, turn)| turn.items).collect();
    assert_eq!(taken, [10, 1]);
    assert!(stages.work_is_left());
    assert_eq!(stages.items_taken(), 11);
}

#[test]
fn nothing_left_means_the_next_pass_may_wait() {
    let clock = ManualClock::default();
    let mut stages = two_stages(2);
    stages.begin_pass(clock.now());
    let mut turn = stages.enter(CHEAP, clock.now());
    assert!(turn.admits(clock.now()) && turn.admits(clock.now()));
    stages.leave(turn, clock.now());
    stages.end_pass(clock.now());
    assert!(
        !stages.work_is_left(),
        "exactly the budget was used, and no more asked for"
    );
}

#[test]
fn neither_of_two_saturated_stages_falls_below_a_third() {
    for (cheap_ns, dear_ns) in [
        (1_000, 5_000_000),
        (1_000, 60_000_000),
        (100, 100),
        (5_000_000, 1_000),
    ] {
        let clock = ManualClock::default();
        let mut stages = two_stages(128);
        let mut pass = || {
            stages.begin_pass(clock.now());
            let cheap = saturate(&mut stages, CHEAP, &clock, RealSpan::from_nanos(cheap_ns));
            let dear = saturate(&mut stages, DEAR, &clock, RealSpan::from_nanos(dear_ns));
            stages.end_pass(clock.now());
            (cheap.as_nanos(), dear.as_nanos())
        };
        pass(); // the first stage of the first pass does not know yet what the others take
        let (cheap, dear) = (0..20)
            .map(|_| pass())
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let smaller = cheap.min(dear) as f64 / (cheap + dear) as f64;
        assert!(
            smaller > 0.33,
            "{cheap_ns} against {dear_ns} ns an item: {smaller:.3}"
        );
    }
}

#[test]
fn a_long_pass_is_reported_with_stages_and_the_slowest_item() {
    let clock = ManualClock::default();
    let mut stages = two_stages(10);
    stages.begin_pass(clock.now());
    let mut turn = stages.enter(DEAR, clock.now());
    assert!(turn.admits(clock.now()));
    clock.advance(RealSpan::from_millis(250));
    stages.note_item("db_save", RealSpan::from_millis(250));
    stages.leave(turn, clock.now());
    let report = stages.end_pass(clock.now());
    assert!(report.is_long());
    assert_eq!(
        report.to_string(),
        "pass 1 took 250.0 ms: cheap 0.0 ms (0) dear 250.0 ms (1); slowest db_save 250.0 ms"
    );
}

#[test]
#[should_panic(expected = "declared order")]
fn no_stage_runs_out_of_order() {
    let mut stages = two_stages(1);
    stages.begin_pass(RealTime::ZERO);
    let dear = stages.enter(DEAR, RealTime::ZERO);
    stages.leave(dear, RealTime::ZERO);
    let _ = stages.enter(CHEAP, RealTime::ZERO);
}
