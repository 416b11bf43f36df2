//! `run-server`, `run-viewer`, `run-bot`: the programs in the profile that a user should have.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::process;

/// Flags that are passed on as they are.
#[derive(clap::Args)]
pub struct Arguments {
    /// Flags for the program itself, after `--`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<String>,
}

/// Builds `trantor-NAME`, runs it to its end, and ends with its status.
///
/// Ctrl-C reaches the program as it reaches us; we wait for it to end in its own way.
pub fn program(name: &str, arguments: &Arguments) -> Result<ExitCode> {
    let package = format!("trantor-{name}");
    let binary = process::build_program(&package, &package)?;
    let mut ignored = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    let status = process::status(Command::new(binary).args(&arguments.passed_on))?;
    ignored.pending().for_each(drop);
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
