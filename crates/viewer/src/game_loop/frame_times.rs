//! How long frames take, and how well their rate is kept.

use std::collections::VecDeque;
use std::fmt;

use hdrhistogram::Histogram;
use trantor_runtime::frames::FramePacer;
use trantor_runtime::publish::Published;
use trantor_time::{Rate, RealSpan, RealTime};

use crate::hud::FrameFigures;

/// Frames that the plot shows, and that its percentiles are of: four seconds at 60 a second.
pub const FRAMES_KEPT: usize = 240;
/// How long the last frames took, and how far apart they began.
#[derive(Debug, Default)]
pub struct FrameTimes {
    /// When each began, and how long it took.
    frames: VecDeque<(RealTime, RealSpan)>,
    /// From the start of the program to the end of the first frame.
    first_shown: Option<RealSpan>,
    pace: Pace,
}

impl FrameTimes {
    /// A frame that aimed at `rate` took from `start` to `end`.
    pub fn add(&mut self, rate: Rate, start: RealTime, end: RealTime) {
        self.pace.add(rate, start);
        if self.frames.len() == FRAMES_KEPT {
            self.frames.pop_front();
        }
        self.frames.push_back((start, end - start));
        self.first_shown.get_or_insert(end - RealTime::ZERO);
    }

    /// How well the rate is kept.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// From the start of the program to the end of the first frame, once there was one.
    pub fn first_shown(&self) -> Option<RealSpan> {
        self.first_shown
    }

    /// The time below which a share `quantile` (0 to 1) of the last frames stayed; zero before the first.
    pub fn took(&self, quantile: f64) -> RealSpan {
        quantile_of(self.frames.iter().map(|&(_, took)| took), quantile)
    }

    /// The same for the time from one frame's start to the next.
    pub fn interval(&self, quantile: f64) -> RealSpan {
        let starts = self.frames.iter().map(|&(start, _)| start);
        quantile_of(
            starts
                .clone()
                .skip(1)
                .zip(starts)
                .map(|(next, start)| next - start),
            quantile,
        )
    }

    /// What panels show of frames all the time.
    pub(super) fn summary(&self, pacer: &FramePacer, published: &Published) -> FrameFigures {
        FrameFigures {
            per_second: published.get("loop.frames_per_second"),
            target: pacer.target().as_per_second(),
        }
    }

    pub(super) fn millis(&self) -> impl Iterator<Item = f32> + '_ {
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

/// Farthest from the period that is told apart, in microseconds: ten seconds, a viewer that stood still.
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
