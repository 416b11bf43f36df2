//! What is counted about timed work: how often, how late, how long.
//!
//! Durations are nanoseconds, as their names say; lateness is counted in billionths of the time that
//! the deadlines are in, which is nanoseconds for real time and nanounits for game time. Everything starts at zero and is a plain
//! value: a copy is a snapshot. Names for a scraper, and percentiles, belong to the metrics of the runtime.

/// Counters of one kind of timed work, or of all kinds together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkStats {
    /// Pending or repeating at present.
    pub active: u64,
    /// Accepted so far.
    pub registered: u64,
    /// Refused so far.
    pub refused: u64,
    /// Taken back before they ran, by id, name, owner or all at once.
    pub cancelled: u64,
    /// Runs so far, failed ones included.
    pub executed: u64,
    /// Runs that failed.
    pub failed: u64,
    /// Periods for which nothing ran because they were missed.
    pub coalesced: u64,
    /// Lateness of the runs together, in billionths; over `executed` it is the mean.
    pub lateness_nanos_total: u64,
    /// Greatest lateness since the last reset.
    pub lateness_nanos_max: u64,
    /// Time the runs took together.
    pub duration_ns_total: u64,
    /// Longest run since the last reset.
    pub duration_ns_max: u64,
    /// Average duration that follows the present: 0.95 of the old value, 0.05 of the new.
    pub duration_ns_recent: f64,
}

/// The part of the old value that the recent average keeps at each run.
const RECENT_KEEPS: f64 = 0.95;

impl WorkStats {
    /// Notes a run that began `lateness_nanos` billionths after its deadline and took `duration_ns`.
    pub fn note_run(&mut self, lateness_nanos: u64, duration_ns: u64, failed: bool) {
        self.duration_ns_recent = if self.executed == 0 {
            duration_ns as f64
        } else {
            RECENT_KEEPS * self.duration_ns_recent + (1.0 - RECENT_KEEPS) * duration_ns as f64
        };
        self.executed += 1;
        self.failed += u64::from(failed);
        self.lateness_nanos_total = self.lateness_nanos_total.saturating_add(lateness_nanos);
        self.lateness_nanos_max = self.lateness_nanos_max.max(lateness_nanos);
        self.duration_ns_total = self.duration_ns_total.saturating_add(duration_ns);
        self.duration_ns_max = self.duration_ns_max.max(duration_ns);
    }

    /// Mean duration of a run, `None` before the first.
    pub fn duration_ns_mean(&self) -> Option<u64> {
        self.duration_ns_total.checked_div(self.executed)
    }

    /// Mean lateness of a run, `None` before the first.
    pub fn lateness_nanos_mean(&self) -> Option<u64> {
        self.lateness_nanos_total.checked_div(self.executed)
    }

    /// Starts both maxima again at zero.
    pub fn reset_maxima(&mut self) {
        self.lateness_nanos_max = 0;
        self.duration_ns_max = 0;
    }
}

/// How often values fell into each power of two: the shape of a distribution in 512 bytes.
///
/// A quantile is known to a factor of two, which tells a millisecond from a second; where more is asked, the
/// runtime has finer histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log2Histogram {
    /// `counts[b]`: values of `b` significant bits, the greatest class holding what is wider.
    counts: [u64; 64],
}

impl Log2Histogram {
    /// No values.
    pub const fn new() -> Self {
        Self { counts: [0; 64] }
    }

    /// Counts `value`.
    pub fn note(&mut self, value: u64) {
        let bits = (u64::BITS - value.leading_zeros()) as usize;
        self.counts[bits.min(self.counts.len() - 1)] += 1;
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// An upper bound, of the form `2^b − 1`, for the smallest `quantile` of the values; `None` if there are none.
    pub fn at_most(&self, quantile: f64) -> Option<u64> {
        let wanted = (quantile.clamp(0.0, 1.0) * self.total() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let class = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(if class == self.counts.len() - 1 {
            u64::MAX
        } else {
            (1 << class) - 1
        })
    }

    /// The classes that hold anything: upper bound, inclusive, and count; smallest first.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> {
        let last = self.counts.len() - 1;
        let bound = move |class: usize| if class == last { u64::MAX } else { (1 << class) - 1 };
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(move |(class, count)| (bound(class), *count))
    }
}

impl Default for Log2Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_milliseconds_are_ten_million_nanoseconds() {
        let mut stats = WorkStats::default();
        stats.note_run(0, 10_000_000, false);
        assert_eq!(stats.duration_ns_mean(), Some(10_000_000));
        assert_eq!(stats.duration_ns_max, 10_000_000);
        assert_eq!(stats.duration_ns_recent, 10_000_000.0);
    }

    #[test]
    fn the_recent_average_keeps_95_parts_in_100_and_maxima_can_be_reset() {
        let mut stats = WorkStats::default();
        stats.note_run(5, 1000, false);
        stats.note_run(7, 2000, true);
        assert!((stats.duration_ns_recent - 1050.0).abs() < 1e-9);
        assert_eq!((stats.executed, stats.failed), (2, 1));
        assert_eq!(stats.lateness_nanos_mean(), Some(6));
        stats.reset_maxima();
        assert_eq!((stats.lateness_nanos_max, stats.duration_ns_max), (0, 0));
        assert_eq!(stats.duration_ns_total, 3000, "totals stay");
    }

    #[test]
    fn a_histogram_bounds_its_quantiles_from_above() {
        let mut histogram = Log2Histogram::new();
        for value in 0..1000_u64 {
            histogram.note(value);
        }
        histogram.note(u64::MAX);
        assert_eq!(histogram.total(), 1001);
        assert_eq!(histogram.at_most(0.0), Some(0));
        assert_eq!(histogram.at_most(0.5), Some(511));
        assert_eq!(histogram.at_most(0.99), Some(1023));
        assert_eq!(histogram.at_most(1.0), Some(u64::MAX));
        assert_eq!(histogram.classes().map(|(_, count)| count).sum::<u64>(), 1001);
        assert_eq!(histogram.classes().next(), Some((0, 1)));
    }
}
