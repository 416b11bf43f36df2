//! `trantor-bench lock-step`: actions a second of a server in lock-step, with agents in processes.
//!
//! The server and each `trantor-load` are children of this program. Agents walk with one command in flight, so that only
//! they and the system set the pace. Good is more than 50,000 actions a second in all.

use anyhow::{Result, ensure};
use trantor_runtime::RealClock;
use trantor_time::{Clock, RealSpan};

use crate::figures::{Column, Table};
use crate::process::{Process, STEP_UNITS, ServerProgram, sleep};

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seconds measured for each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(i64).range(1..=600))]
    seconds: i64,
}

/// Processes, agents in each, and the sides of the map.
const LOADS: [(u32, u32, u32); 5] = [(2, 1, 10), (12, 1, 20), (2, 6, 20), (100, 1, 100), (4, 250, 100)];

/// Warm-up until all processes have joined.
const WARM_UP: RealSpan = RealSpan::from_secs(2);

const COLUMNS: [Column<[f64; 3]>; 3] = [
    ("actions/s", 0, |found| found[0]),
    ("units/s", 0, |found| found[1]),
    ("µs of the server per action", 1, |found| found[2]),
];

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for (processes, agents, side) in LOADS {
        let found = measure(options, processes, agents, side)?;
        rows.push((format!("{processes} × {agents} on {side} × {side}"), vec![found]));
    }
    println!("{}", Table::of("processes × agents, map", &COLUMNS, &rows));
    Ok(())
}

fn measure(options: &Options, processes: u32, agents: u32, side: u32) -> Result<[f64; 3]> {
    let places = processes * agents / 2;
    let flags =
        format!("--lock-step on --control loopback -n red blue -c {places} -x {side} -y {side} --seed 1");
    let server = options.program.start(&flags, &[])?;
    // The map grows too little food for all agents.
    server.operate("hunger off")?;
    let (port, seconds) = (server.address.port(), options.seconds + 600);
    let start = |number: u32| {
        let team = ["red", "blue"][number as usize % 2];
        let flags = format!(
            "-h 127.0.0.1 -p {port} -n {team} -a {agents} -k 1 -m forward=1 --assume 100 -d {seconds}"
        );
        Process::start(
            options
                .program
                .beside("trantor-load")?
                .args(flags.split_whitespace()),
        )
    };
    let walkers = (0..processes).map(start).collect::<Result<Vec<Process>>>()?;
    let clock = RealClock::new();
    let counts = || -> Result<_> {
        let commands = server.metrics()?.get("commands_total");
        Ok((clock.now(), commands, server.process.usage()?))
    };
    sleep(WARM_UP);
    let (began, commands_before, used_before) = counts()?;
    sleep(RealSpan::from_secs(options.seconds));
    let (ended, commands, used) = counts()?;
    drop(walkers);
    let actions = commands - commands_before;
    ensure!(actions >= 1.0, "no agent plays");
    let actions_per_s = actions / ended.since(began).as_secs_f64();
    Ok([
        actions_per_s,
        actions_per_s * f64::from(STEP_UNITS) / f64::from(processes * agents),
        used.since(used_before).processor.as_secs_f64() * 1e6 / actions,
    ])
}
