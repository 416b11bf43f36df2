//! Published values: name and number, for any part, mod or script to read, and the rates behind them.
//!
//! Values are put by the loop and read on the loop; [`crate::metrics`] is what other threads read.

use std::collections::BTreeMap;

use trantor_time::{RealSpan, RealTime};

/// Numbers by name. Names are dotted, as those of metrics; reading them in order gives names in order.
#[derive(Clone, Debug, Default)]
pub struct Published {
    values: BTreeMap<String, f64>,
}

impl Published {
    /// Nothing published yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes `value` under `name`. A name used before costs no allocation.
    pub fn set(&mut self, name: &str, value: f64) {
        match self.values.get_mut(name) {
            Some(place) => *place = value,
            None => {
                self.values.insert(name.to_owned(), value);
            }
        }
    }

    /// Publishes `value` if there is one; a rate that cannot be told yet leaves no number behind.
    pub fn set_known(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// The value under `name`, `None` if it was never published.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// All values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> + '_ {
        self.values.iter().map(|(name, &value)| (name.as_str(), value))
    }
}

/// A rate over a sliding second.
///
/// The second is kept in slots, so memory does not grow with the rate; what is counted enters the rate at most
/// one slot later. Before a whole second has passed, the rate is over the time there has been.
#[derive(Clone, Debug)]
pub struct SlidingRate {
    start: RealTime,
    /// The slot that is being filled, counted from `start`.
    slot: i64,
    /// Ring of the last full second and the slot being filled.
    counts: [u32; SLOTS + 1],
}

/// Slots in a second. More would make the value steadier at low rates by less than it costs.
const SLOTS: usize = 20;
const SLOT: RealSpan = RealSpan::from_nanos(trantor_time::NANOS / SLOTS as i64);

impl SlidingRate {
    /// Nothing has happened yet, at `start`.
    pub fn new(start: RealTime) -> Self {
        Self {
            start,
            slot: 0,
            counts: [0; SLOTS + 1],
        }
    }

    /// Counts `events` more at `now`.
    pub fn add(&mut self, now: RealTime, events: u32) {
        self.turn_to(now);
        let count = &mut self.counts[ring_index(self.slot)];
        *count = count.saturating_add(events);
    }

    /// Events a second at `now`; `None` in the first twentieth of a second, too short to divide by.
    pub fn per_second(&mut self, now: RealTime) -> Option<f64> {
        self.turn_to(now);
        let lived = now.since(self.start);
        if lived < SLOT {
            return None;
        }
        let all: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        if self.slot < SLOTS as i64 {
            return Some(all as f64 / lived.as_secs_f64());
        }
        Some((all - u64::from(self.counts[ring_index(self.slot)])) as f64)
    }

    /// Empties the slots between the one last filled and that of `now`.
    fn turn_to(&mut self, now: RealTime) {
        let slot = now.since(self.start).as_nanos() / SLOT.as_nanos();
        if slot - self.slot > SLOTS as i64 {
            self.counts = [0; SLOTS + 1];
            self.slot = slot;
        }
        while self.slot < slot {
            self.slot += 1;
            self.counts[ring_index(self.slot)] = 0;
        }
    }
}

fn ring_index(slot: i64) -> usize {
    slot.rem_euclid(SLOTS as i64 + 1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn values_are_read_by_name() {
        let mut published = Published::new();
        published.set("loop.passes_count", 1.0);
        published.set_known("loop.frames_per_second", None);
        published.set("loop.passes_count", 2.0);
        assert_eq!(published.get("loop.passes_count"), Some(2.0));
        assert_eq!(published.get("loop.frames_per_second"), None);
        assert_eq!(published.iter().collect::<Vec<_>>(), [("loop.passes_count", 2.0)]);
    }

    #[test]
    fn a_rate_follows_a_step_from_30_to_15_within_a_second_and_a_half() {
        let mut rate = SlidingRate::new(ms(0));
        let mut at_us = 0;
        while at_us < 5_000_000 {
            rate.add(RealTime::ZERO + RealSpan::from_micros(at_us), 1);
            at_us += 33_333;
        }
        let at_five = rate.per_second(ms(5_000)).unwrap();
        assert!((at_five - 30.0).abs() <= 1.0, "{at_five}");
        while at_us < 6_500_000 {
            rate.add(RealTime::ZERO + RealSpan::from_micros(at_us), 1);
            at_us += 66_667;
        }
        let at_six_and_a_half = rate.per_second(ms(6_500)).unwrap();
        assert!((at_six_and_a_half - 15.0).abs() <= 1.0, "{at_six_and_a_half}");
    }

    #[test]
    fn the_first_value_is_meaningful() {
        let mut rate = SlidingRate::new(ms(10_000));
        assert_eq!(rate.per_second(ms(10_000)), None);
        for tenth in 0..5 {
            rate.add(ms(10_000 + tenth * 20), 1);
        }
        assert_eq!(rate.per_second(ms(10_100)), Some(50.0));
    }

    #[test]
    fn a_rate_falls_to_zero_when_nothing_happens() {
        let mut rate = SlidingRate::new(ms(0));
        rate.add(ms(100), 7);
        assert_eq!(rate.per_second(ms(1_050)), Some(7.0));
        assert_eq!(rate.per_second(ms(1_200)), Some(0.0));
        assert_eq!(rate.per_second(ms(1_000_000_000)), Some(0.0));
    }
}
