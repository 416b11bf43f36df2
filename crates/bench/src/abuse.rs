//! `trantor-bench abuse`: honest agents beside abusive clients, and the same agents without them.
//!
//! Both are measured in turn, several times, each with a fresh server. The p99 lateness of honest agents may rise by a fifth.
//! The two are compared within each round, since the machine drifts, and the median of the ratios counts. Abusers run in the
//! idle scheduling class and get the processor time left by the server and the honest agents, as over a network.
//!
//! Abusers start after the first commands of all honest agents: a late first command makes its agent late for the whole run,
//! and would decide the p99.
//!
//! With `--script` six minds of a script take the place of the abusers. They join as measuring begins: one that fails is
//! suspended soon.
//!
//! Every kind of abuse is to be found in the server's counts, memory is to stay bounded, and no honest agent may be lost.

pub(crate) mod abusers;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use trantor_bot::load::Phase;
use trantor_server::descriptors;
use trantor_time::RealSpan;

use self::abusers::KINDS;
use crate::figures::{Column, Runs, Table};
use crate::load::{Measured, load, measure};
use crate::process::{Process, Server, ServerProgram};

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seconds measured each time
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(i64).range(2..=600))]
    seconds: i64,
    /// Rounds
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Abusers
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(9..=1_000))]
    abusers: u32,
    /// Honest agents
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    honest: u32,
    /// Commands in flight of each honest agent; with one, a late read delays every command
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=10))]
    in_flight: u16,
    /// Measures beside minds of this script instead of abusers
    #[arg(long, value_name = "PATH")]
    script: Option<PathBuf>,
    /// Units a second
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    frequency: u32,
}

/// Minds of a script.
const MINDS: u32 = 6;

/// Seconds before it counts: longer than the limits below, so that all consequences of abuse have shown.
const WARM_UP_SECONDS: i64 = 5;

/// Short time limits, so that they are reached while measuring.
const LIMITS: &str = "--greeting-limit 3 --stall-limit 3";

/// Largest ratio of the honest p99 with and without abusers.
const RATIO_MAX: f64 = 1.2;

/// Memory limit of the server: a hundred of the largest sessions.
const MEMORY_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

const COLUMNS: [Column<Measured>; 7] = [
    ("honest p50, µs", 0, |run| run.report.lateness.p50_us),
    ("p90, µs", 0, |run| run.report.lateness.p90_us),
    ("p99, µs", 0, |run| run.report.lateness.p99_us),
    ("p99.9, µs", 0, |run| run.report.lateness.p999_us),
    ("achieved/ideal", 4, |run| run.report.achieved_of_ideal),
    ("server, % of a core", 0, Measured::core_percent),
    ("server, MB at most", 1, |run| run.memory_bytes[1] as f64 / 1e6),
];

/// Measures, prints, and fails if an honest agent was disconnected, a kind was not counted, or memory exceeded its limit.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let (who, count) = match options.script {
        Some(_) => ("minds", MINDS),
        None => ("abusers", options.abusers),
    };
    let mut rows = [0, count].map(|count| (count.to_string(), Vec::new()));
    let mut abuse = None;
    for _ in 0..options.rounds {
        rows[0].1.push(measure_round(options, false)?.0);
        let (beside, counted) = measure_round(options, true)?;
        rows[1].1.push(beside);
        abuse = counted;
    }
    println!("{}", Table::of(who, &COLUMNS, &rows));
    if let Some(abuse) = abuse {
        println!("{abuse}");
    }

    let [(_, without), (_, beside)] = &rows;
    let p99 = |run: &Measured| run.report.lateness.p99_us;
    let pairs = beside.iter().zip(without);
    let ratio: Runs = pairs
        .map(|(beside, without)| p99(beside) / p99(without))
        .collect();
    println!(
        "honest p99 beside {who}: {} times that without (at most {RATIO_MAX})",
        ratio.show(2)
    );
    for run in without.iter().chain(beside) {
        let lost = run.report.counts.connections_lost;
        ensure!(lost == 0, "an honest agent was disconnected");
        let bytes = run.memory_bytes[1];
        ensure!(bytes <= MEMORY_BYTES_MAX, "the server holds {bytes} bytes");
    }
    ensure!(ratio.median() <= RATIO_MAX, "{who} delay honest agents");
    Ok(())
}

fn measure_round(options: &Options, has_abusers: bool) -> Result<(Measured, Option<Table>)> {
    let honest = options.honest;
    let flags = format!(
        "-f 1 -x 100 -y 100 --seed 1 -c {honest} --respawn-slots on -n red blue grey --control loopback {LIMITS}"
    );
    let server = options.program.start(&flags, &[])?;
    let flags = format!("-a {honest} -f {} -k {}", options.frequency, options.in_flight);
    let mut config = load(&server, &flags, RealSpan::from_secs(options.seconds))?;
    if options.script.is_none() {
        config.warm_up = RealSpan::from_secs(WARM_UP_SECONDS);
    }
    let (mut abusers, mut joined) = (None, Ok(()));
    let measured = measure(&server, &config, |phase| match (phase, &options.script) {
        (Phase::Begun, None) if has_abusers => {
            let seconds = options.seconds + WARM_UP_SECONDS;
            abusers = Some(start_abusers(&server, options.abusers, seconds));
        }
        // The same delay without minds.
        (Phase::Measuring, Some(_)) if !has_abusers => joined = server.operate("mind list"),
        (Phase::Measuring, Some(script)) => {
            joined = server.operate(&format!("mind add grey=script:{}:{MINDS}", script.display()));
        }
        _ => {}
    })?;
    joined?;
    let abusers = abusers.transpose()?;
    let counted = abusers.map(|abusers| counted(&server, abusers));
    Ok((measured, counted.transpose()?))
}

/// Starts abusers in the idle scheduling class.
pub(crate) fn start_abusers(server: &Server, count: u32, seconds: i64) -> Result<Process> {
    let flags = format!(
        "abusers --address {} --count {count} --seconds {seconds}",
        server.address
    );
    let mut idle_class = Command::new("chrt");
    idle_class
        .args(["--idle", "0"])
        .arg(std::env::current_exe()?)
        .args(flags.split(' '));
    Process::start(&mut idle_class).or_else(|_no_chrt| Process::of_this_program(&flags))
}

/// Activity of each kind until the abusers ended, and the server's counters; fails if one is zero.
fn counted(server: &Server, mut abusers: Process) -> Result<Table> {
    let mut table = Table::new(&[
        "abuse",
        "abusers",
        "connections",
        "disconnected",
        "MB sent",
        "counted as",
    ]);
    let lines = abusers.lines().collect::<Result<Vec<_>>>()?;
    let metrics = server.metrics()?;
    for (kind, line) in KINDS.iter().zip(lines) {
        let mut cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let mut counts = Vec::new();
        for metric in kind.counted_as {
            let value = metrics.get(metric);
            ensure!(value > 0.0, "{}: the server counts no {metric}", kind.name);
            counts.push(format!("{metric} {value:.0}"));
        }
        cells.push(counts.join(", "));
        table.row(cells);
    }
    Ok(table)
}
