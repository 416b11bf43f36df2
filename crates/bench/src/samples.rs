//! Latenesses and the like, as histograms; and what several runs of one measurement agree on.

use hdrhistogram::Histogram;
use trantor_time::RealSpan;

/// Longest span told apart, in nanoseconds; what is longer counts as this long.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Spans of one run, to three significant digits.
#[derive(Debug)]
pub(crate) struct Samples(Histogram<u64>);

impl Samples {
    pub(crate) fn new() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are in order"))
    }

    pub(crate) fn record(&mut self, span: RealSpan) {
        let nanos = u64::try_from(span.as_nanos()).expect("a lateness is not negative: nothing is early");
        self.0.saturating_record(nanos);
    }

    /// The span that `quantile` of the samples do not exceed, in microseconds. `quantile` lies in `0..=1`.
    pub(crate) fn quantile_us(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1_000.0
    }
}

/// One figure as several runs measured it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs(Vec<f64>);

impl FromIterator<f64> for Runs {
    fn from_iter<I: IntoIterator<Item = f64>>(figures: I) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        Self(figures)
    }
}

impl Runs {
    /// The median of the runs; of an even number, the greater of two.
    ///
    /// # Panics
    /// If there was no run.
    pub(crate) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// The least and the greatest of the runs.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        Some((*self.0.first()?, *self.0.last()?))
    }

    pub(crate) fn add(&mut self, figure: f64) {
        self.0.push(figure);
        self.0.sort_by(f64::total_cmp);
    }

    /// The median of the runs, and in brackets the least and the greatest where there are several.
    pub(crate) fn show(&self, decimals: usize) -> String {
        let Some((least, greatest)) = self.range() else {
            return "–".to_owned();
        };
        let median = self.median();
        match self.0.len() {
            1 => format!("{median:.decimals$}"),
            _ => format!("{median:.decimals$} ({least:.decimals$}–{greatest:.decimals$})"),
        }
    }
}
