//! When a frame is due, how long frames take, and how well their rate is kept.
//!
//! The rule is [`FrameBudget`]'s: it depends on the clock only, so that no flood of events delays a frame, and slow frames
//! leave events a third of the time.

use std::collections::VecDeque;
use std::fmt;

use hdrhistogram::Histogram;
use trantor_time::{FrameBudget, Rate, RealSpan, RealTime, Turn};

use crate::hud::figures::FRAMES_KEPT;

/// Decides by the clock when a frame is due, and measures frames and events.
///
/// - At each event: handle it, then [`event_handled`](Self::event_handled), then [`frame_due`](Self::frame_due).
/// - With no event left: [`frame_due_when_quiet`](Self::frame_due_when_quiet); if not, sleep until
///   [`next_wake`](Self::next_wake).
/// - To draw: [`begin_frame`](Self::begin_frame), [`end_frame`](Self::end_frame).
#[derive(Debug)]
pub struct FramePacer {
    budget: FrameBudget,
    frame_start: RealTime,
    /// When the last frames began, and how long they took.
    frames: VecDeque<(RealTime, RealSpan)>,
    /// From the start of the program to the end of the first frame, once there was one.
    pub first_shown: Option<RealSpan>,
    pub longest: RealSpan,
    pub time_in_frames: RealSpan,
    pub time_in_events: RealSpan,
    pub pace: Pace,
}

impl FramePacer {
    /// Aims at `target`; the first frame is due at once.
    pub fn new(target: Rate) -> Self {
        Self {
            budget: FrameBudget::new(target),
            frame_start: RealTime::ZERO,
            frames: VecDeque::with_capacity(FRAMES_KEPT),
            first_shown: None,
            longest: RealSpan::ZERO,
            time_in_frames: RealSpan::ZERO,
            time_in_events: RealSpan::ZERO,
            pace: Pace::default(),
        }
    }

    /// Changes the target: the user set one, or the window moved to another display.
    pub fn set_target(&mut self, target: Rate) {
        self.budget.set_rate(target);
    }

    pub fn target(&self) -> Rate {
        self.budget.rate()
    }

    /// Whether a frame is due even if events still wait.
    pub fn frame_due(&self, now: RealTime) -> bool {
        self.budget.turn(now, true) == Turn::Frame
    }

    /// Whether a frame is due when no event waits.
    pub fn frame_due_when_quiet(&self, now: RealTime) -> bool {
        self.budget.turn(now, false) == Turn::Frame
    }

    /// When to wake if no event comes first; `now` if a frame is due.
    pub fn next_wake(&self, now: RealTime) -> RealTime {
        match self.budget.turn(now, false) {
            Turn::Sleep { until } => until,
            Turn::Frame | Turn::Events { .. } => now,
        }
    }

    /// A frame begins at `now`. Answers whether it is the first.
    ///
    /// # Panics
    /// If the frame before has not ended.
    pub fn begin_frame(&mut self, now: RealTime) -> bool {
        let is_first = self.budget.frames() == 0;
        self.budget.start_frame(now);
        self.frame_start = now;
        is_first
    }

    /// The frame is drawn and handed over at `now`.
    ///
    /// # Panics
    /// If none was begun.
    pub fn end_frame(&mut self, now: RealTime) {
        self.budget.end_frame(now);
        let took = now - self.frame_start;
        self.pace.add(self.target(), self.frame_start);
        if self.frames.len() == FRAMES_KEPT {
            self.frames.pop_front();
        }
        self.frames.push_back((self.frame_start, took));
        self.first_shown.get_or_insert(now - RealTime::ZERO);
        self.longest = self.longest.max(took);
        self.time_in_frames += took;
    }

    pub fn event_handled(&mut self, started: RealTime, now: RealTime) {
        self.time_in_events += now.since(started);
    }

    pub fn frames(&self) -> u64 {
        self.budget.frames()
    }

    /// The time below which a share `quantile` (0 to 1) of the last frames stayed; zero before the first.
    pub fn took(&self, quantile: f64) -> RealSpan {
        quantile_of(self.frames.iter().map(|&(_, took)| took), quantile)
    }

