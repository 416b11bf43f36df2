//! Detects overdue answers.
//!
//! Servers lose commands or answer in unknown words; an agent that waits for such an answer starves. A game may also be
//! paused, or wait for others in lock-step, and then no answer is overdue. Waiting is therefore measured in game time, which
//! the team's answers show: an answered step proves that seven units have passed. It is exact to a command or two, since
//! connections are read at different times. Real time counts only after an unknown line, which may have been the answer;
//! the length of a unit is estimated from earlier answers.

use trantor_time::{RealSpan, RealTime};

/// Limit in game time: three times the longest command. One is the command itself, and one the delay of other agents'
/// answers.
pub(crate) const OVERDUE_UNITS: u32 = 900;

/// Limit in real time after an unknown line, in units at the estimated speed: a third more than the longest command.
const OVERDUE_STRANGE_UNITS: i64 = 400;

/// Shortest real-time limit.
const WAIT_MIN: RealSpan = RealSpan::from_secs(1);

/// Window of the speed estimate; older answers decay, since the speed may change.
const MEMORY_UNITS: u32 = 500;

/// Most doublings of the limit while all lines are unknown: each time a few more commands are sent.
const DOUBLINGS_MAX: u32 = 10;

/// Lower bound of the passed game time, from the answers of a team.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TeamUnits(u64);

/// Wait of one agent.
#[derive(Clone, Debug)]
pub(crate) struct Overdue {
    /// Bound when it joined, and the durations of its own answers since.
    own_units: u64,
    /// Bound at the last answer or exceeded limit.
    since_units: TeamUnits,
    /// The same in real time.
    since: RealTime,
    /// Speed estimate: `units` took `span`.
    units: u32,
    span: RealSpan,
    was_strange: bool,
    doublings: u32,
}

impl Overdue {
    /// Starts at `now` with the default speed of 100 units a second as estimate.
    pub(crate) fn new(passed: TeamUnits, now: RealTime) -> Self {
        Self {
            own_units: passed.0,
            since_units: passed,
            since: now,
            units: 1,
            span: RealSpan::from_millis(10),
            was_strange: false,
            doublings: 0,
        }
    }

    /// An answer to a command of this duration, after all earlier answers.
    pub(crate) fn answered(&mut self, units: u32, passed: &mut TeamUnits, now: RealTime) {
        self.own_units = self.own_units.saturating_add(u64::from(units));
        passed.0 = passed.0.max(self.own_units);
        self.since_units = *passed;
        self.units = self.units.saturating_add(units);
        self.span += now.since(self.since);
        while self.units > MEMORY_UNITS {
            self.units /= 2;
            self.span = RealSpan::from_nanos(self.span.as_nanos() / 2);
        }
        self.since = now;
        self.was_strange = false;
        self.doublings = 0;
    }

    /// An unknown line.
    pub(crate) fn strange(&mut self) {
        self.was_strange = true;
    }

    /// Whether the answer is overdue.
    pub(crate) fn is_overdue(&self, passed: TeamUnits, now: RealTime) -> bool {
        passed.0 - self.since_units.0 >= u64::from(OVERDUE_UNITS) || self.at().is_some_and(|at| at <= now)
    }

    /// When the real-time limit ends; `None` if only game time counts.
    pub(crate) fn at(&self) -> Option<RealTime> {
        if !self.was_strange {
            return None;
        }
        let unit_ns = self.span.as_nanos() / i64::from(self.units);
        let span = RealSpan::from_nanos(unit_ns.saturating_mul(OVERDUE_STRANGE_UNITS)).max(WAIT_MIN);
        let doubled = RealSpan::from_nanos(span.as_nanos().saturating_mul(1 << self.doublings));
        Some(self.since.saturating_add(doubled))
    }

    /// The limit was exceeded; the agent sends new commands at `now`.
    pub(crate) fn asked_anew(&mut self, passed: TeamUnits, now: RealTime) {
        self.since_units = passed;
        self.since = now;
        self.was_strange = false;
        self.doublings = DOUBLINGS_MAX.min(self.doublings + 1);
    }
}
