//! Hostile bytes for everything that reads bytes from outside.
//!
//! A [`Target`] is a function that takes any bytes and panics if something is wrong: a part that should have answered
//! with an error, an answer that depends on where bytes were cut, a value that does not come back as it was written. The
//! same targets are driven in three ways:
//!
//! ```text
//! cargo test -p trantor-fuzz                  some thousand inputs each, the same ones every time
//! cargo xtask fuzz --minutes 10               other inputs for as long as you like, each target for so long
//! cargo +nightly fuzz run NAME                libFuzzer, which looks for new paths (fuzz/ at the root)
//! ```
//!
//! Inputs are not drawn from nothing: each target offers seeds that make sense, and [`Mutator`] breaks them.

mod mutator;
mod targets;

pub use mutator::Mutator;
pub use targets::{TARGETS, Target};

/// Lets one target read bytes.
///
/// # Panics
/// If there is no target of that name, or something is wrong with what reads them.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("targets are named by their names").run)(data);
}
