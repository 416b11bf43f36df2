//! `cargo xtask ci`: the list that must be green, cheap checks first.
//!
//! What needs all libraries compiled in another way is left to the workflow in `.github`: the server without scripts, and the
//! pages that rustdoc makes.

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

/// Has Clippy compile our crates: it does so as rustc does, and lints what it compiles. Run by itself it would check all
/// libraries, and the tests would then compile them again. It denies every warning. A run from nothing gains nothing by being
/// incremental.
const BUILDS: [(&str, &str); 3] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    (
        "CLIPPY_ARGS",
        "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    ),
    ("CARGO_INCREMENTAL", "0"),
];

/// Names of the steps, and what a shell runs for each at the root; `$XTASK` is this program.
const STEPS: &[(&str, &str)] = &[
    ("format", "cargo fmt --all --check"),
    ("tidy", "\"$XTASK\" tidy"),
    (
        "lints and tests",
        "if command -v cargo-nextest; then cargo nextest run --workspace --no-fail-fast; \
         else cargo test --workspace --all-targets --quiet; fi",
    ),
    ("benchmarks compile", "cargo build --workspace --benches --quiet"),
    (
        "broken rules are found",
        "cargo test --workspace --features trantor-sim/faults --test faults --quiet",
    ),
    (
        "kills leave whole journals and saves",
        "\"$XTASK\" kills --times 6",
    ),
    (
        "interface",
        "cargo build --workspace --bins --quiet && tools/interface.sh | diff -u docs/interface.txt -",
    ),
    ("python", "\"$XTASK\" python --profile dev"),
    ("doc tests", "cargo test --workspace --doc --quiet"),
];

/// Runs every step in order and stops at the first that fails; prints what each took.
pub fn run(options: &Options) -> Result<()> {
    let word = options.only.as_deref().unwrap_or_default();
    let program = std::env::current_exe()?;
    let mut times = Vec::new();
    for (name, step) in STEPS.iter().filter(|(name, _)| name.contains(word)) {
        println!("── {name}");
        #[expect(
            clippy::disallowed_methods,
            reason = "a task reports how long it took; no loop of ours is involved"
        )]
        let started = Instant::now();
        let mut shell = Command::new("sh");
        shell
            .current_dir(process::root())
            .envs(BUILDS)
            .env("XTASK", &program);
        process::check(shell.args(["-c", *step]))?;
        times.push((name, started.elapsed()));
    }
    println!("── all green");
    for (name, time) in times {
        println!("{:>7.1} s  {name}", time.as_secs_f64());
    }
    Ok(())
}
