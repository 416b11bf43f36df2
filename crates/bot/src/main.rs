//! `trantor-bot`: one agent, or a whole team in one process.
//!
//! Exit status: 0 if the server closes the connections, as at the end of a game, and after an interrupt; 1 if there is no
//! server or no place, or the connections break; 84 for invalid options or if output cannot be written.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::process::ExitCode;

use trantor_bot::cli::{self, Asked, EXIT_STATUS_USAGE, Options};
use trantor_bot::team::{Ended, Team, TeamConfig};
use trantor_runtime::{standard_error, standard_output};
use trantor_strategy::agents_at_most;
use trantor_time::RealSpan;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok(Asked::Print(text)) => print(text.trim_end()),
        Ok(Asked::Play(options)) => match play(&options) {
            Ok(line) => print(&format!("trantor-bot: {line}")),
            Err(line) => refuse(&line, 1),
        },
        Err(line) => refuse(&line, EXIT_STATUS_USAGE),
    }
}

/// Plays to the end; returns a summary line or an error line.
fn play(options: &Options) -> Result<String, String> {
    let level = match options.verbose {
        0 => log::LevelFilter::Warn,
        1 => log::LevelFilter::Info,
        _ => log::LevelFilter::Debug,
    };
    env_logger::Builder::new().filter_level(level).init();
    let size = usize::from(options.team_size);
    let config = TeamConfig {
        server: cli::resolve(&options.host, options.port)?,
        team: options.name.clone(),
        dialect: options.dialect.into(),
        size,
        size_max: options.team_size_max.map_or(agents_at_most(size), usize::from),
        in_flight: usize::from(options.in_flight),
        patience: RealSpan::from_secs(i64::from(options.patience)),
        seed: options.seed.unwrap_or_else(any_number),
    };
    log::info!("seed {}", config.seed);
    let mut team = Team::new(config).map_err(|error| error.to_string())?;
    match team.play() {
        Ok(Ended::Closed) => Ok(format!(
            "team {}: the server closed the connections",
            options.name
        )),
        Ok(Ended::Interrupted) => Ok(format!(
            "team {}: interrupted; the agents' levels were {:?}",
            options.name,
            team.levels()
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// A random number, from the seed of the standard library's hash tables.
fn any_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn print(text: &str) -> ExitCode {
    match standard_output::print(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => refuse(&line, EXIT_STATUS_USAGE),
    }
}

fn refuse(line: &str, status: u8) -> ExitCode {
    standard_error::say(format_args!("trantor-bot: {line}"));
    ExitCode::from(status)
}
