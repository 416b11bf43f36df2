//! Gathers the samples of all sources.
//!
//! A failing source is counted and left out; it never spoils the others.

use trantor_time::RealTime;

use crate::fault::{CallbackResult, caught};

use super::{Reader, Sample, Snapshot, Value};

/// The count of failures of sources, in every snapshot of a collector.
pub const SOURCE_FAILURES: &str = "metrics.source.failures_count";

/// What can tell samples.
pub trait Source: Send {
    /// Appends the samples of this source as they are at `now`.
    ///
    /// # Errors
    /// With a message, if it cannot tell; what it appended is dropped.
    fn collect(&mut self, now: RealTime, samples: &mut Vec<Sample>) -> CallbackResult;
}

/// Gathers from its sources.
#[derive(Default)]
pub struct Collector {
    sources: Vec<(String, Box<dyn Source>)>,
    log_level: Option<log::Level>,
    log_prefixes: Vec<&'static str>,
    failures: u64,
}

impl Collector {
    /// Adds a source; `name` is for the log if it fails.
    pub fn add(&mut self, name: &str, source: impl Source + 'static) {
        self.sources.push((name.to_owned(), Box::new(source)));
    }

    /// Lets each gathering be logged at `level`: one line of the samples whose names begin with one of `prefixes`.
    pub fn log_at(&mut self, level: log::Level, prefixes: &[&'static str]) {
        self.log_level = Some(level);
        self.log_prefixes = prefixes.to_vec();
    }

    /// Gathers at `now`.
    pub fn gather(&mut self, now: RealTime) -> Snapshot {
        let mut samples = Vec::new();
        for (name, source) in &mut self.sources {
            let before = samples.len();
            let outcome = caught(|| source.collect(now, &mut samples));
            if let Err(message) = outcome {
                samples.truncate(before);
                self.failures += 1;
                log::warn!("the metrics source {name} failed: {message}");
            }
        }
        samples.push(Sample {
            name: SOURCE_FAILURES.into(),
            value: Value::Counter(self.failures),
        });
        let snapshot = Snapshot::new(now, samples);
        if let Some(level) = self.log_level {
            log::log!(level, "metrics: {}", snapshot.to_log_line(&self.log_prefixes));
        }
        snapshot
    }
}

impl Source for Reader {
    fn collect(&mut self, _now: RealTime, samples: &mut Vec<Sample>) -> CallbackResult {
        self.read(samples);
        Ok(())
    }
}

impl<F> Source for F
where
    F: FnMut(RealTime, &mut Vec<Sample>) -> CallbackResult + Send,
{
    fn collect(&mut self, now: RealTime, samples: &mut Vec<Sample>) -> CallbackResult {
        self(now, samples)
    }
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.sources.iter().map(|(name, _)| name).collect();
        f.debug_struct("Collector")
            .field("sources", &names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &'static str) -> Sample {
        Sample {
            name: name.into(),
            value: Value::Counter(1),
        }
    }

    #[test]
    fn a_failing_source_does_not_spoil_the_others() {
        let mut collector = Collector::default();
        collector.add("first", |_, samples: &mut Vec<Sample>| {
            samples.push(sample("first.x_count"));
            Ok(())
        });
        collector.add("failing", |_, samples: &mut Vec<Sample>| {
            samples.push(sample("failing.x_count"));
            Err("no idea".into())
        });
        collector.add("panicking", |_, _: &mut Vec<Sample>| panic!("oh"));
        collector.add("last", |_, samples: &mut Vec<Sample>| {
            samples.push(sample("last.x_count"));
            Ok(())
        });
        let snapshot = collector.gather(RealTime::ZERO);
        let names: Vec<_> = snapshot
            .samples()
            .iter()
            .map(|sample| sample.name.as_ref())
            .collect();
        assert_eq!(names, ["first.x_count", "last.x_count", SOURCE_FAILURES]);
        assert_eq!(snapshot.get(SOURCE_FAILURES), Some(Value::Counter(2)));
    }
}
