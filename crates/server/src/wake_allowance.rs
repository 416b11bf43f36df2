//! How often a loop may wake up for deadlines alone.
//!
//! A wake-up costs far more than what is done in it, and so does waking the peer who is answered. Where deadlines are
//! few each has its own; where they are dense the next wake-up is put off a little, and serves all that have
//! become due by then. It is a store of wake-ups: every sleep that ends with a deadline reached takes one, and one comes
//! back at every step of a steady beat. Whoever finds the store empty waits for the next one, never longer
//! (docs/decisions/0106).

use trantor_time::{Frequency, RealSpan, RealTime};

/// How often the store gets a wake-up back, and so the longest that a deadline is put off. A thousand agents at 100
/// units a second, all of them busy, cost half of what they cost without it.
const SPACING_MAX: RealSpan = RealSpan::from_micros(260);

/// A player who waits for one answer before asking again loses what it is put off by with every command. That is to
/// be no more than a 27th of the time that most commands take, which is 7 units.
const SPACING_NANOUNITS: i64 = 7_000_000_000 / 27;

/// Wake-ups in a full store. Deadlines bunch by chance: of 3,000 a second at random instants not one in a million finds
/// the store empty.
const STORE_COUNT: i64 = 32;

/// The longest that a deadline may be put off at a speed.
pub fn spacing_at(speed: Frequency) -> RealSpan {
    let scaled = RealSpan::from_nanos(SPACING_NANOUNITS / i64::from(speed.get()));
    scaled.min(SPACING_MAX)
}

/// The store of one loop.
#[derive(Debug)]
pub(crate) struct WakeAllowance {
    /// When the store will be full again, if nothing more is taken from it.
    full_at: RealTime,
    spacing: RealSpan,
}

impl WakeAllowance {
    /// A full store that gives wake-ups without end, until a spacing is set.
    pub(crate) fn new() -> Self {
        Self {
            full_at: RealTime::ZERO,
            spacing: RealSpan::ZERO,
        }
    }

    /// Sets how often a wake-up comes back. A change begins with a full store.
    pub(crate) fn set_spacing(&mut self, spacing: RealSpan) {
        if spacing != self.spacing {
            self.spacing = spacing;
            self.full_at = RealTime::ZERO;
        }
    }

    /// When to wake for a deadline at `until`: then, or as soon as there is a wake-up for it.
    pub(crate) fn wake_for(&self, until: RealTime) -> RealTime {
        until.max(self.full_at - self.store())
    }

    /// A sleep ended at `now` with a deadline to serve, whatever ended it. However late or often that is, it runs up no debt.
    pub(crate) fn take(&mut self, now: RealTime) {
        let full_at = self.full_at.max(now) + self.spacing;
        self.full_at = full_at.min(now + self.store() + self.spacing);
    }

