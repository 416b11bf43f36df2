//! What a loop's machinery costs on this machine: measured beside required.
//!
//! `cargo bench --bench loop_costs` takes about ten seconds; `-- full` sends 10⁸ events. Eight producers that
//! put a hundred each millisecond need 125 seconds for them, and some more to be woken. The latencies stand for an idle machine,
//! the throughputs for one with nothing else to do.
//!
//! - *inbox*: what it carries when flooded; and in batches, with a loop that sleeps whenever it finds nothing. Good: all
//!   arrive, none later than 10 ms. With fewer cores than threads the system's turns for each show as well;
//!   so a thread beside them does nothing but sleep, and how late it wakes is what the system makes anybody wait.
//! - *post*: from posting an action to its run by an idle loop. Good: p99 under 0.2 ms.
//! - *pass*: what a pass costs that has one posted action to run. Good: well below the system call that ends a sleep.
//! - *metrics*: what counting and publishing cost a pass. Good: at most 1 % of a loaded pass.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use hdrhistogram::Histogram;
use trantor_runtime::inbox::{Inbox, Priority};
use trantor_runtime::life::LoopThread;
use trantor_runtime::metrics::{LoopMeter, MeterBuilder};
use trantor_runtime::service::{POSTED, Service, ServiceBuilder, ServiceLoop, ServiceSettings, TIMERS};
use trantor_runtime::stages::{Budget, LONG_PASS, StageSpec, Stages};
use trantor_runtime::{Parker, RealClock, Wait, threads};
use trantor_time::{Clock, RealSpan, RealTime};

fn main() {
    let is_full = std::env::args().any(|argument| argument == "full");
    for producers in [1, 8] {
        inbox(Source::Flood, producers, 4_000_000);
    }
    inbox(Source::Batches, 8, if is_full { 100_000_000 } else { 2_000_000 });
    post();
    pass();
    metrics();
}

/// How producers put.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// As fast as they can: what the queue carries.
    Flood,
    /// A hundred at a time, with a millisecond between: the loop goes to sleep, and must be woken for each batch.
    Batches,
}

fn inbox(source: Source, producers: u64, events: u64) {
    let clock = RealClock::new();
    let mut parker = Parker::new();
    let mut inbox = Inbox::new(4_096, parker.waker());
    let each = events / producers;
    let start = clock.now();
    let threads: Vec<_> = (0..producers)
        .map(|_| {
            let sender = inbox.sender();
            let produce = move || {
                let mut pause = Parker::new();
                for number in 0..each {
                    if source == Source::Batches && number % 100 == 0 {
                        pause.wait(Some(clock.now() + RealSpan::from_millis(1)));
                    }
                    // Every 50th carries its instant; reading the clock for each would be most of the work.
                    let put_at = (number % 50 == 0).then(|| clock.now());
                    sender
                        .put_waiting(Priority::Network, put_at, RealSpan::from_secs(60))
                        .unwrap();
                }
            };
            threads::spawn("producer", produce).unwrap()
        })
        .collect();
    let bystander = (source == Source::Batches).then(Bystander::start);
    let (mut latest, mut late, mut sleeps) = (RealSpan::ZERO, 0_u64, 0_u64);
    for _ in 0..each * producers {
        let put_at = loop {
            match inbox.take() {
                Some(event) => break event,
                None => {
                    sleeps += 1;
                    parker.wait(None);
                }
            }
        };
        if let Some(put_at) = put_at {
            let waited = clock.now() - put_at;
            latest = latest.max(waited);
            late += u64::from(waited > RealSpan::from_millis(10));
        }
    }
    let seconds = (clock.now() - start).as_secs_f64();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let rate = events as f64 / seconds / 1e6;
    let Some(bystander) = bystander else {
        println!("inbox    {producers} producers flood it: {rate:.1} million events/s");
        return;
    };
    println!(
        "inbox    {producers} producers in batches: {rate:.1} million events/s, all arrived, {sleeps} sleeps, latest {:.2} ms [10 ms], \
         {late} of {} later than that; a thread that only sleeps woke up to {:.2} ms late",
        latest.as_millis_f64(),
        events / 50,
        bystander.stop().as_millis_f64()
    );
}

/// A thread that sleeps for a millisecond over and over, beside what is measured.
struct Bystander {
    is_done: Arc<AtomicBool>,
    thread: threads::Thread<RealSpan>,
}

