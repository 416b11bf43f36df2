//! The viewer's program: reads options, runs, ends with a status that scripts can use.

use std::io::Write as _;
use std::process::ExitCode;

use trantor_runtime::real_clock::RealClock;
use trantor_viewer::options::{self, Asked, EXIT_STATUS_REFUSED};

fn main() -> ExitCode {
    // The clock counts from its first reading: from here, so that it tells how long the first frame took.
    RealClock::new();
    trantor_viewer::logging::start();
    let said = match options::parse(std::env::args_os()) {
        Ok(Asked::Run(cli)) => match trantor_viewer::run(&cli) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => format!("{error:#}"),
        },
        Ok(Asked::Print(text)) => {
            // Nobody is left to be told that the reader of the help is gone.
            let _ = write!(std::io::stdout(), "{text}");
            return ExitCode::SUCCESS;
        }
        Err(mistake) => mistake,
    };
    let _ = writeln!(std::io::stderr(), "trantor-viewer: {said}");
    ExitCode::from(EXIT_STATUS_REFUSED)
}
