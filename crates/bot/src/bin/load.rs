//! `trantor-load`: load generator for Zappy servers; measures the lateness of answers.
//!
//! Exit status: 0 after a measurement, 1 if it failed or nothing was answered, 2 if all agents were lost before its end, 3 if
//! a figure does not meet a `--require` option, 84 for invalid options or if the report cannot be written.

use std::path::Path;
use std::process::ExitCode;

use trantor_bot::load::cli::{Options, USAGE};
use trantor_bot::load::report::AGENTS_LOST;
use trantor_bot::load::{self, Report};
use trantor_cli::{EXIT_STATUS_REFUSED, End, Parsed, check_writable};
use trantor_runtime::files::check_overwrite;
use trantor_runtime::standard_output;

/// Exit status of a load that lost all agents before the end of the measurement.
const EXIT_STATUS_AGENTS_LOST: u8 = 2;

/// Exit status of a measurement with a figure beyond what a `--require` option allows.
const EXIT_STATUS_UNMET: u8 = 3;

fn main() -> ExitCode {
    trantor_cli::end("trantor-load", USAGE, run())
}

fn run() -> Result<String, End> {
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Warn)
        .init();
    let options: Options = match trantor_cli::parse(std::env::args_os())? {
        Parsed::Print(text) => return Ok(text),
        Parsed::Run((options, _)) => options,
    };
    let cannot_write = |line| End::Failed(line, EXIT_STATUS_REFUSED);
    let json = options.json.as_deref();
    if let Some(file) = json.filter(|file| *file != Path::new("-")) {
        check_writable(file).map_err(cannot_write)?;
        check_overwrite(file, "a report", &[b"{"])
            .map_err(|error| cannot_write(format!("cannot write {}: {error}", file.display())))?;
    }
    let report = load::run(&options).map_err(|error| End::Failed(error.to_string(), 1))?;
    print(&report, json).map_err(cannot_write)?;
    let unmet = report.unmet_requirements(&options);
    match report.has_lost_all_agents() {
        true => Err(End::Failed(AGENTS_LOST.to_owned(), EXIT_STATUS_AGENTS_LOST)),
        false if !unmet.is_empty() => Err(End::Failed(unmet.join("; "), EXIT_STATUS_UNMET)),
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
