//! Deterministic simulation of the whole system in one thread.
//!
//! The shipped server with its loop, the shipped client, text agents, operators, a faulty network and a faulty disk run on one
//! manual clock. The seed decides participants, options and faults; the same seed gives the same run, to the byte.
//!
//! ```text
//! 1. faults are injected; safety holds              (oracles after each step)
//! 2. faults stop; everything finishes               (answers, worlds, disconnects)
//! 3. the journal of the run is replayed             (the same digest)
//!    and shown to viewers that seek                 (client worlds equal the server's)
//! ```
//!
//! Nothing here sleeps or has a thread; the program reads the clock only to stop a timed sweep.

mod actors;
mod disk;
mod fault;
mod network;
mod picture;
mod plan;
pub mod playback;
mod rng;
mod server;
mod simulation;
mod storage;

use std::collections::BTreeMap;
use std::fmt;

pub use fault::Fault;
use trantor_engine::{CloseReason, EngineStats};
use trantor_runtime::fault::caught;

use simulation::Simulation;

/// Result of a run without a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Digest of all bytes sent and received, in order.
    pub digest: u64,
    /// Counts of events.
    pub coverage: Coverage,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Seed of the run.
    pub seed: u64,
    /// The step after which the check failed.
    pub step: u64,
    /// Message of the check.
    pub reason: String,
}

/// Runs one seed, with a fault if one is given.
///
/// # Errors
/// If a check failed, a part panicked, or something did not finish.
pub fn run(seed: u64, fault: Option<Fault>) -> Result<Outcome, Failure> {
    let mut simulation = Simulation::new(seed, fault);
    // A panic is a finding, too.
    let outcome = caught(|| simulation.run().map_err(|reason| format!("{reason:#}")));
    let step = simulation.step;
    outcome.map_err(|reason| Failure { seed, step, reason })
}

/// The `index`-th seed of the sweep `base`, mixed by SplitMix64.
pub fn sweep_seed(base: u64, index: u64) -> u64 {
    let mut mixed = base.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, step, reason } = self;
        write!(
            f,
            "seed 0x{seed:016x}, step {step}: {reason}\nrerun: cargo xtask sim --seed 0x{seed:x}"
        )
    }
}

/// Kinds of events that a sweep must reach. One more, runs that are removed, is too rare for a short one.
const KINDS: usize = 23;

const RARE: &str = "runs removed";

/// Counts of events, of one run or a sum of several.
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
