//! A loop's own counts, how they are declared, and how they are read from other threads.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use hdrhistogram::Histogram;
use trantor_time::RealTime;

use super::snapshot::{Distribution, Sample, Snapshot, Value};

/// Units in which a name may end.
pub const UNITS: [&str; 6] = ["_count", "_ns", "_us", "_bytes", "_ratio", "_per_second"];

/// Recordings kept back while a reader copies. A copy takes microseconds, in which a loop records less than this.
const RECORDINGS_KEPT: usize = 256;

/// The longest duration, or greatest value, that a distribution tells apart: an hour in nanoseconds.
const DISTRIBUTION_MAX: u64 = 3_600_000_000_000;

/// The part of the old value that a moving average keeps at each new one.
const AVERAGE_KEEPS: f64 = 0.95;

/// A number that only rises; see [`MeterBuilder::counter`].
#[derive(Clone, Copy, Debug)]
pub struct Counter(usize);

/// A number that rises and falls; see [`MeterBuilder::gauge`].
#[derive(Clone, Copy, Debug)]
pub struct Gauge(usize);

/// Values of which the average, the quantiles and the maximum are kept; see [`MeterBuilder::distribution`].
#[derive(Clone, Copy, Debug)]
pub struct Spread(usize);

/// Declares what a [`Meter`] counts.
#[derive(Debug, Default)]
pub struct MeterBuilder {
    /// What every name begins with: the loop's name and a dot, or nothing.
    prefix: String,
    names: Vec<Declared>,
    counters: usize,
    gauges: usize,
    spreads: usize,
}

/// A loop's own counts.
#[derive(Debug)]
pub struct Meter {
    counters: Vec<u64>,
    gauges: Vec<f64>,
    /// Recordings not yet published, in a buffer that never grows.
    recordings: Vec<(Spread, u64)>,
    published: Arc<Published>,
    is_published: bool,
}

/// Reads a [`Meter`] from any thread.
#[derive(Clone, Debug)]
pub struct Reader {
    published: Arc<Published>,
}

impl MeterBuilder {
    /// Nothing declared yet. What it declares has the names it is given: for what there is one of in a program.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing declared yet. All names begin with that of the loop they are of, so that a program may have several.
    pub fn of_loop(name: &str) -> Self {
        Self {
            prefix: format!("{name}."),
            ..Self::default()
        }
    }

    /// The name under which readers see what is declared as `name`.
    pub(super) fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Declares a number that only rises.
    ///
    /// # Panics
    /// If the name does not end in one of [`UNITS`] or is declared already; so for all declarations.
    pub fn counter(&mut self, name: impl Into<Cow<'static, str>>) -> Counter {
        self.counters += 1;
        let counter = Counter(self.counters - 1);
        self.declare(name.into(), Kind::Counter(counter));
        counter
    }

    /// Declares a number that rises and falls.
    pub fn gauge(&mut self, name: impl Into<Cow<'static, str>>) -> Gauge {
        self.gauges += 1;
        let gauge = Gauge(self.gauges - 1);
        self.declare(name.into(), Kind::Gauge(gauge));
        gauge
    }

    /// Declares values to be told by average, p50, p99, p99.9 and maximum.
    pub fn distribution(&mut self, name: impl Into<Cow<'static, str>>) -> Spread {
        self.spreads += 1;
        let spread = Spread(self.spreads - 1);
        self.declare(name.into(), Kind::Spread(spread));
        spread
    }

    /// Shows `counter` under a second name, for those who know it by that.
    pub fn alias(&mut self, counter: Counter, name: impl Into<Cow<'static, str>>) {
        self.declare(name.into(), Kind::Counter(counter));
    }

    /// The meter for the loop, and the reader for everybody else. All numbers are zero.
    pub fn build(self) -> (Meter, Reader) {
        let numbers = Numbers {
            counters: vec![0; self.counters],
            gauges: vec![0.0; self.gauges],
            spreads: (0..self.spreads).map(|_| SpreadState::new()).collect(),
        };
        let meter = Meter {
            counters: numbers.counters.clone(),
            gauges: numbers.gauges.clone(),
            recordings: Vec::with_capacity(RECORDINGS_KEPT),
            published: Arc::new(Published {
                names: self.names,
                numbers: Mutex::new(numbers),
            }),
            is_published: true,
        };
        let reader = Reader {
            published: Arc::clone(&meter.published),
        };
        (meter, reader)
    }

