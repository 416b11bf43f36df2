//! Named timers: what the server does at intervals, or once after a while. There are a handful, so a list does.
//!
//! ```text
//! set ─> due ─> run, counted ─> set again by its period, or idle ─> `timer every NAME PERIOD` sets it again
//!                  │
//!                  └─ it fails or panics: counted and logged; its period goes on, and so does the match
//! ```
//!
//! A repeating timer that missed periods runs once, counts them, and keeps its phase. A timer that was removed or has run once
//! stays in the list: its counts are metrics, and an operator can set it again.
//!
//! Deadlines that follow from what happens, and have no period, belong to what they are about: limits on sessions to the
//! engine, syncs of the journal to the recorder.

use std::fmt::Write as _;

use trantor_time::timers::round_up;
use trantor_time::{NANOS, RealSpan, RealTime};

use super::Shell;
use trantor_model::names::nearest;

/// How a run of a timer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    Done,
    /// There was a reason not to run; it counts as a skipped period.
    Skipped,
}

pub(crate) type TimerCallback = Box<dyn FnMut(&mut Shell) -> Result<Ran, String>>;

/// All timers, one of a name.
#[derive(Default)]
pub(crate) struct Timers {
    list: Vec<Timer>,
    /// Runs that ended in a panic, of all timers.
    pub(crate) panics: u64,
}

/// A timer, set or idle.
struct Timer {
    name: &'static str,
    /// The nominal deadline; the wait ends at the next step of the grid for limits, so that timers and limits on sessions
    /// share wake-ups. `None` if it is not set.
    at: Option<RealTime>,
    /// `None` for a timer that runs once.
    period: Option<RealSpan>,
    /// Taken out while it runs.
    callback: Option<TimerCallback>,
    stats: TimerStats,
}

/// A timer whose callback was taken out to be run.
pub(crate) struct DueTimer {
    pub(crate) name: &'static str,
    pub(crate) at: RealTime,
    pub(crate) callback: TimerCallback,
}

/// What a timer has done, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimerStats {
    pub(crate) runs: u64,
    /// Periods for which nothing ran: they were missed, or there was a reason not to run.
    pub(crate) skipped: u64,
    pub(crate) errors: u64,
    pub(crate) lateness_max: RealSpan,
    pub(crate) duration_max: RealSpan,
}

