//! Whether a loop that draws frames and handles events now does the one or the other.
//!
//! With `s` the start of a frame, `e` its end, `d = e − s` and `f` the target frequency, events may be handled
//! until the later of `s + 1/f` and `e + d/2`; then the next frame runs. If no event is waiting, the loop
//! sleeps until `s + 1/f`, or draws at once if that is over. What follows from it:
//!
//! ```text
//! nothing stressed     frames at f, events at once, the rest asleep
//! rendering stressed   frames back to back: no event waits, so there is nothing to yield to
//! events stressed      frames at f, all other time for events
//! both stressed        two thirds for frames, one third for events: e + d/2 binds
//! ```
//!
//! The rule depends on the clock only, never on what woke the loop: no flood of events delays a frame.
//! Nothing is drawn, handled or measured here.

use crate::pacing::Rate;
use crate::units::{RealSpan, RealTime};

/// The rule of one frame loop.
#[derive(Clone, Debug)]
pub struct FrameBudget {
    rate: Rate,
    last: Option<Frame>,
    /// Start of a frame that has not ended yet.
    drawing_since: Option<RealTime>,
    frames: u64,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// When the frame could first have started. Counting the next from here and not from `started` keeps
    /// late wake-ups from adding up.
    nominal: RealTime,
    started: RealTime,
    ended: RealTime,
}

/// What the loop does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Draw a frame.
    Frame,
    /// Handle waiting events, but begin none at or after this instant.
    Events {
        /// When the next frame is due.
        until: RealTime,
    },
    /// Nothing to do before this instant, unless an event comes.
    Sleep {
        /// When the next frame is due.
        until: RealTime,
    },
}

/// The target where displays tell nothing better.
pub const TARGET_PER_SECOND: f64 = 60.0;

/// The target frequency for displays with these refresh rates in hertz: the highest of at least 60, else 60.
pub fn target_rate(refresh_rates_hz: impl IntoIterator<Item = f64>) -> Rate {
    let usable = refresh_rates_hz
        .into_iter()
        .filter(|hertz| Rate::per_second(*hertz).is_ok());
    let target = usable.fold(TARGET_PER_SECOND, f64::max);
    Rate::per_second(target).expect("sixty, or a rate that was accepted just now")
}

/// Until when events may delay a frame that is due at `next_start`, after one from `started` to `ended`.
///
/// They get at least half as long as that frame took, so neither falls below a third of the time when both are saturated.
fn events_until(next_start: RealTime, started: RealTime, ended: RealTime) -> RealTime {
    let duration_ns = ended.since(started).as_nanos();
    let half = RealSpan::from_nanos(duration_ns / 2 + duration_ns % 2);
    next_start.max(ended.saturating_add(half))
}

impl FrameBudget {
    /// A loop that aims at `rate` and has drawn nothing yet.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            last: None,
            drawing_since: None,
            frames: 0,
        }
    }

    /// What the loop does at `now`.
    pub fn turn(&self, now: RealTime, events_waiting: bool) -> Turn {
        let Some(last) = &self.last else {
            return Turn::Frame;
        };
        let next_start = self.next_start(last);
        let until = events_until(next_start, last.started, last.ended);
        if now >= until {
            Turn::Frame
        } else if events_waiting {
            Turn::Events { until }
        } else if now >= next_start {
            Turn::Frame
        } else {
            Turn::Sleep { until: next_start }
        }
    }

    /// Notes that a frame starts at `now`.
    ///
    /// # Panics
    /// If the frame before has not ended.
    pub fn start_frame(&mut self, now: RealTime) {
        assert!(
            self.drawing_since.is_none(),
            "a frame ends before the next one starts"
        );
        self.drawing_since = Some(now);
        self.frames += 1;
    }

    /// Notes that the frame ended at `now`.
    ///
    /// # Panics
    /// If none was started.
    pub fn end_frame(&mut self, now: RealTime) {
        let started = self
            .drawing_since
            .take()
            .expect("only a frame that started can end");
        self.last = Some(Frame {
            nominal: self.nominal_start(started),
            started,
            ended: now.max(started),
        });
    }

    /// Changes the target, as when the window moves to another display. The running interval is counted anew
    /// from the same start.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// The target.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Frames started so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn next_start(&self, last: &Frame) -> RealTime {
        last.nominal.saturating_add(self.rate.interval())
    }

    /// When a frame that started at `started` could first have done so.
    ///
    /// A frame that is late by an interval or more begins a new count: time lost by a stall is lost, and is
    /// not made up for by a burst of frames.
    fn nominal_start(&self, started: RealTime) -> RealTime {
        let Some(last) = &self.last else { return started };
        let next_start = self.next_start(last);
        let until = events_until(next_start, last.started, last.ended);
        let possible = if started >= until {
            until
        } else {
            next_start.max(last.ended)
        };
        if started.since(possible) < self.rate.interval() {
            possible
        } else {
            started
        }
    }
}
