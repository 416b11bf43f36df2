//! `cargo xtask fuzz`: builds the fuzzer for speed, with assertions, and runs each target for a while.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::process;

/// How long, and what.
#[derive(clap::Args)]
pub struct Options {
    /// Minutes for each target
    #[arg(long, default_value_t = 1)]
    minutes: u32,
    /// Flags for the fuzzer itself, after `--`: --targets NAME…, --seed N
    #[arg(last = true)]
    passed_on: Vec<String>,
}

/// Runs the fuzzer and ends with its status.
pub fn run(options: &Options) -> Result<ExitCode> {
    let fuzzer = process::build_with_profile("trantor-fuzz", "trantor-fuzz", "fuzz")?;
    let seconds = (options.minutes * 60).to_string();
    let status = process::status(
        Command::new(fuzzer)
            .args(["--seconds", &seconds])
            .args(&options.passed_on),
    )?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
