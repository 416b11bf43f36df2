//! Programs of ours, built in the profile that they are used in, and run: the server, the viewer and the bot, the
//! simulation, the fuzzer, the benchmarks, and what kills a server.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::{process, python, source};

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

/// What to measure, and flags for the one that measures.
#[derive(clap::Args)]
pub struct BenchOptions {
    /// What to measure
    #[arg(value_enum)]
    what: Bench,
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
enum Bench {
    /// The Python package: decisions a second, memory, matches, import
    Python,
    /// The viewer's loop beside displays of 60, 75 and 144 pictures a second
    Pacing,
    /// The viewer's loop on a machine too slow for the picture, for the events, or for both
    Stress,
    /// An idle server: wake-ups in ten seconds
    Idle,
    /// Completions against the real clock, chains, speed changes
    Accuracy,
    /// What a frame of the viewer costs: lists, uploads, and the picture on the adapter at hand
    View,
    /// A server in lock-step: actions a second with agents as processes
    LockStep,
    /// Thousands of minds at a rate of their own, while viewers watch.
    Minds,
    /// Games played by minds inside the process: units and actions a second
    Leap,
    /// Scripts: resumptions a second, memory, reload, and what an endless loop costs
    Script,
    /// Recordings of real matches: their weight, how fast they verify and move, and what recording costs
    Replay,
    /// The server under load, from 10 to 10,000 agents
    Server,
    /// Honest agents beside abusive clients
    Abuse,
}

/// Builds a program, runs it to its end, and ends with its status.
///
/// Ctrl-C reaches the program as it reaches us; we wait for it to end in its own way.
pub fn program(name: &str, arguments: &Arguments) -> Result<ExitCode> {
    let [binary] = process::build(process::PLAY_PROFILE, [name])?;
    let mut ignored = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    let ended = run(binary, &arguments.passed_on);
    ignored.pending().for_each(drop);
    ended
}

/// Simulates, by default other seeds for each commit.
pub fn sim(arguments: &Arguments) -> Result<ExitCode> {
    let [binary] = process::build(process::PLAY_PROFILE, ["trantor-sim"])?;
    let mut flags = arguments.passed_on.clone();
    let has = |flag: &str| flags.iter().any(|word| word.starts_with(flag));
    if !has("--base") && !has("--seed=") && !flags.iter().any(|word| word == "--seed") {
        flags.splice(..0, ["--base".to_owned(), commit_seed()?]);
    }
    run(binary, &flags)
}

/// Fuzzes, with assertions.
pub fn fuzz(options: &FuzzOptions) -> Result<ExitCode> {
    let [binary] = process::build("fuzz", ["trantor-fuzz"])?;
    let minutes = ["--seconds".to_owned(), (options.minutes * 60).to_string()];
    run(binary, &[&minutes[..], &options.passed_on].concat())
}

/// Kills a server. In the profile for development, so that every assertion of the server is on, before the kill and after.
pub fn kills(arguments: &Arguments) -> Result<ExitCode> {
    let [_, bench] = process::build("dev", ["trantor-server", "trantor-bench"])?;
    run(bench, &[&["kills".to_owned()][..], &arguments.passed_on].concat())
}

/// Measures, and prints the tables that docs/benchmarks.md quotes. The measuring itself lives beside what is measured.
pub fn bench(options: &BenchOptions) -> Result<ExitCode> {
    let value = options.what.to_possible_value().expect("none is skipped");
    let name = value.get_name();
    let target: &[&str] = match options.what {
        Bench::Python => {
            python::bench()?;
            return Ok(ExitCode::SUCCESS);
        }
        Bench::Pacing | Bench::Stress => &["trantor-viewer", "view", "--", name],
        Bench::View => &["trantor-viewer", "view", "--"],
        Bench::Leap => &["trantor-engine", "leap", "--"],
        Bench::Script => &["trantor-script", "script", "--"],
        _ => return measure(name, &options.passed_on),
    };
    let mut bench = process::cargo();
    bench.args(["bench", "--package", target[0], "--bench"]);
    process::check(bench.args(&target[1..]).args(&options.passed_on))?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps a server busy for a long time.
pub fn soak(options: &SoakOptions) -> Result<ExitCode> {
    let minutes = ["--minutes".to_owned(), options.minutes.to_string()];
    measure("soak", &[&minutes[..], &options.passed_on].concat())
}

/// The programs measured are built in release, and so is the one that measures.
fn measure(name: &str, flags: &[String]) -> Result<ExitCode> {
    let programs = ["trantor-server", "trantor-load", "trantor-bot", "trantor-bench"];
    let [.., bench] = process::build("release", programs)?;
    run(bench, &[&[name.to_owned()][..], flags].concat())
}

fn run(binary: PathBuf, flags: &[String]) -> Result<ExitCode> {
    let status = process::status(Command::new(binary).args(flags))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// A seed that is another for each commit, and the same for everybody who has that commit.
fn commit_seed() -> Result<String> {
    let mut git = Command::new("git");
    let output = git
        .args(["rev-parse", "HEAD"])
        .current_dir(source::root())
        .output();
    let output = output.context("cannot ask git for the commit; give --base")?;
    let commit = String::from_utf8(output.stdout).context("git names the commit in hexadecimal")?;
    let digits = commit
        .get(..SEED_DIGITS)
        .context("git names no commit here; give --base")?;
    Ok(format!("0x{digits}"))
}
