//! `cargo xtask sim`: builds the simulation for speed and runs seeds, by default others for each commit.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{process, source};

/// Hexadecimal digits of a commit that make a seed of 64 bits.
const SEED_DIGITS: usize = 16;

/// Flags of the simulation, passed on as they are.
#[derive(clap::Args)]
pub struct Options {
    /// --seed 0x… repeats one run; --seeds N or --minutes N sweep; --base 0x… chooses the seeds of a sweep
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<String>,
}

/// Runs the simulation and ends with its status.
pub fn run(options: &Options) -> Result<ExitCode> {
    let binary = process::build_program("trantor-sim", "trantor-sim")?;
    let mut command = Command::new(binary);
    let has = |flag: &str| options.passed_on.iter().any(|word| word.starts_with(flag));
    if !has("--base") && !has("--seed=") && !options.passed_on.iter().any(|word| word == "--seed") {
        command.args(["--base", &commit_seed()?]);
    }
    let status = process::status(command.args(&options.passed_on))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A seed that is another for each commit, and the same for everybody who has that commit.
fn commit_seed() -> Result<String> {
    let output = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(source::root())
        .output()
        .context("cannot ask git for the commit; give --base")?;
    let commit = String::from_utf8(output.stdout).context("git names the commit in hexadecimal")?;
    let digits = commit
        .get(..SEED_DIGITS)
        .context("git names no commit here; give --base")?;
    Ok(format!("0x{digits}"))
}
