//! `cargo xtask kills`: a server killed at random instants, and what is left looked at.
//!
//! In the profile for development, so that every assertion of the server is on, before the kill and after.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::process;

/// Flags of the one that kills, passed on as they are.
#[derive(clap::Args)]
pub struct Options {
    /// --times N kills (200 by default); --seed N draws other instants
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<String>,
}

/// Kills, and fails if anything is not as it should be.
pub fn run(options: &Options) -> Result<ExitCode> {
    process::build_with_profile("trantor-server", "trantor-server", "dev")?;
    let bench = process::build_with_profile("trantor-bench", "trantor-bench", "dev")?;
    process::check(Command::new(bench).arg("kills").args(&options.passed_on))?;
    Ok(ExitCode::SUCCESS)
}
