//! What a run or a sweep has reached: a simulation in which nothing happens finds nothing.

use std::fmt;

use trantor_engine::{CloseReason, EngineStats};

/// What is counted, as it is printed. All but the last must happen in a sweep.
const KINDS: [&str; 29] = [
    "steps",
    "deadlines of the game",
    "agents joined",
    "agents died",
    "agents rose",
    "commands dropped",
    "connections closed by peers",
    "protocol errors",
    "worlds in frames compared",
    "worlds in text compared",
    "past worlds in text compared",
    "clock slips",
    "sprints ended",
    "operators' lines",
    "reloads",
    "wrong tokens",
    "lock-step moments passed",
    "lock-step moments passed after the longest wait",
    "crashes",
    "saves",
    "saves rolled forward",
    "writes refused",
    "pieces packed",
    "runs resumed",
    "files rotten",
    "limits reached",
    "lines compared with the journal",
    "worlds compared in recordings",
    // Too few for a short sweep.
    "runs removed",
];

/// Counts of one run, or of several added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached([u64; KINDS.len()]);

/// Whether a connection is closed so that a limit holds.
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
    index.expect("kinds are named as in the list")
}

impl Reached {
    /// Counts more of a kind.
    ///
    /// # Panics
    /// If there is no such kind.
    pub(crate) fn count(&mut self, kind: &str, count: u64) {
        self.0[index(kind)] += count;
    }

    pub(crate) fn get(&self, kind: &str) -> u64 {
        self.0[index(kind)]
    }

    /// Counts what the engine has counted in one life of a server.
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
        self.count("wrong tokens", counters.tokens_refused);
        let limits = CloseReason::ALL.into_iter().filter(|reason| is_limit(*reason));
        self.count("limits reached", limits.map(closed).sum());
    }

    /// Adds what another run has reached.
    pub fn add(&mut self, other: &Self) {
        for (kind, more) in KINDS.iter().zip(other.0) {
            self.count(kind, more);
        }
    }

    /// The least count of what must happen in a sweep.
    pub fn least(&self) -> u64 {
        let [needed @ .., _] = self.0;
        needed.into_iter().min().unwrap_or(0)
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = KINDS
            .iter()
            .zip(self.0)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        f.write_str(&counts.join(", "))
    }
}
