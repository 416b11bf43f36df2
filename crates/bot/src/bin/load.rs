//! `trantor-load`: load on a Zappy server, and how late its answers are.
//!
//! Exit status: 0 if it was measured, 1 if it could not be, 84 for a mistake in the options.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use trantor_bot::cli::EXIT_STATUS_USAGE;
use trantor_bot::load::cli::{self, Asked, Options};
use trantor_bot::load::{self, Report};

fn main() -> ExitCode {
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Warn)
        .init();
    let options = match cli::parse(std::env::args_os()) {
        Ok(Asked::Load(options)) => options,
        Ok(Asked::Print(text)) => {
            tell(text.trim_end());
            return ExitCode::SUCCESS;
        }
        Err(line) => return refuse(&line, EXIT_STATUS_USAGE),
    };
    match measure(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => refuse(&line, 1),
    }
}

fn measure(options: &Options) -> Result<(), String> {
    let report = load::run(&options.config()?).map_err(|error| error.to_string())?;
    match options.json.as_deref() {
        None => tell(report.to_string().trim_end()),
        Some(path) if path == Path::new("-") => tell(&as_json(&report)),
        Some(path) => {
            tell(report.to_string().trim_end());
            std::fs::write(path, as_json(&report) + "\n")
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn as_json(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("a report holds numbers and words only")
}

/// Prints a line; a reader that has gone is no reason to fail.
fn tell(line: &str) {
    // Nobody reads it any more: then nobody misses it.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn refuse(line: &str, status: u8) -> ExitCode {
    eprintln!("trantor-load: {line}");
    ExitCode::from(status)
}
