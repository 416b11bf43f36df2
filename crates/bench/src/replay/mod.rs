//! `trantor-bench replay`: what a recording of a real match weighs, and what recording costs.
//!
//! A match is played by bots of ours over loopback, in lock-step so that it need not be waited for, and recorded. Good
//! is a recording under a megabyte, verified at least a thousand times as fast as it is played at 100 units a second,
//! with any moment of it shown within 100 ms. Recording a loaded server costs at most 7 % of its loop's
//! time, which its own stages tell: a write in each pass that sends.

mod cost;
mod game;
mod seeks;

use std::path::PathBuf;

use anyhow::Result;
use trantor_runtime::RealClock;
use trantor_server::replay::{Outcome, pieces_in, verify_all};
use trantor_time::{Clock, RealSpan};

use crate::child::ServerProgram;
use crate::table::Table;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seeds of the matches
    #[arg(long, value_name = "SEED", value_delimiter = ',', default_values_t = [1, 2, 3])]
    seeds: Vec<u64>,
    /// Times that each load is measured for the cost of recording; 0 leaves it out
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

/// The speed that replays are compared with.
const PLAYED_UNITS_PER_SECOND: f64 = 100.0;

/// Times that a recording is verified; the median counts.
const VERIFIED: usize = 9;

/// Measures and prints. Fails if a recording does not verify.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut table = Table::new([
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
        let folder = game::record(&options.program, seed)?;
        table.row(row(seed, &folder)?);
        std::fs::remove_dir_all(&folder)?;
    }
    println!("{table}");
    if options.rounds > 0 {
        println!("{}", cost::measure(&options.program, options.rounds)?);
    }
    Ok(())
}

fn row(seed: u64, folder: &PathBuf) -> Result<Vec<String>> {
    let files = pieces_in(std::slice::from_ref(folder))?;
    let clock = RealClock::new();
    let mut bytes = 0;
    for file in &files {
        bytes += std::fs::metadata(file)?.len();
    }
    let mut spans = Vec::new();
    let (mut inputs, mut units) = (0, 0.0f64);
    for _ in 0..VERIFIED {
        let began = clock.now();
        let checked = verify_all(&files, &[], || {})?;
        spans.push(clock.now().since(began));
        (inputs, units) = (0, 0.0);
        for one in checked {
            let Outcome::Played { played, end, .. } = one.outcome else {
                anyhow::bail!("{}: {:?}", one.file.display(), one.outcome);
            };
            inputs += played.inputs;
            units = units.max(end.at.as_units_f64());
        }
    }
    spans.sort();
    let verified: RealSpan = spans[VERIFIED / 2];
    let seeks = seeks::measure(folder)?;
    Ok(vec![
        format!("seed {seed}"),
        format!("{units:.0}"),
        inputs.to_string(),
        bytes.to_string(),
        format!("{:.1}", verified.as_millis_f64()),
        format!("{:.0}", units / PLAYED_UNITS_PER_SECOND / verified.as_secs_f64()),
        format!("{:.1}", seeks.opened.as_millis_f64()),
        format!("{:.2}", seeks.samples.quantile_us(0.5) / 1e3),
        format!("{:.2}", seeks.samples.quantile_us(0.99) / 1e3),
        format!("{:.2}", seeks.samples.quantile_us(1.0) / 1e3),
    ])
}
