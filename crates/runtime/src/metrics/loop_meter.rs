//! What every loop has to tell of itself.

use trantor_time::{RealSpan, RealTime};

use crate::fault::CallbackResult;
use crate::stages::{PassReport, StageSpec};

use super::collector::Source;
use super::{Counter, Gauge, Meter, MeterBuilder, Reader, Sample, Spread, Value};

/// The counts of one loop's passes; a program may declare its own beside them.
#[derive(Debug)]
pub struct LoopMeter {
    meter: Meter,
    passes: Counter,
    /// Passes in which nothing was done. A loop that turns without work has a stage that wakes it for nothing.
    idle_passes: Counter,
    work: Counter,
    work_per_pass: Gauge,
    duration: Spread,
    busy: Counter,
    sleeps: Counter,
    lateness: Spread,
    /// By stage: its items and its time.
    stages: Vec<(Counter, Counter)>,
}

/// Reads a [`LoopMeter`] from any thread, and adds what only the reader knows: how much time has passed.
#[derive(Clone, Debug)]
pub struct LoopReader {
    busy_name: String,
    uptime_name: String,
    utilization_name: String,
    reader: Reader,
    started: RealTime,
}

impl LoopMeter {
    /// Declares the metrics of a loop with these stages in `declare`, under names that begin with `loop`, and builds it.
    ///
    /// `started` is when the loop's uptime begins.
    pub fn build(
        mut declare: MeterBuilder,
        stages: impl IntoIterator<Item = StageSpec>,
        started: RealTime,
    ) -> (Self, LoopReader) {
        let name = |rest: &str| format!("loop.{rest}");
        let passes = declare.counter(name("passes_count"));
        // The traditional word for the passes of a service loop; ticks are something else here.
        declare.alias(passes, name("tick_count"));
        let idle_passes = declare.counter(name("passes_without_work_count"));
        let work = declare.counter(name("work_count"));
        let work_per_pass = declare.gauge(name("pass.work_average_count"));
        let duration = declare.distribution(name("pass.duration_ns"));
        let busy = declare.counter(name("busy_ns"));
        let sleeps = declare.counter(name("idle_sleeps_count"));
        let lateness = declare.distribution(name("wake.lateness_ns"));
        let stages = stages
            .into_iter()
            .map(|stage| {
                let stage_name = stage.name.replace(' ', "_");
                let items = declare.counter(name(&format!("stage.{stage_name}.items_count")));
                (
                    items,
                    declare.counter(name(&format!("stage.{stage_name}.time_ns"))),
                )
            })
            .collect();
        let [busy_name, uptime_name, utilization_name] =
            ["busy_ns", "uptime_ns", "utilization_ratio"].map(|rest| declare.full_name(&name(rest)));
        let (meter, reader) = declare.build();
        let meter = Self {
            meter,
            passes,
            idle_passes,
            work,
            work_per_pass,
            duration,
            busy,
            sleeps,
            lateness,
            stages,
        };
        (
            meter,
            LoopReader {
                busy_name,
                uptime_name,
                utilization_name,
                reader,
                started,
            },
        )
    }

    /// Counts a pass that has ended, and publishes.
    pub fn count_pass(&mut self, report: &PassReport<'_>) {
        let duration_ns = report.duration().as_nanos().unsigned_abs();
        let mut items = 0;
        for ((_, used), &(count, time)) in report.uses().zip(&self.stages) {
            items += u64::from(used.items);
            self.meter.add(count, used.items.into());
            self.meter.add(time, used.time.as_nanos().unsigned_abs());
        }
        self.meter.add(self.passes, 1);
        self.meter.add(self.idle_passes, u64::from(items == 0));
        self.meter.add(self.work, items);
        self.meter.set_average(self.work_per_pass, items as f64);
        self.meter.add(self.busy, duration_ns);
        self.meter.record(self.duration, duration_ns);
        self.meter.publish();
    }

    /// Counts that the loop is about to sleep.
    pub fn count_sleep(&mut self) {
        self.meter.add(self.sleeps, 1);
        self.meter.publish_before_sleep();
    }

    /// Records how late the loop woke after a deadline that ended its sleep.
    pub fn record_lateness(&mut self, lateness: RealSpan) {
        self.meter
            .record(self.lateness, lateness.as_nanos().unsigned_abs());
    }

