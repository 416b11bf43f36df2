//! `trantor-bench replay`: size and speed of recordings of real matches, and the cost of recording.
//!
//! Bots play a match over loopback, in lock-step so that it is fast. Good is a recording under a megabyte that verifies at
//! least a thousand times as fast as real time at 100 units a second and seeks within 100 ms. Recording a loaded server
//! costs at most 7 % of its loop's time.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_runtime::RealClock;
use trantor_server::playback::load;
use trantor_server::replay::{Outcome, pieces_in, verify_all};
use trantor_time::{Clock, GameSpan, RealSpan};

use crate::figures::{Column, Runs, Table};
use crate::load::Measured;
use crate::process::{Process, ServerProgram};
use crate::server::with_fresh_server;

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

/// Seeks in a recording, each to a random moment.
const SEEKS: u32 = 1_000;

/// Loads for the cost of recording.
const COST_LOADS: [&str; 4] = [
    "-a 12 -f 100",
    "-a 1000 -f 100",
    "-a 100 -f 1000",
    "-a 500 -f 1000",
];

/// Length of each measurement.
const COST_SPAN: RealSpan = RealSpan::from_secs(4);

/// A recorded match.
struct Match {
    units: f64,
    inputs: u64,
    bytes: u64,
    verified_s: f64,
    opened: RealSpan,
    /// Time of each seek, until the game has the state of that moment.
    seeks_ms: Runs,
}

const COLUMNS: [Column<Match>; 9] = [
    ("units", 0, |found| found.units),
    ("inputs", 0, |found| found.inputs as f64),
    ("bytes", 0, |found| found.bytes as f64),
    ("verified in, ms", 1, |found| found.verified_s * 1e3),
    ("times as fast as played at 100", 0, |found| {
        found.units / PLAYED_UNITS_PER_SECOND / found.verified_s
    }),
    ("opened in, ms", 1, |found| found.opened.as_millis_f64()),
    ("any moment found within, ms: p50", 2, |found| {
        found.seeks_ms.median()
    }),
    ("p99", 2, |found| found.seeks_ms.quantile(0.99)),
    ("max", 2, |found| found.seeks_ms.quantile(1.0)),
];

/// Measures and prints. Fails if a recording does not verify.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    for &seed in &options.seeds {
        let folder = record_match(&options.program, seed)?;
        rows.push((format!("seed {seed}"), vec![measure_match(&folder)?]));
        std::fs::remove_dir_all(&folder)?;
    }
    println!("{}", Table::of("match", &COLUMNS, &rows));
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

fn measure_match(folder: &Path) -> Result<Match> {
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
    let began = clock.now();
    let recording = load(&[folder.to_owned()])?;
    let opened = clock.now().since(began);
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let length = recording.end() - recording.begin();
    let mut seeks_ms = Vec::new();
    for _ in 0..SEEKS {
        let part = i128::from(random.next_u32());
        let into = GameSpan::from_nanounits(length.as_nanounits() * part / i128::from(u32::MAX));
        let asked = clock.now();
        recording.seek(recording.begin() + into)?;
        seeks_ms.push(clock.now().since(asked).as_millis_f64());
    }
    Ok(Match {
        units,
        inputs,
        bytes,
        verified_s: seconds.into_iter().collect::<Runs>().median(),
        opened,
        seeks_ms: seeks_ms.into_iter().collect(),
    })
}

/// Cost of recording for a loaded server: its processor time with and without a journal, in turns, and the share of the
/// journal stage in the loop's busy time. Two runs of one load differ by a few percent, so the processor time needs several
/// rounds. The stage varies less, but lacks the encoding of entries and the packing of finished pieces.
fn cost(program: &ServerProgram, rounds: u32) -> Result<Table> {
    let mut table = Table::new(&[
        "load",
        "writes of the journal for 100 commands",
        "its share of the loop's busy time, %",
        "processor time of a command without recording, µs",
        "with it, µs",
    ]);
    let folder = std::env::temp_dir().join(format!("trantor-cost-{}", std::process::id()));
    for load in COST_LOADS {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            without.push(with_fresh_server(program, load, COST_SPAN, None)?);
            with.push(with_fresh_server(program, load, COST_SPAN, Some(&folder))?);
            std::fs::remove_dir_all(&folder)?;
        }
        let show = |runs: &[Measured], decimals, figure: fn(&Measured) -> f64| {
            runs.iter().map(figure).collect::<Runs>().show(decimals)
        };
        table.row(vec![
            load.to_owned(),
            show(&with, 1, |found| {
                100.0 * found.metrics.get("journal_writes_total") / found.metrics.get("commands_total")
            }),
            show(&with, 2, |found| {
                let journal = found.metrics.get("loop_stage_seconds_total{stage=\"journal\"}");
                100.0 * journal / found.metrics.get("loop_busy_seconds_total")
            }),
            show(&without, 2, Measured::us_per_command),
            show(&with, 2, Measured::us_per_command),
        ]);
    }
    Ok(table)
}
