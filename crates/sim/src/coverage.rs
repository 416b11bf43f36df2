//! Coverage of a run or a sweep: counts of events, each of which must happen in a sweep.

use std::fmt;

use trantor_engine::{CloseReason, EngineStats};

/// Names of the counts, as printed. All but the last must be positive in a sweep.
const KINDS: [&str; 25] = [
    "steps",
    "deadlines of the game",
    "agents joined",
    "agents died",
    "agents elevated",
    "commands dropped",
    "connections closed by peers",
    "protocol errors",
    "worlds in frames compared",
    "worlds in text compared",
    "clock slips",
    "requests of operators",
    "reloads",
    "wrong tokens",
    "crashes",
    "saves",
    "saves rolled forward",
    "writes refused",
    "pieces packed",
    "runs resumed",
    "files corrupted",
    "limits reached",
    "lines compared with the journal",
    "worlds compared in recordings",
    // Too rare for a short sweep.
    "runs removed",
];

/// Counts of one run or a sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage([u64; KINDS.len()]);

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

fn index(kind: &str) -> usize {
    let index = KINDS.iter().position(|other| *other == kind);
    index.expect("a name in KINDS")
}

impl Coverage {
    /// Adds to a count.
    ///
    /// # Panics
    /// If `kind` is not in [`KINDS`].
    pub(crate) fn count(&mut self, kind: &str, count: u64) {
        self.0[index(kind)] += count;
    }

    pub(crate) fn get(&self, kind: &str) -> u64 {
        self.0[index(kind)]
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
        for (kind, more) in KINDS.iter().zip(other.0) {
            self.count(kind, more);
        }
    }

    /// The least count among those that a sweep must reach.
    pub fn least(&self) -> u64 {
        let [needed @ .., _] = self.0;
        needed.into_iter().min().unwrap_or(0)
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = KINDS
            .iter()
            .zip(self.0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        f.write_str(&counts.join(", "))
    }
}
