//! The project's tasks as one program: run and demo, ci and tidy, python, dist, sim, fuzz, kills, bench, soak.
//!
//! `cargo xtask` is an alias of `.cargo/config.toml`. What CI runs, anyone can run: `cargo xtask ci` is that list.
//! Nothing of the product lives here.

mod ci;
mod demo;
mod dist;
mod process;
mod python;
mod run;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's tasks", version)]
enum Task {
    /// Server, a team of bots against two of scripts, and the viewer; without a display, the same match and a picture
    Demo(demo::Options),
    /// Everything CI checks, cheap things first; this is the command that passes the tests
    Ci(ci::Options),
    /// Build and run the server with these flags
    RunServer(run::Arguments),
    /// Build and run the viewer with these flags
    RunViewer(run::Arguments),
    /// Build and run a bot with these flags
    RunBot(run::Arguments),
    /// Build the Python package into a virtual environment, and run its tests
    Python(python::Options),
    /// Gather what is installed: programs, manual pages, completions, units of systemd
    Dist(dist::Options),
    /// Arrows between crates, module heads, limits, promises: what no compiler checks
    Tidy,
    /// Run the whole system on simulated networks: --seed 0x…, or --seeds N or --minutes N from --base 0x…
    Sim(run::Arguments),
    /// Hostile bytes for everything that reads bytes from outside: --minutes N for each target, --targets NAME…, --seed N
    Fuzz(run::Arguments),
    /// Kill a server at random instants and look at what is left: --times N, --seed N
    Kills(run::Arguments),
    /// Measure, and print the tables that docs/benchmarks.md quotes
    Bench(run::BenchOptions),
    /// Keep one server busy for --minutes N, with crowds, abuse and trouble, and look what is left of it
    Soak(run::Arguments),
}

fn main() -> Result<ExitCode> {
    match Task::parse() {
        Task::Demo(options) => demo::run(&options),
        Task::Ci(options) => ci::run(&options).map(|()| ExitCode::SUCCESS),
        Task::RunServer(arguments) => run::program("trantor-server", &arguments),
        Task::RunViewer(arguments) => run::program("trantor-viewer", &arguments),
        Task::RunBot(arguments) => run::program("trantor-bot", &arguments),
        Task::Python(options) => python::run(&options).map(|()| ExitCode::SUCCESS),
        Task::Dist(options) => dist::run(&options).map(|()| ExitCode::SUCCESS),
        Task::Tidy => tidy::run().map(|()| ExitCode::SUCCESS),
        Task::Sim(options) => run::sim(&options),
        Task::Fuzz(options) => run::fuzz(&options),
        Task::Kills(options) => run::kills(&options),
        Task::Bench(options) => run::bench(&options),
        Task::Soak(options) => run::measure("soak", &options),
    }
}
