//! `trantor-bot`: one agent, or a whole team in one process.
//!
//! Exit status: 0 if the server closes the connections, as at the end of a game, and after an interrupt; 1 if there is no
//! server or no place, or the connections break; 84 for invalid options or if output cannot be written.

use std::process::ExitCode;

use trantor_bot::cli::{Options, USAGE};
use trantor_bot::team;
use trantor_cli::{End, Parsed};

fn main() -> ExitCode {
    trantor_cli::end("trantor-bot", USAGE, run())
}

fn run() -> Result<String, End> {
    let options: Options = match trantor_cli::parse(std::env::args_os())? {
        Parsed::Print(text) => return Ok(text),
        Parsed::Run((options, _)) => options,
    };
    options.check()?;
    let level = match options.verbose {
        0 => log::LevelFilter::Warn,
        1 => log::LevelFilter::Info,
        _ => log::LevelFilter::Debug,
    };
    env_logger::Builder::new().filter_level(level).init();
    match team::play(&options) {
        Ok(line) => Ok(format!("trantor-bot: {line}")),
        Err(error) => Err(End::Failed(error.to_string(), 1)),
    }
}
