//! `trantor-bench server`: the server under load, from ten agents to ten thousand.
//!
//! The server is a child process, the load generator a part of this program: both share the cores and use loopback. Each row
//! has a fresh server with ten tiles for each agent. Agents join at one unit a second; the figures are of a steady phase
//! afterwards. Rows are measured in several rounds, and each figure is the median, so that one pause of the machine does not
//! decide a row. `chrt -f 50` keeps other programs off the cores.

use std::path::Path;

use anyhow::{Context, Result};
use trantor_server::descriptors;
use trantor_time::RealSpan;

use crate::figures::{Column, Table};
use crate::load::{Measured, load, measure};
use crate::process::ServerProgram;

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seconds measured for each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(i64).range(1..=600))]
    seconds: i64,
    /// Rounds; figures are the medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Only loads with at most this many agents
    #[arg(long, value_name = "AGENTS", default_value_t = usize::MAX, hide_default_value = true)]
    up_to: usize,
    /// Only loads at these speeds
    #[arg(long, value_name = "UNITS", value_delimiter = ',')]
    frequencies: Vec<u32>,
    /// One load with this many agents instead of the table's, at the given speeds
    #[arg(long, value_name = "N", requires = "frequencies")]
    agents: Option<usize>,
}

/// Tiles for each agent, with enough food for all.
const TILES_PER_AGENT: usize = 10;

/// The loads of the table, as flags of `trantor-load`.
const LOADS: [&str; 16] = [
    "-a 10 -f 100",
    "-a 100 -f 100",
    "-a 1000 -f 100",
    "-a 2000 -f 100",
    "-a 5000 -f 100",
    // Both cores are busy, and a round trip sometimes takes longer than a step: with two commands in flight an agent would
    // run dry, which is not the server's latency.
    "-a 10000 -f 100 -k 10",
    "-a 100 -f 1000",
    "-a 1000 -f 1000",
    // A step takes 0.7 ms here, so that a pause of 1.4 ms leaves agents with two commands open without any, and all of them
    // begin again together. With ten it takes 7 ms.
    "-a 100 -f 10000",
    "-a 100 -f 10000 -k 10",
    "-a 1000 -f 10000",
    "-a 100 -f 100 --in-step",
    "-a 1000 -f 100 --in-step",
    "-a 5000 -f 100 --in-step",
    "-a 100 -f 100 --text-viewers 1000",
    "-a 100 -f 100 --frame-viewers 1000",
];

const COLUMNS: [Column<Measured>; 13] = [
    ("commands/s", 0, |found| found.report.commands_per_s),
    ("achieved/ideal", 4, |found| found.report.achieved_of_ideal),
    ("slowed, %", 1, |found| found.slowed * 100.0),
    ("late p50, µs", 0, |found| found.report.lateness.p50_us),
    ("p99, µs", 0, |found| found.report.lateness.p99_us),
    ("p99.9, µs", 0, |found| found.report.lateness.p999_us),
    ("% of a core", 1, Measured::core_percent),
    ("µs per command", 2, Measured::us_per_command),
    ("µs of that outside the system", 2, |found| {
        found.used.user.as_secs_f64() * 1e6 / found.report.counts.commands as f64
    }),
    ("switches per command", 2, |found| {
        found.used.switches as f64 / found.report.counts.commands as f64
    }),
    ("KiB per agent", 1, |found| {
        found.joined_bytes as f64 / found.report.agents as f64 / 1_024.0
    }),
    ("MB in all", 1, |found| found.memory_bytes[0] as f64 / 1e6),
    ("generator, % of a core", 0, |found| {
        found.report.own_core.unwrap_or(f64::NAN) * 100.0
    }),
];

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let span = RealSpan::from_secs(options.seconds);
    let loads: Vec<String> = match options.agents {
        Some(agents) => {
            let speeds = options.frequencies.iter();
            speeds.map(|speed| format!("-a {agents} -f {speed}")).collect()
        }
        None => {
            let is_wanted = |flags: &&str| {
                let numbers: Vec<usize> = flags.split(' ').filter_map(|word| word.parse().ok()).collect();
                let speeds = &options.frequencies;
                let has_speed = speeds.is_empty() || speeds.iter().any(|speed| *speed as usize == numbers[1]);
                numbers[0] <= options.up_to && has_speed
            };
            LOADS.into_iter().filter(is_wanted).map(str::to_owned).collect()
        }
    };
    let mut rows: Vec<_> = loads.into_iter().map(|load| (load, Vec::new())).collect();
    for round in 1..=options.rounds {
        for (load, found) in &mut rows {
            let measured = with_fresh_server(&options.program, load, span, None)?;
            eprintln!(
                "{round}: {load}: {:.0} commands/s",
                measured.report.commands_per_s
            );
            found.push(measured);
        }
    }
    println!("{}", Table::of("load", &COLUMNS, &rows));
    Ok(())
}

/// Puts a fresh server under a load for `span`, with a journal in `record` if it is given.
pub(crate) fn with_fresh_server(
    program: &ServerProgram,
    flags: &str,
    span: RealSpan,
    record: Option<&Path>,
) -> Result<Measured> {
    let agents = flags.split(' ').nth(1).context("the agents come first")?;
    let agents: usize = agents.parse()?;
    let side = (agents * TILES_PER_AGENT).isqrt().clamp(20, 1_000);
    let places = agents.div_ceil(2);
    // The accept rate is not measured here.
    let server_flags = format!("-f 1 -x {side} -y {side} -c {places} --seed 1 --accept-rate 1000000");
    let folders: Vec<_> = record.into_iter().map(|folder| ("--record", folder)).collect();
    let server = program.start(&server_flags, &folders)?;
    measure(&server, &load(&server, flags, span)?, |_| {}).with_context(|| flags.to_owned())
}
