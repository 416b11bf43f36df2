//! `trantor-bot`: one agent, or a whole team in one process.
//!
//! Exit status: 0 if the server closes the connections, as at the end of a game, and after an interrupt; 1 if there is no
//! server or no place, or the connections break; 84 for invalid options or if output cannot be written.

use std::process::ExitCode;

use trantor_bot::cli::{self, EXIT_STATUS_USAGE, Options, Parsed};
use trantor_bot::team;

fn main() -> ExitCode {
    cli::end("trantor-bot", run())
}

fn run() -> Result<String, (String, u8)> {
    let usage = |line| (line, EXIT_STATUS_USAGE);
    let options: Options = match cli::parse(std::env::args_os()).map_err(usage)? {
        Parsed::Print(text) => return Ok(text),
        Parsed::Run(options) => options,
    };
    options.check().map_err(usage)?;
    let level = match options.verbose {
        0 => log::LevelFilter::Warn,
        1 => log::LevelFilter::Info,
        _ => log::LevelFilter::Debug,
    };
    env_logger::Builder::new().filter_level(level).init();
    match team::play(&options) {
        Ok(line) => Ok(format!("trantor-bot: {line}")),
        Err(error) => Err((error.to_string(), 1)),
    }
}
