//! What the loop counts of itself: passes, stages, tasks, timers and jobs.
//!
//! What happens on sockets and of the game is [`crate::meters`]'.

use trantor_runtime::fault::CallbackResult;
use trantor_runtime::metrics::collector::Source;
use trantor_runtime::metrics::{Counter, Gauge, Meter, MeterBuilder, Reader, Sample, Spread, Value};
use trantor_time::{RealSpan, RealTime};

use crate::passes::Passes;
use crate::shell::Shell;

/// The counts of the loop.
#[derive(Debug)]
pub(crate) struct LoopMeter {
    meter: Meter,
    metrics: Metrics,
}

#[derive(Debug)]
struct Metrics {
    passes: Counter,
    /// Passes in which nothing was done. A loop that turns without work has a stage that wakes it for nothing.
    idle_passes: Counter,
    work: Counter,
    work_per_pass: Gauge,
    duration: Spread,
    busy: Counter,
    sleeps: Counter,
    lateness: Spread,
    faults: Counter,
    /// By stage: its items and its time.
    stages: Vec<(Counter, Counter)>,
    tasks: TaskMetrics,
    timers: TimerMetrics,
    jobs: JobMetrics,
}

#[derive(Debug)]
struct TaskMetrics {
    waiting: Gauge,
    run: Counter,
    refused: Counter,
}

#[derive(Debug)]
struct TimerMetrics {
    active: Gauge,
    registered: Counter,
    executed: Counter,
    failed: Counter,
    coalesced: Counter,
    wheel_steps: Counter,
    duration_average: Gauge,
    duration_max: Gauge,
    lateness_max: Gauge,
}

#[derive(Debug)]
struct JobMetrics {
    waiting: Gauge,
    running: Gauge,
    oldest_age: Gauge,
    waited_max: Gauge,
    done: Counter,
    failed: Counter,
    refused: Counter,
}

/// Reads a [`LoopMeter`] from any thread, and adds what only the reader knows: how much time has passed.
#[derive(Clone, Debug)]
pub struct LoopReader {
    reader: Reader,
    started: RealTime,
}

/// The name of the time that the loop was busy, which its reader compares with the time that has passed.
const BUSY: &str = "server.loop.busy_ns";

impl LoopMeter {
    /// A meter of a loop with these stages. `started` is when the loop's uptime begins.
    pub(crate) fn new(passes: &Passes, started: RealTime) -> (Self, LoopReader) {
        let mut declare = MeterBuilder::of_loop("server");
        let passes_count = declare.counter("loop.passes_count");
        // The traditional word for the passes of a service loop; ticks are something else here.
        declare.alias(passes_count, "loop.tick_count");
        let stages = passes.stages().iter().map(|stage| {
            let name = stage.name.replace(' ', "_");
            let items = declare.counter(format!("loop.stage.{name}.items_count"));
            (items, declare.counter(format!("loop.stage.{name}.time_ns")))
        });
        let stages = stages.collect();
        let metrics = Metrics {
            passes: passes_count,
            idle_passes: declare.counter("loop.passes_without_work_count"),
            work: declare.counter("loop.work_count"),
            work_per_pass: declare.gauge("loop.pass.work_average_count"),
            duration: declare.distribution("loop.pass.duration_ns"),
            busy: declare.counter("loop.busy_ns"),
            sleeps: declare.counter("loop.idle_sleeps_count"),
            lateness: declare.distribution("loop.wake.lateness_ns"),
            faults: declare.counter("loop.faults_count"),
            stages,
            tasks: TaskMetrics {
                waiting: declare.gauge("posts.waiting_count"),
                run: declare.counter("posts.run_count"),
                refused: declare.counter("posts.refused_count"),
            },
            timers: TimerMetrics {
                active: declare.gauge("timers.active_count"),
                registered: declare.counter("timers.registered_count"),
                executed: declare.counter("timers.executed_count"),
                failed: declare.counter("timers.failed_count"),
                coalesced: declare.counter("timers.coalesced_count"),
                wheel_steps: declare.counter("timers.wheel_steps_count"),
                duration_average: declare.gauge("timers.duration_average_ns"),
                duration_max: declare.gauge("timers.duration_max_ns"),
                lateness_max: declare.gauge("timers.lateness_max_ns"),
            },
            jobs: JobMetrics {
                waiting: declare.gauge("jobs.waiting_count"),
                running: declare.gauge("jobs.running_count"),
                oldest_age: declare.gauge("jobs.oldest_age_ns"),
                waited_max: declare.gauge("jobs.waited_max_ns"),
                done: declare.counter("jobs.done_count"),
                failed: declare.counter("jobs.failed_count"),
                refused: declare.counter("jobs.refused_count"),
            },
        };
        let (meter, reader) = declare.build();
        (Self { meter, metrics }, LoopReader { reader, started })
    }

