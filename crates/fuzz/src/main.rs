//! `trantor-fuzz`: other broken inputs for as long as you like.
//!
//! An input that makes a target panic is written to `crates/fuzz/findings/NAME/`, where the tests find it from then on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use trantor_fuzz::{Mutator, TARGETS, Target};
use trantor_runtime::RealClock;
use trantor_time::{Clock, RealSpan};

#[derive(Parser)]
#[command(
    name = "trantor-fuzz",
    version,
    about = "Hostile bytes for everything that reads bytes from outside."
)]
struct Options {
    /// Only these targets
    #[arg(long, value_name = "NAME", num_args = 1..)]
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: i64,
    /// What the inputs are drawn from; other inputs for another number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where findings are kept
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/findings"))]
    findings: PathBuf,
    /// Write the seeds of each target to DIR/NAME and end: what libFuzzer begins with
    #[arg(long, value_name = "DIR", conflicts_with = "seconds")]
    write_seeds: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("trantor-fuzz: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Answers whether nothing was found.
fn run(options: &Options) -> Result<bool> {
    for name in &options.targets {
        anyhow::ensure!(
            TARGETS.iter().any(|target| target.name == name),
            "there is no target {name:?}; there are {}",
            TARGETS.map(|target| target.name).join(", ")
        );
    }
    let is_chosen = |target: &Target| {
        options.targets.is_empty() || options.targets.iter().any(|name| name == target.name)
    };
    if let Some(folder) = &options.write_seeds {
        for target in TARGETS.iter().filter(|target| is_chosen(target)) {
            write_seeds(&folder.join(target.name), target)?;
        }
        return Ok(true);
    }
    let mut is_clean = true;
    println!("| target | inputs | findings |\n|---|---|---|");
    for target in TARGETS.iter().filter(|target| is_chosen(target)) {
        is_clean &= run_target(options, target)?;
    }
    Ok(is_clean)
}

/// A fuzzer that begins with nothing would have to guess magics and checksums first.
fn write_seeds(folder: &Path, target: &Target) -> Result<()> {
    let seeds = (target.seeds)();
    std::fs::create_dir_all(folder)
        .and_then(|()| {
            (seeds.iter().enumerate())
                .try_for_each(|(number, seed)| std::fs::write(folder.join(format!("{number:03}")), seed))
        })
        .with_context(|| format!("the seeds cannot be written to {}", folder.display()))?;
    println!("{}: {} seeds", folder.display(), seeds.len());
    Ok(())
}

fn run_target(options: &Options, target: &Target) -> Result<bool> {
    let clock = RealClock::new();
    let until = clock.now() + RealSpan::from_secs(options.seconds);
    let mut mutator = Mutator::new(options.seed, (target.seeds)());
    let mut inputs = 0u64;
    while clock.now() < until {
        let input = mutator.next_input();
        inputs += 1;
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            let folder = options.findings.join(target.name);
            let path = folder.join(format!("{:016x}-{inputs}", options.seed));
            std::fs::create_dir_all(&folder)
                .and_then(|()| std::fs::write(&path, &input))
                .with_context(|| format!("the finding cannot be kept in {}", path.display()))?;
            println!("| {} | {inputs} | {} |", target.name, path.display());
            return Ok(false);
        }
    }
    println!("| {} | {inputs} | 0 |", target.name);
    Ok(true)
}