    /// The meter itself, for what the program declared beside the loop's own; it is published with the next pass.
    pub fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

impl LoopReader {
    /// Starts the distributions anew, maxima included; counters stay.
    pub fn reset_distributions(&self) {
        self.reader.reset_distributions();
    }
}

impl Source for LoopReader {
    fn collect(&mut self, now: RealTime, samples: &mut Vec<Sample>) -> CallbackResult {
        let first = samples.len();
        self.reader.read(samples);
        let uptime_ns = now.since(self.started).as_nanos();
        let busy = samples[first..]
            .iter()
            .find(|sample| sample.name == self.busy_name)
            .map(|sample| sample.value);
        let busy_ns = match busy {
            Some(Value::Counter(busy_ns)) => busy_ns as f64,
            _ => return Err(format!("{} is not among the loop's own counters", self.busy_name).into()),
        };
        let mut tell = |name: &String, value| {
            samples.push(Sample {
                name: name.clone().into(),
                value: Value::Gauge(value),
            });
        };
        // A loop that sleeps is up, not busy: both are told, and their ratio.
        tell(&self.uptime_name, uptime_ns as f64);
        tell(
            &self.utilization_name,
            if uptime_ns > 0 {
                busy_ns / uptime_ns as f64
            } else {
                0.0
            },
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::{Budget, LONG_PASS, Stages};
    use trantor_time::{Clock, ManualClock};

    fn read(reader: &mut LoopReader, now: RealTime) -> super::super::Snapshot {
        let mut samples = Vec::new();
        reader.collect(now, &mut samples).unwrap();
        super::super::Snapshot::new(now, samples)
    }

    #[test]
    fn a_loop_tells_its_passes_durations_work_and_sleeps() {
        let spec = StageSpec::new("due work", Budget::new(64, RealSpan::from_millis(5)));
        let clock = ManualClock::default();
        let mut stages = Stages::declare("test", [spec], LONG_PASS);
        let (mut meter, mut reader) = LoopMeter::build(MeterBuilder::new(), [spec], clock.now());
        for pass in 1..=10 {
            stages.begin_pass(clock.now());
            let mut turn = stages.enter(0, clock.now());
            (0..3).for_each(|_| assert!(turn.admits(clock.now())));
            clock.advance(RealSpan::from_millis(pass));
            stages.leave(turn, clock.now());
            meter.count_pass(&stages.end_pass(clock.now()));
            meter.count_sleep();
            clock.advance(RealSpan::from_millis(45));
        }
        meter.record_lateness(RealSpan::from_micros(60));
        meter.meter().publish();
        let snapshot = read(&mut reader, clock.now());
        assert_eq!(snapshot.get("loop.passes_count"), Some(Value::Counter(10)));
        assert_eq!(snapshot.get("loop.idle_sleeps_count"), Some(Value::Counter(10)));
        assert_eq!(snapshot.get("loop.work_count"), Some(Value::Counter(30)));
        assert_eq!(
            snapshot.get("loop.stage.due_work.items_count"),
            Some(Value::Counter(30))
        );
        assert_eq!(
            snapshot.get("loop.stage.due_work.time_ns"),
            Some(Value::Counter(55_000_000))
        );
        let Some(Value::Distribution(pass)) = snapshot.get("loop.pass.duration_ns") else {
            panic!("declared so")
        };
        assert_eq!((pass.max, pass.sum), (10_000_000, 55_000_000));
        let Some(Value::Distribution(late)) = snapshot.get("loop.wake.lateness_ns") else {
            panic!("declared so")
        };
        assert_eq!(late.max, 60_000);
    }

    #[test]
    fn two_loops_of_a_program_tell_their_own_under_their_names() {
        let spec = StageSpec::new("work", Budget::UNLIMITED);
        let mut samples = Vec::new();
        for name in ["server", "metrics"] {
            let (_meter, mut reader) = LoopMeter::build(MeterBuilder::of_loop(name), [spec], RealTime::ZERO);
            reader.collect(RealTime::ZERO, &mut samples).unwrap();
        }
        let snapshot = super::super::Snapshot::new(RealTime::ZERO, samples);
        for name in ["passes_count", "busy_ns", "stage.work.items_count"] {
            for of in ["server", "metrics"] {
                assert_eq!(
                    snapshot.get(&format!("{of}.loop.{name}")),
                    Some(Value::Counter(0))
                );
            }
        }
        assert_eq!(snapshot.get("server.loop.uptime_ns"), Some(Value::Gauge(0.0)));
        let names: Vec<_> = snapshot.samples().iter().map(|sample| &sample.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "no name is told twice");
    }

    #[test]
    fn passes_keep_their_traditional_name_as_an_alias() {
        let specs = [StageSpec::new("work", Budget::UNLIMITED)];
        let mut stages = Stages::declare("test", specs, LONG_PASS);
        let (mut meter, mut reader) = LoopMeter::build(MeterBuilder::new(), specs, RealTime::ZERO);
        for _ in 0..3 {
            stages.begin_pass(RealTime::ZERO);
            meter.count_pass(&stages.end_pass(RealTime::ZERO));
        }
        let snapshot = read(&mut reader, RealTime::ZERO);
        assert_eq!(snapshot.get("loop.passes_count"), Some(Value::Counter(3)));
        assert_eq!(snapshot.get("loop.tick_count"), Some(Value::Counter(3)));
    }

    #[test]
    fn uptime_includes_sleep_and_utilization_does_not() {
        let spec = StageSpec::new("work", Budget::UNLIMITED);
        let clock = ManualClock::starting_at(RealTime::from_nanos(5_000_000_000));
        let mut stages = Stages::declare("test", [spec], LONG_PASS);
        let (mut meter, mut reader) = LoopMeter::build(MeterBuilder::new(), [spec], clock.now());
        stages.begin_pass(clock.now());
        clock.advance(RealSpan::from_secs(1));
        meter.count_pass(&stages.end_pass(clock.now()));
        clock.advance(RealSpan::from_secs(3));
        let snapshot = read(&mut reader, clock.now());
        assert_eq!(snapshot.get("loop.uptime_ns"), Some(Value::Gauge(4e9)));
        assert_eq!(snapshot.get("loop.busy_ns"), Some(Value::Counter(1_000_000_000)));
        assert_eq!(snapshot.get("loop.utilization_ratio"), Some(Value::Gauge(0.25)));
    }

    #[test]
    fn ten_milliseconds_are_told_in_nanoseconds() {
        let spec = StageSpec::new("work", Budget::UNLIMITED);
        let clock = ManualClock::default();
        let mut stages = Stages::declare("test", [spec], LONG_PASS);
        let (mut meter, mut reader) = LoopMeter::build(MeterBuilder::new(), [spec], clock.now());
        stages.begin_pass(clock.now());
        clock.advance(RealSpan::from_millis(10));
        meter.count_pass(&stages.end_pass(clock.now()));
        let snapshot = read(&mut reader, clock.now());
        let Some(Value::Distribution(pass)) = snapshot.get("loop.pass.duration_ns") else {
            panic!("declared so")
        };
        assert_eq!((pass.max, pass.average), (10_000_000, 10_000_000.0));
    }
}