impl Timers {
    /// Sets a timer, in place of the one of that name, whose counts stay.
    pub(crate) fn set(
        &mut self,
        name: &'static str,
        at: RealTime,
        period: Option<RealSpan>,
        callback: TimerCallback,
    ) {
        let (at, callback) = (Some(at), Some(callback));
        match self.list.iter_mut().find(|timer| timer.name == name) {
            Some(timer) => (timer.at, timer.period, timer.callback) = (at, period, callback),
            None => self.list.push(Timer {
                name,
                at,
                period,
                callback,
                stats: TimerStats::default(),
            }),
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<RealTime> {
        self.list.iter().filter_map(Timer::due_at).map(round_up).min()
    }

    /// Takes out the first that is due at `now`. Run it, then call [`Self::finish`].
    pub(crate) fn take_due(&mut self, now: RealTime) -> Option<DueTimer> {
        let due = self.list.iter_mut().filter_map(|timer| {
            let at = timer.due_at().filter(|at| round_up(*at) <= now)?;
            Some((at, timer))
        });
        let (at, timer) = due.min_by_key(|(at, _)| *at)?;
        Some(DueTimer {
            name: timer.name,
            at,
            callback: timer.callback.take()?,
        })
    }

    /// Finishes a run that took `took`: a repeating timer is set again, unless the run has changed it.
    pub(crate) fn finish(
        &mut self,
        due: DueTimer,
        outcome: Result<Ran, String>,
        now: RealTime,
        took: RealSpan,
    ) {
        let Some(timer) = self.list.iter_mut().find(|timer| timer.name == due.name) else {
            return;
        };
        let stats = &mut timer.stats;
        stats.runs += u64::from(outcome != Ok(Ran::Skipped));
        stats.skipped += u64::from(outcome == Ok(Ran::Skipped));
        stats.lateness_max = stats.lateness_max.max(now.since(due.at));
        stats.duration_max = stats.duration_max.max(took);
        let is_unchanged = timer.at == Some(due.at);
        if timer.callback.is_none() {
            timer.callback = Some(due.callback);
            if is_unchanged {
                timer.at = timer.period.map(|period| {
                    let missed = due.at.periods_until(now, period);
                    timer.stats.skipped += missed;
                    due.at.after_periods(period, missed + 1)
                });
            }
        }
        if let Err(reason) = outcome {
            log::error!("timer {}: {reason}", due.name);
            self.count_error(due.name);
        }
    }

    /// Counts a run whose work failed, then or later; it has been logged.
    pub(crate) fn count_error(&mut self, name: &str) {
        if let Some(timer) = self.list.iter_mut().find(|timer| timer.name == name) {
            timer.stats.errors += 1;
        }
    }

    /// Stops a timer.
    ///
    /// # Errors
    /// If none of that name is set.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), String> {
        let timer = self.named(name)?;
        if timer.at.take().is_none() {
            return Err(format!("{name} is not set, nothing was changed"));
        }
        Ok(())
    }

    /// Has a timer run every `period`, first after one, whether it is set or not.
    ///
    /// # Errors
    /// If there is none of that name, or it runs once.
    pub(crate) fn set_period(&mut self, name: &str, period: RealSpan, now: RealTime) -> Result<(), String> {
        let timer = self.named(name)?;
        if timer.period.is_none() {
            return Err(format!(
                "{name} runs once and has no period; timer remove {name} stops it"
            ));
        }
        timer.period = Some(period);
        timer.at = Some(now.saturating_add(period));
        Ok(())
    }

    fn named(&mut self, name: &str) -> Result<&mut Timer, String> {
        let names: Vec<&str> = self.list.iter().map(|timer| timer.name).collect();
        match self.list.iter().position(|timer| timer.name == name) {
            Some(place) => Ok(&mut self.list[place]),
            None if names.is_empty() => Err(NO_TIMERS.to_owned()),
            None => Err(match nearest(name, names.iter().copied()) {
                Some(near) => format!("there is no timer {name:?}; did you mean {near}?"),
                None => format!("there is no timer {name:?}; there are {}", names.join(", ")),
            }),
        }
    }

    /// How many are set.
    pub(crate) fn set_count(&self) -> usize {
        self.list.iter().filter(|timer| timer.at.is_some()).count()
    }

    /// What each timer has done, and its period, in the order in which they were first set.
    pub(crate) fn stats(&self) -> impl Iterator<Item = (&'static str, &TimerStats)> {
        self.list.iter().map(|timer| (timer.name, &timer.stats))
    }

    /// The timers as a table for people.
    pub(crate) fn shown(&self, now: RealTime) -> String {
        let ms = |span: RealSpan| format!("{:.2} ms", span.as_millis_f64());
        let next = |timer: &Timer| match (timer.at, timer.period) {
            (Some(at), _) => {
                format!("in {:.1} s", at.since(now).as_millis_f64() / 1e3)
            }
            (None, Some(_)) => "removed".to_owned(),
            (None, None) => "-".to_owned(),
        };
        let mut rows = vec![
            [
                "name", "period", "next", "runs", "skipped", "longest", "late", "errors",
            ]
            .map(str::to_owned),
        ];
        rows.extend(self.list.iter().map(|timer| {
            let stats = &timer.stats;
            [
                timer.name.to_owned(),
                timer.period.map_or("once".to_owned(), as_typed),
                next(timer),
                stats.runs.to_string(),
                stats.skipped.to_string(),
                ms(stats.duration_max),
                ms(stats.lateness_max),
                stats.errors.to_string(),
            ]
        }));
        if rows.len() == 1 {
            return format!("{NO_TIMERS}\n");
        }
        table(&rows)
    }
}

const NO_TIMERS: &str = "this server has no timers; --save DIR and --metrics-log LEVEL set some";

impl Timer {
    /// Its deadline, unless it runs at this moment.
    fn due_at(&self) -> Option<RealTime> {
        self.at.filter(|_| self.callback.is_some())
    }
}

/// A span in the largest unit of which it has a whole number, as it is typed.
fn as_typed(span: RealSpan) -> String {
    let ms = span.as_nanos() / (NANOS / 1_000);
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    let fits = units.into_iter().find(|(_, unit)| ms % unit == 0);
    fits.map_or(format!("{ms}ms"), |(name, unit)| format!("{}{name}", ms / unit))
}

/// Rows with their columns below each other.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let widths: [usize; N] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            write!(line, "{cell:width$}  ").expect("a text grows as needed");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::ZERO + RealSpan::from_millis(millis)
    }

    fn set(timers: &mut Timers, name: &'static str, at: i64, period: Option<i64>) {
        let period = period.map(RealSpan::from_millis);
        timers.set(name, ms(at), period, Box::new(|_| Ok(Ran::Done)));
    }

    fn run(timers: &mut Timers, now: RealTime, outcome: Result<Ran, String>) -> Option<&'static str> {
        let timer = timers.take_due(now)?;
        let name = timer.name;
        timers.finish(timer, outcome, now, RealSpan::from_millis(30));
        Some(name)
    }

    fn stats(timers: &Timers, name: &str) -> TimerStats {
        *timers.stats().find(|(other, _)| *other == name).unwrap().1
    }

    #[test]
    fn a_repeating_timer_that_missed_periods_runs_once_and_keeps_its_phase() {
        let mut timers = Timers::default();
        set(&mut timers, "sixteen", 16, Some(16));
        assert!(timers.take_due(ms(15)).is_none(), "nothing is early");
        assert_eq!(run(&mut timers, ms(1000), Ok(Ran::Done)), Some("sixteen"));
        assert_eq!(run(&mut timers, ms(1000), Ok(Ran::Done)), None);
        assert_eq!(timers.next_deadline(), Some(ms(1008)), "a multiple of the period");
        let expected = TimerStats {
            runs: 1,
            skipped: 61,
            errors: 0,
            lateness_max: RealSpan::from_millis(984),
            duration_max: RealSpan::from_millis(30),
        };
        assert_eq!(stats(&timers, "sixteen"), expected);
    }

    #[test]
    fn timers_come_by_deadline_and_one_of_a_name() {
        let mut timers = Timers::default();
        set(&mut timers, "every", 40, Some(1_000));
        set(&mut timers, "once", 99, None);
        set(&mut timers, "once", 24, None);
        assert_eq!(run(&mut timers, ms(104), Ok(Ran::Done)), Some("once"));
        assert_eq!(run(&mut timers, ms(104), Ok(Ran::Done)), Some("every"));
        assert_eq!(run(&mut timers, ms(1_000), Ok(Ran::Done)), None);
        assert_eq!(timers.set_count(), 1);
    }

    #[test]
    fn a_timer_that_fails_or_skips_is_counted_and_runs_again() {
        let mut timers = Timers::default();
        set(&mut timers, "db_save", 1_000, Some(1_000));
        for (second, outcome) in [
            (1, Err("no disk".to_owned())),
            (2, Ok(Ran::Skipped)),
            (3, Ok(Ran::Done)),
        ] {
            assert_eq!(run(&mut timers, ms(second * 1_000), outcome), Some("db_save"));
        }
        let TimerStats {
            runs,
            skipped,
            errors,
            ..
        } = stats(&timers, "db_save");
        assert_eq!((runs, skipped, errors), (2, 1, 1));
        assert_eq!(timers.next_deadline(), Some(ms(4_000)));
    }

    #[test]
    fn a_timer_is_listed_removed_and_set_again_by_its_name() {
        let mut timers = Timers::default();
        assert!(timers.shown(ms(0)).starts_with("this server has no timers"));
        set(&mut timers, "db_save", 3_000, Some(3_000));
        set(&mut timers, "after_win", 2_000, None);
        run(&mut timers, ms(3_000), Ok(Ran::Done)); // after_win, a second late
        run(&mut timers, ms(3_000), Ok(Ran::Done));
        assert_eq!(
            timers.shown(ms(4_500)),
            "name       period  next      runs  skipped  longest   late        errors\n\
             db_save    3s      in 1.5 s  1     0        30.00 ms  0.00 ms     0\n\
             after_win  once    -         1     0        30.00 ms  1000.00 ms  0\n"
        );
        timers.remove("db_save").unwrap();
        assert_eq!(timers.next_deadline(), None);
        assert!(timers.shown(ms(4_500)).contains("db_save    3s      removed  1"));
        assert_eq!(
            timers.remove("db_save").unwrap_err(),
            "db_save is not set, nothing was changed"
        );
        timers
            .set_period("db_save", RealSpan::from_secs(90), ms(5_000))
            .unwrap();
        assert_eq!(timers.next_deadline(), Some(ms(95_000)));
        assert!(
            timers
                .shown(ms(5_000))
                .contains("db_save    90s     in 90.0 s  1")
        );
        for (name, said) in [
            ("dbsave", "there is no timer \"dbsave\"; did you mean db_save?"),
            ("x", "there is no timer \"x\"; there are db_save, after_win"),
            (
                "after_win",
                "after_win runs once and has no period; timer remove after_win stops it",
            ),
        ] {
            let refused = timers.set_period(name, RealSpan::from_secs(1), ms(0));
            assert_eq!(refused.unwrap_err(), said);
        }
    }

    #[test]
    fn a_run_that_changes_its_own_timer_is_obeyed() {
        let mut timers = Timers::default();
        set(&mut timers, "once", 8, Some(8));
        let due = timers.take_due(ms(8)).unwrap();
        timers.remove("once").unwrap();
        timers.finish(due, Ok(Ran::Done), ms(8), RealSpan::ZERO);
        assert_eq!(timers.next_deadline(), None);
    }
}
