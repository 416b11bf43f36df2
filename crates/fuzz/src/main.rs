//! `trantor-fuzz`: runs the targets on mutated inputs for a given time.
//!
//! An input that makes a target panic is written to `crates/fuzz/findings/NAME/`, which the tests run from then on.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use trantor_fuzz::{Mutator, TARGETS, Target, target_named};
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
    #[arg(long, value_name = "NAME", num_args = 1.., hide_possible_values = true,
        default_values = TARGETS.map(|target| target.name), hide_default_value = true,
        value_parser = TARGETS.map(|target| target.name))]
    targets: Vec<String>,
    /// Minutes for each target
    #[arg(long, default_value_t = 1)]
    minutes: i64,
    /// Seed of the mutator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for findings
    #[arg(long, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/findings"))]
    findings: PathBuf,
    /// Write the corpus of each target to DIR/NAME for libFuzzer, and exit
    #[arg(long, value_name = "DIR", conflicts_with = "minutes")]
    write_seeds: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let targets = options.targets.iter().map(|name| target_named(name));
    if let Some(folder) = &options.write_seeds {
        // A fuzzer without a corpus would have to guess magic numbers and checksums.
        for Target { name, seeds, .. } in targets {
            for (number, seed) in seeds().iter().enumerate() {
                write(&folder.join(name), &format!("{number:03}"), seed)?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    println!("| target | inputs | findings |\n|---|---|---|");
    let mut code = ExitCode::SUCCESS;
    for target in targets {
        if !run(&options, target)? {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Returns whether there was no finding.
fn run(options: &Options, target: Target) -> Result<bool> {
    let clock = RealClock::new();
    let until = clock.now() + RealSpan::from_secs(60 * options.minutes);
    let mut mutator = Mutator::new(options.seed, (target.seeds)());
    let mut inputs = 0u64;
    while clock.now() < until {
        let input = mutator.next_input();
        inputs += 1;
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            let folder = options.findings.join(target.name);
            let path = write(&folder, &format!("{:016x}-{inputs}", options.seed), &input)?;
            println!("| {} | {inputs} | {} |", target.name, path.display());
            return Ok(false);
        }
    }
    println!("| {} | {inputs} | 0 |", target.name);
    Ok(true)
}

fn write(folder: &Path, name: &str, input: &[u8]) -> Result<PathBuf> {
    let path = folder.join(name);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, input))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
