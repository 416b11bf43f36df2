//! Processor time, and what repeats of a measurement say together.

use rustix::time::{ClockId, clock_gettime};

/// Processor time that this thread has used, in nanoseconds.
pub(crate) fn processor_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds per operation of `work`, which does `operations`.
pub(crate) fn ns_per(operations: u64, work: impl FnOnce()) -> f64 {
    let start = processor_ns();
    work();
    (processor_ns() - start) / operations as f64
}

/// Repeats of one measurement, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    values: Vec<f64>,
}

impl Samples {
    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = f64>) {
        self.values.extend(values);
        self.values.sort_by(f64::total_cmp);
    }

    pub(crate) fn median(&self) -> Option<f64> {
        self.values.get(self.values.len() / 2).copied()
    }

    /// The median, the ratio to `reference`, and from where to where the repeats go.
    pub(crate) fn cell(&self, reference: Option<f64>) -> String {
        let (Some(median), Some(reference)) = (self.median(), reference) else {
            return "–".into();
        };
        let (least, most) = (self.values[0], self.values[self.values.len() - 1]);
        format!(
            "{} ({:.2}) {}…{}",
            rounded(median),
            median / reference,
            rounded(least),
            rounded(most)
        )
    }
}

fn rounded(ns: f64) -> String {
    match ns {
        ..10.0 => format!("{ns:.1}"),
        10.0..100_000.0 => format!("{ns:.0}"),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}
