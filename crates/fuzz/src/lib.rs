//! Fuzzing of everything that reads bytes from outside.
//!
//! A [`Target`] takes any bytes and panics on a violated property: a panic instead of an error, a result that depends on
//! where the stream was cut, a value that does not round-trip. The targets run in three ways:
//!
//! ```text
//! cargo test -p trantor-fuzz                  2,000 fixed inputs for each target
//! cargo xtask fuzz --minutes 10               ten minutes for each target
//! cargo +nightly fuzz run NAME                libFuzzer, guided by coverage (fuzz/ at the root)
//! ```
//!
//! Each target has a corpus of valid inputs, which [`Mutator`] mutates.

mod mutator;
mod targets;

pub use mutator::Mutator;
pub use targets::{TARGETS, Target};

/// Runs one target.
///
/// # Panics
/// If there is no target of that name, or a property is violated.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("an unknown target").run)(data);
}
