//! Measures the programs against the real clock, and prints the tables of `docs/benchmarks.md`.
//!
//! A tool for those who develop Trantor; nothing that ships depends on it. Each subcommand says in its module what
//! its figures stand for and what good looks like.

mod accuracy;
mod child;
mod idle;
mod samples;
mod server;
mod table;
mod wake;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "trantor-bench",
    version,
    about = "Measures Trantor against the real clock."
)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Compares replies, chains and spans with the real clock
    Accuracy(accuracy::Options),
    /// Watches an idle server
    Idle(idle::Options),
    /// Loads a server with agents, from a few to thousands
    Server(server::Options),
    /// Compares ways of waiting for a deadline
    Wake(wake::Options),
}

fn main() -> ExitCode {
    let measured = match Arguments::parse().what {
        What::Accuracy(options) => accuracy::run(&options),
        What::Idle(options) => idle::run(&options),
        What::Server(options) => server::run(&options),
        What::Wake(options) => wake::run(&options),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trantor-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