impl Bystander {
    fn start() -> Self {
        let clock = RealClock::new();
        let is_done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_done);
        let sleep = move || {
            let mut pause = Parker::new();
            let mut latest = RealSpan::ZERO;
            while !seen.load(Ordering::Relaxed) {
                let until = clock.now() + RealSpan::from_millis(1);
                pause.wait(Some(until));
                latest = latest.max(clock.now() - until);
            }
            latest
        };
        let thread = threads::spawn("bystander", sleep).unwrap();
        Self { is_done, thread }
    }

    /// Ends it; answers by how much it woke too late at most.
    fn stop(self) -> RealSpan {
        self.is_done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn post() {
    const POSTS: usize = 3_000;
    let clock = RealClock::new();
    let a_loop = LoopThread::start(
        "idle loop",
        move || {
            let builder =
                ServiceBuilder::new("idle loop", ServiceSettings::default(), (), clock, Parker::new());
            let mut a_loop = builder.posts(POSTED).timers(TIMERS).build();
            let poster = a_loop.service().poster();
            let signal = a_loop.stop_signal();
            Ok::<_, String>(((a_loop, poster), signal))
        },
        |(a_loop, poster)| {
            let pinger = threads::spawn("poster", move || ping(&poster, POSTS)).unwrap();
            let signal = a_loop.stop_signal();
            let stopper = threads::spawn("stopper", move || {
                let delays = pinger.join().unwrap();
                signal.request();
                delays
            });
            ServiceLoop::run(a_loop);
            stopper.unwrap().join().unwrap()
        },
    )
    .unwrap();
    let delays = a_loop.join().unwrap();
    let us = |quantile| delays.value_at_quantile(quantile) as f64 / 1e3;
    println!(
        "post     to an idle loop: p50 {:.1} us, p99 {:.1} us [200], p99.9 {:.1} us",
        us(0.5),
        us(0.99),
        us(0.999)
    );
}

/// Posts one action after another, each to a loop that has gone to sleep again; answers their delays in nanoseconds.
fn ping(poster: &trantor_runtime::Poster<Service<()>>, posts: usize) -> Histogram<u64> {
    let clock = RealClock::new();
    let mut parker = Parker::new();
    let mut delays = Histogram::new(3).unwrap();
    let (ran, has_run) = sync_channel::<RealTime>(1);
    for _ in 0..posts {
        parker.wait(Some(clock.now() + RealSpan::from_micros(500)));
        let ran = ran.clone();
        let put_at = clock.now();
        poster
            .post("ping", move |_| ran.send(clock.now()).unwrap())
            .unwrap();
        let delay = has_run.recv().unwrap() - put_at;
        delays.record(delay.as_nanos() as u64).unwrap();
    }
    delays
}

/// A loop that never sleeps, with nothing to do: what a pass costs by itself.
fn pass() {
    const PASSES: u32 = 200_000;
    let clock = RealClock::new();
    let builder = ServiceBuilder::new("bench", ServiceSettings::default(), (), clock, Parker::new());
    let mut a_loop = builder
        .stage_fn("inbound", POSTED, |_, _| ())
        .posts(POSTED)
        .timers(TIMERS)
        .stage_fn("outbound", POSTED, |_, _| ())
        .build();
    let poster = a_loop.service().poster();
    let run = |a_loop: &mut ServiceLoop<(), RealClock, Parker>| {
        let start = clock.now();
        for _ in 0..PASSES {
            poster.post("wake", |_| ()).unwrap();
            assert!(a_loop.pass().is_none());
        }
        (clock.now() - start).as_nanos() as f64 / f64::from(PASSES)
    };
    let least = (0..5).map(|_| run(&mut a_loop)).fold(f64::INFINITY, f64::min);
    println!("pass     {least:.0} ns with four stages and one posted action, metrics included");
}

fn metrics() {
    const PASSES: u32 = 200_000;
    /// A loaded pass: 64 items of a microsecond each, a quarter of what a command costs in the system's sockets.
    const LOADED_PASS: RealSpan = RealSpan::from_micros(64);
    let clock = RealClock::new();
    let spec = StageSpec::new("work", Budget::UNLIMITED);
    let specs = [
        spec,
        StageSpec::new("more work", Budget::UNLIMITED),
        StageSpec::new("flush", Budget::UNLIMITED),
    ];
    let mut declare = MeterBuilder::new();
    let own: Vec<_> = (0..16)
        .map(|number| declare.counter(format!("own.{number}_count")))
        .collect();
    let lateness = declare.distribution("own.lateness_ns");
    let (mut meter, reader) = LoopMeter::build(declare, specs, clock.now());
    let mut stages = Stages::declare("bench", specs, LONG_PASS);

    stages.begin_pass(clock.now());
    let report = stages.end_pass(clock.now());
    let mut run = || {
        let start = clock.now();
        for _ in 0..PASSES {
            for &counter in &own {
                meter.meter().add(counter, 1);
            }
            meter.meter().record(lateness, black_box(57_000));
            meter.count_pass(black_box(&report));
            meter.record_lateness(black_box(RealSpan::from_micros(57)));
        }
        (clock.now() - start).as_nanos() as f64 / f64::from(PASSES)
    };
    // The least of several runs: what disturbs a run only ever makes it longer.
    let cost_ns = (0..5).map(|_| run()).fold(f64::INFINITY, f64::min);
    println!(
        "metrics  {cost_ns:.0} ns a pass (16 counters and 2 distributions of the program's own and the loop's): {:.2} % of a pass of {} us [1 %]",
        cost_ns / LOADED_PASS.as_nanos() as f64 * 100.0,
        LOADED_PASS.as_nanos() / 1_000,
    );
    let start = clock.now();
    let snapshot = reader_snapshot(&reader, clock.now());
    println!(
        "         a snapshot of {snapshot} samples takes its reader {:.0} us",
        (clock.now() - start).as_nanos() as f64 / 1e3
    );
}

fn reader_snapshot(reader: &trantor_runtime::metrics::loop_meter::LoopReader, now: RealTime) -> usize {
    use trantor_runtime::metrics::collector::Source;
    let mut samples = Vec::new();
    reader.clone().collect(now, &mut samples).unwrap();
    samples.len()
}
