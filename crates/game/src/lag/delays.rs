//! How long messages took: a histogram of game time, small enough for every link to have one.

use trantor_time::GameSpan;

/// Upper bounds of the buckets, in nanounits: 1 and 1.5 times each power of two from an eighth of a unit to a million
/// units.
const BOUNDS_NU: [i64; 48] = {
    let mut bounds = [0; 48];
    let (mut nth, mut octave) = (0, 125_000_000);
    while nth < bounds.len() {
        bounds[nth] = octave;
        bounds[nth + 1] = octave / 2 * 3;
        octave *= 2;
        nth += 2;
    }
    bounds
};

/// Delays of messages, from sending to arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// One for each bound, and one for what is longer than all of them.
    buckets: [u64; BOUNDS_NU.len() + 1],
    sum: GameSpan,
    shortest: GameSpan,
    longest: GameSpan,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            buckets: [0; BOUNDS_NU.len() + 1],
            sum: GameSpan::ZERO,
            shortest: GameSpan::ZERO,
            longest: GameSpan::ZERO,
        }
    }
}

impl Delays {
    pub(super) fn record(&mut self, delay: GameSpan) {
        let is_first = self.count() == 0;
        let bucket = BOUNDS_NU.partition_point(|bound| i128::from(*bound) < delay.as_nanounits());
        self.buckets[bucket] += 1;
        self.sum += delay;
        self.shortest = if is_first { delay } else { self.shortest.min(delay) };
        self.longest = self.longest.max(delay);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// All of them together.
    pub fn sum(&self) -> GameSpan {
        self.sum
    }

    /// Upper bound of each bucket in units, and how many delays lie in it.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS_NU.map(|bound| GameSpan::from_nanounits(bound.into()).as_units_f64());
        let bounds = bounds.into_iter().chain([f64::INFINITY]);
        bounds.zip(self.buckets)
    }

    /// The delay that this share in a hundred did not exceed, to a third of itself; zero if there were none. Within a
    /// bucket delays count as spread evenly.
    pub fn percentile(&self, percent: u64) -> GameSpan {
        let rank = (u128::from(self.count()) * u128::from(percent))
            .div_ceil(100)
            .max(1);
        let mut before = 0;
        for (bucket, count) in self.buckets.into_iter().enumerate() {
            let count = u128::from(count);
            if before + count >= rank {
                let bound = |nth: usize| BOUNDS_NU.get(nth).copied().map(i128::from);
                let lower = bucket.checked_sub(1).and_then(bound).unwrap_or(0);
                let upper = bound(bucket).unwrap_or(self.longest.as_nanounits());
                let share = (upper - lower) * (rank - before) as i128 / count as i128;
                return GameSpan::from_nanounits(lower + share).clamp(self.shortest, self.longest);
            }
            before += count;
        }
        GameSpan::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: i64) -> GameSpan {
        GameSpan::from_units(units)
    }

    #[test]
    fn percentiles_are_near_those_of_the_delays() {
        let mut delays = Delays::default();
        assert_eq!(delays.percentile(99), GameSpan::ZERO);
        for delay in 1..=1_000 {
            delays.record(units(delay));
        }
        for percent in [1, 10, 50, 90, 99, 100] {
            let (found, exact) = (delays.percentile(percent).as_units_f64(), percent as f64 * 10.0);
            assert!((found / exact - 1.0).abs() < 0.1, "{percent} %: {found}");
        }
        assert_eq!((delays.count(), delays.sum()), (1_000, units(500_500)));
        let mut of_one = Delays::default();
        of_one.record(units(5));
        assert_eq!(of_one.percentile(50), units(5));
        of_one.record(units(2_000_000));
        assert_eq!(of_one.percentile(100), units(2_000_000));
        assert_eq!(of_one.buckets().last(), Some((f64::INFINITY, 1)));
    }
}
