//! How often a loop may wake up for deadlines alone.
//!
//! A wake-up costs far more than what is done in it, and so does waking the peer who is answered. Where deadlines are
//! few each has its own; where they are dense the next wake-up is put off a little, and serves all that have
//! become due by then. It is a store of wake-ups: every sleep that ends with a deadline reached takes one, and one comes
//! back at every step of a steady beat. Whoever finds the store empty waits for the next one, never longer. The game has
//! one store and chores have another, so that however many of them there are, no player's answer is put off for them
//! (docs/decisions/0106).

use trantor_time::{Frequency, RealSpan, RealTime};

/// How often the store gets a wake-up back, and so the longest that a deadline is put off. A thousand agents at 100
/// units a second, all of them busy, cost three quarters of what the least program costs that wakes for each answer.
const SPACING_MAX: RealSpan = RealSpan::from_micros(100);

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

/// The stores of one loop.
#[derive(Debug)]
pub(crate) struct WakeAllowances {
    game: WakeAllowance,
    chores: WakeAllowance,
}

/// What a loop sleeps until.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// The earliest deadline of all.
    pub(crate) first: RealTime,
    /// The earliest of the game's, if it has any.
    pub(crate) game: Option<RealTime>,
}

impl Due {
    /// A chore is first. On a tie the game is, as everywhere.
    pub(crate) fn is_chore_first(self) -> bool {
        self.game.is_none_or(|game| self.first < game)
    }
}

impl WakeAllowances {
    /// Full stores that give wake-ups without end, until a spacing is set.
    pub(crate) fn new() -> Self {
        Self {
            game: WakeAllowance::new(),
            chores: WakeAllowance::new(),
        }
    }

    /// Sets how often each gets a wake-up back. A change begins with full stores.
    pub(crate) fn set_spacing(&mut self, spacing: RealSpan) {
        self.game.set_spacing(spacing);
        self.chores.set_spacing(spacing);
    }

    /// When to wake for what is `due`: then, or as soon as there is a wake-up for it.
    pub(crate) fn wake_for(&self, due: Due) -> RealTime {
        let chore = due.is_chore_first().then(|| self.chores.wake_for(due.first));
        let game = due.game.map(|game| self.game.wake_for(game));
        chore.into_iter().chain(game).min().unwrap_or(due.first)
    }

    /// A sleep ended at `now`, whatever ended it. What it ended too early to serve pays nothing: floods would put off
    /// the answers of all others.
    pub(crate) fn take(&mut self, due: Due, now: RealTime) {
        if due.game.is_some_and(|game| game <= now) {
            self.game.take(now);
        } else if due.first <= now {
            self.chores.take(now);
        }
    }
}

/// One store.
#[derive(Debug)]
struct WakeAllowance {
    /// When the store will be full again, if nothing more is taken from it.
    full_at: RealTime,
    spacing: RealSpan,
}

impl WakeAllowance {
    /// A full store that gives wake-ups without end, until a spacing is set.
    fn new() -> Self {
        Self {
            full_at: RealTime::ZERO,
            spacing: RealSpan::ZERO,
        }
    }

    /// Sets how often a wake-up comes back. A change begins with a full store.
    fn set_spacing(&mut self, spacing: RealSpan) {
        if spacing != self.spacing {
            self.spacing = spacing;
            self.full_at = RealTime::ZERO;
        }
    }

    /// When to wake for a deadline at `until`: then, or as soon as there is a wake-up for it.
    fn wake_for(&self, until: RealTime) -> RealTime {
        until.max(self.full_at - self.store())
    }

    /// A sleep ended at `now` with a deadline to serve, whatever ended it. However late or often that is, it runs up no debt.
    fn take(&mut self, now: RealTime) {
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
    fn chores_put_off_no_deadline_of_the_game() {
        let mut allowances = WakeAllowances::new();
        allowances.set_spacing(SPACING);
        let mut now = RealTime::ZERO;
        for _ in 0..10_000 {
            now += RealSpan::from_micros(1);
            let game = now + SPACING;
            let due = Due {
                first: now,
                game: Some(game),
            };
            allowances.take(due, now);
            assert_eq!(allowances.wake_for(Due { first: game, ..due }), game);
        }
        let game = now + RealSpan::from_micros(3);
        let due = Due {
            first: now + RealSpan::from_micros(1),
            game: Some(game),
        };
        assert_eq!(
            allowances.wake_for(due),
            game,
            "a chore that waits for its turn shares the game's"
        );
        let chore_alone = Due { game: None, ..due };
        assert_eq!(allowances.wake_for(chore_alone), now + SPACING);
    }

    #[test]
    fn a_wake_up_that_serves_the_game_and_a_chore_is_one() {
        let mut allowances = WakeAllowances::new();
        allowances.set_spacing(SPACING);
        let (chore, game) = (RealTime::ZERO, RealTime::ZERO + RealSpan::from_micros(1));
        for _ in 0..=STORE_COUNT {
            allowances.take(
                Due {
                    first: chore,
                    game: Some(game),
                },
                game,
            );
        }
        let only = |game| Due {
            first: game,
            game: Some(game),
        };
        assert!(allowances.wake_for(only(game)) > game);
        assert_eq!(
            allowances.wake_for(Due {
                first: game,
                game: None
            }),
            game
        );
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
