//! The wake-up limiter: how often a loop may wake up for deadlines alone.
//!
//! A wake-up costs far more than what is done in it, and so does waking the peer that is answered. Where deadlines are
//! sparse each has its own; where they are dense the next wake-up is deferred a little and serves all deadlines that are due
//! by then. It is a token bucket: each wake-up for a deadline takes a token, and one is added every `spacing`. The
//! game has one bucket and all other deadlines another, so that they defer no player's answer (docs/decisions/0106).

use trantor_time::{Frequency, RealSpan, RealTime};

/// How often a token is added, and so the longest that a deadline is deferred. A thousand agents at 100 units a
/// second, all of them busy, cost three quarters of what the least program costs that wakes for each answer.
const SPACING_MAX: RealSpan = RealSpan::from_micros(100);

/// A player who waits for one answer before the next command loses the deferral with every command. It is at most a
/// 27th of the time that most commands take, which is 7 units.
const SPACING_NANOUNITS: i64 = 7_000_000_000 / 27;

/// Tokens in a full bucket. Deadlines bunch by chance: of 3,000 a second at random instants not one in a million finds
/// the bucket empty.
const TOKENS_MAX: i64 = 32;

/// The longest that a deadline may be deferred at a speed.
pub fn spacing_at(speed: Frequency) -> RealSpan {
    let scaled = RealSpan::from_nanos(SPACING_NANOUNITS / i64::from(speed.get()));
    scaled.min(SPACING_MAX)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The earliest deadline of all.
    pub(super) first: RealTime,
    /// The earliest of the game's, if it has any.
    pub(super) game: Option<RealTime>,
}

impl Due {
    /// Whether the game's deadline is the first; on a tie it is, as everywhere.
    pub(super) fn is_game_first(self) -> bool {
        self.game.is_some_and(|game| game <= self.first)
    }
}

#[derive(Debug, Default)]
pub(super) struct WakeLimiter {
    spacing: RealSpan,
    game: Bucket,
    others: Bucket,
}

impl WakeLimiter {
    /// Sets how often a token is added; zero: no limit. A change begins with full buckets.
    pub(super) fn set_spacing(&mut self, spacing: RealSpan) {
        if spacing != self.spacing {
            *self = Self {
                spacing,
                ..Self::default()
            };
        }
    }

    /// When to wake for what is `due`: then, or as soon as there is a token for it.
    pub(super) fn wake_at(&self, due: Due) -> RealTime {
        let others = (!due.is_game_first()).then(|| self.others.wake_at(due.first, self.spacing));
        let game = due.game.map(|game| self.game.wake_at(game, self.spacing));
        others.into_iter().chain(game).min().unwrap_or(due.first)
    }

    /// A sleep ended at `now`, for whatever reason. One that ended too early to serve a deadline takes no token: floods
    /// would defer the answers of all others.
    pub(super) fn take(&mut self, due: Due, now: RealTime) {
        if due.game.is_some_and(|game| game <= now) {
            self.game.take(now, self.spacing);
        } else if due.first <= now {
            self.others.take(now, self.spacing);
        }
    }
}

/// A token bucket, as the time when it will be full again if nothing more is taken.
#[derive(Debug, Default)]
struct Bucket {
    full_at: RealTime,
}

impl Bucket {
    fn wake_at(&self, until: RealTime, spacing: RealSpan) -> RealTime {
        until.max(self.full_at - spacing * TOKENS_MAX)
    }