    fn declare(&mut self, name: Cow<'static, str>, kind: Kind) {
        assert!(
            UNITS.iter().any(|unit| name.ends_with(unit)),
            "the name {name:?} does not end in its unit"
        );
        let name = match self.prefix.as_str() {
            "" => name,
            _ => self.full_name(&name).into(),
        };
        assert!(
            self.names.iter().all(|known| known.name != name),
            "the name {name:?} is declared twice"
        );
        self.names.push(Declared { name, kind });
    }
}

impl Meter {
    /// Adds to a counter.
    pub fn add(&mut self, counter: Counter, more: u64) {
        self.counters[counter.0] += more;
    }

    /// Sets a counter that somebody else keeps; it must not fall.
    pub fn set_total(&mut self, counter: Counter, total: u64) {
        debug_assert!(total >= self.counters[counter.0], "a counter only rises");
        self.counters[counter.0] = total;
    }

    /// Sets a gauge.
    pub fn set(&mut self, gauge: Gauge, value: f64) {
        self.gauges[gauge.0] = value;
    }

    /// Moves a gauge towards `value` by a twentieth of the difference.
    pub fn set_average(&mut self, gauge: Gauge, value: f64) {
        let average = &mut self.gauges[gauge.0];
        *average = AVERAGE_KEEPS * *average + (1.0 - AVERAGE_KEEPS) * value;
    }

    /// Records one value of a distribution.
    pub fn record(&mut self, spread: Spread, value: u64) {
        if self.recordings.len() == RECORDINGS_KEPT {
            self.publish_waiting();
        }
        self.recordings.push((spread, value));
    }

    /// Shows everything so far to readers; once a pass. Puts it off to the next time if one is just reading.
    pub fn publish(&mut self) {
        let published = Arc::clone(&self.published);
        self.is_published = match published.numbers.try_lock() {
            Ok(numbers) => self.copy_into(numbers),
            Err(TryLockError::Poisoned(numbers)) => self.copy_into(numbers.into_inner()),
            Err(TryLockError::WouldBlock) => false,
        };
    }

    /// Makes up for a [`Self::publish`] that was put off; before a sleep, when a reader's copy cannot cost a deadline.
    pub fn publish_before_sleep(&mut self) {
        if !self.is_published {
            self.publish_waiting();
        }
    }

    fn publish_waiting(&mut self) {
        let published = Arc::clone(&self.published);
        self.is_published = self.copy_into(published.lock());
    }

    fn copy_into(&mut self, mut numbers: MutexGuard<'_, Numbers>) -> bool {
        numbers.counters.copy_from_slice(&self.counters);
        numbers.gauges.copy_from_slice(&self.gauges);
        for (spread, value) in self.recordings.drain(..) {
            numbers.spreads[spread.0].record(value);
        }
        true
    }
}

impl Reader {
    /// Everything as it was at the end of one pass, and at `now` as the time of reading.
    pub fn snapshot(&self, now: RealTime) -> Snapshot {
        let mut samples = Vec::new();
        self.read(&mut samples);
        Snapshot::new(now, samples)
    }

    /// Appends one sample for each name.
    pub fn read(&self, samples: &mut Vec<Sample>) {
        // The lock is held for a copy only; quantiles are worked out afterwards.
        let numbers = self.published.lock().clone();
        samples.extend(self.published.names.iter().map(|declared| {
            let value = match declared.kind {
                Kind::Counter(counter) => Value::Counter(numbers.counters[counter.0]),
                Kind::Gauge(gauge) => Value::Gauge(numbers.gauges[gauge.0]),
                Kind::Spread(spread) => Value::Distribution(numbers.spreads[spread.0].summary()),
            };
            Sample {
                name: declared.name.clone(),
                value,
            }
        }));
    }
}

#[derive(Debug)]
struct Published {
    names: Vec<Declared>,
    numbers: Mutex<Numbers>,
}

