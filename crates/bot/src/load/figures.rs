//! What the load generator counts: histograms of latency and lateness, and plain counters.

use hdrhistogram::Histogram;
use trantor_model::CommandKind;
use trantor_time::RealSpan;

/// The longest time told apart: what is longer counts as this.
const LONGEST: RealSpan = RealSpan::from_secs(60);

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
    /// Lines that nobody asked for, such as messages.
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

/// An empty histogram of nanoseconds, up to a minute, that tells values of so many digits apart.
pub(super) fn histogram_of_spans(digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST.as_nanos() as u64, digits)
        .expect("these bounds and digits are in range")
}

impl Figures {
    /// All zero, and not measuring.
    pub fn new() -> Self {
        Self {
            is_measuring: false,
            latency_ns: histogram_of_spans(3),
            lateness_ns: histogram_of_spans(3),
            lateness_by_kind_ns: CommandKind::ALL.iter().map(|_| histogram_of_spans(2)).collect(),
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
