//! The two times and their spans, as types that cannot be mixed up.
//!
//! Real time is counted in nanoseconds of the monotonic clock, game time in billionths of a unit
//! (*nanounits*, `nu`). In `d` nanoseconds at `f` units a second the game moves `d · f` nanounits: an
//! integer, so that reading the game clock and changing its speed never round.
//!
//! Conversions between the two live in [`crate::game_clock`]; nothing here knows a clock.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Nanoseconds in a second, and nanounits in a unit: the two scales are the same on purpose.
pub const NANOS: i64 = 1_000_000_000;

/// An instant of the monotonic clock: nanoseconds since an origin that the shell chose.
///
/// The range is ±292 years around the origin, so that nothing wraps within a century.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RealTime(i64);

/// A length of real time in nanoseconds; may be negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RealSpan(i64);

/// An instant of the game clock: nanounits since the world began.
///
/// 128 bits never end: 64 would overflow after 5 hours at a million units a second. What is read from outside lies
/// within `READ_NU_MAX` of the beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct GameTime(i128);

/// A length of game time in nanounits; may be negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct GameSpan(i128);

/// Units of game time per second of real time: 1 to [`Frequency::MAX`].
///
/// A pause is not a frequency; see [`crate::game_clock::GameClock::pause`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Frequency(NonZeroU32);

/// Why a number is not a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frequency is a whole number from 1 to {max}, not {asked}", max = Frequency::MAX)]
pub struct FrequencyError {
    /// The number that was refused.
    pub asked: u64,
}

impl RealTime {
    /// The origin that the shell chose.
    pub const ZERO: Self = Self(0);
    /// Later than any instant that can be reached.
    pub const MAX: Self = Self(i64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The span from `earlier` to `self`, zero if `earlier` is in fact later.
    pub fn since(self, earlier: Self) -> RealSpan {
        RealSpan(self.0.saturating_sub(earlier.0).max(0))
    }

    /// `self + span`, stopping at the ends of the range instead of wrapping.
    pub const fn saturating_add(self, span: RealSpan) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The first multiple of `step` since the origin that is not before `self`; stops at the end of the range.
    ///
    /// # Panics
    /// If `step` is zero.
    pub fn round_up(self, step: RealSpan) -> Self {
        let rest = self.0.rem_euclid(step.0);
        let up = if rest == 0 { 0 } else { step.0 - rest };
        Self(self.0.saturating_add(up))
    }

    /// Whole periods from `self` to `now`, rounded down; 0 if `now` is not later.
    ///
    /// # Panics
    /// If `period` is not positive.
    pub fn periods_until(self, now: Self, period: RealSpan) -> u64 {
        self.nanos_until(now) / period.nanos_of_period()
    }

    /// Periods that cover the time from `self` to `now`, rounded up; 0 if `now` is not later.
    ///
    /// # Panics
    /// If `period` is not positive.
    pub fn periods_to_reach(self, now: Self, period: RealSpan) -> u64 {
        self.nanos_until(now).div_ceil(period.nanos_of_period())
    }

    /// The instant `count` periods after `self`; stops at the end of the range.
    pub fn after_periods(self, period: RealSpan, count: u64) -> Self {
        let nanos = i128::from(self.0) + i128::from(period.0) * i128::from(count);
        Self(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    fn nanos_until(self, now: Self) -> u64 {
        if now <= self { 0 } else { now.0.abs_diff(self.0) }
    }
}

impl RealSpan {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any wait that ends.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds; saturates at ±292 years.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds; saturates at ±292 years.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds; saturates at ±292 years.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS))
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Seconds as a float, for display and for variable-step animation only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }

    /// Milliseconds as a float, for display only.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The same span for the standard library; negative spans become zero.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.max(0) as u64)
    }

    /// The span of a standard duration; saturates at 292 years.
    pub fn from_std(duration: std::time::Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }

    fn nanos_of_period(self) -> u64 {
        assert!(self.0 > 0, "a period is positive, checked where it was set");
        self.0.unsigned_abs()
    }
}

