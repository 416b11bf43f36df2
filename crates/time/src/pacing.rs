//! When a part of a loop is called that has a rate of its own.
//!
//! A [`Pacer`] holds one deadline for one system. It is asked in each pass whether the system is due, and answers how
//! much time has passed since the last call. It calls nothing, and knows no other system: order and sleeping belong to
//! the loop.
//!
//! Rates are kept in billionths of a hertz. An interval such as a thirtieth of a second is no whole number of
//! nanoseconds; on a grid the k-th instant is worked out from k, so the long-run rate is exact.

use std::num::NonZeroU64;

use crate::units::{RealSpan, RealTime};

/// Calls per second, exact to a billionth of a hertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    nanohertz: NonZeroU64,
}

/// Why a number of calls per second is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a rate lies between {min} and {max} calls a second, or is negative for uncapped, not {asked}", min = Rate::MIN_PER_SECOND, max = Rate::MAX_PER_SECOND)]
pub struct RateError {
    /// The number that was refused.
    pub asked: f64,
}

/// How often a system wants to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// In every pass.
    Uncapped,
    /// At this rate at most.
    At(Rate),
}

/// How the interval between two calls is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pacing {
    /// From the last call: never two calls closer than the interval; a late call moves those after it.
    #[default]
    Spacing,
    /// On multiples of the interval since the first call: missed ones are skipped, the long-run rate is exact.
    Grid,
}

/// When a system is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// In this pass.
    Now,
    /// In the first pass from this instant on.
    At(RealTime),
    /// Not until it is enabled.
    Never,
}

/// The pacing of one system.
#[derive(Clone, Debug)]
pub struct Pacer {
    pace: Pace,
    pacing: Pacing,
    is_enabled: bool,
    last_call: Option<RealTime>,
    /// The grid's origin, and the index on it of the next instant.
    grid_origin: RealTime,
    grid_index: u64,
    calls: u64,
    overruns: u64,
}

const NANOHERTZ_PER_HERTZ: f64 = 1e9;
/// One call per 10⁹ seconds takes this many nanoseconds: what a rate in nanohertz divides.
const NANOS_NANOHERTZ: u128 = 1_000_000_000 * 1_000_000_000;

impl Rate {
    /// The slowest rate: one call in a million seconds.
    pub const MIN_PER_SECOND: f64 = 1e-6;
    /// The fastest rate. Anything quicker is a matter of being uncapped.
    pub const MAX_PER_SECOND: f64 = 1e6;

    /// The rate of `calls_per_second`, rounded to a billionth of a hertz.
    pub fn per_second(calls_per_second: f64) -> Result<Self, RateError> {
        let refused = RateError {
            asked: calls_per_second,
        };
        // Written so that NaN is refused as well.
        if !(Self::MIN_PER_SECOND..=Self::MAX_PER_SECOND).contains(&calls_per_second) {
            return Err(refused);
        }
        let nanohertz = (calls_per_second * NANOHERTZ_PER_HERTZ).round() as u64;
        NonZeroU64::new(nanohertz)
            .map(|nanohertz| Self { nanohertz })
            .ok_or(refused)
    }

    /// Calls per second as a float, for display and settings.
    pub fn as_per_second(self) -> f64 {
        self.nanohertz.get() as f64 / NANOHERTZ_PER_HERTZ
    }

    /// The time between two calls, rounded up to a nanosecond: never sooner.
    pub fn interval(self) -> RealSpan {
        self.span_of(1)
    }

    /// The time that `calls` intervals take together, rounded up once.
    fn span_of(self, calls: u64) -> RealSpan {
        let nanos = u128::from(calls)
            .checked_mul(NANOS_NANOHERTZ)
            .map(|product| product.div_ceil(u128::from(self.nanohertz.get())));
        nanos
            .and_then(|nanos| i64::try_from(nanos).ok())
            .map_or(RealSpan::MAX, RealSpan::from_nanos)
    }

