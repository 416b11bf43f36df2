//! The log: written to the error output, at levels that can be changed while the program runs.
//!
//! The last lines are kept for the debugging view, where there is one; a terminal that is being drawn on is not
//! written over, and gets what was said when it is given back.

use std::collections::VecDeque;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use log::{LevelFilter, Log, Metadata, Record};

/// What is said unless asked for otherwise; drivers say much that helps nobody.
const USUAL: &str = "error,wgpu_hal=off";
/// Lines kept.
const LINES_MAX: usize = 64;
/// Longest line kept, in characters.
const LINE_CHARS_MAX: usize = 400;

/// Takes the place of the log of this process, at the levels of `RUST_LOG` or else the usual ones.
pub fn start() {
    let asked = std::env::var("RUST_LOG").unwrap_or_else(|_| USUAL.to_owned());
    let levels = Levels::parse(&asked);
    log::set_max_level(levels.most());
    state().levels = levels;
    // Only a second start can fail, and that changes nothing.
    let _ = log::set_logger(&KEEPING);
}

/// Says `level` of what comes from `target` from now on; `None` for all that has no level of its own.
pub fn set_level(target: Option<&str>, level: LevelFilter) {
    let mut state = state();
    state.levels.set(target, level);
    log::set_max_level(state.levels.most());
}

/// The levels, as `RUST_LOG` writes them.
pub fn levels() -> String {
    state().levels.to_string()
}

/// The last `count` lines, oldest first.
pub fn recent(count: usize) -> Vec<String> {
    let state = state();
    let skipped = state.lines.len().saturating_sub(count);
    state.lines.iter().skip(skipped).cloned().collect()
}

/// Writes nothing to the error output until told again that it may; lines are kept all the same.
pub fn set_quiet(is_quiet: bool) {
    state().is_quiet = is_quiet;
}

/// How much is said, by where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Levels {
    usual: LevelFilter,
    /// Beginnings of targets.
    by_target: Vec<(String, LevelFilter)>,
}

impl Levels {
    /// As `RUST_LOG` writes them: `warn,trantor_client=debug`. What is no level is left out.
    fn parse(text: &str) -> Self {
        let mut levels = Self {
            usual: LevelFilter::Off,
            by_target: Vec::new(),
        };
        for part in text.split(',') {
            let (target, level) = match part.split_once('=') {
                Some((target, level)) => (Some(target.trim()), level),
                None => (None, part),
            };
            if let Ok(level) = level.trim().parse() {
                levels.set(target, level);
            }
        }
        levels
    }

    fn set(&mut self, target: Option<&str>, level: LevelFilter) {
        let Some(target) = target else {
            self.usual = level;
            return;
        };
        self.by_target.retain(|(known, _)| known != target);
        self.by_target.push((target.to_owned(), level));
        // The longest first, so that the first that fits is the one that was meant.
        self.by_target
            .sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
    }

    fn of(&self, target: &str) -> LevelFilter {
        let fits = self
            .by_target
            .iter()
            .find(|(known, _)| target.starts_with(known.as_str()));
        fits.map_or(self.usual, |&(_, level)| level)
    }

    fn most(&self) -> LevelFilter {
        let levels = self.by_target.iter().map(|&(_, level)| level);
        levels.fold(self.usual, Ord::max)
    }
}

impl std::fmt::Display for Levels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.usual.to_string().to_lowercase())?;
        for (target, level) in &self.by_target {
            write!(f, ",{target}={}", level.to_string().to_lowercase())?;
        }
        Ok(())
    }
}

struct State {
    levels: Levels,
    lines: VecDeque<String>,
    is_quiet: bool,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        levels: Levels::parse(USUAL),
        lines: VecDeque::new(),
        is_quiet: false,
    })
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Formats and writes; which records it is given is decided here.
static WRITER: LazyLock<env_logger::Logger> = LazyLock::new(|| {
    env_logger::Builder::new()
        .filter_level(LevelFilter::Trace)
        .build()
});

struct Keeping;

static KEEPING: Keeping = Keeping;

impl Log for Keeping {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= state().levels.of(metadata.target())
    }

    fn log(&self, record: &Record<'_>) {
        // Formatted before the lock is taken: what is printed may itself log.
        if !self.enabled(record.metadata()) {
            return;
        }
        let words = record.args().to_string();
        let line = format!("{} {}: {words}", record.level(), record.target());
        let is_quiet = {
            let mut state = state();
            if state.lines.len() == LINES_MAX {
                state.lines.pop_front();
            }
            state.lines.push_back(line.chars().take(LINE_CHARS_MAX).collect());
            state.is_quiet
        };
        if !is_quiet {
            WRITER.log(record);
        }
    }

    fn flush(&self) {
        WRITER.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_of_the_longest_beginning_counts() {
        let mut levels = Levels::parse("warn,trantor=info,trantor_client::clock=trace,nonsense=loud");
        assert_eq!(levels.of("wgpu_core"), LevelFilter::Warn);
        assert_eq!(levels.of("trantor_viewer::net"), LevelFilter::Info);
        assert_eq!(levels.of("trantor_client::clock_sync"), LevelFilter::Trace);
        assert_eq!(levels.most(), LevelFilter::Trace);
        levels.set(Some("trantor_client::clock"), LevelFilter::Off);
        levels.set(None, LevelFilter::Error);
        assert_eq!(levels.to_string(), "error,trantor_client::clock=off,trantor=info");
        assert_eq!(Levels::parse(&levels.to_string()), levels);
    }
}
