//! Which log lines are wanted: a level for all, and levels by module.

use std::fmt;
use std::str::FromStr;

use log::LevelFilter;

/// A level for everything, and exceptions by module; written `info` or `warn,trantor_engine=trace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter {
    everything: LevelFilter,
    modules: Vec<(String, LevelFilter)>,
}

impl LogFilter {
    /// Lines of every module from `level` up.
    pub fn everything(level: LevelFilter) -> Self {
        Self {
            everything: level,
            modules: Vec::new(),
        }
    }

    /// The same exceptions, with at least `level` for everything else.
    pub fn at_least(mut self, level: LevelFilter) -> Self {
        self.everything = self.everything.max(level);
        self
    }

    /// Hands the filter to the logger being built.
    pub fn apply(&self, builder: &mut env_logger::Builder) {
        builder.filter_level(self.everything);
        for (module, level) in &self.modules {
            builder.filter_module(module, *level);
        }
    }
}

/// As it is written.
impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |level: LevelFilter| level.as_str().to_lowercase();
        f.write_str(&name(self.everything))?;
        self.modules
            .iter()
            .try_for_each(|(module, level)| write!(f, ",{module}={}", name(*level)))
    }
}

/// The filter could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a list of levels")]
pub struct LogFilterError;

impl FromStr for LogFilter {
    type Err = LogFilterError;

    fn from_str(written: &str) -> Result<Self, LogFilterError> {
        let mut everything = None;
        let mut modules = Vec::new();
        for part in written.split(',') {
            match part.split_once('=') {
                Some((module, level)) if is_module_path(module) => {
                    modules.push((module.to_owned(), level.parse().map_err(|_| LogFilterError)?));
                }
                Some(_) => return Err(LogFilterError),
                // Two levels for everything contradict each other; one of them is a mistake.
                None if everything.is_some() => return Err(LogFilterError),
                None => everything = Some(part.parse().map_err(|_| LogFilterError)?),
            }
        }
        Ok(Self {
            everything: everything.unwrap_or(LevelFilter::Info),
            modules,
        })
    }
}

fn is_module_path(path: &str) -> bool {
    !path.is_empty()
        && path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
}
