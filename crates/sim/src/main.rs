//! Runs one seed, a number of seeds, or seeds for a number of minutes. Stops with status 1 at the first finding and prints
//! the command that reproduces it.

use std::process::ExitCode;

use clap::Parser;
use trantor_runtime::real_clock::RealClock;
use trantor_sim::Coverage;
use trantor_time::{Clock, RealSpan};

#[derive(Parser)]
#[command(
    name = "trantor-sim",
    about = "Deterministic simulation: server, viewers, agents, network and disk under one seed",
    version
)]
struct Options {
    /// Run this seed only; hexadecimal with 0x, or decimal
    #[arg(long, value_parser = read_seed, conflicts_with_all = ["seeds", "minutes"])]
    seed: Option<u64>,
    /// Number of seeds
    #[arg(long, default_value_t = 256, conflicts_with = "minutes", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Run seeds for this many minutes, and at least one seed
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: Option<u32>,
    /// Base from which the seeds of a sweep are derived; hexadecimal with 0x, or decimal
    #[arg(long, value_parser = read_seed, default_value = "0")]
    base: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match options.seed {
        Some(seed) => trantor_sim::run(seed, None).map(|outcome| {
            println!(
                "seed 0x{seed:x}: digest {:016x}; {}",
                outcome.digest, outcome.coverage
            )
        }),
        None => sweep(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn sweep(options: &Options) -> Result<(), trantor_sim::Failure> {
    let clock = RealClock::new();
    let began = clock.now();
    let is_over = |done: u64| match options.minutes {
        Some(minutes) => clock.now().since(began) >= RealSpan::from_secs(60 * i64::from(minutes)),
        None => done >= options.seeds,
    };
    let mut done = 0;
    let mut coverage = Coverage::default();
    while !is_over(done) {
        coverage.add(&trantor_sim::run(trantor_sim::sweep_seed(options.base, done), None)?.coverage);
        done += 1;
    }
    println!("{coverage}");
    let seconds = clock.now().since(began).as_secs_f64();
    println!(
        "{done} seeds from 0x{:x} in {seconds:.1} s: no findings",
        options.base
    );
    Ok(())
}

fn read_seed(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}
