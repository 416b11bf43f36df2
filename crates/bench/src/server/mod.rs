//! `trantor-bench server`: the server under load, from ten agents to ten thousand.
//!
//! The server is a child of this program and the load generator a part of it, so both share the machine's cores and
//! talk over loopback. Each row is a fresh server on a map with ten tiles for each agent, so that rows differ in the
//! number of agents and in nothing else. Agents join while the game goes at one unit a second; the figures are of a
//! steady stretch afterwards. All rows are measured by turns, several times, and each figure is the median, since a
//! pause of the machine that takes a second would otherwise be the whole truth about one row.
//!
//! Beside four loads [`least`] is measured too, in the same rounds, and what the server takes is held to so many times what that
//! takes: the machine's part is most of what is seen, and differs from one machine and hour to the next.
//!
//! What good looks like is printed below the table: [`goals`] holds each row to what is required of it. The real-time
//! class (`chrt -f 50`) keeps other programs off the cores, as an otherwise idle machine would.

mod goals;
pub(crate) mod least;
mod row;

use std::path::Path;

use anyhow::Result;
use trantor_server::descriptors;
use trantor_time::RealSpan;

use self::row::{Figures, Load};
use crate::child::ServerProgram;
use crate::table::Table;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Seconds measured for each row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(i64).range(1..=600))]
    seconds: i64,
    /// Times that each row is measured; figures are the medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Only loads of at most so many agents
    #[arg(long, value_name = "AGENTS", default_value_t = usize::MAX, hide_default_value = true)]
    up_to: usize,
    /// Only loads at these speeds
    #[arg(long, value_name = "UNITS", value_delimiter = ',')]
    frequencies: Vec<u32>,
    /// One load of so many agents instead of the table's, at the speeds given
    #[arg(long, value_name = "N", requires = "frequencies")]
    agents: Option<usize>,
    /// Run the server with --precise
    #[arg(long)]
    precise: bool,
    /// Commands that agents of that one load keep open
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=10))]
    in_flight: u16,
    /// Viewers that speak text, for that one load
    #[arg(long, value_name = "N", default_value_t = 0)]
    text_viewers: usize,
    /// Viewers of ours, for that one load
    #[arg(long, value_name = "N", default_value_t = 0)]
    frame_viewers: usize,
}

/// What keeping a journal costs a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalCost {
    /// Times that it was written, for each command taken.
    pub(crate) writes_per_command: f64,
    /// The part of the time in which its loop did something, 0 to 1.
    pub(crate) busy_share: f64,
}

/// Measures a steady load, with a journal in `record` if it is given. Answers the processor time of a command, in
/// microseconds, and what the journal cost.
pub(crate) fn journal_cost(
    program: &ServerProgram,
    agents: usize,
    frequency: u32,
    span: RealSpan,
    record: Option<&Path>,
) -> Result<(f64, JournalCost)> {
    let folder = record.map(Path::to_string_lossy);
    let record = folder
        .as_ref()
        .map_or(Vec::new(), |folder| vec!["--record", folder]);
    let figures = row::measure(program, Load::spread(agents, frequency), span, &record)?;
    Ok((figures.us_per_command, figures.journal))
}

/// The loads of the table: agents, units a second, whether all begin at one instant, commands in flight.
const LOADS: [Load; 16] = [
    Load::spread(10, 100),
    Load::spread(100, 100),
    Load::spread(1_000, 100),
    Load::spread(2_000, 100),
    Load::spread(5_000, 100),
    // Both cores are full here, and what goes there and back takes longer than a step now and then: with two commands open an
    // agent would have none left meanwhile, which is not the server's doing.
    Load::with_all_open(10_000, 100),
    Load::spread(100, 1_000),
    Load::spread(1_000, 1_000),
    // A step takes 0.7 ms here, so that a pause of 1.4 ms leaves agents with two commands open without any, and all that
    // have none begin again together. With ten it takes 7 ms.
    Load::spread(100, 10_000),
    Load::with_all_open(100, 10_000),
    Load::spread(1_000, 10_000),
    Load::in_step(100, 100),
    Load::in_step(1_000, 100),
    Load::in_step(5_000, 100),
    Load {
        text_viewers: 1_000,
        ..Load::spread(100, 100)
    },
    Load {
        frame_viewers: 1_000,
        ..Load::spread(100, 100)
    },
];

/// Beside these the least program is measured.
const LEAST_LOADS: [Load; 4] = [
    Load::spread(100, 100),
    Load::spread(1_000, 100),
    Load::spread(2_000, 100),
    Load::spread(100, 1_000),
];

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    descriptors::raise_limit();
    let span = RealSpan::from_secs(options.seconds);
    let mut table = Table::new([
        "agents",
        "units/s",
        "commands/s",
        "achieved/ideal",
        "slowed, %",
        "late p50, µs",
        "p99, µs",
        "p99.9, µs",
        "% of a core",
        "µs per command",
        "µs of that outside the system",
        "switches per command",
        "KiB per agent",
        "MB in all",
        "generator, % of a core",
    ]);
    let more: &[&str] = if options.precise { &["--precise"] } else { &[] };
    let loads = options.loads();
    let mut rounds = vec![Vec::new(); loads.len()];
    let of_least = |load: &&Load| LEAST_LOADS.contains(load);
    let mut beside_least: Vec<_> = loads
        .iter()
        .filter(of_least)
        .map(|load| (*load, Vec::new()))
        .collect();
    for round in 1..=options.rounds {
        for (load, found) in loads.iter().zip(&mut rounds) {
            let figures = row::measure(&options.program, *load, span, more)?;
            let (name, speed) = (load.name(), load.frequency);
            eprintln!(
                "{round}: {name} at {speed}: {:.0} commands/s",
                figures.commands_per_s
            );
            if let Some((_, pairs)) = beside_least.iter_mut().find(|(beside, _)| beside == load) {
                pairs.push(least::Pair {
                    least: least::measure(*load, span)?,
                    server: figures.seen(),
                });
            }
            found.push(figures);
        }
    }
    for found in &rounds {
        table.row(Figures::median(found).cells());
    }
    println!("{table}");
    if !beside_least.is_empty() {
        println!("{}", least::compare(&beside_least));
    }
    if options.agents.is_none() {
        println!("{}", goals::compare(&rounds));
    }
    Ok(())
}

impl Options {
    fn loads(&self) -> Vec<Load> {
        if let Some(agents) = self.agents {
            let load = |&frequency: &u32| Load {
                in_flight: usize::from(self.in_flight),
                text_viewers: self.text_viewers,
                frame_viewers: self.frame_viewers,
                ..Load::spread(agents, frequency)
            };
            return self.frequencies.iter().map(load).collect();
        }
        let is_wanted = |load: &&Load| {
            load.agents <= self.up_to
                && (self.frequencies.is_empty() || self.frequencies.contains(&load.frequency))
        };
        LOADS.iter().filter(is_wanted).copied().collect()
    }
}

/// A figure of [`Figures`] that goals are about.
type Figure = fn(&Figures) -> f64;
