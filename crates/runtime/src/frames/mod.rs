//! Frames and events in one loop: update, render, and events in the time left.
//!
//! [`FramePacer`] is the rule as a value, for programs whose platform owns the event loop: tell it what happens,
//! ask it what is due. The arithmetic of the rule is [`trantor_time::FrameBudget`]. [`FrameLoop`] is the loop for
//! programs that own theirs, headless ones among them; [`stress`] puts it under the four kinds of load that tell
//! whether the rule is kept.

mod frame_loop;
mod stats;
pub mod stress;

use trantor_time::{FrameBudget, Rate, RealSpan, RealTime};

pub use self::frame_loop::{FrameLoop, Screen};
pub use self::stats::FrameStats;
pub use trantor_time::Turn;
pub use trantor_time::frame_budget::target_rate;

/// Decides, by the clock alone, whether a frame is due.
///
/// A platform's event loop uses it like this, and draws as soon as either question is answered yes:
///
/// - at each event: handle it, then [`event_handled`](Self::event_handled), then [`frame_due`](Self::frame_due);
/// - with no event left: [`frame_due_when_quiet`](Self::frame_due_when_quiet); if not, flush and sleep until
///   [`next_wake`](Self::next_wake);
/// - to draw: [`begin_frame`](Self::begin_frame), update, render, [`end_frame`](Self::end_frame).
///
/// Give it [`target_rate`] of the displays, and again when the window changes display.
#[derive(Debug)]
pub struct FramePacer {
    budget: FrameBudget,
    frame_start: RealTime,
    /// Whether events left work that was not flushed since.
    is_unflushed: bool,
    stats: FrameStats,
}

/// What a frame is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Counted from zero.
    pub number: u64,
    /// When it began.
    pub start: RealTime,
    /// What to update by; `None` in the first frame, which is drawn as things are.
    pub update: Option<UpdateStep>,
}

/// The variable step of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateStep {
    /// Time since the start of the last update; in the second frame, since the start of the first frame.
    pub elapsed: RealSpan,
    /// The instant that the update brings the scene to: the last one plus `elapsed`.
    pub instant: RealTime,
}

impl FramePacer {
    /// A pacer that aims at `target` and starts at `now`. The first frame is due at once.
    pub fn new(target: Rate, now: RealTime) -> Self {
        Self {
            budget: FrameBudget::new(target),
            frame_start: now,
            is_unflushed: false,
            stats: FrameStats::new(now),
        }
    }

    /// Changes the target: the user set one, or the window moved to another display.
    pub fn set_target(&mut self, target: Rate) {
        self.budget.set_rate(target);
    }

    /// The frequency aimed at.
    pub fn target(&self) -> Rate {
        self.budget.rate()
    }

    /// Whose turn it is at `now`, for a loop that can tell whether events are waiting.
    pub fn turn(&self, now: RealTime, events_waiting: bool) -> Turn {
        self.budget.turn(now, events_waiting)
    }

    /// Whether a frame is due even if events still wait: from the later of `s + 1/f` and `e + d/2` on.
    pub fn frame_due(&self, now: RealTime) -> bool {
        self.turn(now, true) == Turn::Frame
    }

    /// Whether a frame is due when no event waits: from `s + 1/f` on.
    pub fn frame_due_when_quiet(&self, now: RealTime) -> bool {
        self.turn(now, false) == Turn::Frame
    }

    /// When to wake if no event comes first: `s + 1/f`, or `now` if a frame is due.
    pub fn next_wake(&self, now: RealTime) -> RealTime {
        match self.turn(now, false) {
            Turn::Sleep { until } => until,
            Turn::Frame | Turn::Events { .. } => now,
        }
    }

    /// A frame begins at `now`. Work pending from events counts as flushed by drawing.
    ///
    /// # Panics
    /// If the frame before has not ended.
    pub fn begin_frame(&mut self, now: RealTime) -> Frame {
        let started = self.budget.start_frame(now);
        self.frame_start = now;
        self.is_unflushed = false;
        let update = started.elapsed.map(|elapsed| UpdateStep {
            elapsed,
            instant: now,
        });
        Frame {
            number: started.number,
            start: now,
            update,
        }
    }

    /// The frame that began last is drawn and handed over at `now`.
    ///
    /// # Panics
    /// If none was begun.
    pub fn end_frame(&mut self, now: RealTime) {
        self.budget.end_frame(now);
        self.stats.count_frame(self.frame_start, now);
    }

    /// An event was handled from `started` to `now`; also one that the platform would not queue.
    ///
    /// The rule needs no account of it, since it asks the clock; the time goes into the statistics.
    pub fn event_handled(&mut self, started: RealTime, now: RealTime) {
        self.is_unflushed = true;
        self.stats.count_event(now.since(started));
    }

