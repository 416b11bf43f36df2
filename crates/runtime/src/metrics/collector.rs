//! Gathers the samples of all sources, at an interval, for whoever asks.
//!
//! A failing source is counted and left out; it never spoils the others. [`Collector`] is the work as a value;
//! [`Collector::start`] puts it on a thread of its own, so that no loop is woken for the sake of being measured.

use std::sync::{Arc, Mutex, PoisonError};

use trantor_time::{Clock, RealSpan, RealTime};

use crate::fault::{CallbackResult, caught};
use crate::life::{LoopThread, StartError, StopRequest, StopSignal};
use crate::wait::{Parker, Wait};

use super::{Reader, Sample, Snapshot, Value};

/// The time between two gatherings unless told otherwise.
pub const COLLECT_EVERY: RealSpan = RealSpan::from_secs(1);

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
pub struct Collector {
    sources: Vec<(String, Box<dyn Source>)>,
    every: RealSpan,
    log_level: Option<log::Level>,
    log_prefixes: Vec<&'static str>,
    due: RealTime,
    failures: u64,
    latest: Latest,
}

/// The latest snapshot of a collector, from any thread.
#[derive(Clone, Debug)]
pub struct Latest(Arc<Mutex<Snapshot>>);

/// A collector on a thread of its own; dropping it ends the thread.
pub type CollectorThread = LoopThread<()>;

impl Latest {
    /// The snapshot gathered last.
    pub fn get(&self) -> Snapshot {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Collector {
    /// A collector without sources that gathers every `every`, first at once.
    ///
    /// # Panics
    /// If `every` is not positive.
    pub fn new(every: RealSpan) -> Self {
        assert!(
            every > RealSpan::ZERO,
            "metrics are gathered at a positive interval"
        );
        Self {
            sources: Vec::new(),
            every,
            log_level: None,
            log_prefixes: Vec::new(),
            due: RealTime::ZERO,
            failures: 0,
            latest: Latest(Arc::new(Mutex::new(Snapshot::new(RealTime::ZERO, Vec::new())))),
        }
    }

    /// Adds a source; `name` is for the log if it fails.
    pub fn add(&mut self, name: &str, source: impl Source + 'static) {
        self.sources.push((name.to_owned(), Box::new(source)));
    }

    /// Lets each gathering be logged at `level`: one line of the samples whose names begin with one of `prefixes`.
    pub fn log_at(&mut self, level: log::Level, prefixes: &[&'static str]) {
        self.log_level = Some(level);
        self.log_prefixes = prefixes.to_vec();
    }

    /// A handle to the latest snapshot; empty before the first gathering.
    pub fn latest(&self) -> Latest {
        self.latest.clone()
    }

    /// When the next gathering is due.
    pub fn due(&self) -> RealTime {
        self.due
    }

    /// Gathers at `now`, whether due or not.
    pub fn gather(&mut self, now: RealTime) -> Snapshot {
        self.due = now.saturating_add(self.every);
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
        *self.latest.0.lock().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        if let Some(level) = self.log_level {
            log::log!(level, "metrics: {}", snapshot.to_log_line(&self.log_prefixes));
        }
        snapshot
    }

    /// Gathers at the interval, on a thread called `metrics`, until the returned value is stopped or dropped.
    ///
    /// # Errors
    /// If there is no thread.
    pub fn start(self, clock: impl Clock + Send + 'static) -> Result<CollectorThread, StartError> {
        LoopThread::start(
            "metrics",
            move || {
                let parker = Parker::new();
                let signal = StopSignal::new(parker.waker());
                Ok::<_, String>(((self, clock, parker, signal.clone()), signal))
            },
            |(mut collector, clock, mut parker, signal)| {
                while signal.requested() == StopRequest::None {
                    collector.gather(clock.now());
                    parker.wait(Some(collector.due()));
                }
            },
        )
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
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real_clock::RealClock;

    fn sample(name: &'static str) -> Sample {
        Sample {
            name: name.into(),
            value: Value::Counter(1),
        }
    }

    #[test]
    fn a_failing_source_does_not_spoil_the_others() {
        let mut collector = Collector::new(COLLECT_EVERY);
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
        assert_eq!(collector.latest().get(), snapshot);
    }

    #[test]
    fn gathering_has_an_interval() {
        let mut collector = Collector::new(RealSpan::from_millis(250));
        assert_eq!(collector.due(), RealTime::ZERO);
        let at = RealTime::from_nanos(70);
        assert_eq!(collector.gather(at).taken_at(), at);
        assert_eq!(collector.due(), at + RealSpan::from_millis(250));
    }

    #[test]
    fn a_collector_gathers_on_its_own_thread_until_stopped() {
        let (gathered, is_gathered) = std::sync::mpsc::sync_channel(8);
        let mut collector = Collector::new(RealSpan::from_millis(1));
        collector.add("counted", move |_, _: &mut Vec<Sample>| {
            gathered.try_send(()).ok();
            Ok(())
        });
        let thread = collector.start(RealClock::new()).unwrap();
        (0..3).for_each(|_| is_gathered.recv().unwrap());
        thread.stop().unwrap();
        assert!(is_gathered.iter().count() <= 8, "its sources are gone with it");
    }
}
