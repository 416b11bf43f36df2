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

const _: () = assert!(
    trantor_client::world::EGGS_MAX >= trantor_game::GameConfig::EGGS_MAX,
    "the client accepts every game that a server accepts"
);

mod actors;
mod console;
mod coverage;
mod disk;
mod fault;
mod network;
mod picture;
mod plan;
mod playback;
pub mod replayed;
mod rng;
mod server;
mod simulation;
mod storage;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use coverage::Coverage;
pub use fault::Fault;

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

/// Runs one seed.
///
/// # Errors
/// If a check failed, a part panicked, or something did not finish.
pub fn run(seed: u64) -> Result<Outcome, Failure> {
    run_universe(seed, None)
}

/// Runs one seed with an injected fault.
///
/// # Errors
/// If a check detected the fault.
#[cfg(feature = "faults")]
pub fn run_with_fault(seed: u64, fault: Fault) -> Result<Outcome, Failure> {
    run_universe(seed, Some(fault))
}

/// The `index`-th seed of the sweep `base`, mixed by SplitMix64.
pub fn sweep_seed(base: u64, index: u64) -> u64 {
    let mut mixed = base.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn run_universe(seed: u64, fault: Option<Fault>) -> Result<Outcome, Failure> {
    let mut simulation = Simulation::new(seed, fault);
    // A panic is a finding; the simulation is not used after one.
    let result = catch_unwind(AssertUnwindSafe(|| simulation.run()));
    let step = simulation.step();
    let reason = match result {
        Ok(Ok(outcome)) => return Ok(outcome),
        Ok(Err(reason)) => reason,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            format!("an assertion failed: {}", text.unwrap_or("no message"))
        }
    };
    Err(Failure { seed, step, reason })
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
