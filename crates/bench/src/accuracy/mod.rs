//! `trantor-bench accuracy`: the server's timing against the real clock, as a client sees it over loopback.
//!
//! - *Completions*: agents that always have commands waiting; how late each reply is after its ideal instant, counted
//!   from the moment the agent sent its first command. Beside it, how late the server says that its deadlines fired.
//!   Good: p99 under 1 ms at any frequency, and none early.
//! - *Stops*: the same with one and two commands in flight, while the process is stopped for 20 ms now and then. Good: no
//!   reply before its 7 units have passed since its command was sent.
//! - *Chain*: a thousand commands back to back at a frequency that divides nothing evenly. Good: the end is within
//!   1 ms of the ideal, because lateness does not add up.
//! - *Speed set again*: a Fork during which the same speed is set every millisecond. Good: it takes as long as ever.

mod completions;
mod spans;

use anyhow::Result;

use crate::child::ServerProgram;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: ServerProgram,
    /// Frequencies for the completions
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    frequencies: Vec<u32>,
    /// Agents at one time
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    agents: u32,
    /// Completions to measure for each frequency
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    completions: u32,
    /// Commands in the chain
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    chain: u32,
    /// Completions to measure for each frequency while the server's process is stopped now and then; 0 leaves that out
    #[arg(long, default_value_t = 10_000)]
    stopped: u32,
}

/// Measures and prints.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("{}", completions::measure(options)?);
    if options.stopped > 0 {
        println!("{}", completions::measure_stopped(options)?);
    }
    println!("{}", spans::measure(options)?);
    Ok(())
}
