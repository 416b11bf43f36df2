//! The program's log on standard error, whose filter can be changed while it runs.
//!
//! Logging never waits for the reader of the log; see [`lines`].

mod lines;

use std::io::{self, IsTerminal};
use std::panic;
use std::sync::{Arc, PoisonError, RwLock};

use env_logger::{Target, WriteStyle};
use log::{Log, Metadata, Record};

use self::lines::LogLines;
pub use self::lines::LogThread;
use crate::options::LogFilter;

/// The log of this process; clones are the same log.
#[derive(Clone)]
pub struct Logging {
    logger: Arc<RwLock<env_logger::Logger>>,
    lines: LogLines,
}

impl Logging {
    /// Takes the process's log over. Where there is one already, as in tests, that one stays.
    pub fn install(filter: &LogFilter) -> io::Result<(Self, LogThread)> {
        let (lines, thread) = LogLines::start(io::stderr())?;
        let logging = Self {
            logger: Arc::new(RwLock::new(logger(filter, &lines))),
            lines,
        };
        if log::set_boxed_logger(Box::new(logging.clone())).is_ok() {
            logging.set(filter);
            logging.flush_before_panics();
        }
        Ok((logging, thread))
    }

    pub fn set(&self, filter: &LogFilter) {
        let logger = logger(filter, &self.lines);
        log::set_max_level(logger.filter());
        *self.logger.write().unwrap_or_else(PoisonError::into_inner) = logger;
    }

    /// Writes queued lines before the message of a panic.
    fn flush_before_panics(&self) {
        let (lines, tell) = (self.lines.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panicked| {
            lines.flush();
            tell(panicked);
        }));
    }

    fn with<T>(&self, use_it: impl FnOnce(&env_logger::Logger) -> T) -> T {
        use_it(&self.logger.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Log for Logging {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.with(|logger| logger.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        self.with(|logger| logger.log(record));
    }

    fn flush(&self) {
        self.lines.flush();
    }
}

fn logger(filter: &LogFilter, lines: &LogLines) -> env_logger::Logger {
    let mut builder = env_logger::Builder::new();
    filter.apply(&mut builder);
    builder.format_timestamp_millis();
    builder.target(Target::Pipe(Box::new(lines.sink())));
    builder.write_style(match wants_colours() {
        true => WriteStyle::Always,
        false => WriteStyle::Never,
    });
    builder.build()
}

/// As terminals and people commonly say it: <https://no-color.org>.
fn wants_colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stderr().is_terminal()
        && !is_set("NO_COLOR")
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}
