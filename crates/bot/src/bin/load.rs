//! `trantor-load`: load generator for Zappy servers; measures the lateness of answers.
//!
//! Exit status: 0 after a measurement, 1 if it failed or nothing was answered, 2 if all agents were lost before its end, 84
//! for invalid options or if the report cannot be written.

use std::path::Path;
use std::process::ExitCode;

use trantor_bot::cli::EXIT_STATUS_USAGE;
use trantor_bot::load::cli::{self, Asked, Options};
use trantor_bot::load::report::AGENTS_LOST;
use trantor_bot::load::{self, Report};
use trantor_runtime::{standard_error, standard_output};

/// Exit status of a load that lost all agents before the end of the measurement.
const EXIT_STATUS_AGENTS_LOST: u8 = 2;

fn main() -> ExitCode {
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Warn)
        .init();
    let options = match cli::parse(std::env::args_os()) {
        Ok(Asked::Load(options)) => options,
        Ok(Asked::Print(text)) => return ended(standard_output::print(text.trim_end())),
        Err(line) => return refuse(&line, EXIT_STATUS_USAGE),
    };
    match measure(&options) {
        Ok(report) => match print(&report, &options) {
            Ok(()) if report.has_lost_all_agents() => refuse(AGENTS_LOST, EXIT_STATUS_AGENTS_LOST),
            printed => ended(printed),
        },
        Err(line) => refuse(&line, 1),
    }
}

fn measure(options: &Options) -> Result<Report, String> {
    load::run(options).map_err(|error| error.to_string())
}

/// # Errors
/// One line if the report cannot be written.
fn print(report: &Report, options: &Options) -> Result<(), String> {
    let json = options.json.as_deref();
    if json == Some(Path::new("-")) {
        return standard_output::print(&as_json(report));
    }
    let printed = standard_output::print(report.to_string().trim_end());
    if let Some(path) = json {
        std::fs::write(path, as_json(report) + "\n")
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    printed
}

fn as_json(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("a report holds numbers and words only")
}

fn ended(printed: Result<(), String>) -> ExitCode {
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => refuse(&line, EXIT_STATUS_USAGE),
    }
}

fn refuse(line: &str, status: u8) -> ExitCode {
    standard_error::say(format_args!("trantor-load: {line}"));
    ExitCode::from(status)
}