    /// Counts a pass that has ended, and publishes.
    pub(crate) fn count_pass(&mut self, passes: &Passes, shell: &Shell) {
        let duration_ns = passes.duration().as_nanos().unsigned_abs();
        let mut items = 0;
        let (meter, to) = (&mut self.meter, &self.metrics);
        for (stage, &(count, time)) in passes.stages().iter().zip(&to.stages) {
            items += u64::from(stage.items);
            meter.add(count, stage.items.into());
            meter.add(time, stage.time.as_nanos().unsigned_abs());
        }
        meter.add(to.passes, 1);
        meter.add(to.idle_passes, u64::from(items == 0));
        meter.add(to.work, items);
        meter.set_average(to.work_per_pass, items as f64);
        meter.add(to.busy, duration_ns);
        meter.record(to.duration, duration_ns);
        self.count_tasks_and_timers(shell);
        self.meter.publish();
    }

    fn count_tasks_and_timers(&mut self, shell: &Shell) {
        let (meter, to) = (&mut self.meter, &self.metrics.tasks);
        meter.set(to.waiting, shell.tasks.len() as f64);
        meter.set_total(to.run, shell.tasks_run);
        meter.set_total(to.refused, shell.tasks.refused());

        let (to, stats) = (&self.metrics.timers, shell.timers.stats());
        meter.set(to.active, shell.timers.len() as f64);
        meter.set_total(to.registered, stats.registered);
        meter.set_total(to.executed, stats.executed);
        meter.set_total(to.failed, stats.failed);
        meter.set_total(to.coalesced, stats.coalesced);
        meter.set_total(to.wheel_steps, shell.timers.wheel_steps());
        meter.set(to.duration_average, stats.duration_ns_recent);
        meter.set(to.duration_max, stats.duration_ns_max as f64);
        meter.set(to.lateness_max, stats.lateness_ns_max as f64);

        let (to, disk) = (&self.metrics.jobs, &shell.disk);
        let (stats, running) = (disk.stats(), disk.running());
        meter.set(to.waiting, (disk.in_flight() - running) as f64);
        meter.set(to.running, running as f64);
        meter.set(to.oldest_age, disk.oldest_age(shell.now).as_nanos() as f64);
        meter.set(to.waited_max, stats.waited_max.as_nanos() as f64);
        meter.set_total(to.done, stats.done);
        meter.set_total(to.failed, stats.failed);
        meter.set_total(to.refused, stats.refused);
    }

    /// Counts that the loop is about to sleep.
    pub(crate) fn count_sleep(&mut self) {
        self.meter.add(self.metrics.sleeps, 1);
        self.meter.publish_before_sleep();
    }

    /// Records how late the loop woke after a deadline that ended its sleep.
    pub(crate) fn record_lateness(&mut self, lateness: RealSpan) {
        self.meter
            .record(self.metrics.lateness, lateness.as_nanos().unsigned_abs());
    }

    /// Counts a failure, which ends the loop.
    pub(crate) fn count_fault(&mut self) {
        self.meter.add(self.metrics.faults, 1);
    }
}

impl Source for LoopReader {
    fn collect(&mut self, now: RealTime, samples: &mut Vec<Sample>) -> CallbackResult {
        let first = samples.len();
        self.reader.read(samples);
        let busy = samples[first..].iter().find(|sample| sample.name == BUSY);
        let Some(Value::Counter(busy_ns)) = busy.map(|sample| sample.value) else {
            return Err(format!("{BUSY} is not among the loop's own counters").into());
        };
        let uptime_ns = now.since(self.started).as_nanos() as f64;
        // A loop that sleeps is up, not busy: both are published, and their ratio.
        let utilization = if uptime_ns > 0.0 {
            busy_ns as f64 / uptime_ns
        } else {
            0.0
        };
        for (name, value) in [
            ("server.loop.uptime_ns", uptime_ns),
            ("server.loop.utilization_ratio", utilization),
        ] {
            let (name, value) = (name.into(), Value::Gauge(value));
            samples.push(Sample { name, value });
        }
        Ok(())
    }
}
