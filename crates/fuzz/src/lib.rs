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

mod config;
mod frames;
mod lines;
mod mutator;
mod recordings;
mod scripts;
mod sessions;

pub use mutator::Mutator;

/// A function under fuzzing.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name on the command line and in `fuzz/Cargo.toml`.
    pub name: &'static str,
    /// Takes any bytes.
    ///
    /// # Panics
    /// If a property is violated.
    pub run: fn(&[u8]),
    /// Corpus of valid inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

const fn target(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds }
}

/// All targets.
pub const TARGETS: [Target; 10] = [
    // Lines of a stream, wherever it is cut.
    target("line_cutter", lines::cut, lines::seeds),
    // Lines from agents and text viewers, and first lines.
    target("command_parser", lines::parse, lines::seeds),
    // Lines from a server.
    target("client_parser", lines::parse_as_client, lines::server_seeds),
    // Frames of a stream, wherever it is cut, and their messages.
    target("frame_decoder", frames::decode, frames::seeds),
    // Replay of a journal piece.
    target(
        "journal_reader",
        recordings::read_journal,
        recordings::journal_seeds,
    ),
    // The same with recomputed checksums.
    target(
        "journal_content",
        recordings::read_sealed_journal,
        recordings::journal_seeds,
    ),
    // A saved game with a recomputed checksum, restored and played.
    target(
        "snapshot_reader",
        recordings::read_snapshot,
        recordings::snapshot_seeds,
    ),
    // The server's configuration file.
    target("config_file", config::read, config::seeds),
    // A whole engine with several peers that send anything.
    target("sessions", sessions::play, sessions::seeds),
    // Generated scripts, and what they perceive.
    target("scripts", scripts::play, scripts::seeds),
];

/// The target of a name.
///
/// # Panics
/// If there is none.
pub fn target_named(name: &str) -> Target {
    let target = TARGETS.into_iter().find(|target| target.name == name);
    target.expect("an unknown target")
}
