//! `trantor-bench minds`: thousands of minds with a rate of their own in a live server, while two viewers watch.
//!
//! Good: as many decisions as the rate asks for, none starved, and a p99 of all deadlines below 2 ms. Measured after the start, at
//! which all agents join at one instant; they still eat at one instant, every 1.26 seconds.

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

/// Viewers that watch.
const VIEWERS: u32 = 2;

/// Bounds of the spread, in seconds, as the metrics write them.
const BOUNDS: [&str; 8] = [
    "0.0001", "0.0002", "0.0005", "0.001", LATE, "0.005", "0.01", "+Inf",
];

/// The greatest p99 of all deadlines.
const LATE: &str = "0.002";

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
        &format!("-a 1 --frame-viewers {VIEWERS}"),
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
    let target = units / f64::from(every) * f64::from(each * 2);
    let starved = after.get("minds_starved");
    let within = |of: &str, bound: &str| {
        let count = |bound| grown(&format!("{of}_lateness_seconds_bucket{{le=\"{bound}\"}}"));
        count(bound) / count("+Inf")
    };
    let frames = measured.report.counts.viewer_frames as f64 / measured.report.measured_s;
    println!(
        "| Minds | Decisions/s | Of the target | Starved | Slowed, % | Frames/s to a viewer | % of a core |\n|---:|---:|---:|---:|---:|---:|---:|\n\
        | {} | {:.0} | {:.4} | {starved} | {:.1} | {:.0} | {:.0} |",
        each * 2,
        decisions / units * f64::from(FREQUENCY) * (1.0 - measured.slowed),
        decisions / target,
        measured.slowed * 100.0,
        frames / f64::from(VIEWERS),
        measured.core_percent(),
    );
    println!("\n| Late at most, s | Share of decisions | Share of all deadlines |\n|---:|---:|---:|");
    for bound in BOUNDS {
        let [decisions, all] = ["mind", "deadline"].map(|of| within(of, bound));
        println!("| {bound} | {decisions:.4} | {all:.4} |");
    }
    let watched = after.get("viewer_snapshots_total");
    ensure!(
        watched == f64::from(VIEWERS) && frames > 0.0,
        "{watched} viewers watch"
    );
    ensure!(
        starved == 0.0 && decisions > 0.99 * target,
        "decisions are missing"
    );
    ensure!(within("deadline", LATE) >= 0.99, "deadlines are late");
    Ok(())
}
