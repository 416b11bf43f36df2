//! Measures the programs in real time and prints the tables of `docs/benchmarks.md`; also crash and soak tests.
//!
//! A development tool; nothing that ships depends on it. The module of each subcommand explains its figures and targets.
//! [`process`] starts and observes programs, [`load`] measures them under load, [`figures`] prints.

mod abuse;
mod accuracy;
mod figures;
mod idle;
mod kills;
mod load;
mod lock_step;
mod minds;
mod process;
mod replay;
mod server;
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
    /// Compares replies, chains and spans with the real clock
    Accuracy(accuracy::Options),
    /// Watches an idle server
    Idle(idle::Options),
    /// Kills a server at random instants and checks its files
    Kills(kills::Options),
    /// Measures a server in lock-step with agents in processes of their own
    LockStep(lock_step::Options),
    /// Measures thousands of minds at a rate of their own, while viewers watch
    Minds(minds::Options),
    /// Measures recordings of real matches and the cost of recording
    Replay(replay::Options),
    /// Loads a server with agents, from a few to thousands
    Server(server::Options),
    /// Runs one server under load and faults for a long time and checks for leaks
    Soak(soak::Options),
}

fn main() -> Result<()> {
    match What::parse() {
        What::Abuse(options) => abuse::run(&options),
        What::Abusers(options) => abuse::abusers::run(&options),
        What::Accuracy(options) => accuracy::run(&options),
        What::Idle(options) => idle::run(&options),
        What::Kills(options) => kills::run(&options),
        What::LockStep(options) => lock_step::run(&options),
        What::Minds(options) => minds::run(&options),
        What::Replay(options) => replay::run(&options),
        What::Server(options) => server::run(&options),
        What::Soak(options) => soak::run(&options),
    }
}
