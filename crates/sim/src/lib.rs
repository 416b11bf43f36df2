//! The whole system in one thread under one seed.
//!
//! The real engine, the real client, text agents, an operator, a network with delays, pieces, stalls, resets and peers
//! that vanish, background jobs and a disk that refuses and loses run on one manual clock. The seed draws what takes part and all that happens; the same seed
//! is the same run, to the byte.
//!
//! ```text
//! first      anything may go wrong, and nothing may be false    (oracles after each step)
//! then       faults stop, and everything must finish            (answers, worlds, goodbyes)
//! at last    the journal of the run is replayed                 (the same digest)
//!            and shown to a viewer who jumps about in it        (mirrors equal worlds)
//! ```
//!
//! No clock, socket or thread of the machine is used here; the program beside this library reads the clock only to
//! know when to stop.

const _: () = assert!(
    trantor_client::world::EGGS_MAX >= trantor_game::GameConfig::EGGS_MAX,
    "a viewer of ours can watch every game that a server takes"
);

mod access;
mod actors;
mod disk;
mod fault;
mod host;
mod line;
mod lock_step_check;
mod operator;
mod oracle;
mod past;
mod picture;
mod plan;
mod reached;
pub mod replayed;
mod rerun;
mod rng;
mod storage;
mod trace;
mod universe;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use fault::Fault;
pub use reached::Reached;

use universe::Universe;

/// A run that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Of everything that happened, in order, to the byte.
    pub digest: u64,
    /// How much that was.
    pub reached: Reached,
}

/// A run that found something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed of the run.
    pub seed: u64,
    /// The step after which it showed.
    pub step: u64,
    /// What is wrong.
    pub reason: String,
}

/// Runs one seed.
///
/// # Errors
/// If anything was false, panicked, or did not finish.
pub fn run(seed: u64) -> Result<Outcome, Failure> {
    run_universe(seed, None)
}

/// Runs one seed with a rule broken.
///
/// # Errors
/// If the fault was found, as it should be in some of a hundred seeds.
#[cfg(feature = "faults")]
pub fn run_with_fault(seed: u64, fault: Fault) -> Result<Outcome, Failure> {
    run_universe(seed, Some(fault))
}

/// The `index`-th seed of a sweep that begins with `base`: neighbours have nothing in common (SplitMix64).
pub fn sweep_seed(base: u64, index: u64) -> u64 {
    let mut mixed = base.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn run_universe(seed: u64, fault: Option<Fault>) -> Result<Outcome, Failure> {
    let mut universe = Universe::new(seed, fault);
    // Assertions of the parts are findings like any other; the universe is not used after one.
    let result = catch_unwind(AssertUnwindSafe(|| universe.run()));
    let step = universe.step();
    let reason = match result {
        Ok(Ok(outcome)) => return Ok(outcome),
        Ok(Err(reason)) => reason,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            format!("an assertion failed: {}", text.unwrap_or("without a word"))
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
            "seed 0x{seed:016x}, step {step}: {reason}\nagain: cargo xtask sim --seed 0x{seed:x}"
        )
    }
}