    /// How many whole intervals fit into `span`.
    fn calls_in(self, span: RealSpan) -> u64 {
        let nanos = span.as_nanos().max(0).unsigned_abs();
        let calls = u128::from(nanos) * u128::from(self.nanohertz.get()) / NANOS_NANOHERTZ;
        u64::try_from(calls).unwrap_or(u64::MAX)
    }
}

impl Pace {
    /// The pace that a setting means: negative is uncapped; zero and what is no rate is refused.
    pub fn from_setting(calls_per_second: f64) -> Result<Self, RateError> {
        if calls_per_second < 0.0 {
            return Ok(Self::Uncapped);
        }
        Rate::per_second(calls_per_second).map(Self::At)
    }
}

impl Pacer {
    /// A pacer whose first call is due at once.
    pub fn new(pace: Pace, pacing: Pacing) -> Self {
        Self {
            pace,
            pacing,
            is_enabled: true,
            last_call: None,
            grid_origin: RealTime::ZERO,
            grid_index: 0,
            calls: 0,
            overruns: 0,
        }
    }

    /// When the system is due.
    pub fn due(&self) -> Due {
        if !self.is_enabled {
            return Due::Never;
        }
        match (self.pace, self.last_call) {
            (Pace::Uncapped, _) | (_, None) => Due::Now,
            (Pace::At(rate), Some(last_call)) => Due::At(match self.pacing {
                Pacing::Spacing => last_call.saturating_add(rate.interval()),
                Pacing::Grid => self.grid_instant(rate, self.grid_index),
            }),
        }
    }

    /// Notes a call at `now`, the sample of the pass, if the system is due. Answers the time since its last call, zero for
    /// the first; over all calls it adds up to the time passed, to the nanosecond.
    pub fn call(&mut self, now: RealTime) -> Option<RealSpan> {
        match self.due() {
            Due::Now => {}
            Due::At(instant) if instant <= now => {}
            Due::At(_) | Due::Never => return None,
        }
        let elapsed = self
            .last_call
            .map_or(RealSpan::ZERO, |last_call| now.since(last_call));
        self.advance_grid(now);
        self.last_call = Some(now);
        self.calls += 1;
        Some(elapsed)
    }

    /// Notes how long the call took; answers whether it overran its interval.
    pub fn finish(&mut self, took: RealSpan) -> bool {
        let overran = matches!(self.pace, Pace::At(rate) if took > rate.interval());
        self.overruns += u64::from(overran);
        overran
    }

    /// Changes the pace. The time already waited counts, and what was missed is not made up for.
    pub fn set_pace(&mut self, pace: Pace) {
        self.restart_grid();
        self.pace = pace;
    }

    /// Changes the way of counting, from the last call on.
    pub fn set_pacing(&mut self, pacing: Pacing) {
        self.restart_grid();
        self.pacing = pacing;
    }

    /// Switches the system off and on again. Time spent disabled counts for the next call like any other.
    pub fn set_enabled(&mut self, is_enabled: bool) {
        self.is_enabled = is_enabled;
    }

    /// How often the system wants to be called.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Calls that took longer than they should have.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    fn grid_instant(&self, rate: Rate, index: u64) -> RealTime {
        self.grid_origin.saturating_add(rate.span_of(index))
    }

    /// Moves the grid past `now`; instants on the way are skipped.
    fn advance_grid(&mut self, now: RealTime) {
        let (Pace::At(rate), Pacing::Grid) = (self.pace, self.pacing) else {
            return;
        };
        if self.last_call.is_none() {
            (self.grid_origin, self.grid_index) = (now, 1);
        } else {
            self.grid_index = rate.calls_in(now.since(self.grid_origin)) + 1;
        }
    }

    /// Begins a new grid at the last instant of the old one, so that a change of rate keeps what was waited.
    fn restart_grid(&mut self) {
        let Some(last_call) = self.last_call else { return };
        self.grid_origin = match (self.pace, self.pacing) {
            (Pace::At(rate), Pacing::Grid) => self.grid_instant(rate, self.grid_index - 1),
            _ => last_call,
        };
        self.grid_index = 1;
    }
}
