//! The policy of `--precise`: how early to wake for a deadline, and when a core turns out to be too busy for it.
//!
//! The wait sleeps until `lead` before the deadline and spins for the rest. The lead follows the measured wake-up latency: it
//! approaches the 90th percentile, since it grows nine times as much at a late wake-up as it shrinks at any other.
//! A spinning thread sees that it lost its core by a gap between two readings of the clock. Reading the clock, sleeping and
//! spinning are the wait's own ([`super`]).

use trantor_time::{RealSpan, RealTime};

/// What a wake-up after the deadline adds to the lead: nine times [`EARLY_STEP`], for the 90th percentile. From zero the lead
/// reaches a usual latency of 50 µs within 60 deadlines.
const LATE_STEP: RealSpan = RealSpan::from_nanos(900);

/// What any other wake-up takes off the lead. Small, so that the lead stays within a microsecond or two of its aim.
const EARLY_STEP: RealSpan = RealSpan::from_nanos(100);

/// Highest lead, and so the longest spin: a latency beyond that is no latency of a core to spare, and a thousand deadlines a
/// second cost a tenth of a core at most.
const LEAD_MAX: RealSpan = RealSpan::from_micros(100);

/// From here on the time between two readings of the clock is a gap: another program had the core. A reading and a poll of the
/// sockets take about a microsecond, an interrupt some ten.
const GAP_MIN: RealSpan = RealSpan::from_micros(30);

/// Gaps within [`WINDOW_SPINS`] spins that a core to spare may have; with one more it counts as shared. Timer ticks of the system
/// and pauses of a virtual machine come to a few.
const GAPS_MAX: u32 = 16;

/// Spins after which gaps are counted anew: gaps in 1.6 % of them cost more of the 99th percentile than spinning gains.
const WINDOW_SPINS: u32 = 1_024;

#[derive(Debug, Default)]
pub(super) struct Spin {
    lead: RealSpan,
    /// Of this window.
    spins: u32,
    gaps: u32,
    last_reading: RealTime,
    is_core_shared: bool,
}

impl Spin {
    /// How long before a deadline to wake.
    pub(super) fn lead(&self) -> RealSpan {
        self.lead
    }

    /// The core was found to be shared; that is final.
    pub(super) fn is_core_shared(&self) -> bool {
        self.is_core_shared
    }

    /// Takes the latency of a wake-up that was asked for a lead before its deadline.
    pub(super) fn learn(&mut self, latency: RealSpan) {
        self.lead = match latency > self.lead {
            true => (self.lead + LATE_STEP).min(LEAD_MAX),
            false => (self.lead - EARLY_STEP).max(RealSpan::ZERO),
        };
    }

    pub(super) fn begin(&mut self, now: RealTime) {
        if self.spins == WINDOW_SPINS {
            (self.spins, self.gaps) = (0, 0);
        }
        self.spins += 1;
        self.last_reading = now;
    }

    pub(super) fn note_reading(&mut self, now: RealTime) {
        if now - self.last_reading > GAP_MIN {
            self.gaps += 1;
            self.is_core_shared |= self.gaps > GAPS_MAX;
        }
        self.last_reading = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use trantor_time::{Clock, ManualClock};

    /// Spins once for 40 µs, losing the core for `gap` on the way.
    fn spin(spin: &mut Spin, clock: &ManualClock, gap: RealSpan) {
        spin.begin(clock.now());
        for step in [RealSpan::from_micros(20), gap, RealSpan::from_micros(20)] {
            clock.advance(step);
            spin.note_reading(clock.now());
        }
        clock.advance(RealSpan::from_millis(1));
    }

    #[test]
    fn the_lead_covers_nine_wake_ups_in_ten_and_is_bounded() {
        let mut spin = Spin::default();
        // A hundred latencies, evenly between 20 and 60 µs, in a mixed order.
        let latencies = (0..100).map(|nth| RealSpan::from_nanos(20_000 + 400 * (nth * 37 % 100)));
        for latency in latencies.cycle().take(10_000) {
            spin.learn(latency);
        }
        let aim = RealSpan::from_micros(56);
        let off_by = (spin.lead() - aim).max(aim - spin.lead());
        assert!(off_by <= RealSpan::from_micros(2), "{:?}", spin.lead());
        for _ in 0..1_000 {
            spin.learn(RealSpan::from_millis(5));
        }
        assert_eq!(spin.lead(), LEAD_MAX);
    }

    #[test]
    fn one_gap_too_many_in_a_window_is_a_shared_core_for_good() {
        let (mut policy, clock) = (Spin::default(), ManualClock::starting_at(RealTime::ZERO));
        for nth in 0..10 * WINDOW_SPINS {
            let has_gap = nth % WINDOW_SPINS < GAPS_MAX;
            spin(&mut policy, &clock, if has_gap { GAP_MIN * 2 } else { GAP_MIN });
        }
        assert!(!policy.is_core_shared());
        for _ in 0..=GAPS_MAX {
            spin(&mut policy, &clock, GAP_MIN * 2);
        }
        assert!(policy.is_core_shared());
        for _ in 0..2 * WINDOW_SPINS {
            spin(&mut policy, &clock, RealSpan::ZERO);
        }
        assert!(policy.is_core_shared());
    }
}
