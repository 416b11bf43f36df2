//! What the sums cost that a loop makes in every pass: nanoseconds each, or something is wrong with them.
//!
//! Stands for the fixed price of a pass. Good is: a few nanoseconds, the same for all values. The stores have
//! their own bench, `stores`, with others beside them.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use trantor_time::{
    DeadlineHeap, FrameBudget, Frequency, GameClock, GameSpan, GameTime, LatePolicy, Link, LinkSettings,
    NewTimer, Pace, Pacer, Pacing, Rate, RealSpan, RealTime, TickClock, TimerWheel, Timers,
};

fn clock(criterion: &mut Criterion) {
    let hertz = |hertz| Frequency::new(hertz).expect("a good frequency");
    let mut clock = GameClock::new(RealTime::ZERO, GameTime::ZERO, hertz(300));
    let deadline = GameTime::from_units(7_000);
    let far = GameTime::from_units(1 << 40);
    let mut now = RealTime::ZERO;
    criterion.bench_function("clock/now", |bench| {
        bench.iter(|| black_box(&clock).now(black_box(RealTime::from_nanos(12_345))))
    });
    criterion.bench_function("clock/real_at", |bench| {
        bench.iter(|| black_box(&clock).real_at(black_box(deadline)))
    });
    criterion.bench_function("clock/real_at, far", |bench| {
        bench.iter(|| black_box(&clock).real_at(black_box(far)))
    });
    criterion.bench_function("clock/set_frequency", |bench| {
        bench.iter(|| {
            now += RealSpan::from_nanos(100);
            clock.set_frequency(now, black_box(hertz(144)));
        });
    });
}

fn pacing(criterion: &mut Criterion) {
    let rate = Rate::per_second(30.0).expect("a good rate");
    let mut grid = Pacer::new(Pace::At(rate), Pacing::Grid);
    let mut now = RealTime::ZERO;
    criterion.bench_function("pacer/asked, not due", |bench| {
        bench.iter(|| {
            now += RealSpan::from_nanos(10);
            black_box(grid.call(now))
        })
    });
    criterion.bench_function("pacer/called on the grid", |bench| {
        bench.iter(|| {
            now += RealSpan::from_millis(34);
            black_box(grid.call(now))
        })
    });
    let mut budget = FrameBudget::new(rate);
    criterion.bench_function("frame budget/a frame and a question", |bench| {
        bench.iter(|| {
            now += RealSpan::from_millis(34);
            budget.start_frame(now);
            budget.end_frame(now);
            black_box(budget.turn(now, true))
        })
    });
    let mut ticks = TickClock::new(RealTime::ZERO, RealSpan::from_millis(50));
    criterion.bench_function("tick clock/a tick", |bench| {
        bench.iter(|| {
            now = now.max(ticks.next_instant()) + RealSpan::from_micros(20);
            let tick = ticks.start(now);
            ticks.end(now);
            black_box(tick)
        })
    });
}

fn policies(criterion: &mut Criterion) {
    let period = RealSpan::from_millis(16);
    criterion.bench_function("late policy/coalesce", |bench| {
        bench.iter(|| {
            LatePolicy::Coalesce.repeat(
                black_box(RealTime::ZERO),
                black_box(RealTime::from_nanos(1_000_000_000)),
                period,
            )
        })
    });
    let settings = LinkSettings {
        latency: GameSpan::from_units(1),
        ..LinkSettings::perfect(GameSpan::ZERO)
    };
    let mut link = Link::new(settings, 1, 1).expect("good settings");
    criterion.bench_function("link/send", |bench| {
        bench.iter(|| black_box(link.send(black_box(GameTime::ZERO), 5, 20)))
    });
}

/// A thousand timers as a server has them, and what a pass of them costs through names, owners and counters.
fn timers(criterion: &mut Criterion) {
    let mut on_heap = filled(Timers::new(DeadlineHeap::new()));
    let mut on_wheel = filled(Timers::new(TimerWheel::new()));
    let mut now = RealTime::ZERO;
    criterion.bench_function("timers/a run, on the heap", |bench| {
        bench.iter(|| {
            now = now.max(on_heap.next_deadline().expect("they repeat"));
            let run = on_heap.take_due(now).expect("due");
            on_heap.finish(run, RealSpan::ZERO, false);
        })
    });
    let mut now = RealTime::ZERO;
    criterion.bench_function("timers/a run, on the wheel", |bench| {
        bench.iter(|| {
            now = now.max(on_wheel.next_deadline().expect("they repeat"));
            let run = on_wheel.take_due(now).expect("due");
            on_wheel.finish(run, RealSpan::ZERO, false);
        })
    });
}

fn filled<S>(mut timers: Timers<S, u32, u32>) -> Timers<S, u32, u32>
where
    S: trantor_time::DeadlineStore<trantor_time::TimerId, Moment = RealTime>,
{
    for owner in 0..1_000 {
        let period = RealSpan::from_micros(100_000 + i64::from(owner) * 777);
        let new = NewTimer::every("keep-alive", period, owner).owned_by(owner);
        timers.register(RealTime::ZERO, new).expect("there is room");
    }
    timers
}

criterion_group!(sums, clock, pacing, policies, timers);
criterion_main!(sums);