impl Published {
    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Declared {
    name: Cow<'static, str>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Counter(Counter),
    Gauge(Gauge),
    Spread(Spread),
}

#[derive(Clone, Debug)]
struct Numbers {
    counters: Vec<u64>,
    gauges: Vec<f64>,
    spreads: Vec<SpreadState>,
}

#[derive(Clone, Debug)]
struct SpreadState {
    histogram: Histogram<u64>,
    count: u64,
    sum: u64,
    average: f64,
    max: u64,
}

impl SpreadState {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, DISTRIBUTION_MAX, 2);
        Self {
            histogram: histogram.expect("the bounds are constants that hdrhistogram accepts"),
            count: 0,
            sum: 0,
            average: 0.0,
            max: 0,
        }
    }

    fn record(&mut self, value: u64) {
        self.average = match self.count {
            0 => value as f64,
            _ => AVERAGE_KEEPS * self.average + (1.0 - AVERAGE_KEEPS) * value as f64,
        };
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        // The histogram knows its maximum to two digits; people ask for the exact one.
        self.max = if self.histogram.is_empty() {
            value
        } else {
            self.max.max(value)
        };
        self.histogram.saturating_record(value);
    }

    fn summary(&self) -> Distribution {
        let at_most = |quantile| self.histogram.value_at_quantile(quantile).min(self.max);
        let is_empty = self.histogram.is_empty();
        Distribution {
            count: self.count,
            sum: self.sum,
            average: self.average,
            p50: at_most(0.5),
            p99: at_most(0.99),
            p99_9: at_most(0.999),
            max: if is_empty { 0 } else { self.max },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_distribution_has_an_average_quantiles_and_a_maximum() {
        let mut declare = MeterBuilder::new();
        let pass = declare.distribution("pass_ns");
        let (mut meter, reader) = declare.build();
        for value in 1..=1_000 {
            meter.record(pass, value * 1_000);
        }
        meter.publish();
        let Some(Value::Distribution(told)) = reader.snapshot(RealTime::ZERO).get("pass_ns") else {
            panic!("it is declared as a distribution")
        };
        let near = |value: u64, expected: f64| (value as f64 - expected).abs() <= expected / 100.0;
        assert!(
            near(told.p50, 500_000.0) && near(told.p99, 990_000.0) && near(told.p99_9, 999_000.0),
            "{told:?}"
        );
        assert_eq!((told.max, told.count, told.sum), (1_000_000, 1_000, 500_500_000));
        assert!(
            (told.average - 981_000.0).abs() < 1_000.0,
            "the average follows the last twenty or so: {told:?}"
        );
    }

    #[test]
    fn a_snapshot_is_consistent_and_does_not_change() {
        let mut declare = MeterBuilder::new();
        let (taken, given) = (declare.counter("taken_count"), declare.counter("given_count"));
        let (mut meter, reader) = declare.build();
        let is_over = Arc::new(AtomicBool::new(false));
        let of_reader = Arc::clone(&is_over);
        let watcher = crate::threads::spawn("watcher", move || {
            let mut snapshots = 0;
            while !of_reader.load(Ordering::Relaxed) || snapshots == 0 {
                let snapshot = reader.snapshot(RealTime::ZERO);
                assert_eq!(
                    snapshot.get("taken_count"),
                    snapshot.get("given_count"),
                    "never halfway through a pass"
                );
                snapshots += 1;
            }
        })
        .unwrap();
        for _ in 0..20_000 {
            meter.add(taken, 1);
            meter.add(given, 1);
            meter.publish();
        }
        is_over.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
    }

    #[test]
    #[should_panic(expected = "does not end in its unit")]
    fn a_name_without_unit_is_refused() {
        MeterBuilder::new().counter("loop.passes");
    }

    #[test]
    fn what_was_put_off_is_published_later() {
        let mut declare = MeterBuilder::new();
        let (count, spread) = (declare.counter("x_count"), declare.distribution("x_ns"));
        let (mut meter, reader) = declare.build();
        {
            let _reading = reader.published.lock();
            meter.add(count, 1);
            meter.record(spread, 5);
            meter.publish();
        }
        assert_eq!(
            reader.snapshot(RealTime::ZERO).get("x_count"),
            Some(Value::Counter(0))
        );
        meter.publish_before_sleep();
        assert_eq!(
            reader.snapshot(RealTime::ZERO).get("x_count"),
            Some(Value::Counter(1))
        );
    }
}
