//! Processor time of many frames, and what is said of it.

use trantor_runtime::real_clock::{processor_time_for_measurement, thread_time_for_measurement};
use trantor_time::RealSpan;

/// Milliseconds, one for each frame.
#[derive(Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, span: RealSpan) {
        self.0.push(span.as_millis_f64());
    }

    /// The value that so large a part of all is not above.
    pub fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
        sorted.get(place).copied().unwrap_or_default()
    }

    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    pub fn max(&self) -> f64 {
        self.at(1.0)
    }
}

/// Processor time of this thread.
pub fn own() -> RealSpan {
    thread_time_for_measurement().unwrap_or_default()
}

/// Processor time of all threads.
pub fn all() -> RealSpan {
    processor_time_for_measurement().unwrap_or_default()
}
