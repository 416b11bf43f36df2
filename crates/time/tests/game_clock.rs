//! The game clock against its definition: what docs/timing.md says must hold.

use proptest::prelude::*;
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, NANOS, RealSpan, RealTime};

const HOUR_NS: i64 = 3600 * NANOS;
const YEAR_NS: i64 = 365 * 24 * HOUR_NS;

fn hertz(hertz: u64) -> Frequency {
    Frequency::new(hertz).expect("between one and a million")
}

fn at_ns(nanos: i64) -> RealTime {
    RealTime::from_nanos(nanos)
}

fn clock_at(frequency: u64) -> GameClock {
    GameClock::new(RealTime::ZERO, GameTime::ZERO, hertz(frequency))
}

fn any_frequency() -> impl Strategy<Value = Frequency> {
    let chosen = prop::sample::select(vec![1, 2, 3, 7, 100, 128, 144, 300, 999, 1000, 1_000_000]);
    prop_oneof![chosen, 1..=1_000_000_u64].prop_map(hertz)
}

#[derive(Clone, Copy, Debug)]
enum Call {
    /// Real nanoseconds pass.
    Wait(i64),
    SetFrequency(Frequency),
    Pause,
    Resume,
    StepUnit,
    /// To a deadline so many nanounits ahead.
    StepTo(i64),
    /// Back by so many nanounits, as far as the clock has not shown them before.
    Slip(i64),
}

fn any_calls() -> impl Strategy<Value = Vec<Call>> {
    let gap = prop_oneof![
        Just(0),
        Just(1),
        0..1000_i64,
        0..50_000_000_i64,
        0..HOUR_NS,
        Just(YEAR_NS)
    ];
    let call = prop_oneof![
        6 => gap.prop_map(Call::Wait),
        4 => any_frequency().prop_map(Call::SetFrequency),
        1 => Just(Call::Pause),
        2 => Just(Call::Resume),
        1 => Just(Call::StepUnit),
        1 => (0..10 * NANOS).prop_map(Call::StepTo),
        1 => (0..10 * NANOS).prop_map(Call::Slip),
    ];
    prop::collection::vec(call, 1..100)
}

/// A clock and what it should show by the definition: the sum of frequency times time, in whole nanounits.
struct Model {
    clock: GameClock,
    real: RealTime,
    nanounits: i128,
    frequency: Frequency,
    is_paused: bool,
}

impl Model {
    fn make(&mut self, call: Call) {
        match call {
            Call::Wait(nanos) => {
                self.real += RealSpan::from_nanos(nanos);
                if !self.is_paused {
                    self.nanounits += i128::from(nanos) * i128::from(self.frequency.get());
                }
            }
            Call::SetFrequency(frequency) => {
                self.clock.set_frequency(self.real, frequency);
                self.frequency = frequency;
            }
            Call::Pause => {
                self.clock.pause(self.real);
                self.is_paused = true;
            }
            Call::Resume => {
                self.clock.resume(self.real);
                self.is_paused = false;
            }
            Call::StepUnit if self.is_paused => {
                self.clock.step_unit();
                let unit = i128::from(NANOS);
                self.nanounits = (self.nanounits / unit + 1) * unit;
            }
            Call::StepTo(nanounits) if self.is_paused => {
                let now = self.clock.now(self.real);
                let reached = self
                    .clock
                    .step_to(now + GameSpan::from_nanounits(nanounits.into()));
                assert_eq!(self.clock.step_to(now), reached, "a step never goes back");
                self.nanounits += i128::from(nanounits);
            }
            Call::Slip(nanounits) if !self.is_paused => {
                let asked = self.clock.now(self.real) - GameSpan::from_nanounits(nanounits.into());
                let slipped = asked.max(self.clock.anchor().1);
                self.clock.slip(self.real, slipped);
                self.nanounits = slipped.as_nanounits();
            }
            Call::StepUnit | Call::StepTo(_) | Call::Slip(_) => {}
        }
    }

    /// A deadline's wake-up is the first nanosecond at which the clock shows it.
    fn check_wake_up(&self, deadline: GameTime) {
        let (anchor, _) = self.clock.anchor();
        match self.clock.real_at(deadline) {
            Some(wake) => {
                assert!(wake >= anchor && self.clock.now(wake) >= deadline, "early");
                let before = wake - RealSpan::from_nanos(1);
                let is_first = wake == anchor || self.clock.now(before) < deadline;
                assert!(is_first, "later than need be");
            }
            None => {
                let left_nu = (deadline - self.clock.anchor().1).as_nanounits();
                let is_beyond = left_nu / i128::from(self.frequency.get()) > i128::from(i64::MAX / 2);
                assert!(self.is_paused || is_beyond);
            }
        }
    }
}

proptest! {
    #[test]
    fn now_is_the_exact_sum_of_frequency_times_time_and_wake_ups_are_exact(
        start in 0..YEAR_NS,
        game in 0..i128::from(i64::MAX),
        frequency in any_frequency(),
        calls in any_calls(),
        ahead in 0..i128::from(u64::MAX),
    ) {
        let (real, game) = (at_ns(start), GameTime::from_nanounits(game));
        let clock = GameClock::new(real, game, frequency);
        let mut model = Model { clock, real, nanounits: game.as_nanounits(), frequency, is_paused: false };
        let mut last = game;
        for call in calls {
            model.make(call);
            let now = model.clock.now(model.real);
            prop_assert_eq!(now.as_nanounits(), model.nanounits, "after {:?}", call);
            prop_assert!(now >= last || matches!(call, Call::Slip(_)), "{:?}", call);
            prop_assert!(model.clock.now(at_ns(0)) >= model.clock.anchor().1, "a reading from before the anchor");
            prop_assert_eq!((model.clock.frequency(), model.clock.is_paused()), (model.frequency, model.is_paused));
            last = now;
            for deadline in [now, now + GameSpan::from_nanounits(1), now + GameSpan::from_nanounits(ahead)] {
                model.check_wake_up(deadline);
            }
        }
    }
}

#[test]
fn one_unit_lasts_one_over_the_frequency_rounded_up() {
    for (frequency, units, wake_ns) in [
        (1, 7, 7 * NANOS),
        (100, 7, 70_000_000),
        (300, 1, 3_333_334),
        (300, 300, NANOS),
        (2_000, 1, 500_000),
        (1_000_000, 7, 7_000),
    ] {
        let wake = clock_at(frequency).real_at(GameTime::from_units(units));
        assert_eq!(wake, Some(at_ns(wake_ns)), "{units} units at {frequency}");
    }
}

#[test]
fn what_is_no_frequency_is_refused() {
    for asked in [0, 1_000_001, u64::MAX] {
        let refused = Frequency::new(asked).expect_err("out of range");
        assert!(refused.to_string().contains(&asked.to_string()), "{refused}");
    }
    assert_eq!([1, 1_000_000].map(|asked| hertz(asked).get()), [1, 1_000_000]);
}

#[test]
fn nothing_overflows_in_fifty_years_at_the_highest_frequency() {
    let fifty_years = at_ns(50 * YEAR_NS);
    let clock = clock_at(1_000_000);
    let then = clock.now(fifty_years);
    assert_eq!(then.as_nanounits(), i128::from(50 * YEAR_NS) * 1_000_000);
    assert_eq!(clock.real_at(then), Some(fifty_years));
    let never = GameTime::from_nanounits(i128::MAX / 2);
    let wake = clock_at(1).real_at(never);
    assert_eq!(wake, None, "beyond the range of real time");
}
