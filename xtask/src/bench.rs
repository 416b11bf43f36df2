//! `cargo xtask bench NAME`: measures, and prints the tables that docs/benchmarks.md quotes.
//!
//! The measuring itself lives beside what is measured; this task only builds it optimised and starts it.

use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::ValueEnum;

use crate::process;

/// What to measure, and flags for the one that measures.
#[derive(clap::Args)]
pub struct Options {
    /// What to measure
    #[arg(value_enum)]
    what: What,
    /// Flags for the measuring program, after `--`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<String>,
}

/// How long to soak.
#[derive(clap::Args)]
pub struct SoakOptions {
    /// How long
    #[arg(long, default_value_t = 20)]
    minutes: u32,
    /// Flags for the measuring program, after `--`
    #[arg(last = true)]
    passed_on: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// The viewer's whole loop under four kinds of stress, with a pretend renderer
    Stress,
    /// The viewer's loop beside displays of 60, 75 and 144 pictures a second
    Pacing,
    /// The viewer's panels, and what the debugging view adds
    Panels,
    /// An idle server: wake-ups in ten seconds
    Idle,
    /// Completions against the real clock, chains, speed changes
    Accuracy,
    /// What a frame of the viewer costs: lists, uploads, panels, and the picture on the adapter at hand
    View,
    /// A server in lock-step: actions a second with agents as processes
    LockStep,
    /// Games played by minds inside the process: units and actions a second
    Leap,
    /// Recordings of real matches: their weight, how fast they verify and move, and what recording costs
    Replay,
    /// The server under load, from 10 to 10,000 agents
    Server,
    /// Honest agents beside abusive clients
    Abuse,
}

/// Starts the one asked for.
pub fn run(options: &Options) -> Result<ExitCode> {
    let value = options.what.to_possible_value().expect("none is skipped");
    let (name, flags) = (value.get_name(), &options.passed_on);
    let mut bench = process::cargo();
    bench.arg("bench");
    match options.what {
        What::Stress | What::Pacing | What::Panels => {
            bench.args(["--package", "trantor-viewer", "--bench", "frame_loop", "--", name])
        }
        What::View => bench.args(["--package", "trantor-viewer", "--bench", "view", "--"]),
        What::Leap => bench.args(["--package", "trantor-engine", "--bench", "leap", "--"]),
        _ => return measuring_program(name, flags),
    };
    process::check(bench.args(flags))?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps a server busy for a long time.
pub fn soak(options: &SoakOptions) -> Result<ExitCode> {
    let minutes = options.minutes.to_string();
    let flags = [vec!["--minutes".to_owned(), minutes], options.passed_on.clone()].concat();
    measuring_program("soak", &flags)
}

/// The programs measured are built in release, and so is the one that measures.
fn measuring_program(name: &str, flags: &[String]) -> Result<ExitCode> {
    for (package, program) in [
        ("trantor-server", "trantor-server"),
        ("trantor-bot", "trantor-load"),
        ("trantor-bot", "trantor-bot"),
    ] {
        process::build_with_profile(package, program, "release")?;
    }
    let bench = process::build_with_profile("trantor-bench", "trantor-bench", "release")?;
    process::check(Command::new(bench).arg(name).args(flags))?;
    Ok(ExitCode::SUCCESS)
}
