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
pub const OVERDUE_UNITS: u32 = 900;

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
pub struct TeamUnits(u64);

/// Wait of one agent.
#[derive(Clone, Debug)]
pub struct Overdue {
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
    pub fn new(passed: TeamUnits, now: RealTime) -> Self {
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
    pub fn answered(&mut self, units: u32, passed: &mut TeamUnits, now: RealTime) {
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
    pub fn strange(&mut self) {
        self.was_strange = true;
    }

    /// Whether the answer is overdue.
    pub fn is_overdue(&self, passed: TeamUnits, now: RealTime) -> bool {
        passed.0 - self.since_units.0 >= u64::from(OVERDUE_UNITS) || self.at().is_some_and(|at| at <= now)
    }

    /// When the real-time limit ends; `None` if only game time counts.
    pub fn at(&self) -> Option<RealTime> {
        if !self.was_strange {
            return None;
        }
        let unit_ns = self.span.as_nanos() / i64::from(self.units);
        let span = RealSpan::from_nanos(unit_ns.saturating_mul(OVERDUE_STRANGE_UNITS)).max(WAIT_MIN);
        let doubled = RealSpan::from_nanos(span.as_nanos().saturating_mul(1 << self.doublings));
        Some(self.since.saturating_add(doubled))
    }

    /// The limit was exceeded; the agent sends new commands at `now`.
    pub fn asked_anew(&mut self, passed: TeamUnits, now: RealTime) {
        self.since_units = passed;
        self.since = now;
        self.was_strange = false;
        self.doublings = DOUBLINGS_MAX.min(self.doublings + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> RealTime {
        RealTime::ZERO.saturating_add(RealSpan::from_millis(ms))
    }

    /// After a thousand answered steps, one every `ms` milliseconds.
    fn paced(step_ms: i64) -> (Overdue, TeamUnits, i64) {
        let mut passed = TeamUnits::default();
        let mut overdue = Overdue::new(passed, at_ms(0));
        for step in 1..=1_000 {
            overdue.answered(7, &mut passed, at_ms(step * step_ms));
        }
        (overdue, passed, 1_000 * step_ms)
    }

    #[test]
    fn after_a_strange_line_the_limit_grows_with_the_length_of_a_unit() {
        for (step_ms, limit_ms) in [(7_000, 400_000), (700, 40_000), (70, 4_000), (1, 1_000)] {
            let (mut overdue, passed, now) = paced(step_ms);
            assert_eq!(overdue.at(), None);
            overdue.strange();
            let at = overdue.at().unwrap();
            let waits_ms = at.since(at_ms(now)).as_nanos() / 1_000_000;
            assert!(
                (limit_ms..=limit_ms * 21 / 20).contains(&waits_ms),
                "{step_ms} ms: {waits_ms}"
            );
            assert!(!overdue.is_overdue(passed, at_ms(now)) && overdue.is_overdue(passed, at));
        }
    }

    #[test]
    fn a_paused_game_makes_nothing_overdue() {
        let (overdue, passed, now) = paced(70);
        assert_eq!((overdue.at(), passed), (None, TeamUnits(7_000)));
        assert!(!overdue.is_overdue(passed, at_ms(now + 1_000_000_000)));
    }

    #[test]
    fn answers_to_others_make_it_overdue() {
        let (overdue, mut passed, now) = paced(70);
        let mut others = [0, 0].map(|_| Overdue::new(passed, at_ms(now)));
        // Steps at the same time do not count twice.
        for round in 1..=64 {
            // One connection is read twice before the other.
            for other in [0, 0, 1, 1] {
                others[other].answered(7, &mut passed, at_ms(now));
                assert!(!overdue.is_overdue(passed, at_ms(now)), "after {round} rounds");
            }
        }
        others[0].answered(7, &mut passed, at_ms(now));
        assert!(overdue.is_overdue(passed, at_ms(now)));
        let mut anew = overdue;
        anew.asked_anew(passed, at_ms(now));
        assert!(!anew.is_overdue(passed, at_ms(now)));
    }

    #[test]
    fn where_all_is_strange_it_is_asked_less_and_less() {
        let (mut overdue, mut passed, mut now) = paced(7);
        let mut waits = vec![];
        for _ in 0..12 {
            overdue.strange();
            let at = overdue.at().unwrap();
            waits.push(at.since(at_ms(now)).as_nanos() / 1_000_000_000);
            now += at.since(at_ms(now)).as_nanos() / 1_000_000;
            overdue.asked_anew(passed, at_ms(now));
        }
        assert_eq!(waits[..4], [1, 2, 4, 8]);
        assert_eq!(waits[10..], [1_024, 1_024]);
        overdue.answered(7, &mut passed, at_ms(now + 7));
        overdue.strange();
        let pace = overdue.at().unwrap().since(at_ms(now + 7));
        assert!(pace < RealSpan::from_secs(1_000_000), "{pace:?}");
    }
}
