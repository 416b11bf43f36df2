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
        self.record_n(span, 1);
    }

    /// The same, `count` times.
    pub(crate) fn record_n(&mut self, span: RealSpan, count: u32) {
        let bucket = BOUNDS_NS.partition_point(|bound| *bound < span.as_nanos());
        self.buckets[bucket] += u64::from(count);
        self.sum += RealSpan::from_nanos(span.as_nanos().saturating_mul(count.into()));
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The upper bound, in seconds, of the bucket in which this quantile lies.
    pub(crate) fn quantile(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.count() as f64).ceil() as u64;
        let mut seen = 0;
        let holds = |count: &u64| {
            seen += count;
            seen >= rank.max(1)
        };
        let bucket = self.buckets.iter().position(holds);
        bucket.map_or(0.0, |bucket| {
            bounds_seconds().nth(bucket).unwrap_or(f64::INFINITY)
        })
    }
}

pub(crate) fn bounds_seconds() -> impl Iterator<Item = f64> {
    BOUNDS_NS.iter().map(|bound| *bound as f64 / NANOS as f64)
}
