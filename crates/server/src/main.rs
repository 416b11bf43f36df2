//! `trantor-server`: reads the options, starts the loop, and runs it until a signal ends it.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use trantor_runtime::{standard_error, standard_output};
use trantor_server::cli::{self, Invocation, Stop};
use trantor_server::console::input::{self, ConsoleThread};
use trantor_server::event_loop::{EndReason, EventLoop};
use trantor_server::export::Exporter;
use trantor_server::headless::{self, SimError};
use trantor_server::logging::Logging;
use trantor_server::options::settings::Resolved;
use trantor_server::options::{ConsoleInput, EXIT_STATUS_REFUSED, OptionError, Options, PROGRAM};
use trantor_server::reload::Reload;
use trantor_server::scripts::Scripts;
use trantor_server::service_manager::ServiceManager;
use trantor_server::{console, replay, start};

fn main() -> ExitCode {
    // Anywhere else the word may be a team's name.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == headless::WORD)
    {
        return match headless::simulate(std::env::args_os().skip(1)) {
            Ok(text) => print(&text),
            Err(SimError::Refused(error)) => refuse(error),
            Err(different @ SimError::Different(_)) => {
                standard_error::say(format_args!("{different}"));
                ExitCode::FAILURE
            }
        };
    }
    match cli::parse(std::env::args_os(), std::env::vars_os()) {
        Ok(Invocation::Run(resolved)) => {
            let options = resolved.options.clone();
            run(&options, Some(*resolved), start::start).unwrap_or_else(refuse)
        }
        Ok(Invocation::Play(asked)) => {
            run(&asked.options, None, |_| start::play(&asked)).unwrap_or_else(refuse)
        }
        Ok(Invocation::CheckConfig(files)) => check_config(&files),
        Ok(Invocation::Types) => print_or_refuse(Scripts::definitions()),
        Ok(Invocation::Console(asked)) => match console::remote::run(&asked) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => refuse(error),
        },
        Ok(Invocation::Replay(asked)) => replay::run(&asked),
        Ok(Invocation::Print(text)) => print(&text),
        Err(mistake) => cli::refuse(std::env::args_os(), mistake),
    }
}

/// Runs a server with `options`; `resolved` if they can be read again while it runs.
fn run(
    options: &Options,
    resolved: Option<Resolved>,
    start: impl FnOnce(&Options) -> anyhow::Result<(EventLoop, String)>,
) -> anyhow::Result<ExitCode> {
    // Ended last, so that all that is logged on the way out is seen.
    let (logging, _log_thread) = Logging::install(&options.log)?;
    let (mut event_loop, line) = start(options)?;
    event_loop.end_at_signals()?;
    // Where there is a terminal, its end hangs the program up; elsewhere the signal is an operator's.
    if let Some(running) = resolved.filter(|_| !io::stdin().is_terminal()) {
        event_loop.reload_at_hang_up(Reload::new(running, logging, Box::new(resolve_again)));
    }
    // Before the line that it listens: a script may rely on all of it then.
    let metrics = &options.metrics;
    if let Some(level) = metrics.log.to_level() {
        event_loop.log_metrics(level, metrics.every);
    }
    let hosts = metrics.hosts.clone().unwrap_or_default();
    let export = |address| Exporter::start(address, hosts, event_loop.tasks());
    let exporter = metrics.address.map(export).transpose()?;
    event_loop.serve(ServiceManager::from_environment(), &line);
    tell(&format!("{PROGRAM}: {line}"));
    let mut console = None;
    if input::is_wanted(options.console, !options.auto_start) {
        let at_end = (options.console == ConsoleInput::UntilEnd).then(|| event_loop.stop_signal());
        console = Some(ConsoleThread::start(event_loop.tasks(), at_end)?);
        log::info!("the console is open; help lists its commands");
    }
    if let Some(exporter) = &exporter {
        tell(&format!(
            "{PROGRAM}: metrics on http://{}/metrics",
            exporter.address()
        ));
    }

    let ended = event_loop.run();
    // A console that was left behind is blocked in a write and holds standard output.
    match console.is_none_or(ConsoleThread::end) {
        true => tell(&format!("{PROGRAM}: {ended}")),
        false => log::info!("{ended}"),
    }
    Ok(match ended.why {
        EndReason::Failed(fault) => {
            log::logger().flush();
            standard_error::say(format_args!("{PROGRAM}: {fault}"));
            ExitCode::FAILURE
        }
        EndReason::Stopped | EndReason::StopLimit => ExitCode::SUCCESS,
    })
}

/// Reads the options that the program was started with again.
fn resolve_again() -> Result<Resolved, OptionError> {
    cli::resolve(std::env::args_os(), std::env::vars_os()).map_err(|stop| match stop {
        Stop::Refused(error) => error,
        Stop::Print(_) => unreachable!("a command line that asks for help starts no server"),
    })
}

fn check_config(files: &[PathBuf]) -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for file in files {
        let mistakes = cli::check_config(file);
        if mistakes.is_empty() && print(&format!("{}: ok", file.display())) != ExitCode::SUCCESS {
            status = ExitCode::from(EXIT_STATUS_REFUSED);
        }
        for mistake in mistakes {
            status = refuse(mistake);
        }
    }
    status
}

fn refuse(error: impl std::fmt::Display) -> ExitCode {
    log::logger().flush();
    standard_error::say(format_args!("{PROGRAM}: {error}"));
    ExitCode::from(EXIT_STATUS_REFUSED)
}

fn print_or_refuse(result: Result<String, impl std::fmt::Display>) -> ExitCode {
    match result {
        Ok(text) => print(&text),
        Err(error) => refuse(error),
    }
}

/// Prints the result of a command.
fn print(text: &str) -> ExitCode {
    match standard_output::print(text.trim_end()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(error),
    }
}

/// Prints a line of a running server, for people and for scripts that wait for it. It goes on without a reader.
fn tell(line: &str) {
    let mut out = io::stdout().lock();
    let _nobody_listens = writeln!(out, "{line}").and_then(|()| out.flush());
}