    /// However late or often it is, it runs up no debt.
    fn take(&mut self, now: RealTime, spacing: RealSpan) {
        let full_at = self.full_at.max(now) + spacing;
        self.full_at = full_at.min(now + spacing * (TOKENS_MAX + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    const SPACING: RealSpan = RealSpan::from_micros(100);

    fn limiter() -> WakeLimiter {
        let mut limiter = WakeLimiter::default();
        limiter.set_spacing(SPACING);
        limiter
    }

    fn of_game(first: RealTime) -> Due {
        let game = Some(first);
        Due { first, game }
    }

    /// Sleeps to the first deadline, serves all that are due, and so on; each wake-up is late by what `lateness` says.
    /// Answers the number of wake-ups and the longest deferral.
    fn serve(deadlines: &[RealTime], mut lateness: impl FnMut() -> RealSpan) -> (i64, RealSpan) {
        let (mut limiter, mut left) = (limiter(), deadlines);
        let (mut wake_ups, mut deferred_max) = (0, RealSpan::ZERO);
        while let Some(&first) = left.first() {
            let at = limiter.wake_at(of_game(first));
            assert!(at >= first, "nothing is early");
            deferred_max = deferred_max.max(at - first);
            let now = at + lateness();
            limiter.take(of_game(first), now);
            wake_ups += 1;
            left = &left[left.partition_point(|&due| due <= now)..];
        }
        (wake_ups, deferred_max)
    }

    #[test]
    fn sparse_deadlines_and_bunches_are_not_deferred_and_dense_ones_share_wake_ups() {
        let in_time = || RealSpan::ZERO;
        let evenly = |gap: RealSpan, count| (1..=count).map(move |nth| RealTime::ZERO + gap * nth);
        let sparse: Vec<_> = evenly(SPACING, 10_000).collect();
        assert_eq!(serve(&sparse, in_time), (10_000, RealSpan::ZERO));
        let bunches = (0..100).flat_map(|nth| {
            let offset = RealSpan::from_millis(4) * nth;
            evenly(RealSpan::from_micros(1), TOKENS_MAX).map(move |at| at + offset)
        });
        assert_eq!(serve(&bunches.collect::<Vec<_>>(), in_time).1, RealSpan::ZERO);
        // A second of them: one wake-up for each spacing, and those of the full bucket.
        let dense: Vec<_> = evenly(RealSpan::from_micros(10), 100_000).collect();
        let (wake_ups, deferred) = serve(&dense, in_time);
        assert!(wake_ups <= 10_000 + TOKENS_MAX + 1 && deferred > RealSpan::ZERO);
    }

    proptest! {
        #[test]
        fn nothing_is_early_nor_deferred_by_more_than_the_spacing(
            widest_ns in 1..1_000_000_i64,
            shares in prop::collection::vec((0..=1_000_i64, 0..80_000_i64), 1..2_000),
        ) {
            let mut at = RealTime::ZERO;
            let deadlines = shares.iter().map(|&(share, _)| {
                at += RealSpan::from_nanos(widest_ns * share / 1_000);
                at
            });
            let mut lateness = shares.iter().map(|&(_, late_ns)| RealSpan::from_nanos(late_ns));
            let (_, deferred) = serve(&deadlines.collect::<Vec<_>>(), || {
                lateness.next().expect("no more wake-ups than deadlines")
            });
            prop_assert!(deferred <= SPACING, "{deferred:?}");
        }
    }

    #[test]
    fn other_deadlines_defer_none_of_the_game_and_run_up_no_debt() {
        let due = |first, game| Due { first, game };
        let mut limiter = limiter();
        let mut now = RealTime::ZERO;
        for _ in 0..10_000 {
            now += RealSpan::from_micros(1);
            limiter.take(due(now, None), now);
        }
        let game = now + RealSpan::from_micros(3);
        assert_eq!(limiter.wake_at(of_game(game)), game);
        let first = now + RealSpan::from_micros(1);
        let shared = limiter.wake_at(due(first, Some(game)));
        assert_eq!(shared, game, "one that is deferred shares the game's");
        assert_eq!(limiter.wake_at(due(first, None)), now + SPACING);
        now += SPACING * (TOKENS_MAX + 1);
        assert_eq!(limiter.wake_at(due(now, None)), now, "the bucket fills again");
        // A wake-up that serves both takes one token, of the game.
        (0..=TOKENS_MAX).for_each(|_| limiter.take(due(now, Some(now)), now));
        assert_eq!(limiter.wake_at(due(now, None)), now);
        assert!(limiter.wake_at(of_game(now)) > now);
        let mut unused = self::limiter();
        (0..=TOKENS_MAX).for_each(|_| unused.take(of_game(now + SPACING), now));
        assert_eq!(
            unused.wake_at(of_game(now)),
            now,
            "too early for a deadline takes no token"
        );
        limiter.set_spacing(SPACING * 2);
        assert_eq!(limiter.wake_at(of_game(now)), now, "another spacing begins anew");
    }

    #[test]
    fn a_player_who_waits_for_each_answer_loses_a_27th_at_most() {
        for units_per_s in [1, 100, 1_000, 3_000, 10_000, 1_000_000] {
            let spacing = spacing_at(Frequency::new(units_per_s).unwrap());
            assert!(spacing.as_nanos() * 27 <= 7 * 1_000_000_000 / units_per_s as i64);
            assert!(spacing <= SPACING_MAX);
        }
        assert_eq!(spacing_at(Frequency::new(100).unwrap()), SPACING_MAX);
    }
}
