//! A machine that cannot keep up: the game slows, and nothing else changes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use trantor_time::overload::OVERLOAD_MAX;
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, NANOS, OverloadGovernor, RealSpan, RealTime};

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

/// A server whose every event costs time; agents chain their actions from nominal ends.
struct Server {
    clock: GameClock,
    governor: OverloadGovernor,
    /// Agents by the ends of their actions.
    agenda: BTreeSet<(GameTime, u32)>,
    real: RealTime,
    fired: Vec<(GameTime, u32)>,
    lag_nu_max: i128,
    last: GameTime,
}

impl Server {
    fn new(frequency: u64, agents: u32, overload_max: Option<RealSpan>) -> Self {
        let frequency = Frequency::new(frequency).expect("a good frequency");
        let start = |agent| (GameTime::from_nanounits(i128::from(agent) * 1_000_003), agent);
        Self {
            clock: GameClock::new(RealTime::ZERO, GameTime::ZERO, frequency),
            governor: OverloadGovernor::new(overload_max),
            agenda: (0..agents).map(start).collect(),
            real: RealTime::ZERO,
            fired: Vec::new(),
            lag_nu_max: 0,
            last: GameTime::ZERO,
        }
    }

    /// One pass: at most `most` events, each of which takes `cost`, after a hiccup.
    fn pass(&mut self, most: usize, cost: RealSpan, hiccup: RealSpan) {
        let earliest = self.agenda.first().map(|&(at, _)| at);
        let wake = earliest.and_then(|next| self.clock.real_at(next));
        self.real = self.real.max(wake.unwrap_or(self.real)) + hiccup;
        let now = self.governor.read(&mut self.clock, self.real, earliest);
        assert!(now >= self.last, "game time never goes back");
        assert_eq!(self.clock.now(self.real), now);
        self.last = now;
        let lag_nu = earliest.map_or(0, |earliest| (now - earliest).as_nanounits());
        self.lag_nu_max = self.lag_nu_max.max(lag_nu);
        for _ in 0..most {
            let Some(&(at, agent)) = self.agenda.first().filter(|(at, _)| *at <= now) else {
                break;
            };
            self.agenda.pop_first();
            self.fired.push((at, agent));
            let units = 1 + i64::from(agent % 9);
            self.agenda.insert((at + GameSpan::from_units(units), agent));
            self.real += cost;
        }
    }
}

proptest! {
    #[test]
    fn the_lag_is_bounded_and_events_are_the_same(
        frequency in prop::sample::select(vec![1_u64, 7, 100, 300, 1000, 999_983]),
        lag_ms in 0..500_i64,
        passes in prop::collection::vec((1..80_usize, 0..3_000_i64, prop_oneof![9 => 0..1_000_i64, 1 => 0..3_600_000_000_i64]), 1..60),
    ) {
        let overload_max = ms(lag_ms);
        let mut bounded = Server::new(frequency, 50, Some(overload_max));
        let mut unbounded = Server::new(frequency, 50, None);
        for (most, cost_us, hiccup_us) in passes {
            let (cost, hiccup) = (RealSpan::from_micros(cost_us), RealSpan::from_micros(hiccup_us));
            bounded.pass(most, cost, hiccup);
            unbounded.pass(most, cost, hiccup);
        }
        // By the rule, to the nanounit; game time shown before cannot be taken back, but was within it then.
        prop_assert!(bounded.lag_nu_max <= i128::from(overload_max.as_nanos()) * i128::from(frequency));
        let same = bounded.fired.len().min(unbounded.fired.len());
        prop_assert_eq!(&bounded.fired[..same], &unbounded.fired[..same], "the same events in the same order");
        prop_assert!(bounded.fired.is_sorted_by_key(|&(at, _)| at));
    }
}

#[test]
fn a_clock_slips_only_by_what_it_cannot_keep_up_with() {
    let mut within_its_means = Server::new(1000, 20, Some(OVERLOAD_MAX));
    for _ in 0..10_000 {
        within_its_means.pass(64, RealSpan::from_micros(40), RealSpan::from_micros(50));
    }
    assert_eq!(within_its_means.governor.slips(), 0);

    let mut suspended = Server::new(100, 50, Some(OVERLOAD_MAX));
    suspended.pass(64, RealSpan::ZERO, RealSpan::from_secs(86_400));
    let limit_nu = i128::from(OVERLOAD_MAX.as_nanos()) * 100;
    assert_eq!((suspended.governor.slips(), suspended.lag_nu_max), (1, limit_nu));
    let day = GameSpan::from_units(86_400 * 100);
    assert_eq!(
        suspended.governor.slipped(),
        day - GameSpan::from_nanounits(limit_nu)
    );
}

#[test]
fn a_clock_that_was_stepped_beyond_the_limit_stays_there() {
    let frequency = Frequency::new(100).expect("a good frequency");
    let mut clock = GameClock::new(RealTime::ZERO, GameTime::ZERO, frequency);
    let mut governor = OverloadGovernor::new(Some(ms(10)));
    let earliest = Some(GameTime::from_units(1));
    governor.read(&mut clock, RealTime::ZERO, earliest);
    clock.pause(RealTime::ZERO);
    clock.step_to(GameTime::from_units(100));
    clock.resume(RealTime::ZERO);
    let now = governor.read(&mut clock, RealTime::from_nanos(NANOS), earliest);
    assert_eq!(now, GameTime::from_units(100), "neither back nor on");
}
