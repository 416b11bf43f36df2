//! Coverage of a run or a sweep: counts of events, each of which must happen in a sweep.

use std::collections::BTreeMap;
use std::fmt;

use trantor_engine::{CloseReason, EngineStats};

/// Kinds of events that a sweep must reach. One more, runs that are removed, is too rare for a short one.
const KINDS: usize = 23;

const RARE: &str = "runs removed";

/// Counts of one run or a sum of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

/// Whether the reason enforces a limit.
fn is_limit(reason: CloseReason) -> bool {
    matches!(
        reason,
        CloseReason::TooManyConnections
            | CloseReason::TooManyFromAddress
            | CloseReason::Evicted
            | CloseReason::MemoryFull
            | CloseReason::Stalled
            | CloseReason::Idle
            | CloseReason::GreetingTimeout
    )
}

impl Coverage {
    pub(crate) fn count(&mut self, kind: &'static str, count: u64) {
        *self.0.entry(kind).or_default() += count;
    }

    /// Adds the engine's counters when a server process ends.
    pub(crate) fn count_life(&mut self, stats: &EngineStats) {
        let counters = &stats.counters;
        let closed = |reason: CloseReason| counters.closed[reason.index()];
        self.count("deadlines of the game", counters.deadlines_fired());
        self.count("agents joined", counters.joined);
        self.count("agents died", closed(CloseReason::Died));
        self.count("commands dropped", counters.commands_dropped);
        self.count("connections closed by peers", counters.closed_by_peer);
        self.count("protocol errors", closed(CloseReason::ProtocolError));
        self.count("clock slips", stats.slips);
        self.count("requests of operators", counters.admin_requests);
        self.count("wrong tokens", counters.tokens_refused);
        let limits = CloseReason::ALL.into_iter().filter(|reason| is_limit(*reason));
        self.count("limits reached", limits.map(closed).sum());
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(kind, count)| self.count(kind, *count));
    }

    /// Whether everything happened that a sweep must reach.
    pub fn is_complete(&self) -> bool {
        let reached = self
            .0
            .iter()
            .filter(|(kind, count)| **kind != RARE && **count > 0);
        reached.count() == KINDS
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self
            .0
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        f.write_str(&counts.join(", "))
    }
}
