//! `trantor-fuzz`: runs the targets on mutated inputs for a given time.
//!
//! An input that makes a target panic is written to `crates/fuzz/findings/NAME/`, which the tests run from then on.

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
    about = "Fuzz everything that reads bytes from outside."
)]
struct Options {
    /// Only these targets
    #[arg(long, value_name = "NAME", num_args = 1..)]
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: i64,
    /// Seed of the mutator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for findings
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/findings"))]
    findings: PathBuf,
    /// Write the corpus of each target to DIR/NAME for libFuzzer, and exit
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

/// Returns whether there are no findings.
fn run(options: &Options) -> Result<bool> {
    for name in &options.targets {
        anyhow::ensure!(
            TARGETS.iter().any(|target| target.name == name),
            "unknown target {name:?}; the targets are {}",
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

/// Writes the corpus of a target, since a fuzzer without one would have to guess magic numbers and checksums.
fn write_seeds(folder: &Path, target: &Target) -> Result<()> {
    let seeds = (target.seeds)();
    std::fs::create_dir_all(folder)
        .and_then(|()| {
            (seeds.iter().enumerate())
                .try_for_each(|(number, seed)| std::fs::write(folder.join(format!("{number:03}")), seed))
        })
        .with_context(|| format!("cannot write the seeds to {}", folder.display()))?;
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
                .with_context(|| format!("cannot write the finding to {}", path.display()))?;
            println!("| {} | {inputs} | {} |", target.name, path.display());
            return Ok(false);
        }
    }
    println!("| {} | {inputs} | 0 |", target.name);
    Ok(true)
}
