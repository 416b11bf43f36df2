//! Token bucket: a rate limit with a burst for peers that were silent.
//!
//! Tokens are counted in billionths, so that nothing is lost between two looks however close they are.

use crate::units::{NANOS, RealSpan, RealTime};

/// How fast tokens come, and how many may be saved up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRate {
    /// Tokens that come in a second.
    pub per_second: u32,
    /// Tokens that may be saved up, at least 1.
    pub burst: u32,
}

impl TokenRate {
    /// So many in a second, and so many at once.
    pub const fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second, burst }
    }

    fn burst_nano(self) -> i64 {
        i64::from(self.burst.max(1)) * NANOS
    }
}

/// The tokens that one peer, or several together, have left.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    /// Below zero once a request turned out to be dearer than what there was.
    saved_nano: i64,
    since: RealTime,
}

impl TokenBucket {
    /// A full bucket: a new peer may begin.
    pub fn full(now: RealTime, rate: TokenRate) -> Self {
        Self {
            saved_nano: rate.burst_nano(),
            since: now,
        }
    }

    /// Takes `requests` away, whether they are there or not.
    pub fn take(&mut self, requests: u32) {
        self.saved_nano = self.saved_nano.saturating_sub(i64::from(requests) * NANOS);
    }

    /// When a request may be made at the earliest; `None` if one may be made at `now`.
    pub fn next_at(&mut self, now: RealTime, rate: TokenRate) -> Option<RealTime> {
        if self.saved_nano >= NANOS {
            // Nothing needs to be counted while there are tokens.
            return None;
        }
        self.save_up(now, rate);
        let missing = NANOS - self.saved_nano;
        (missing > 0).then(|| {
            let wait_ns = -(-missing).div_euclid(i64::from(rate.per_second.max(1)));
            now.saturating_add(RealSpan::from_nanos(wait_ns))
        })
    }

    /// Takes a token at `now`, if there is one.
    pub fn takes_one(&mut self, now: RealTime, rate: TokenRate) -> bool {
        let has_one = self.next_at(now, rate).is_none();
        if has_one {
            self.take(1);
        }
        has_one
    }

    /// Gets from `spare`, which grows by `spare_rate`, what is missing for a request, if there is so much.
    pub fn borrow(&mut self, spare: &mut TokenBucket, now: RealTime, spare_rate: TokenRate) -> bool {
        spare.save_up(now, spare_rate);
        let missing = (NANOS - self.saved_nano).max(0);
        let has_enough = spare.saved_nano >= missing;
        if has_enough {
            spare.saved_nano -= missing;
            self.saved_nano += missing;
        }
        has_enough
    }

    /// Adds the tokens since the last refill.
    fn save_up(&mut self, now: RealTime, rate: TokenRate) {
        let passed_ns = now.since(self.since).as_nanos();
        self.since = self.since.max(now);
        let gained = passed_ns.saturating_mul(i64::from(rate.per_second));
        self.saved_nano = self.saved_nano.saturating_add(gained).min(rate.burst_nano());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// In any time no more is let through than was saved and than came in that time.
        #[test]
        fn the_rate_holds_over_any_time(
            per_second in 1u32..20_000,
            burst in 1u32..60_000,
            steps in prop::collection::vec((0i64..50_000_000, 0u32..40), 1..100),
        ) {
            let (mut now, mut taken, rate) = (RealTime::ZERO, 0u64, TokenRate::new(per_second, burst));
            let mut bucket = TokenBucket::full(now, rate);
            for (wait_ns, wanted) in steps {
                now += RealSpan::from_nanos(wait_ns);
                for _ in 0..wanted {
                    match bucket.next_at(now, rate) {
                        None => {
                            bucket.take(1);
                            taken += 1;
                        }
                        Some(at) => {
                            prop_assert!(at > now);
                            prop_assert_eq!(bucket.next_at(at, rate), None, "that instant is late enough");
                            // Looking ahead moved its clock: go on from there.
                            now = at;
                        }
                    }
                }
            }
            let came = now.since(RealTime::ZERO).as_nanos() as u64 * u64::from(per_second) / NANOS as u64;
            prop_assert!(taken <= came + u64::from(burst) + 1);
        }
    }
}
