//! `cargo xtask ci`: the list that must be green, cheap checks first.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::process;

/// How `ci` may be cut down while working; CI itself gives no flag.
#[derive(clap::Args)]
pub struct Options {
    /// Only the steps whose name contains this word
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

/// Names of the steps, and what a shell runs for each at the root.
const STEPS: &[(&str, &str)] = &[
    ("format", "cargo fmt --all --check"),
    ("tidy", "cargo xtask tidy"),
    // Sound is off by default, since it is built with ALSA's headers; the tests are built without it.
    (
        "clippy",
        "cargo clippy --workspace --features trantor-viewer/sound --all-targets -- --deny warnings",
    ),
    (
        "clippy of the server without scripts",
        "cargo clippy --package trantor-server --no-default-features -- --deny warnings",
    ),
    (
        "tests",
        "if command -v cargo-nextest; then cargo nextest run --workspace --no-fail-fast; \
         else cargo test --workspace --all-targets --quiet; fi",
    ),
    (
        "broken rules are found",
        "cargo test --workspace --features trantor-sim/faults --test faults --quiet",
    ),
    (
        "kills leave whole journals and saves",
        "cargo xtask kills --times 6",
    ),
    (
        "interface",
        "cargo build --workspace --bins --quiet && tools/interface.sh | diff -u docs/interface.txt -",
    ),
    ("python", "cargo xtask python --profile dev"),
    ("doc tests", "cargo test --workspace --doc --quiet"),
    // For people who read the code: with what is private, which module heads may then point to.
    (
        "docs",
        "cargo doc --workspace --no-deps --document-private-items --quiet \
         --config \"build.rustdocflags=['--deny=warnings','--allow=rustdoc::private_intra_doc_links']\"",
    ),
];

/// Runs every step in order and stops at the first that fails; prints what each took.
pub fn run(options: &Options) -> Result<()> {
    let word = options.only.as_deref().unwrap_or_default();
    let mut times = Vec::new();
    for (name, step) in STEPS.iter().filter(|(name, _)| name.contains(word)) {
        println!("── {name}");
        #[expect(
            clippy::disallowed_methods,
            reason = "a task reports how long it took; no loop of ours is involved"
        )]
        let started = Instant::now();
        let mut shell = Command::new("sh");
        process::check(shell.current_dir(process::root()).args(["-c", *step]))?;
        times.push((name, started.elapsed()));
    }
    println!("── all green");
    for (name, time) in times {
        println!("{:>7.1} s  {name}", time.as_secs_f64());
    }
    Ok(())
}