impl<'de> Deserialize<'de> for GameTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let nanounits = i128::deserialize(from)?;
        match nanounits.unsigned_abs() <= Self::READ_NU_MAX {
            true => Ok(Self(nanounits)),
            false => Err(D::Error::custom("a game time is out of range")),
        }
    }
}

impl GameTime {
    /// The moment the world began.
    pub const ZERO: Self = Self(0);
    /// The largest game time that is read, in nanounits, in either direction: more than the fastest clock shows in a
    /// million years. It leaves room for every sum and product in 128 bits.
    const READ_NU_MAX: u128 = 1 << 96;

    /// The moment `nanounits` billionths of a unit after the world began.
    pub const fn from_nanounits(nanounits: i128) -> Self {
        Self(nanounits)
    }

    /// The moment `units` whole units after the world began.
    pub const fn from_units(units: i64) -> Self {
        Self(units as i128 * NANOS as i128)
    }

    /// Billionths of a unit since the world began.
    pub const fn as_nanounits(self) -> i128 {
        self.0
    }

    /// Whole units since the world began, rounded down.
    pub const fn whole_units(self) -> i128 {
        self.0.div_euclid(NANOS as i128)
    }

    /// Billionths of a unit past the last whole unit, `0..1_000_000_000`.
    pub const fn unit_fraction_nu(self) -> u32 {
        self.0.rem_euclid(NANOS as i128) as u32
    }

    /// Units as a float, for display and interpolation only; the game never reads it back.
    pub fn as_units_f64(self) -> f64 {
        self.whole_units() as f64 + f64::from(self.unit_fraction_nu()) / NANOS as f64
    }
}

impl GameSpan {
    /// No game time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `nanounits` billionths of a unit.
    pub const fn from_nanounits(nanounits: i128) -> Self {
        Self(nanounits)
    }

    /// A span of whole units.
    pub const fn from_units(units: i64) -> Self {
        Self(units as i128 * NANOS as i128)
    }

    /// Reads units as people write them, `1500` or `2.5`, to the billionth; `None` if it is no such number.
    pub fn read(units: &str) -> Option<Self> {
        i128::try_from(read_decimal(units, NANOS.ilog10() as usize)?)
            .ok()
            .map(Self)
    }

    /// Billionths of a unit.
    pub const fn as_nanounits(self) -> i128 {
        self.0
    }

    /// Units as a float, for display and interpolation only.
    pub fn as_units_f64(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }
}

/// Reads a number with at most `digits` digits behind its point, in units of the last of these; `None` if it is no such
/// number.
pub fn read_decimal(number: &str, digits: usize) -> Option<u128> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let mut all = whole.bytes().chain(part.bytes());
    if whole.is_empty()
        || number.ends_with('.')
        || part.len() > digits
        || !all.all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    format!("{whole}{part:0<digits$}").parse().ok()
}

impl Frequency {
    /// The highest frequency: a unit is then a microsecond.
    pub const MAX: u32 = 1_000_000;

    /// Checks that `hertz` lies in `1..=1_000_000`.
    pub fn new(hertz: u64) -> Result<Self, FrequencyError> {
        u32::try_from(hertz)
            .ok()
            .filter(|&hertz| hertz <= Self::MAX)
            .and_then(NonZeroU32::new)
            .map(Self)
            .ok_or(FrequencyError { asked: hertz })
    }

    /// Units per second.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl TryFrom<u32> for Frequency {
    type Error = FrequencyError;

    fn try_from(hertz: u32) -> Result<Self, FrequencyError> {
        Self::new(u64::from(hertz))
    }
}

impl From<Frequency> for u32 {
    fn from(frequency: Frequency) -> u32 {
        frequency.get()
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl fmt::Debug for RealTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl fmt::Debug for RealSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl fmt::Debug for GameTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} u", self.whole_units(), self.unit_fraction_nu())
    }
}

impl fmt::Debug for GameSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanounits = self.0.unsigned_abs();
        write!(
            f,
            "{sign}{}.{:09} u",
            nanounits / NANOS as u128,
            nanounits % NANOS as u128
        )
    }
}

/// What an overflow says: instants and spans come from checked input, so it is an inside mistake, and it stops
/// in a release as well.
const IN_RANGE: &str = "time stays within its range";

