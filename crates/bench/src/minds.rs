//! `trantor-bench minds`: thousands of minds with a rate of their own in a live server, while two viewers watch.
//!
//! Good: as many decisions as the rate asks for, none starved, and a p99 of all deadlines below 2 ms.

use anyhow::{Result, ensure};
use trantor_time::RealSpan;

use trantor_bot::load::Phase;

use crate::load::{load, measure};
use crate::process::{Metrics, ServerProgram};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Minds, half of them in each of two teams
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    minds: u32,
    /// Units between two decisions of a mind
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    every: u32,
    /// How long it is measured; agents that find no food starve after 12.6 seconds
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(i64).range(1..=600))]
    seconds: i64,
}

/// Units a second.
const FREQUENCY: u32 = 100;

/// Bounds of the spread, in seconds, as the metrics write them.
const BOUNDS: [&str; 8] = [
    "0.0001", "0.0002", "0.0005", "0.001", "0.002", "0.005", "0.01", "+Inf",
];

/// The greatest p99 of all deadlines.
const LATENESS_P99_SECONDS_MAX: f64 = 0.002;

/// Measures and prints. Fails if the goals are missed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let (each, every) = (options.minds / 2, options.every);
    let places = each + 1;
    let flags = format!(
        "-x 200 -y 200 -c {places} -f {FREQUENCY} --seed 1 --mind red=random:{each},every={every} --mind blue=random:{each},every={every}"
    );
    let server = options.program.start(&flags, &[])?;
    let watching = load(
        &server,
        "-a 1 --frame-viewers 2",
        RealSpan::from_secs(options.seconds),
    )?;
    let mut looks: Vec<Metrics> = Vec::new();
    let measured = measure(&server, &watching, |phase| {
        if matches!(phase, Phase::Warm | Phase::Measured) {
            looks.extend(server.metrics());
        }
    })?;
    let [before, after] = &looks[..] else {
        anyhow::bail!("a load that was measured went through all phases");
    };
    let grown = |name: &str| after.get(name) - before.get(name);
    let units = grown("game_time_units");
    let decisions = grown("mind_decisions_total{kind=\"random\"}");
    let wish = units / f64::from(every) * f64::from(each * 2);
    let starved = after.get("minds_starved");
    let p99 = after.get("deadline_lateness_quantile_seconds{quantile=\"0.99\"}");
    println!(
        "| minds | decisions/s | of the wish | starved | slowed, % | deadlines late p99, ms | % of a core |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    println!(
        "| {} | {:.0} | {:.4} | {starved} | {:.1} | {:.3} | {:.0} |",
        each * 2,
        decisions / units * f64::from(FREQUENCY) * (1.0 - measured.slowed),
        decisions / wish,
        measured.slowed * 100.0,
        p99 * 1e3,
        measured.core_percent(),
    );
    println!("\n| late at most, s | share of decisions |\n|---:|---:|");
    let within = |bound: &&str| grown(&format!("mind_lateness_seconds_bucket{{le=\"{bound}\"}}"));
    for bound in &BOUNDS {
        println!("| {bound} | {:.4} |", within(bound) / within(&"+Inf"));
    }
    ensure!(starved == 0.0 && decisions > 0.99 * wish, "decisions are missing");
    ensure!(p99 < LATENESS_P99_SECONDS_MAX, "deadlines are late");
    Ok(())
}
