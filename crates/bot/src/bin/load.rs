//! `trantor-load`: load generator for Zappy servers; measures the lateness of answers.
//!
//! Exit status: 0 after a measurement, 1 if it failed or nothing was answered, 2 if all agents were lost before its end, 3 if
//! a figure does not meet a `--require` option, 84 for invalid options or if the report cannot be written.

use std::path::Path;
use std::process::ExitCode;

use trantor_bot::cli::{self, EXIT_STATUS_USAGE, Parsed};
use trantor_bot::load::cli::Options;
use trantor_bot::load::report::AGENTS_LOST;
use trantor_bot::load::{self, Report};
use trantor_runtime::files::check_overwrite;
use trantor_runtime::standard_output;

/// Exit status of a load that lost all agents before the end of the measurement.
const EXIT_STATUS_AGENTS_LOST: u8 = 2;

/// Exit status of a measurement with a figure beyond what a `--require` option allows.
const EXIT_STATUS_UNMET: u8 = 3;

fn main() -> ExitCode {
    cli::end("trantor-load", run())
}

fn run() -> Result<String, (String, u8)> {
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Warn)
        .init();
    let usage = |line| (line, EXIT_STATUS_USAGE);
    let options: Options = match cli::parse(std::env::args_os()).map_err(usage)? {
        Parsed::Print(text) => return Ok(text),
        Parsed::Run(options) => options,
    };
    if let Some(path) = options.json.as_deref() {
        check_overwrite(path, "a report", &[b"{"]).map_err(|error| {
            (
                format!("cannot write {}: {error}", path.display()),
                EXIT_STATUS_USAGE,
            )
        })?;
    }
    let report = load::run(&options).map_err(|error| (error.to_string(), 1))?;
    print(&report, options.json.as_deref()).map_err(usage)?;
    let unmet = report.unmet_requirements(&options);
    match report.has_lost_all_agents() {
        true => Err((AGENTS_LOST.to_owned(), EXIT_STATUS_AGENTS_LOST)),
        false if !unmet.is_empty() => Err((unmet.join("; "), EXIT_STATUS_UNMET)),
        false => Ok(String::new()),
    }
}

/// # Errors
/// One line if the report cannot be written.
fn print(report: &Report, json: Option<&Path>) -> Result<(), String> {
    let as_json = || serde_json::to_string_pretty(report).expect("a report holds numbers and words only");
    if json == Some(Path::new("-")) {
        return standard_output::print(&as_json());
    }
    let printed = standard_output::print(report.to_string().trim_end());
    if let Some(path) = json {
        std::fs::write(path, as_json() + "\n")
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    printed
}
