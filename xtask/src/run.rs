//! Programs of ours, built in the profile that they are used in, and run: the server, the viewer and the bot, the
//! simulation, the fuzzer, the benchmarks, and what kills a server.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{process, python};

/// Hexadecimal digits of a commit that make a seed of 64 bits.
const SEED_DIGITS: usize = 16;

/// Flags that are passed on as they are.
#[derive(clap::Args)]
pub struct Arguments {
    /// Flags for the program itself
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    passed_on: Vec<String>,
}

/// What to measure, and flags for the one that measures.
#[derive(clap::Args)]
pub struct BenchOptions {
    /// What to measure: docs/benchmarks.md has a part about each
    #[arg(value_parser = [
        "python", "pacing", "stress", "view", "minds", "leap", "script", "abuse",
    ])]
    what: String,
    #[command(flatten)]
    arguments: Arguments,
}

/// Builds a program, runs it to its end, and ends with its status.
///
/// Ctrl-C reaches the program as it reaches us; we wait for it to end in its own way.
pub fn program(name: &str, arguments: &Arguments) -> Result<ExitCode> {
    let mut ignored = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    let ended = run(process::PLAY_PROFILE, [name], &[], arguments);
    ignored.pending().for_each(drop);
    ended
}

/// Simulates, by default other seeds for each commit.
pub fn sim(arguments: &Arguments) -> Result<ExitCode> {
    let is_seed =
        |flag: &String| flag == "--seed" || ["--seed=", "--base"].iter().any(|start| flag.starts_with(start));
    let base = match arguments.passed_on.iter().any(is_seed) {
        true => None,
        false => Some(commit_seed()?),
    };
    let words = base.as_ref().map_or(vec![], |base| vec!["--base", base]);
    run(process::PLAY_PROFILE, ["trantor-sim"], &words, arguments)
}

/// Fuzzes, with assertions.
pub fn fuzz(arguments: &Arguments) -> Result<ExitCode> {
    run("fuzz", ["trantor-fuzz"], &[], arguments)
}

/// Kills a server. In the profile for development, so that every assertion of the server is on, before the kill and after.
pub fn kills(arguments: &Arguments) -> Result<ExitCode> {
    run("dev", ["trantor-server", "trantor-bench"], &["kills"], arguments)
}

/// Measures, and prints the tables that docs/benchmarks.md quotes. The measuring itself lives beside what is measured.
pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    let name = &*options.what;
    let target: &[&str] = match name {
        "python" => return python::bench().map(|()| ExitCode::SUCCESS),
        "pacing" | "stress" => &["trantor-viewer", "view", "--", name],
        "view" => &["trantor-viewer", "view", "--"],
        "leap" => &["trantor-play", "leap", "--"],
        "script" => &["trantor-script", "script", "--"],
        _ => return measure(name, &options.arguments),
    };
    let mut bench = process::cargo();
    bench.args(["bench", "--package", target[0], "--bench"]);
    process::check(bench.args(&target[1..]).args(&options.arguments.passed_on))?;
    Ok(ExitCode::SUCCESS)
}

/// The programs measured are built in release, and so is the one that measures.
pub fn measure(what: &str, arguments: &Arguments) -> Result<ExitCode> {
    let programs = ["trantor-server", "trantor-load", "trantor-bot", "trantor-bench"];
    run("release", programs, &[what], arguments)
}

/// Builds programs, and runs the last one to its end.
fn run<const N: usize>(
    profile: &str,
    programs: [&str; N],
    words: &[&str],
    arguments: &Arguments,
) -> Result<ExitCode> {
    let programs = process::build(profile, programs)?;
    let mut command = Command::new(&programs[N - 1]);
    let status = process::status(command.args(words).args(&arguments.passed_on))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A seed that is another for each commit, and the same for everybody who has that commit.
fn commit_seed() -> Result<String> {
    let mut git = Command::new("git");
    let output = git.args(["rev-parse", "HEAD"]).current_dir(process::root());
    let output = output
        .output()
        .context("cannot ask git for the commit; give --base")?;
    let commit = String::from_utf8(output.stdout).context("git names the commit in hexadecimal")?;
    let digits = commit
        .get(..SEED_DIGITS)
        .context("git names no commit here; give --base")?;
    Ok(format!("0x{digits}"))
}