    fn store(&self) -> RealSpan {
        self.spacing * STORE_COUNT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    const SPACING: RealSpan = RealSpan::from_micros(100);

    /// What became of deadlines that were slept for one after another.
    struct Served {
        wake_ups: Vec<RealTime>,
        put_off_max: RealSpan,
    }

    /// Sleeps to the first deadline, serves all that are due, and so on; each wake-up is late by what `lateness` says.
    fn serve(
        allowance: &mut WakeAllowance,
        deadlines: &[RealTime],
        mut lateness: impl FnMut() -> RealSpan,
    ) -> Served {
        let (mut wake_ups, mut put_off_max) = (Vec::new(), RealSpan::ZERO);
        let mut left = deadlines;
        while let Some(&first) = left.first() {
            let at = allowance.wake_for(first);
            assert!(at >= first, "nothing is early");
            put_off_max = put_off_max.max(at - first);
            let now = at + lateness();
            allowance.take(now);
            wake_ups.push(now);
            left = &left[left.partition_point(|&due| due <= now)..];
        }
        Served {
            wake_ups,
            put_off_max,
        }
    }

    fn evenly(gap: RealSpan, count: i64) -> Vec<RealTime> {
        (1..=count).map(|nth| RealTime::ZERO + gap * nth).collect()
    }

    fn with_spacing() -> WakeAllowance {
        let mut allowance = WakeAllowance::new();
        allowance.set_spacing(SPACING);
        allowance
    }

    #[test]
    fn sparse_deadlines_are_not_put_off() {
        let served = serve(&mut with_spacing(), &evenly(SPACING, 10_000), || RealSpan::ZERO);
        assert_eq!(served.put_off_max, RealSpan::ZERO);
        assert_eq!(served.wake_ups.len(), 10_000);
    }

    #[test]
    fn a_bunch_of_deadlines_is_not_put_off() {
        let mut allowance = with_spacing();
        for bunch in 0..100 {
            let begin = RealTime::ZERO + RealSpan::from_millis(4) * bunch;
            let deadlines: Vec<_> = (1..=STORE_COUNT)
                .map(|nth| begin + RealSpan::from_micros(nth))
                .collect();
            let served = serve(&mut allowance, &deadlines, || RealSpan::ZERO);
            assert_eq!(served.put_off_max, RealSpan::ZERO, "bunch {bunch}");
        }
    }

    #[test]
    fn dense_deadlines_share_wake_ups() {
        let deadlines = evenly(RealSpan::from_micros(10), 100_000);
        let served = serve(&mut with_spacing(), &deadlines, || RealSpan::ZERO);
        // One for each spacing of that second, and the store with the one that comes back at once.
        assert!(served.wake_ups.len() as i64 <= 10_000 + STORE_COUNT + 1);
        assert!(served.put_off_max > RealSpan::ZERO);
    }

    proptest! {
        #[test]
        fn nothing_is_early_nor_put_off_by_more_than_the_spacing(
            widest_ns in 1..1_000_000_i64,
            shares in prop::collection::vec((0..=1_000_i64, 0..80_000_i64), 1..2_000),
        ) {
            let mut at = RealTime::ZERO;
            let deadlines: Vec<_> = shares
                .iter()
                .map(|&(share, _)| {
                    at += RealSpan::from_nanos(widest_ns * share / 1_000);
                    at
                })
                .collect();
            let mut lateness = shares.iter().map(|&(_, late_ns)| RealSpan::from_nanos(late_ns));
            let served = serve(&mut with_spacing(), &deadlines, || {
                lateness.next().expect("no more wake-ups than deadlines")
            });
            prop_assert!(served.put_off_max <= SPACING, "{:?}", served.put_off_max);
        }
    }

    #[test]
    fn wake_ups_in_a_row_run_up_no_debt() {
        let mut allowance = with_spacing();
        let mut now = RealTime::ZERO;
        for _ in 0..10_000 {
            now += RealSpan::from_micros(1);
            allowance.take(now);
        }
        assert_eq!(allowance.wake_for(now), now + SPACING);
        now += SPACING * (STORE_COUNT + 1);
        assert_eq!(allowance.wake_for(now), now, "and the store fills again");
    }

    #[test]
    fn another_spacing_holds_at_once() {
        let mut allowance = with_spacing();
        let dense = evenly(RealSpan::from_micros(1), 10_000);
        serve(&mut allowance, &dense, || RealSpan::ZERO);
        let now = *dense.last().unwrap();
        assert!(allowance.wake_for(now) > now);
        allowance.set_spacing(RealSpan::from_micros(10));
        assert_eq!(allowance.wake_for(now), now);
    }

    #[test]
    fn who_waits_for_each_answer_loses_a_27th_at_most() {
        for units_per_s in [1, 100, 1_000, 3_000, 10_000, 1_000_000] {
            let speed = Frequency::new(units_per_s).unwrap();
            let step_ns = 7 * 1_000_000_000 / units_per_s as i64;
            let spacing = spacing_at(speed);
            assert!(spacing.as_nanos() * 27 <= step_ns, "at {units_per_s}");
            assert!(spacing <= SPACING_MAX);
        }
        assert_eq!(spacing_at(Frequency::new(100).unwrap()), SPACING_MAX);
    }
}
