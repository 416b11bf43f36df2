//! `trantor-bench server`: the server under load, from ten agents to ten thousand.
//!
//! The server is a child process, the load generator a part of this program: both share the cores and use loopback. Each row
//! has a fresh server with ten tiles for each agent. Agents join at one unit a second; the figures are of a steady phase
//! afterwards. Rows are measured in several rounds, and each figure is the median, so that one pause of the machine does not
//! decide a row. `chrt -f 50` keeps other programs off the cores.

use std::path::Path;

use anyhow::{Context, Result};
use trantor_bot::load::Phase;
use trantor_runtime::RealClock;
use trantor_server::descriptors;
use trantor_time::{Clock, RealSpan};

use crate::figures::{Runs, Table};
use crate::process::{ServerProgram, core_percent, load, run_load};

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

/// The figures of a load, and the decimals shown.
const COLUMNS: [(&str, usize); 13] = [
    ("commands/s", 0),
    ("achieved/ideal", 4),
    ("slowed, %", 1),
    ("late p50, µs", 0),
    ("p99, µs", 0),
    ("p99.9, µs", 0),
    ("% of a core", 1),
    ("µs per command", 2),
    ("µs of that outside the system", 2),
    ("switches per command", 2),
    ("KiB per agent", 1),
    ("MB in all", 1),
    ("generator, % of a core", 0),
];

/// Column of the processor time of a command.
pub(crate) const US_PER_COMMAND: usize = 7;

/// Result of a load.
pub(crate) struct Found {
    /// In the order of [`COLUMNS`].
    pub(crate) figures: [f64; COLUMNS.len()],
    /// Journal writes per command.
    pub(crate) journal_writes_per_command: f64,
    /// Share of the journal in the loop's busy time, 0 to 1.
    pub(crate) journal_busy_share: f64,
}

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
    let mut rounds: Vec<_> = loads.iter().map(|load| (load, Vec::new())).collect();
    for round in 1..=options.rounds {
        for (load, found) in &mut rounds {
            let figures = measure(&options.program, load, span, None)?.figures;
            eprintln!("{round}: {load}: {:.0} commands/s", figures[0]);
            found.push(figures);
        }
    }
    let mut table = Table::new(&[&["load"][..], &COLUMNS.map(|(name, _)| name)].concat());
    for (load, found) in &rounds {
        let mut cells = vec![load.to_string()];
        for (column, (_, decimals)) in COLUMNS.into_iter().enumerate() {
            let runs: Runs = found.iter().map(|figures| figures[column]).collect();
            cells.push(format!("{:.decimals$}", runs.median()));
        }
        table.row(cells);
    }
    println!("{table}");
    Ok(())
}

/// Puts a fresh server under `load` and measures for `span`, with a journal in `record` if it is given.
pub(crate) fn measure(
    program: &ServerProgram,
    flags: &str,
    span: RealSpan,
    record: Option<&Path>,
) -> Result<Found> {
    let agents: usize = flags
        .split(' ')
        .nth(1)
        .context("the agents come first")?
        .parse()?;
    let side = (agents * TILES_PER_AGENT).isqrt().clamp(20, 1_000);
    let places = agents.div_ceil(2);
    // The accept rate is not measured here.
    let server_flags = format!("-f 1 -x {side} -y {side} -c {places} --seed 1 --accept-rate 1000000");
    let folders: Vec<_> = record.into_iter().map(|folder| ("--record", folder)).collect();
    let server = program.start(&server_flags, &folders)?;
    let empty = server.process.memory_bytes()?;
    let clock = RealClock::new();
    let config = load(server.address, flags, span)?;
    let speed = config.frequency.context("a load sets the speed")?;
    let (mut joined, mut slips) = (None, Vec::new());
    let (report, used) = run_load(&config, &server.process, |phase| match phase {
        Phase::Joined => joined = server.process.memory_bytes().ok(),
        Phase::Warm | Phase::Measured => {
            slips.push((clock.now(), server.metric("trantor_game_slipped_units_total")));
        }
        Phase::Begun | Phase::Measuring => {}
    })
    .with_context(|| flags.to_owned())?;
    let mut slowed = f64::NAN;
    if let [(from, Ok(before)), (to, Ok(after))] = slips.as_slice() {
        slowed = (after - before) / (to.since(*from).as_secs_f64() * f64::from(speed.get()));
    }
    let commands = report.counts.commands.max(1) as f64;
    let grown = joined.map_or(f64::NAN, |joined| joined.saturating_sub(empty) as f64);
    Ok(Found {
        figures: [
            report.commands_per_s,
            report.achieved_of_ideal,
            slowed * 100.0,
            report.lateness.p50_us,
            report.lateness.p99_us,
            report.lateness.p999_us,
            core_percent(used, &report),
            used.processor.as_secs_f64() * 1e6 / commands,
            used.user.as_secs_f64() * 1e6 / commands,
            used.switches as f64 / commands,
            grown / report.agents.max(1) as f64 / 1_024.0,
            server.process.memory_bytes()? as f64 / 1e6,
            report.own_core.unwrap_or(f64::NAN) * 100.0,
        ],
        journal_writes_per_command: server.metric("trantor_journal_writes_total")?
            / server.metric("trantor_commands_total")?,
        journal_busy_share: server.metric("trantor_loop_stage_seconds_total{stage=\"journal\"}")?
            / server.metric("trantor_loop_busy_seconds_total")?,
    })
}
