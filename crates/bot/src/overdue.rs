//! When an answer is overdue: where others were answered long since, or after a line that is no known answer.
//!
//! Servers lose commands, and answer in unknown words; an agent that waits for such an answer starves. But a game may
//! also be paused, or wait for others in lock-step, and then nothing is overdue however long it takes. So time is counted in
//! units of the game: who is answered after a step knows that seven have passed. Lines wait to be read, some connections' longer
//! than others', so that this is known to a command or two only. Only where a line was strange, which may have been the
//! answer, is real time waited for, and how long a unit takes in it is learned from the answers that come.

use trantor_time::{RealSpan, RealTime};

/// Units without an answer after which none will come: three times what the longest command takes. One of them it takes, and by
/// as much others' answers may have been read late.
pub const OVERDUE_UNITS: u32 = 900;

/// The same by the clock after a line of which nothing could be made: a third more than the longest command takes.
const OVERDUE_STRANGE_UNITS: i64 = 400;

/// How long an answer may take at any pace after a line of which nothing could be made.
const WAIT_MIN: RealSpan = RealSpan::from_secs(1);

/// Units of which the pace is the mean; older ones count less and less, since a game may change its speed.
const MEMORY_UNITS: u32 = 500;

/// How often the limit doubles at most where all that is said is strange: each time a few commands more are sent.
const DOUBLINGS_MAX: u32 = 10;

/// The least that has passed of a game, as the agents of a team know from their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeamUnits(u64);

/// How long one agent has waited, and how long it may.
#[derive(Clone, Debug)]
pub struct Overdue {
    /// What its own answers have taken, from what had passed when it joined.
    own_units: u64,
    /// What had passed of the game when something was answered last, or the limit was passed.
    since_units: TeamUnits,
    /// The same in real time.
    since: RealTime,
    /// So much game time took so long.
    units: u32,
    span: RealSpan,
    was_strange: bool,
    doublings: u32,
}

impl Overdue {
    /// Begins to wait at `now`; before anything was answered a server is held to run at the usual hundred units a second.
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

    /// Something was answered that took so many units, after all that was answered before.
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

    /// Something was said of which nothing could be made.
    pub fn strange(&mut self) {
        self.was_strange = true;
    }

    /// Whether no answer will come any more.
    pub fn is_overdue(&self, passed: TeamUnits, now: RealTime) -> bool {
        passed.0 - self.since_units.0 >= u64::from(OVERDUE_UNITS) || self.at().is_some_and(|at| at <= now)
    }

    /// When that is so by the clock; `None` where only others' answers can show it.
    pub fn at(&self) -> Option<RealTime> {
        if !self.was_strange {
            return None;
        }
        let unit_ns = self.span.as_nanos() / i64::from(self.units);
        let span = RealSpan::from_nanos(unit_ns.saturating_mul(OVERDUE_STRANGE_UNITS)).max(WAIT_MIN);
        let doubled = RealSpan::from_nanos(span.as_nanos().saturating_mul(1 << self.doublings));
        Some(self.since.saturating_add(doubled))
    }

    /// It was; something else was asked at `now`.
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

    /// Has heard a thousand answers to steps, one every so many milliseconds; and when that was.
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
        // Side by side they do not count twice.
        for round in 1..=64 {
            // One is read twice before the other, which has said as much.
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
