//! `trantor-bench replay`: size and speed of recordings of real matches, and the cost of recording.
//!
//! Bots play a match over loopback, in lock-step so that it is fast. Good is a recording under a megabyte that verifies at
//! least a thousand times as fast as real time at 100 units a second and seeks within 100 ms. Recording a loaded server
//! costs at most 7 % of its loop's time.

mod seeks;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use trantor_runtime::RealClock;
use trantor_server::replay::{Outcome, pieces_in, verify_all};
use trantor_time::{Clock, RealSpan};

use crate::figures::{Runs, Table};
use crate::process::{Process, ServerProgram};
use crate::server::{self, US_PER_COMMAND};

/// Options.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seeds of the matches
    #[arg(long, value_name = "SEED", value_delimiter = ',', default_values_t = [1, 2, 3])]
    seeds: Vec<u64>,
    /// Rounds of each load for the cost of recording; 0 skips it
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

/// The speed that replays are compared with.
const PLAYED_UNITS_PER_SECOND: f64 = 100.0;

/// Verifications of a recording; the median counts.
const VERIFIED: usize = 9;

/// Agents, and the speed at which they play, for the cost of recording.
const COST_LOADS: [(usize, u32); 4] = [(12, 100), (1_000, 100), (100, 1_000), (500, 1_000)];

/// Length of each measurement.
const COST_SPAN: RealSpan = RealSpan::from_secs(4);

/// Measures and prints. Fails if a recording does not verify.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut table = Table::new(&[
        "match",
        "units",
        "inputs",
        "bytes",
        "verified in, ms",
        "times as fast as played at 100",
        "opened in, ms",
        "any moment within, ms: p50",
        "p99",
        "max",
    ]);
    for &seed in &options.seeds {
        let folder = record_match(&options.program, seed)?;
        table.row(row(seed, &folder)?);
        std::fs::remove_dir_all(&folder)?;
    }
    println!("{table}");
    if options.rounds > 0 {
        println!("{}", cost(&options.program, options.rounds)?);
    }
    Ok(())
}

/// Plays a match of two teams of bots to its end. Returns the folder with its recording.
fn record_match(program: &ServerProgram, seed: u64) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("trantor-replay-{}-{seed}", std::process::id()));
    let flags = format!("-x 20 -y 20 -c 6 -n red blue --lock-step on --seed {seed}");
    let server = program.start(&flags, &[("--record", &folder)])?;
    let port = server.address.port();
    let start = |team: &str| {
        let flags = format!("-h 127.0.0.1 -p {port} -n {team} --seed {seed} --team-size 6 --patience 2");
        Process::start(program.beside("trantor-bot")?.args(flags.split_whitespace()))
    };
    for mut team in [start("red")?, start("blue")?] {
        // The recording has the result; drain the output so that the pipe does not fill.
        team.lines().for_each(drop);
    }
    server.stop()?;
    Ok(folder)
}

fn row(seed: u64, folder: &Path) -> Result<Vec<String>> {
    let files = pieces_in(&[folder.to_owned()])?;
    let clock = RealClock::new();
    let mut bytes = 0;
    for file in &files {
        bytes += std::fs::metadata(file)?.len();
    }
    let mut seconds = Vec::new();
    let (mut inputs, mut units) = (0, 0.0f64);
    for _ in 0..VERIFIED {
        let began = clock.now();
        let checked = verify_all(&files, &[])?;
        seconds.push(clock.now().since(began).as_secs_f64());
        (inputs, units) = (0, 0.0);
        for one in checked {
            let Outcome::Played { played, end, .. } = one.outcome else {
                bail!("{}: {:?}", one.file.display(), one.outcome);
            };
            inputs += played.inputs;
            units = units.max(end.at.as_units_f64());
        }
    }
    let verified_s = seconds.into_iter().collect::<Runs>().median();
    let seeks = seeks::measure(folder)?;
    let mut cells = vec![
        format!("seed {seed}"),
        format!("{units:.0}"),
        inputs.to_string(),
        bytes.to_string(),
        format!("{:.1}", verified_s * 1e3),
        format!("{:.0}", units / PLAYED_UNITS_PER_SECOND / verified_s),
        format!("{:.1}", seeks.opened.as_millis_f64()),
    ];
    for quantile in [0.5, 0.99, 1.0] {
        let ns = seeks.latency_ns.value_at_quantile(quantile);
        cells.push(format!("{:.2}", ns as f64 / 1e6));
    }
    Ok(cells)
}

/// Cost of recording for a loaded server: its processor time with and without a journal, in turns, and the share of the
/// journal stage in the loop's busy time. Two runs of one load differ by a few percent, so the processor time needs several
/// rounds. The stage varies less, but lacks the encoding of entries and the packing of finished pieces.
fn cost(program: &ServerProgram, rounds: u32) -> Result<Table> {
    let mut table = Table::new(&[
        "agents",
        "units a second",
        "writes of the journal for 100 commands",
        "its share of the loop's busy time, %",
        "processor time of a command without recording, µs",
        "with it, µs",
    ]);
    let folder = std::env::temp_dir().join(format!("trantor-cost-{}", std::process::id()));
    for (agents, frequency) in COST_LOADS {
        let load = format!("-a {agents} -f {frequency}");
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            without.push(server::measure(program, &load, COST_SPAN, None)?);
            with.push(server::measure(program, &load, COST_SPAN, Some(&folder))?);
            std::fs::remove_dir_all(&folder)?;
        }
        let show = |runs: &[server::Found], figure: fn(&server::Found) -> f64, decimals| {
            runs.iter().map(figure).collect::<Runs>().show(decimals)
        };
        table.row(vec![
            agents.to_string(),
            frequency.to_string(),
            show(&with, |found| found.journal_writes_per_command * 100.0, 1),
            show(&with, |found| found.journal_busy_share * 100.0, 2),
            show(&without, |found| found.figures[US_PER_COMMAND], 2),
            show(&with, |found| found.figures[US_PER_COMMAND], 2),
        ]);
    }
    Ok(table)
}
