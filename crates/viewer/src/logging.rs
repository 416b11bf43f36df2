//! The log: written to the error output, at levels that can be changed while the program runs.
//!
//! The last lines are kept for the debugging view, where there is one; a terminal that is being drawn on is not
//! not written to.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use env_logger::Logger;
use log::{LevelFilter, Log, Metadata, Record};

/// What is logged unless asked for otherwise; drivers log a lot.
const USUAL: &str = "error,wgpu_hal=off";
/// Lines kept, for the debugging view.
const LINES_MAX: usize = 64;
/// Longest line kept, in characters.
const LINE_CHARS_MAX: usize = 400;

/// Takes the place of the log of this process, at the levels of `RUST_LOG` or else the usual ones.
pub fn start() {
    state().set(&std::env::var("RUST_LOG").unwrap_or_else(|_| USUAL.to_owned()));
    // Only a second start can fail, and that changes nothing.
    let _ = log::set_logger(&KEEPING);
}

/// Logs `level` of what comes from `target` from now on; `None` for all that has no level of its own.
pub fn set_level(target: Option<&str>, level: LevelFilter) {
    let mut state = state();
    let levels = with_level(&state.levels, target, level);
    state.set(&levels);
}

pub fn levels() -> String {
    state().levels.clone()
}

pub fn recent(count: usize) -> Vec<String> {
    let state = state();
    let skipped = state.lines.len().saturating_sub(count);
    state.lines.iter().skip(skipped).cloned().collect()
}

/// Whether nothing is written to the error output; lines are kept all the same.
pub fn set_quiet(is_quiet: bool) {
    state().is_quiet = is_quiet;
}

/// Other levels: what is changed takes the place of what was said of the same target.
fn with_level(levels: &str, target: Option<&str>, level: LevelFilter) -> String {
    let level = level.to_string().to_lowercase();
    let target_of = |part: &str| part.split_once('=').map(|(target, _)| target.trim().to_owned());
    let kept = levels
        .split(',')
        .filter(|part| target_of(part).as_deref() != target);
    let changed = target.map_or_else(|| level.clone(), |target| format!("{target}={level}"));
    let mut parts: Vec<&str> = kept.chain([changed.as_str()]).collect();
    parts.sort_by_key(|part| part.contains('='));
    parts.join(",")
}

struct State {
    /// As `RUST_LOG` writes them.
    levels: String,
    /// Writes what has one of these levels.
    logger: Arc<Logger>,
    lines: VecDeque<String>,
    is_quiet: bool,
}

impl State {
    fn set(&mut self, levels: &str) {
        levels.clone_into(&mut self.levels);
        self.logger = logger(levels);
        log::set_max_level(self.logger.filter());
    }
}

fn logger(levels: &str) -> Arc<Logger> {
    Arc::new(env_logger::Builder::new().parse_filters(levels).build())
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| {
    Mutex::new(State {
        levels: USUAL.to_owned(),
        logger: logger(USUAL),
        lines: VecDeque::new(),
        is_quiet: false,
    })
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Keeping;

static KEEPING: Keeping = Keeping;

impl Log for Keeping {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        state().logger.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        let logger = Arc::clone(&state().logger);
        if !logger.matches(record) {
            return;
        }
        // Formatted before the lock is taken: what is printed may itself log.
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
            logger.log(record);
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_takes_the_place_of_the_one_before() {
        let levels = "warn,trantor=info,trantor_client::clock=trace";
        let levels = with_level(levels, Some("trantor_client::clock"), LevelFilter::Off);
        let levels = with_level(&levels, None, LevelFilter::Error);
        assert_eq!(levels, "error,trantor=info,trantor_client::clock=off");
        assert_eq!(logger(&levels).filter(), LevelFilter::Info);
    }
}
