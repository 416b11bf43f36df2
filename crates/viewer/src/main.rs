//! The viewer's program: reads options, runs, ends with a status that scripts can use.

use std::process::ExitCode;

use trantor_cli::{EXIT_STATUS_REFUSED, End};
use trantor_runtime::real_clock::RealClock;
use trantor_viewer::options::{self, Invocation, USAGE};

fn main() -> ExitCode {
    // The clock counts from its first reading: from here, so that it shows how long the first frame took.
    RealClock::new();
    trantor_viewer::logging::start();
    trantor_cli::end("trantor-viewer", USAGE, run())
}

fn run() -> Result<String, End> {
    match options::parse(std::env::args_os())? {
        Invocation::Print(text) => Ok(text),
        Invocation::Run(cli) => {
            if !cli.text {
                silence_drivers();
            }
            let failed = |error: anyhow::Error| End::Failed(format!("{error:#}"), EXIT_STATUS_REFUSED);
            trantor_viewer::run(&cli).map(|()| String::new()).map_err(failed)
        }
    }
}

/// Starts this program again with a layer of Mesa's Vulkan drivers switched off where that has nothing to do.
///
/// The layer asks a Wayland display which graphics card is its own. Without `XDG_RUNTIME_DIR` there is no such display, and
/// its library says so on standard error, twice at each start. Only a variable switches the layer off, and only a new start
/// may set one: other threads could be reading them.
#[cfg(target_os = "linux")]
fn silence_drivers() {
    use std::os::unix::process::CommandExt as _;

    const SWITCH: &str = "NODEVICE_SELECT";
    let is_set = |name| std::env::var_os(name).is_some();
    if is_set("XDG_RUNTIME_DIR") || is_set(SWITCH) {
        return;
    }
    let mut arguments = std::env::args_os();
    if let (Ok(program), Some(name)) = (std::env::current_exe(), arguments.next()) {
        let again = std::process::Command::new(program)
            .arg0(name)
            .args(arguments)
            .env(SWITCH, "1")
            .exec();
        log::debug!("the program cannot be started again: {again}");
    }
}

#[cfg(not(target_os = "linux"))]
fn silence_drivers() {}
