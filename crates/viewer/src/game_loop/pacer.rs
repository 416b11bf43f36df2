//! When a frame is due, and how long frames take.
//!
//! The rule is [`FrameBudget`]'s: it depends on the clock only, so that no flood of events delays a frame, and slow frames
//! leave events a third of the time.

use std::collections::VecDeque;

use trantor_time::{FrameBudget, Rate, RealSpan, RealTime, Turn};

use crate::state::hud::figures::FRAMES_KEPT;

/// Decides by the clock when a frame is due, and measures frames and events.
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
        }
    }

    /// Changes the target: the user set one, or the window moved to another display.
    pub fn set_target(&mut self, target: Rate) {
        self.budget.set_rate(target);
    }

    pub fn target(&self) -> Rate {
        self.budget.rate()
    }

    /// What to do at `now`, while events wait or when none does.
    pub fn turn(&self, now: RealTime, events_wait: bool) -> Turn {
        self.budget.turn(now, events_wait)
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
