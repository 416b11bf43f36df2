//! A machine that cannot keep up: the game slows, and nothing else changes (T10).

use std::collections::BTreeSet;

use proptest::prelude::*;
use trantor_time::overload::LAG_MAX;
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, LagGovernor, NANOS, RealSpan, RealTime};

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

/// A server whose every event costs time; agents chain their actions from nominal ends.
struct Server {
    clock: GameClock,
    governor: LagGovernor,
    /// Agents by the ends of their actions.
    agenda: BTreeSet<(GameTime, u32)>,
    real: RealTime,
    fired: Vec<(GameTime, u32)>,
    lag_nu_max: i128,
    last: GameTime,
    read_at: RealTime,
}

impl Server {
    fn new(frequency: u64, agents: u32, lag_max: Option<RealSpan>) -> Self {
        let frequency = Frequency::new(frequency).expect("a good frequency");
        let mut agenda = BTreeSet::new();
        for agent in 0..agents {
            agenda.insert((GameTime::from_nanounits(i128::from(agent) * 1_000_003), agent));
        }
        Self {
            clock: GameClock::new(RealTime::ZERO, GameTime::ZERO, frequency),
            governor: LagGovernor::new(lag_max),
            agenda,
            real: RealTime::ZERO,
            fired: Vec::new(),
            lag_nu_max: 0,
            last: GameTime::ZERO,
            read_at: RealTime::ZERO,
        }
    }

    /// One pass: at most `most` events, each of which takes `cost`, after a hiccup.
    fn pass(&mut self, most: usize, cost: RealSpan, hiccup: RealSpan) {
        let earliest = self.agenda.first().map(|&(at, _)| at);
        if let Some(wake) = earliest.and_then(|next| self.clock.real_at(next)) {
            self.real = self.real.max(wake);
        }
        self.real += hiccup;
        let now = self.governor.read(&mut self.clock, self.real, earliest);
        assert!(now >= self.last, "game time never goes back");
        assert_eq!(
            self.clock.now(self.real),
            now,
            "the clock agrees with what was read"
        );
        (self.last, self.read_at) = (now, self.real);
        self.lag_nu_max = self
            .lag_nu_max
            .max(earliest.map_or(0, |earliest| (now - earliest).as_nanounits()));
        for _ in 0..most {
            let Some((at, agent)) = self.agenda.pop_first() else {
                break;
            };
            if at > now {
                self.agenda.insert((at, agent));
                break;
            }
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
        let lag_max = ms(lag_ms);
        let mut bounded = Server::new(frequency, 50, Some(lag_max));
        let mut unbounded = Server::new(frequency, 50, None);
        for (most, cost_us, hiccup_us) in passes {
            let (cost, hiccup) = (RealSpan::from_micros(cost_us), RealSpan::from_micros(hiccup_us));
            bounded.pass(most, cost, hiccup);
            unbounded.pass(most, cost, hiccup);
        }
        // By the rule, to the nanounit; game time shown before cannot be taken back, but was within it then.
        prop_assert!(bounded.lag_nu_max <= i128::from(lag_max.as_nanos()) * i128::from(frequency));
        let same = bounded.fired.len().min(unbounded.fired.len());
        prop_assert_eq!(&bounded.fired[..same], &unbounded.fired[..same], "the same events in the same order");
        prop_assert!(bounded.fired.is_sorted_by_key(|&(at, _)| at));
    }
}

#[test]
fn a_shortfall_is_counted_and_shown() {
    // Work for 3 ms comes due every 2 ms: the machine can do two thirds of it.
    let mut server = Server::new(100, 1, Some(LAG_MAX));
    let seconds = 60;
    while server.real < RealTime::ZERO + RealSpan::from_secs(seconds) {
        server.pass(1, ms(15), ms(0));
    }
    let game = server.last - GameTime::ZERO;
    let real = server.read_at - RealTime::ZERO;
    let speed = game.as_nanounits() as f64 / (real.as_nanos() * 100) as f64;
    assert!(
        (speed - 2.0 / 3.0).abs() < 0.01,
        "an action of 10 ms takes 15: {speed}"
    );
    assert!(server.governor.slips() > 1000);
    let full = GameSpan::from_nanounits(i128::from(real.as_nanos()) * 100);
    assert_eq!(
        game + server.governor.slipped(),
        full,
        "what was shown and what slipped is all there was"
    );
}

#[test]
fn within_its_means_the_clock_never_slips() {
    let mut server = Server::new(1000, 20, Some(LAG_MAX));
    for _ in 0..100_000 {
        server.pass(64, RealSpan::from_micros(40), RealSpan::from_micros(50));
    }
    assert_eq!(
        (server.governor.slips(), server.governor.slipped()),
        (0, GameSpan::ZERO)
    );
}

#[test]
fn a_suspended_machine_loses_the_time_and_not_the_order() {
    let mut server = Server::new(100, 50, Some(LAG_MAX));
    server.pass(64, RealSpan::ZERO, RealSpan::from_secs(86_400));
    let limit = i128::from(LAG_MAX.as_nanos()) * 100;
    assert_eq!(
        server.lag_nu_max, limit,
        "a day away, and the game is a quarter of a second on"
    );
    assert_eq!(server.governor.slips(), 1);
    let day = GameSpan::from_units(86_400 * 100);
    assert_eq!(server.governor.slipped(), day - GameSpan::from_nanounits(limit));
}

#[test]
fn a_clock_that_was_stepped_beyond_the_limit_stays_there() {
    let frequency = Frequency::new(100).expect("a good frequency");
    let mut clock = GameClock::new(RealTime::ZERO, GameTime::ZERO, frequency);
    let mut governor = LagGovernor::new(Some(ms(10)));
    let earliest = Some(GameTime::from_units(1));
    assert_eq!(
        governor.read(&mut clock, RealTime::ZERO, earliest),
        GameTime::ZERO
    );
    clock.pause(RealTime::ZERO);
    for _ in 0..100 {
        clock.step_unit();
    }
    clock.resume(RealTime::ZERO);
    let now = governor.read(&mut clock, RealTime::from_nanos(NANOS), earliest);
    assert_eq!(now, GameTime::from_units(100), "neither back nor on");
}