    /// Whether work pending from events, uploads for instance, is to be flushed now: every tenth of an interval
    /// while there is any. Flush also before sleeping, whatever this answers.
    pub fn flush_due(&mut self, now: RealTime) -> bool {
        self.is_unflushed && self.budget.flush_due(now)
    }

    /// Work pending from events was flushed.
    pub fn flushed(&mut self) {
        self.is_unflushed = false;
    }

    /// Whether events left work that was not flushed since.
    pub fn is_unflushed(&self) -> bool {
        self.is_unflushed
    }

    /// Frames begun.
    pub fn frames(&self) -> u64 {
        self.budget.frames()
    }

    /// What was measured so far.
    pub fn stats(&mut self) -> &mut FrameStats {
        &mut self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::from_nanos(millis * 1_000_000)
    }

    fn hertz(hertz: f64) -> Rate {
        Rate::per_second(hertz).unwrap()
    }

    #[test]
    fn the_target_follows_a_change_of_display() {
        let mut pacer = FramePacer::new(target_rate([50.0]), ms(0));
        assert_eq!(pacer.target(), hertz(60.0));
        pacer.begin_frame(ms(0));
        pacer.end_frame(ms(1));
        pacer.set_target(target_rate([60.0, 100.0]));
        assert_eq!(pacer.next_wake(ms(1)), ms(10));
    }

    #[test]
    fn the_first_frame_has_no_update_and_the_second_counts_from_it() {
        let mut pacer = FramePacer::new(hertz(100.0), ms(5));
        assert!(pacer.frame_due(ms(5)) && pacer.frame_due_when_quiet(ms(5)));
        assert_eq!(
            pacer.begin_frame(ms(5)),
            Frame {
                number: 0,
                start: ms(5),
                update: None
            }
        );
        pacer.end_frame(ms(7));
        let second = pacer.begin_frame(ms(16));
        let step = UpdateStep {
            elapsed: RealSpan::from_millis(11),
            instant: ms(16),
        };
        assert_eq!(second.update, Some(step));
    }

    #[test]
    fn events_have_until_the_later_of_the_interval_and_half_the_frame() {
        let mut pacer = FramePacer::new(hertz(100.0), ms(0));
        pacer.begin_frame(ms(0));
        pacer.end_frame(ms(2));
        assert_eq!(pacer.turn(ms(2), true), Turn::Events { until: ms(10) });
        assert_eq!(pacer.turn(ms(2), false), Turn::Sleep { until: ms(10) });
        pacer.begin_frame(ms(10));
        pacer.end_frame(ms(40));
        assert_eq!(pacer.turn(ms(40), true), Turn::Events { until: ms(55) });
        assert_eq!(pacer.turn(ms(40), false), Turn::Frame);
        assert_eq!(pacer.turn(ms(55), true), Turn::Frame);
    }

    #[test]
    fn events_delay_a_frame_no_longer_than_the_rule_says() {
        let mut pacer = FramePacer::new(hertz(100.0), ms(0));
        pacer.begin_frame(ms(0));
        pacer.end_frame(ms(2));
        pacer.event_handled(ms(2), ms(9));
        assert!(!pacer.frame_due(ms(9)) && !pacer.frame_due_when_quiet(ms(9)));
        pacer.event_handled(ms(9), ms(10));
        assert!(pacer.frame_due(ms(10)), "though more events may wait");
        assert_eq!(pacer.stats().time_in_events(), RealSpan::from_millis(8));
    }

    #[test]
    fn work_from_events_is_flushed_every_tenth_of_an_interval() {
        let mut pacer = FramePacer::new(hertz(100.0), ms(0));
        pacer.begin_frame(ms(0));
        pacer.end_frame(ms(1));
        assert!(!pacer.flush_due(ms(9)), "nothing to flush");
        pacer.event_handled(ms(2), ms(3));
        assert!(pacer.is_unflushed() && pacer.flush_due(ms(3)));
        pacer.flushed();
        pacer.event_handled(ms(3), ms(3));
        assert!(!pacer.flush_due(RealTime::from_nanos(3_999_999)));
        assert!(pacer.flush_due(ms(4)));
        pacer.flushed();
        assert!(!pacer.flush_due(ms(9)) && !pacer.is_unflushed());
    }

    #[test]
    fn frames_a_second_are_those_of_the_last_second() {
        let mut pacer = FramePacer::new(hertz(100.0), ms(0));
        for frame in 0..150 {
            pacer.begin_frame(ms(frame * 10));
            pacer.end_frame(ms(frame * 10 + 3));
        }
        assert_eq!(pacer.stats().frames_per_second(ms(1_500)), Some(100.0));
        assert_eq!(pacer.stats().frames_per_second(ms(1_750)), Some(75.0));
        let p50 = pacer.stats().frame_time(0.5).as_millis_f64();
        assert!((p50 - 3.0).abs() < 0.05, "{p50} ms");
        pacer.stats().reset_frame_times();
        assert_eq!(pacer.stats().frame_time_max(), RealSpan::ZERO);
    }
}