    /// The same for the time from one frame's start to the next.
    pub fn interval(&self, quantile: f64) -> RealSpan {
        let starts = self.frames.iter().map(|&(start, _)| start);
        let intervals = starts.clone().skip(1).zip(starts);
        quantile_of(intervals.map(|(next, start)| next - start), quantile)
    }

    pub fn millis(&self) -> impl Iterator<Item = f32> + '_ {
        self.frames.iter().map(|&(_, took)| took.as_millis_f64() as f32)
    }
}

fn quantile_of(spans: impl Iterator<Item = RealSpan>, quantile: f64) -> RealSpan {
    let mut sorted: Vec<RealSpan> = spans.collect();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1) as f64;
    let place = (last * quantile.clamp(0.0, 1.0)).round() as usize;
    sorted.get(place).copied().unwrap_or(RealSpan::ZERO)
}

/// Largest distance from the period that is recorded, in microseconds: ten seconds, a viewer that stood still.
const OFF_PERIOD_US_MAX: u64 = 10_000_000;

/// How far from one period after the last one each frame began, since the rate was changed last.
#[derive(Debug)]
pub struct Pace {
    rate: Option<Rate>,
    /// When the first and the last frame began.
    begun: Option<(RealTime, RealTime)>,
    off_us: Histogram<u64>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            rate: None,
            begun: None,
            off_us: Histogram::new_with_bounds(1, OFF_PERIOD_US_MAX, 2)
                .expect("the bounds are constants that hdrhistogram accepts"),
        }
    }
}

impl Pace {
    fn add(&mut self, rate: Rate, start: RealTime) {
        if self.rate != Some(rate) {
            self.rate = Some(rate);
            self.begun = None;
            self.off_us.reset();
        }
        if let Some((first, last)) = self.begun {
            let interval = start.since(last);
            let off = (interval - rate.interval()).max(rate.interval() - interval);
            self.off_us
                .saturating_record(off.as_nanos().unsigned_abs() / 1_000);
            self.begun = Some((first, start));
        } else {
            self.begun = Some((start, start));
        }
    }

    /// The distance from the period that a share `quantile` (0 to 1) of the frames kept; none before the second.
    pub fn off_period(&self, quantile: f64) -> Option<RealSpan> {
        let off = self.off_us.value_at_quantile(quantile.clamp(0.0, 1.0));
        (!self.off_us.is_empty()).then(|| RealSpan::from_micros(i64::try_from(off).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(rate), Some((first, last)), Some(p99)) = (self.rate, self.begun, self.off_period(0.99))
        else {
            return f.write_str("no frames");
        };
        let frames = self.off_us.len();
        let seconds = last.since(first).as_secs_f64();
        write!(
            f,
            "{frames} frames in {seconds:.1} s: {:.2} a second of {:.2}; off the period 99 of 100 at most {:.2} ms, the worst {:.1} ms",
            frames as f64 / seconds,
            rate.as_per_second(),
            p99.as_millis_f64(),
            self.off_us.max() as f64 / 1e3,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_since_the_rate_was_changed() {
        let rate = |hertz| Rate::per_second(hertz).unwrap();
        let at = |micros| RealTime::ZERO + RealSpan::from_micros(micros);
        let mut pace = Pace::default();
        assert_eq!(pace.to_string(), "no frames");
        pace.add(rate(60.0), at(0));
        assert_eq!(pace.off_period(0.5), None);
        pace.add(rate(60.0), at(100_000));
        assert!(pace.off_period(1.0).unwrap() > RealSpan::from_millis(80));
        // One of a hundred is a millisecond late, and the next one early by as much.
        let mut now = 200_000;
        for frame in 0..=300 {
            let late = if frame == 200 { 1_000 } else { 0 };
            pace.add(rate(100.0), at(now + late));
            now += 10_000;
        }
        assert_eq!(pace.off_period(0.99), Some(RealSpan::ZERO));
        assert_eq!(
            pace.to_string(),
            "300 frames in 3.0 s: 100.00 a second of 100.00; off the period 99 of 100 at most 0.00 ms, the worst 1.0 ms"
        );
    }
}
