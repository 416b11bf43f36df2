//! What the load generator counts: histograms of latency and lateness, and plain counters.

use hdrhistogram::Histogram;
use trantor_model::CommandKind;
use trantor_time::RealSpan;

use super::cli::SECONDS_MAX;

/// The largest value recorded, which no run can exceed: a command that is sent when the warm-up begins may be open until
/// measuring ends, and each of them takes [`SECONDS_MAX`] at most. What each histogram takes grows with its logarithm only.
const LONGEST_SECS_MAX: i64 = 3 * SECONDS_MAX as i64;

/// Everything counted, of all peers together. Only what is answered while measuring, or should have
/// been, goes into histograms.
#[derive(Debug)]
pub struct Figures {
    /// Whether answers count.
    pub is_measuring: bool,
    /// From sending a command to its answer, in nanoseconds.
    pub latency_ns: Histogram<u64>,
    /// From the ideal end of a command to its answer, in nanoseconds.
    pub lateness_ns: Histogram<u64>,
    /// Lateness by kind of command, in the order of [`CommandKind::ALL`], in nanoseconds.
    pub lateness_by_kind_ns: Vec<Histogram<u64>>,
    /// Answers that came before their ideal end. A server that is not late gives none; one that lags behind
    /// stamps what arrives with the game time it has reached, and so answers it early by that much.
    pub early: u64,
    /// Commands answered.
    pub answered: u64,
    /// Of them, by `ko`.
    pub refused: u64,
    /// Commands whose answer was overdue when measuring ended. They are in the histograms, as late as they were then.
    pub unanswered: u64,
    /// Unsolicited lines, such as messages.
    pub unasked: u64,
    /// Agents that died, from the beginning.
    pub deaths: u64,
    /// Connections that the server closed on an agent alive or on a viewer, or that broke, from the beginning.
    pub lost: u64,
    /// Lines to text viewers.
    pub viewer_lines: u64,
    /// Frames to viewers of ours.
    pub viewer_frames: u64,
    /// Bytes to viewers.
    pub viewer_bytes: u64,
    /// Bytes to agents.
    pub agent_bytes: u64,
}

/// An empty histogram of nanoseconds with three significant digits.
pub(super) fn histogram_of_spans() -> Histogram<u64> {
    let longest = RealSpan::from_secs(LONGEST_SECS_MAX);
    Histogram::new_with_bounds(1, longest.as_nanos() as u64, 3).expect("these bounds and digits are in range")
}

impl Figures {
    /// All zero, and not measuring.
    pub fn new() -> Self {
        Self {
            is_measuring: false,
            latency_ns: histogram_of_spans(),
            lateness_ns: histogram_of_spans(),
            lateness_by_kind_ns: CommandKind::ALL.iter().map(|_| histogram_of_spans()).collect(),
            early: 0,
            answered: 0,
            refused: 0,
            unanswered: 0,
            unasked: 0,
            deaths: 0,
            lost: 0,
            viewer_lines: 0,
            viewer_frames: 0,
            viewer_bytes: 0,
            agent_bytes: 0,
        }
    }

    /// A command was answered.
    pub fn answer(&mut self, kind: CommandKind, latency: RealSpan, lateness: RealSpan) {
        if !self.is_measuring {
            return;
        }
        self.answered += 1;
        self.early += u64::from(lateness < RealSpan::ZERO);
        self.record(kind, latency, lateness);
    }

    /// Measuring ends, and a command is not answered that should have been: it will be later than that.
    pub fn leave_unanswered(&mut self, kind: CommandKind, latency: RealSpan, lateness: RealSpan) {
        self.unanswered += 1;
        self.record(kind, latency, lateness);
    }

    fn record(&mut self, kind: CommandKind, latency: RealSpan, lateness: RealSpan) {
        let nanos = |span: RealSpan| u64::try_from(span.as_nanos()).unwrap_or(0);
        self.latency_ns.saturating_record(nanos(latency));
        self.lateness_ns.saturating_record(nanos(lateness));
        self.lateness_by_kind_ns[kind as usize].saturating_record(nanos(lateness));
    }
}

impl Default for Figures {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_apart_however_long_they_are() {
        let mut figures = Figures::new();
        figures.is_measuring = true;
        for seconds in [61, 5_000, 2 * i64::from(SECONDS_MAX)] {
            let span = RealSpan::from_secs(seconds);
            figures.answer(CommandKind::Forward, span, span);
            let kind = &figures.lateness_by_kind_ns[CommandKind::Forward as usize];
            for histogram in [&figures.latency_ns, &figures.lateness_ns, kind] {
                let told_s = histogram.max() as f64 / 1e9;
                let off = (told_s / seconds as f64 - 1.0).abs();
                assert!(off < 1e-3, "{told_s} instead of {seconds} s");
            }
        }
    }
}
