//! Durations counted in buckets, as Prometheus expects them.

use trantor_time::{NANOS, RealSpan};

/// Upper bounds of the buckets of a [`Histogram`]: 1, 2 and 5 of each power of ten from a microsecond to ten seconds.
const BOUNDS_NS: [i64; 22] = {
    let mut bounds = [0; 22];
    let (mut nth, mut decade) = (0, 1_000);
    while nth < bounds.len() {
        bounds[nth] = decade * [1, 2, 5][nth % 3];
        if nth % 3 == 2 {
            decade *= 10;
        }
        nth += 1;
    }
    bounds
};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Histogram {
    pub(crate) sum: RealSpan,
    /// One for each bound, and one for what is longer than all of them.
    pub(crate) buckets: [u64; BOUNDS_NS.len() + 1],
}

impl Histogram {
    pub(crate) fn record(&mut self, span: RealSpan) {
        let bucket = BOUNDS_NS.partition_point(|bound| *bound < span.as_nanos());
        self.buckets[bucket] += 1;
        self.sum += span;
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

pub(crate) fn bounds_seconds() -> impl Iterator<Item = f64> {
    BOUNDS_NS.iter().map(|bound| *bound as f64 / NANOS as f64)
}
