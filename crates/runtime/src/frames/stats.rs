//! What is measured of frames and events: rate, times, shares.

use hdrhistogram::Histogram;
use trantor_time::{RealSpan, RealTime};

use crate::publish::SlidingRate;

/// Rates and times of frames and events.
#[derive(Debug)]
pub struct FrameStats {
    rate: SlidingRate,
    frame_times_us: Histogram<u64>,
    frame_time: RealSpan,
    event_time: RealSpan,
    events: u64,
}

/// A frame longer than this counts as this long: ten seconds, beyond which a figure says no more.
const FRAME_TIME_US_MAX: u64 = 10_000_000;

impl FrameStats {
    pub(super) fn new(now: RealTime) -> Self {
        Self {
            rate: SlidingRate::new(now),
            frame_times_us: Histogram::new_with_bounds(1, FRAME_TIME_US_MAX, 2)
                .expect("the bounds are constants that hdrhistogram accepts"),
            frame_time: RealSpan::ZERO,
            event_time: RealSpan::ZERO,
            events: 0,
        }
    }

    pub(super) fn count_frame(&mut self, start: RealTime, end: RealTime) {
        self.rate.add(end, 1);
        let took = end.since(start);
        self.frame_time += took;
        self.frame_times_us
            .saturating_record((took.as_nanos() as u64 / 1_000).max(1));
    }

    pub(super) fn count_event(&mut self, took: RealSpan) {
        self.events += 1;
        self.event_time += took;
    }

    /// Frames drawn in the last second; `None` until that can be told.
    pub fn frames_per_second(&mut self, now: RealTime) -> Option<f64> {
        self.rate.per_second(now)
    }

    /// The frame time below which `quantile` (0 to 1) of the frames stayed, to two digits.
    pub fn frame_time(&self, quantile: f64) -> RealSpan {
        RealSpan::from_micros(self.frame_times_us.value_at_quantile(quantile) as i64)
    }

    /// The longest frame since the last reset.
    pub fn frame_time_max(&self) -> RealSpan {
        self.frame_time(1.0)
    }

    /// Forgets the distribution of frame times, the maximum with it.
    pub fn reset_frame_times(&mut self) {
        self.frame_times_us.reset();
    }

    /// Time spent in frames since the start.
    pub fn time_in_frames(&self) -> RealSpan {
        self.frame_time
    }

    /// Time spent in events since the start.
    pub fn time_in_events(&self) -> RealSpan {
        self.event_time
    }

    /// Events handled since the start.
    pub fn events(&self) -> u64 {
        self.events
    }
}
