//! The program's log on standard error, whose filter can be changed while it runs.

use std::sync::{Arc, PoisonError, RwLock};

use log::{Log, Metadata, Record};

use crate::options::LogFilter;

/// The log of this process; clones are the same log.
#[derive(Clone)]
pub struct Logging(Arc<RwLock<env_logger::Logger>>);

impl Logging {
    /// Takes the process's log over. Where there is one already, as in tests, that one stays.
    pub fn install(filter: &LogFilter) -> Self {
        let logging = Self(Arc::new(RwLock::new(logger(filter))));
        if log::set_boxed_logger(Box::new(logging.clone())).is_ok() {
            logging.set(filter);
        }
        logging
    }

    /// Lets other lines through from now on.
    pub fn set(&self, filter: &LogFilter) {
        let logger = logger(filter);
        log::set_max_level(logger.filter());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = logger;
    }

    fn with<T>(&self, use_it: impl FnOnce(&env_logger::Logger) -> T) -> T {
        use_it(&self.0.read().unwrap_or_else(PoisonError::into_inner))
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
        self.with(Log::flush);
    }
}

fn logger(filter: &LogFilter) -> env_logger::Logger {
    let mut builder = env_logger::Builder::new();
    filter.apply(&mut builder);
    builder.format_timestamp_millis();
    builder.build()
}
