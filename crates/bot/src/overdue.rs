//! When an answer is overdue: a pace learned from the answers that came, and a limit that grows with it.
//!
//! Servers lose commands, and answer in words that nobody knows; an agent that waits for such an answer starves.
//! Time is an argument. How long a unit of game time takes is not told to agents, so it is learned.

use trantor_time::{RealSpan, RealTime};

/// Units without an answer after which none will come: a third more than the longest command takes.
pub const OVERDUE_UNITS: u32 = 400;

/// How long an answer may take at any pace. Servers stall now and then, and in lock-step they wait for others.
const WAIT_MIN: RealSpan = RealSpan::from_secs(5);

/// The same after a line of which nothing could be made, which may have been the answer.
const WAIT_STRANGE_MIN: RealSpan = RealSpan::from_secs(1);

/// Units of which the pace is the mean; older ones count less and less, since a game may change its speed.
const MEMORY_UNITS: u32 = 500;

/// How often the limit doubles at most where nothing is answered at all: to well over an hour at the usual pace. The
/// game may be paused, and each time a few commands more are sent.
const DOUBLINGS_MAX: u32 = 10;

/// How long one agent has waited, and how long it may.
#[derive(Clone, Debug)]
pub struct Overdue {
    /// When something was answered last, or the limit was passed.
    since: RealTime,
    /// So much game time took so long.
    units: u32,
    span: RealSpan,
    was_strange: bool,
    doublings: u32,
}

impl Overdue {
    /// Begins to wait at `now`; before anything was answered a server is held to run at the usual hundred units a second.
    pub fn new(now: RealTime) -> Self {
        Self {
            since: now,
            units: 1,
            span: RealSpan::from_millis(10),
            was_strange: false,
            doublings: 0,
        }
    }

    /// Something was answered that took so many units.
    pub fn answered(&mut self, units: u32, now: RealTime) {
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

    /// When the answer is overdue.
    pub fn at(&self) -> RealTime {
        let unit_ns = self.span.as_nanos() / i64::from(self.units);
        let span = RealSpan::from_nanos(unit_ns.saturating_mul(i64::from(OVERDUE_UNITS)));
        let span = span.max(if self.was_strange {
            WAIT_STRANGE_MIN
        } else {
            WAIT_MIN
        });
        let doubled = RealSpan::from_nanos(span.as_nanos().saturating_mul(1 << self.doublings));
        self.since.saturating_add(doubled)
    }

    /// It was; something else was asked at `now`.
    pub fn asked_anew(&mut self, now: RealTime) {
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

    /// Has heard a thousand answers to steps, one every so many milliseconds.
    fn paced(step_ms: i64) -> (Overdue, i64) {
        let mut overdue = Overdue::new(at_ms(0));
        for step in 1..=1_000 {
            overdue.answered(7, at_ms(step * step_ms));
        }
        (overdue, 1_000 * step_ms)
    }

    #[test]
    fn the_limit_grows_with_the_length_of_a_unit() {
        for (step_ms, limit_ms) in [(7_000, 400_000), (700, 40_000), (70, 5_000), (1, 5_000)] {
            let (mut overdue, now) = paced(step_ms);
            let waits_ms = overdue.at().since(at_ms(now)).as_nanos() / 1_000_000;
            assert!(
                (limit_ms..=limit_ms * 21 / 20).contains(&waits_ms),
                "{step_ms} ms: {waits_ms}"
            );
            overdue.strange();
            let strange_ms = overdue.at().since(at_ms(now)).as_nanos() / 1_000_000;
            assert!(strange_ms <= waits_ms && strange_ms >= 1_000);
        }
        let unknown = Overdue::new(at_ms(3));
        assert_eq!(unknown.at(), at_ms(5_003));
    }

    #[test]
    fn a_slower_game_is_noticed() {
        let (mut overdue, mut now) = paced(7);
        for _ in 0..200 {
            now += 7_000;
            overdue.answered(7, at_ms(now));
        }
        assert!(overdue.at() > at_ms(now + 390_000));
    }

    #[test]
    fn where_nothing_is_answered_it_is_asked_less_and_less() {
        let (mut overdue, mut now) = paced(70);
        let mut waits = vec![];
        for _ in 0..12 {
            let at = overdue.at();
            waits.push(at.since(at_ms(now)).as_nanos() / 1_000_000_000);
            now += at.since(at_ms(now)).as_nanos() / 1_000_000;
            overdue.asked_anew(at_ms(now));
        }
        assert_eq!(waits[..4], [5, 10, 20, 40]);
        assert_eq!(waits[10..], [5_120, 5_120]);
        overdue.answered(7, at_ms(now));
        assert_eq!(overdue.at(), at_ms(now + 5_000));
    }
}
