//! Which log lines are wanted: a level for all, and levels by module.

use std::fmt;

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

    pub fn read(written: &str) -> Option<Self> {
        let (mut everything, mut modules) = (None, Vec::new());
        for part in written.split(',') {
            match part.split_once('=') {
                Some((module, level)) if is_module_path(module) => {
                    modules.push((module.to_owned(), level.parse().ok()?));
                }
                // Two levels for everything contradict each other.
                None if everything.is_none() => everything = Some(part.parse().ok()?),
                _ => return None,
            }
        }
        let everything = everything.unwrap_or(LevelFilter::Info);
        Some(Self { everything, modules })
    }

    /// The same exceptions, with at least `level` for everything else.
    pub fn at_least(mut self, level: LevelFilter) -> Self {
        self.everything = self.everything.max(level);
        self
    }

    pub fn apply(&self, builder: &mut env_logger::Builder) {
        builder.filter_level(self.everything);
        for (module, level) in &self.modules {
            builder.filter_module(module, *level);
        }
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |level: LevelFilter| level.as_str().to_lowercase();
        f.write_str(&name(self.everything))?;
        self.modules
            .iter()
            .try_for_each(|(module, level)| write!(f, ",{module}={}", name(*level)))
    }
}

fn is_module_path(path: &str) -> bool {
    !path.is_empty()
        && path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
}
