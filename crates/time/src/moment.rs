//! What real and game time have in common, for logic that serves both domains.
//!
//! Repeating timers, tick clocks and links do the same sums in nanoseconds as in nanounits. They are
//! written once, over [`Moment`]; the two times stay two types, and nothing here converts one to the other.

use std::fmt;

use crate::units::{GameSpan, GameTime, RealSpan, RealTime};

/// An instant of one of the two times, counted in billionths of a second or of a unit.
///
/// Sums are made in 128 bits and come back to the type's own range in one place, so that no product of a
/// period and a count can wrap.
pub trait Moment: Copy + Ord + fmt::Debug {
    /// Lengths in the same time.
    type Span: Copy + Ord + fmt::Debug;

    /// The least and the greatest instant that can be written.
    const RANGE: (Self, Self);

    /// Billionths since the origin.
    fn to_nanos(self) -> i128;

    /// The instant `nanos` billionths after the origin, `None` outside the range.
    fn from_nanos(nanos: i128) -> Option<Self>;

    /// Billionths in `span`.
    fn span_to_nanos(span: Self::Span) -> i128;

    /// A span of `nanos` billionths; stops at the ends of the range.
    fn span_from_nanos(nanos: i128) -> Self::Span;

    /// `self + span`, `None` outside the range.
    fn checked_add(self, span: Self::Span) -> Option<Self> {
        Self::from_nanos(self.to_nanos().checked_add(Self::span_to_nanos(span))?)
    }

    /// The span from `earlier` to `self`; negative if `earlier` is in fact later.
    fn span_since(self, earlier: Self) -> Self::Span {
        Self::span_from_nanos(self.to_nanos() - earlier.to_nanos())
    }

    /// How many whole periods lie between `self` and `now`: rounded down, 0 if `now` is not later.
    fn whole_periods_until(self, now: Self, period: Self::Span) -> u64 {
        let passed = self.nanos_until(now);
        saturated(passed / period_nanos::<Self>(period))
    }

    /// How many periods cover the time from `self` to `now`: rounded up, 0 if `now` is not later.
    fn periods_to_reach(self, now: Self, period: Self::Span) -> u64 {
        let passed = self.nanos_until(now);
        saturated(passed.div_ceil(period_nanos::<Self>(period)))
    }

    /// The instant `count` periods after `self`; stops at the end of the range.
    fn after_periods(self, period: Self::Span, count: u64) -> Self {
        let span = Self::span_to_nanos(period).checked_mul(i128::from(count));
        let nanos = span.and_then(|span| self.to_nanos().checked_add(span));
        nanos.and_then(Self::from_nanos).unwrap_or(Self::RANGE.1)
    }

    /// Billionths from `self` to `now`, 0 if `now` is not later.
    fn nanos_until(self, now: Self) -> u128 {
        now.to_nanos()
            .saturating_sub(self.to_nanos())
            .max(0)
            .unsigned_abs()
    }
}

fn period_nanos<M: Moment>(period: M::Span) -> u128 {
    let nanos = M::span_to_nanos(period);
    assert!(nanos > 0, "a period is positive, checked where it was set");
    nanos.unsigned_abs()
}

fn saturated(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

impl Moment for RealTime {
    type Span = RealSpan;

    const RANGE: (Self, Self) = (Self::from_nanos(i64::MIN), Self::MAX);

    fn to_nanos(self) -> i128 {
        i128::from(self.as_nanos())
    }

    fn from_nanos(nanos: i128) -> Option<Self> {
        i64::try_from(nanos).ok().map(Self::from_nanos)
    }

    fn span_to_nanos(span: RealSpan) -> i128 {
        i128::from(span.as_nanos())
    }

    fn span_from_nanos(nanos: i128) -> RealSpan {
        let end = if nanos < 0 { i64::MIN } else { i64::MAX };
        RealSpan::from_nanos(i64::try_from(nanos).unwrap_or(end))
    }
}

impl Moment for GameTime {
    type Span = GameSpan;

    const RANGE: (Self, Self) = (Self::from_nanounits(i128::MIN), Self::from_nanounits(i128::MAX));

    fn to_nanos(self) -> i128 {
        self.as_nanounits()
    }

    fn from_nanos(nanos: i128) -> Option<Self> {
        Some(Self::from_nanounits(nanos))
    }

    fn span_to_nanos(span: GameSpan) -> i128 {
        span.as_nanounits()
    }

    fn span_from_nanos(nanos: i128) -> GameSpan {
        GameSpan::from_nanounits(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_counted_down_and_up() {
        let period = RealSpan::from_nanos(50);
        let count = |now: i64| {
            let now = RealTime::from_nanos(now);
            let origin = RealTime::from_nanos(100);
            (
                origin.whole_periods_until(now, period),
                origin.periods_to_reach(now, period),
            )
        };
        assert_eq!(count(-7), (0, 0));
        assert_eq!(count(100), (0, 0));
        assert_eq!(count(101), (0, 1));
        assert_eq!(count(150), (1, 1));
        assert_eq!(count(199), (1, 2));
    }

    #[test]
    fn no_product_of_period_and_count_wraps() {
        let hour = RealSpan::from_secs(3600);
        assert_eq!(RealTime::ZERO.after_periods(hour, u64::MAX), RealTime::MAX);
        assert_eq!(RealTime::MAX.checked_add(RealSpan::from_nanos(1)), None);
        let century = RealTime::ZERO.after_periods(hour, 100 * 365 * 24);
        assert_eq!(RealTime::ZERO.whole_periods_until(century, hour), 100 * 365 * 24);
        let units = GameSpan::from_units(1 << 31);
        let far = GameTime::ZERO.after_periods(units, 1 << 40);
        assert_eq!(far.whole_units(), 1 << 71);
        assert_eq!(GameTime::ZERO.whole_periods_until(far, units), 1 << 40);
    }
}
