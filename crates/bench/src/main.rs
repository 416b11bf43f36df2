//! Measures the programs in real time and prints the tables of `docs/benchmarks.md`; also crash and soak tests.
//!
//! A development tool; nothing that ships depends on it. The module of each subcommand explains its figures and targets.
//! [`process`] starts and observes programs, [`load`] measures them under load, [`figures`] prints.

mod abuse;
mod figures;
mod kills;
mod load;
mod minds;
mod process;
mod soak;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
#[command(
    name = "trantor-bench",
    version,
    about = "Measures Trantor against the real clock."
)]
enum What {
    /// Measures honest agents beside abusive clients
    Abuse(abuse::Options),
    /// The abusive clients
    #[command(hide = true)]
    Abusers(abuse::abusers::Options),
    /// Kills a server at random instants and checks its files
    Kills(kills::Options),
    /// Measures thousands of minds at a rate of their own, while viewers watch
    Minds(minds::Options),
    /// Runs one server under load and faults for a long time and checks for leaks
    Soak(soak::Options),
}

fn main() -> Result<()> {
    match What::parse() {
        What::Abuse(options) => abuse::run(&options),
        What::Abusers(options) => abuse::abusers::run(&options),
        What::Kills(options) => kills::run(&options),
        What::Minds(options) => minds::run(&options),
        What::Soak(options) => soak::run(&options),
    }
}