/// An instant and its span add and subtract as one expects.
macro_rules! instant_and_span {
    ($instant:ident, $span:ident, $scalar:ty) => {
        impl Add<$span> for $instant {
            type Output = $instant;
            fn add(self, span: $span) -> $instant {
                $instant(self.0.checked_add(span.0).expect(IN_RANGE))
            }
        }
        impl Sub<$span> for $instant {
            type Output = $instant;
            fn sub(self, span: $span) -> $instant {
                $instant(self.0.checked_sub(span.0).expect(IN_RANGE))
            }
        }
        impl Sub for $instant {
            type Output = $span;
            fn sub(self, earlier: $instant) -> $span {
                $span(self.0.checked_sub(earlier.0).expect(IN_RANGE))
            }
        }
        impl AddAssign<$span> for $instant {
            fn add_assign(&mut self, span: $span) {
                *self = *self + span;
            }
        }
        impl Add for $span {
            type Output = $span;
            fn add(self, other: $span) -> $span {
                $span(self.0.checked_add(other.0).expect(IN_RANGE))
            }
        }
        impl Sub for $span {
            type Output = $span;
            fn sub(self, other: $span) -> $span {
                $span(self.0.checked_sub(other.0).expect(IN_RANGE))
            }
        }
        impl AddAssign for $span {
            fn add_assign(&mut self, other: $span) {
                *self = *self + other;
            }
        }
        impl SubAssign for $span {
            fn sub_assign(&mut self, other: $span) {
                *self = *self - other;
            }
        }
        impl Neg for $span {
            type Output = $span;
            fn neg(self) -> $span {
                $span(self.0.checked_neg().expect(IN_RANGE))
            }
        }
        impl Mul<$scalar> for $span {
            type Output = $span;
            fn mul(self, factor: $scalar) -> $span {
                $span(self.0.checked_mul(factor).expect(IN_RANGE))
            }
        }
    };
}

instant_and_span!(RealTime, RealSpan, i64);
instant_and_span!(GameTime, GameSpan, i128);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn whole_units_round_down_on_both_sides_of_zero() {
        for (nanounits, whole, fraction) in [
            (0, 0, 0),
            (1, 0, 1),
            (999_999_999, 0, 999_999_999),
            (-1, -1, 999_999_999),
        ] {
            let moment = GameTime::from_nanounits(nanounits);
            let split = (moment.whole_units(), moment.unit_fraction_nu());
            assert_eq!(split, (whole, fraction));
        }
        let shown = format!("{:?}", GameTime::from_nanounits(7_000_000_001));
        assert_eq!(shown, "7.000000001 u");
        let shown = format!("{:?}", GameSpan::from_nanounits(-1_500_000_000));
        assert_eq!(shown, "-1.500000000 u");
    }

    #[test]
    fn spans_convert_without_being_cut_downwards_and_stop_at_the_end_of_the_range() {
        let duration = Duration::from_nanos(1_999_999);
        assert_eq!(RealSpan::from_std(duration), RealSpan::from_nanos(1_999_999));
        assert_eq!(RealSpan::from_nanos(-5).to_std(), Duration::ZERO);
        for end in [RealSpan::from_std(Duration::MAX), RealSpan::from_secs(i64::MAX)] {
            assert_eq!(end, RealSpan::MAX);
        }
    }

    #[test]
    fn periods_are_counted_down_and_up_and_never_wrap() {
        let (origin, period) = (RealTime::from_nanos(100), RealSpan::from_nanos(50));
        for (now, down, up) in [(-7, 0, 0), (100, 0, 0), (101, 0, 1), (150, 1, 1), (199, 1, 2)] {
            let now = RealTime::from_nanos(now);
            assert_eq!(origin.periods_until(now, period), down);
            assert_eq!(origin.periods_to_reach(now, period), up);
        }
        assert_eq!(origin.after_periods(period, u64::MAX), RealTime::MAX);
    }

    #[test]
    #[should_panic(expected = "time stays within its range")]
    fn an_overflow_stops_instead_of_wrapping() {
        let _ = RealTime::MAX + RealSpan::from_nanos(1);
    }
}
