//! The viewer's program: reads options, runs, ends with a status that scripts can use.

use std::io::Write as _;
use std::process::ExitCode;

use trantor_runtime::real_clock::RealClock;
use trantor_runtime::standard_output;
use trantor_viewer::options::{self, Asked, EXIT_STATUS_REFUSED};

fn main() -> ExitCode {
    // The clock counts from its first reading: from here, so that it shows how long the first frame took.
    RealClock::new();
    trantor_viewer::logging::start();
    let said = match options::parse(std::env::args_os()) {
        Ok(Asked::Run(cli)) => match trantor_viewer::run(&cli) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => format!("{error:#}"),
        },
        Ok(Asked::Print(text)) => match standard_output::print(text.trim_end()) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(line) => line,
        },
        Err(mistake) => mistake,
    };
    let _ = writeln!(std::io::stderr(), "trantor-viewer: {said}");
    ExitCode::from(EXIT_STATUS_REFUSED)
}
