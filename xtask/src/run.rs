//! Programs of ours, built in the profile that they are used in, and run: the server, the viewer and the bot, the
//! simulation, the fuzzer, and what kills a server.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{process, source};

/// Hexadecimal digits of a commit that make a seed of 64 bits.
const SEED_DIGITS: usize = 16;

/// Flags that are passed on as they are.
#[derive(clap::Args)]
pub struct Arguments {
    /// Flags for the program itself, after `--`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<String>,
}

/// How long to fuzz, and what.
#[derive(clap::Args)]
pub struct FuzzOptions {
    /// Minutes for each target
    #[arg(long, default_value_t = 1)]
    minutes: u32,
    /// Flags for the fuzzer itself, after `--`: --targets NAME…, --seed N
    #[arg(last = true)]
    passed_on: Vec<String>,
}

/// Builds `trantor-NAME`, runs it to its end, and ends with its status.
///
/// Ctrl-C reaches the program as it reaches us; we wait for it to end in its own way.
pub fn program(name: &str, arguments: &Arguments) -> Result<ExitCode> {
    let package = format!("trantor-{name}");
    let binary = process::build_program(&package, &package)?;
    let mut ignored = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    let ended = run(binary, &arguments.passed_on);
    ignored.pending().for_each(drop);
    ended
}

/// Simulates, by default other seeds for each commit.
pub fn sim(arguments: &Arguments) -> Result<ExitCode> {
    let binary = process::build_program("trantor-sim", "trantor-sim")?;
    let mut flags = arguments.passed_on.clone();
    let has = |flag: &str| flags.iter().any(|word| word.starts_with(flag));
    if !has("--base") && !has("--seed=") && !flags.iter().any(|word| word == "--seed") {
        flags.splice(..0, ["--base".to_owned(), commit_seed()?]);
    }
    run(binary, &flags)
}

/// Fuzzes, with assertions.
pub fn fuzz(options: &FuzzOptions) -> Result<ExitCode> {
    let binary = process::build_with_profile("trantor-fuzz", "trantor-fuzz", "fuzz")?;
    let minutes = ["--seconds".to_owned(), (options.minutes * 60).to_string()];
    run(binary, &[&minutes[..], &options.passed_on].concat())
}

/// Kills a server. In the profile for development, so that every assertion of the server is on, before the kill and after.
pub fn kills(arguments: &Arguments) -> Result<ExitCode> {
    process::build_with_profile("trantor-server", "trantor-server", "dev")?;
    let bench = process::build_with_profile("trantor-bench", "trantor-bench", "dev")?;
    run(bench, &[&["kills".to_owned()][..], &arguments.passed_on].concat())
}

fn run(binary: PathBuf, flags: &[String]) -> Result<ExitCode> {
    let status = process::status(Command::new(binary).args(flags))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
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
