//! What readers of metrics get: named values of one moment, and their text forms.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use trantor_time::RealTime;

/// One named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Dotted, ending in its unit.
    pub name: Cow<'static, str>,
    /// The value.
    pub value: Value,
}

/// A value and its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Only rises, from zero at the start of the program.
    Counter(u64),
    /// Rises and falls.
    Gauge(f64),
    /// Many values together.
    Distribution(Distribution),
}

/// The shape of many values, in the unit of their name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    /// How many there were, ever.
    pub count: u64,
    /// Their sum, ever.
    pub sum: u64,
    /// Average that follows the present: 0.95 of the old, 0.05 of the new.
    pub average: f64,
    /// Half of them are at most this, to two digits; the others likewise.
    pub p50: u64,
    /// 99 of 100.
    pub p99: u64,
    /// 999 of 1,000.
    pub p99_9: u64,
    /// The greatest, exactly.
    pub max: u64,
}

/// All values of one moment; it never changes, and clones share it.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    taken_at: RealTime,
    samples: Arc<[Sample]>,
}

impl Snapshot {
    /// A snapshot of `samples` taken at `taken_at`; it shows them by name.
    pub fn new(taken_at: RealTime, mut samples: Vec<Sample>) -> Self {
        samples.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            taken_at,
            samples: samples.into(),
        }
    }

    /// When it was taken.
    pub fn taken_at(&self) -> RealTime {
        self.taken_at
    }

    /// All samples, by name.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        let place = self
            .samples
            .binary_search_by(|sample| sample.name.as_ref().cmp(name))
            .ok()?;
        Some(self.samples[place].value)
    }

    /// The text that Prometheus scrapes: each name with `prefix` before it and underscores for dots.
    pub fn to_prometheus(&self, prefix: &str) -> String {
        let mut text = String::new();
        for sample in self.samples.iter() {
            write_prometheus(&mut text, prefix, sample).expect("writing to a string does not fail");
        }
        text
    }

    /// One line for the log: the samples whose names begin with one of `prefixes`, or all if there are none.
    pub fn to_log_line(&self, prefixes: &[&str]) -> String {
        let wanted = |sample: &&Sample| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| sample.name.starts_with(prefix))
        };
        let parts: Vec<_> = self
            .samples
            .iter()
            .filter(wanted)
            .map(ToString::to_string)
            .collect();
        parts.join(" ")
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Counter(count) => write!(f, "{}={count}", self.name),
            Value::Gauge(value) => write!(f, "{}={value:.3}", self.name),
            Value::Distribution(shape) => {
                write!(
                    f,
                    "{}={}/{}/{}/{}",
                    self.name, shape.p50, shape.p99, shape.p99_9, shape.max
                )
            }
        }
    }
}

/// Counters and gauges as they are; a distribution as a summary, with its maximum and moving average beside it,
/// since those have no place in a summary.
fn write_prometheus(text: &mut String, prefix: &str, sample: &Sample) -> fmt::Result {
    let mut name = prefix.to_owned();
    name.extend(
        sample
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }),
    );
    match sample.value {
        Value::Counter(count) => writeln!(text, "# TYPE {name} counter\n{name} {count}"),
        Value::Gauge(value) => writeln!(text, "# TYPE {name} gauge\n{name} {value}"),
        Value::Distribution(shape) => {
            writeln!(text, "# TYPE {name} summary")?;
            for (quantile, value) in [("0.5", shape.p50), ("0.99", shape.p99), ("0.999", shape.p99_9)] {
                writeln!(text, "{name}{{quantile=\"{quantile}\"}} {value}")?;
            }
            writeln!(text, "{name}_sum {}\n{name}_count {}", shape.sum, shape.count)?;
            writeln!(text, "# TYPE {name}_max gauge\n{name}_max {}", shape.max)?;
            writeln!(
                text,
                "# TYPE {name}_average gauge\n{name}_average {}",
                shape.average
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let shape = Distribution {
            count: 2,
            sum: 30,
            average: 10.5,
            p50: 10,
            p99: 20,
            p99_9: 20,
            max: 20,
        };
        let sample = |name: &'static str, value| Sample {
            name: name.into(),
            value,
        };
        Snapshot::new(
            RealTime::ZERO,
            vec![
                sample("loop.pass.duration_ns", Value::Distribution(shape)),
                sample("jobs.waiting_count", Value::Gauge(3.0)),
                sample("loop.passes_count", Value::Counter(7)),
            ],
        )
    }

    #[test]
    fn the_text_for_scraping() {
        let expected = "\
# TYPE trantor_jobs_waiting_count gauge
trantor_jobs_waiting_count 3
# TYPE trantor_loop_pass_duration_ns summary
trantor_loop_pass_duration_ns{quantile=\"0.5\"} 10
trantor_loop_pass_duration_ns{quantile=\"0.99\"} 20
trantor_loop_pass_duration_ns{quantile=\"0.999\"} 20
trantor_loop_pass_duration_ns_sum 30
trantor_loop_pass_duration_ns_count 2
# TYPE trantor_loop_pass_duration_ns_max gauge
trantor_loop_pass_duration_ns_max 20
# TYPE trantor_loop_pass_duration_ns_average gauge
trantor_loop_pass_duration_ns_average 10.5
# TYPE trantor_loop_passes_count counter
trantor_loop_passes_count 7
";
        assert_eq!(snapshot().to_prometheus("trantor_"), expected);
    }

    #[test]
    fn the_line_for_the_log() {
        assert_eq!(
            snapshot().to_log_line(&["loop."]),
            "loop.pass.duration_ns=10/20/20/20 loop.passes_count=7"
        );
        assert!(
            snapshot()
                .to_log_line(&[])
                .starts_with("jobs.waiting_count=3.000 ")
        );
    }

    #[test]
    fn samples_are_found_by_name() {
        assert_eq!(snapshot().get("loop.passes_count"), Some(Value::Counter(7)));
        assert_eq!(snapshot().get("loop.passes"), None);
    }
}
