//! `cargo xtask bench NAME`: measures, and prints the tables that docs/benchmarks.md quotes.
//!
//! The measuring itself lives beside what is measured; this chore only builds it optimised and starts it.

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
    /// Ways of waiting: lateness, processor time and wake-ups per deadline
    Wake,
    /// An idle server: wake-ups in ten seconds
    Idle,
    /// Completions against the real clock, chains, speed changes
    Accuracy,
    /// What a frame of the viewer costs: lists, uploads, panels, and the picture on the adapter at hand
    View,
    /// A server in lock-step: actions a second with bots as processes
    LockStep,
    /// Games played by minds inside the process: units and actions a second
    Leap,
    /// Recordings of real matches: their weight, how fast they verify and move, and what recording costs
    Replay,
    /// The server under load, from 10 to 10,000 agents
    Server,
    /// Honest agents beside a crew of abusers
    Abuse,
}

/// Starts the one asked for.
pub fn run(options: &Options) -> Result<ExitCode> {
    match options.what {
        What::Stress => frame_loop("stress", &options.passed_on),
        What::Pacing => frame_loop("pacing", &options.passed_on),
        What::Panels => frame_loop("panels", &options.passed_on),
        What::Wake => measuring_program("wake", &options.passed_on),
        What::Idle => measuring_program("idle", &options.passed_on),
        What::Accuracy => measuring_program("accuracy", &options.passed_on),
        What::View => cargo_bench("trantor-viewer", "view", &options.passed_on),
        What::LockStep => measuring_program("lock-step", &options.passed_on),
        What::Leap => cargo_bench("trantor-engine", "leap", &options.passed_on),
        What::Replay => {
            process::build_with_profile("trantor-bot", "trantor-bot", "release")?;
            measuring_program("replay", &options.passed_on)
        }
        What::Server => measuring_program("server", &options.passed_on),
        What::Abuse => measuring_program("abuse", &options.passed_on),
    }
}

fn cargo_bench(package: &str, name: &str, passed_on: &[String]) -> Result<ExitCode> {
    let mut bench = process::cargo();
    bench
        .args(["bench", "--package", package, "--bench", name, "--"])
        .args(passed_on);
    process::check(&mut bench)?;
    Ok(ExitCode::SUCCESS)
}

fn frame_loop(part: &str, passed_on: &[String]) -> Result<ExitCode> {
    let arguments = [&[part.to_owned()], passed_on].concat();
    cargo_bench("trantor-viewer", "frame_loop", &arguments)
}

/// Keeps a server busy for a long time.
pub fn soak(options: &SoakOptions) -> Result<ExitCode> {
    let minutes = options.minutes.to_string();
    let flags = [vec!["--minutes".to_owned(), minutes], options.passed_on.clone()].concat();
    measuring_program("soak", &flags)
}

/// The programs measured are built in release, and so is the one that measures.
fn measuring_program(what: &str, passed_on: &[String]) -> Result<ExitCode> {
    process::build_with_profile("trantor-server", "trantor-server", "release")?;
    let bench = process::build_with_profile("trantor-bench", "trantor-bench", "release")?;
    process::check(Command::new(bench).arg(what).args(passed_on))?;
    Ok(ExitCode::SUCCESS)
}
