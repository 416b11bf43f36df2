//! The game clock against big rationals: T1 to T9 and T14 of docs/timing.md.

use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, NANOS, RealSpan, RealTime};

const HOUR_NS: i64 = 3600 * NANOS;
const YEAR_NS: i64 = 365 * 24 * HOUR_NS;

fn hertz(hertz: u64) -> Frequency {
    Frequency::new(hertz).expect("between one and a million")
}

fn ns(nanos: i64) -> RealSpan {
    RealSpan::from_nanos(nanos)
}

fn at_ns(nanos: i64) -> RealTime {
    RealTime::from_nanos(nanos)
}

fn clock_at(frequency: u64) -> GameClock {
    GameClock::new(RealTime::ZERO, GameTime::ZERO, hertz(frequency))
}

/// Units as a fraction that nothing rounds.
fn exact_units(moment: GameTime) -> BigRational {
    BigRational::new(BigInt::from(moment.as_nanounits()), BigInt::from(NANOS))
}

fn any_frequency() -> impl Strategy<Value = Frequency> {
    let chosen = prop::sample::select(vec![1, 2, 3, 7, 100, 128, 144, 300, 999, 1000, 1_000_000]);
    prop_oneof![chosen, 1..=1_000_000_u64].prop_map(hertz)
}

fn any_gap_ns() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(1), 0..1000_i64, 0..50_000_000_i64, 0..HOUR_NS]
}

/// What can be done to a clock.
#[derive(Clone, Copy, Debug)]
enum Call {
    Wait(i64),
    SetFrequency(Frequency),
    Pause,
    Resume,
    StepUnit,
    /// To a deadline so many nanounits ahead.
    StepTo(i64),
}

fn any_calls() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![
        6 => any_gap_ns().prop_map(Call::Wait),
        4 => any_frequency().prop_map(Call::SetFrequency),
        1 => Just(Call::Pause),
        2 => Just(Call::Resume),
        1 => Just(Call::StepUnit),
        1 => (0..10 * NANOS).prop_map(Call::StepTo),
    ];
    prop::collection::vec(call, 1..100)
}

/// A clock to which calls are made, and what it should show.
struct Driven {
    clock: GameClock,
    real: RealTime,
    /// Units that went by, by the definition: the sum of frequency times time.
    units: BigRational,
    frequency: Frequency,
    is_paused: bool,
}

impl Driven {
    fn new(start_ns: i64, game: GameTime, frequency: Frequency) -> Self {
        let real = at_ns(start_ns);
        let clock = GameClock::new(real, game, frequency);
        Self {
            clock,
            real,
            units: exact_units(game),
            frequency,
            is_paused: false,
        }
    }

    fn now(&self) -> GameTime {
        self.clock.now(self.real)
    }

    fn make(&mut self, call: Call) {
        match call {
            Call::Wait(nanos) => {
                self.real += ns(nanos);
                if !self.is_paused {
                    let moved = BigInt::from(nanos) * BigInt::from(self.frequency.get());
                    self.units += BigRational::new(moved, BigInt::from(NANOS));
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
                self.units = self.units.floor() + BigRational::from(BigInt::from(1));
            }
            Call::StepTo(nanounits) if self.is_paused => {
                self.clock
                    .step_to(self.now() + GameSpan::from_nanounits(nanounits.into()));
                self.units += BigRational::new(nanounits.into(), NANOS.into());
            }
            Call::StepUnit | Call::StepTo(_) => {}
        }
    }
}

proptest! {
    #[test]
    fn now_is_the_exact_sum_of_frequency_times_time(
        start in 0..YEAR_NS, game in 0..i128::from(i64::MAX), frequency in any_frequency(), calls in any_calls(),
    ) {
        let mut driven = Driven::new(start, GameTime::from_nanounits(game), frequency);
        for call in calls {
            driven.make(call);
            prop_assert_eq!(exact_units(driven.now()), driven.units.clone(), "after {:?}", call);
        }
    }

    #[test]
    fn game_time_never_goes_back(
        frequency in any_frequency(), calls in any_calls(), early in 0..HOUR_NS,
    ) {
        let mut driven = Driven::new(HOUR_NS, GameTime::ZERO, frequency);
        let mut last = driven.now();
        for call in calls {
            let slip_to = driven.clock.anchor().1.max(driven.now() - GameSpan::from_nanounits(1));
            driven.make(call);
            prop_assert!(driven.now() >= last, "{:?}", call);
            last = driven.now();
            // A reading from before the anchor shows the anchor.
            prop_assert!(driven.clock.now(at_ns(early)) >= driven.clock.anchor().1);
            // A slip takes back what was not shown yet; what was shown stays.
            if let Call::Wait(nanos) = call && nanos > 1 && !driven.is_paused {
                prop_assert!(slip_to <= driven.now());
                let shown = driven.clock.now(driven.real - ns(1));
                driven.clock.slip(driven.real, shown);
                prop_assert_eq!(driven.now(), shown);
                last = shown;
            }
        }
    }

    #[test]
    fn never_early_and_never_later_than_need_be(
        frequency in any_frequency(), calls in any_calls(), spans in prop::collection::vec(0..i128::from(u64::MAX) * 4, 1..20),
    ) {
        let mut driven = Driven::new(0, GameTime::ZERO, frequency);
        calls.into_iter().for_each(|call| driven.make(call));
        let (anchor_real, anchor_game) = driven.clock.anchor();
        for span in spans {
            let deadline = anchor_game + GameSpan::from_nanounits(span / 3);
            match driven.clock.real_at(deadline) {
                Some(wake) => {
                    prop_assert!(wake >= anchor_real);
                    prop_assert!(driven.clock.now(wake) >= deadline, "early");
                    let before = wake - ns(1);
                    prop_assert!(wake == anchor_real || driven.clock.now(before) < deadline, "later than need be");
                }
                None => prop_assert!(driven.is_paused || span / 3 / i128::from(driven.frequency.get()) > i128::from(i64::MAX / 2)),
            }
        }
    }

    #[test]
    fn the_order_of_deadlines_is_the_order_of_wake_ups(
        frequency in any_frequency(), one in 0..i64::MAX, other in 0..i64::MAX,
    ) {
        let clock = clock_at(frequency.get().into());
        let [one, other] = [one, other].map(|nanounits| GameTime::from_nanounits(nanounits.into()));
        let wakes = (clock.real_at(one), clock.real_at(other));
        let (earlier, later) = if one <= other { wakes } else { (wakes.1, wakes.0) };
        prop_assert!(earlier <= later);
        prop_assert!(one != other || earlier == later);
    }

    #[test]
    fn a_change_keeps_the_remaining_units_and_their_fractions(
        frequency in any_frequency(), calls in any_calls(), deadlines in prop::collection::vec(0..i64::MAX, 1..10),
    ) {
        let mut driven = Driven::new(0, GameTime::ZERO, frequency);
        let deadlines: Vec<_> = deadlines.into_iter().map(|nu| GameTime::from_nanounits(nu.into())).collect();
        for call in calls {
            let is_change = matches!(call, Call::SetFrequency(_) | Call::Pause | Call::Resume);
            let left = |driven: &Driven| -> Vec<_> { deadlines.iter().map(|&deadline| deadline - driven.now()).collect() };
            let before = (driven.now(), left(&driven));
            driven.make(call);
            if is_change {
                prop_assert_eq!((driven.now(), left(&driven)), before);
            }
        }
    }

    #[test]
    fn a_pause_stops_game_time_and_resuming_brings_the_last_frequency_back(
        first in any_frequency(), second in any_frequency(), wait in any_gap_ns(), change_while_paused in any::<bool>(),
    ) {
        let mut clock = clock_at(first.get().into());
        let paused_at = at_ns(wait);
        let shown = clock.now(paused_at);
        clock.pause(paused_at);
        prop_assert!(clock.is_paused());
        let ahead = shown + GameSpan::from_nanounits(1);
        for later in [0, 1, HOUR_NS, YEAR_NS] {
            prop_assert_eq!(clock.now(paused_at + ns(later)), shown);
            prop_assert_eq!(clock.real_at(ahead), None);
            prop_assert!(clock.real_at(shown).is_some(), "what is due stays due");
        }
        clock.pause(paused_at + ns(7));
        if change_while_paused {
            clock.set_frequency(paused_at + ns(9), second);
            prop_assert!(clock.is_paused(), "a change does not resume");
        }
        let resumed_at = paused_at + ns(YEAR_NS);
        clock.resume(resumed_at);
        clock.resume(resumed_at);
        let expected = if change_while_paused { second } else { first };
        prop_assert_eq!(clock.frequency(), expected);
        let moved = clock.now(resumed_at + ns(NANOS)) - shown;
        prop_assert_eq!(moved, GameSpan::from_units(expected.get().into()), "one second, from where it stood");
    }

    #[test]
    fn a_step_lands_on_a_whole_unit_at_most_one_on(frequency in any_frequency(), wait in any_gap_ns()) {
        let mut clock = clock_at(frequency.get().into());
        clock.pause(at_ns(wait));
        let before = clock.now(at_ns(wait));
        let after = clock.step_unit();
        prop_assert_eq!(after.unit_fraction_nu(), 0);
        prop_assert!(after > before && after - before <= GameSpan::from_units(1));
        prop_assert_eq!(clock.now(at_ns(wait + HOUR_NS)), after);
        prop_assert_eq!(clock.step_unit() - after, GameSpan::from_units(1));
        // And to the next event: exactly there, and never back.
        let event = after + GameSpan::from_nanounits(2_500_000_000);
        prop_assert_eq!(clock.step_to(event), event);
        prop_assert_eq!(clock.step_to(after), event);
    }

    #[test]
    fn a_chain_ends_on_time_whatever_each_wake_up_is_late(
        frequency in any_frequency(), units in 1..300_i64, lateness in prop::collection::vec(0..5_000_000_i64, 1..200),
    ) {
        let clock = clock_at(frequency.get().into());
        let duration = GameSpan::from_units(units);
        let mut next = GameTime::ZERO + duration;
        let (mut real, mut steps) = (RealTime::ZERO, 0_i64);
        for late in &lateness {
            let wake = clock.real_at(next).expect("the clock runs");
            real = real.max(wake) + ns(*late);
            while next <= clock.now(real) {
                steps += 1;
                prop_assert_eq!(next, GameTime::from_units(steps * units), "its logical time is its nominal end");
                next += duration;
            }
        }
        prop_assert!(steps >= lateness.len() as i64);
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
fn late_by_less_than_a_nanosecond_at_every_frequency() {
    for frequency in 1..=1_000_000 {
        let clock = clock_at(frequency);
        for units in [1, 7, 42, 126, 300] {
            let deadline = GameTime::from_units(units);
            let wake = clock.real_at(deadline).expect("the clock runs");
            let late_nu = (clock.now(wake) - deadline).as_nanounits();
            assert!(
                (0..i128::from(frequency)).contains(&late_nu),
                "{units} units at {frequency}"
            );
            let divides = units * NANOS % frequency as i64 == 0;
            assert!(!divides || late_nu == 0, "{units} units at {frequency}");
        }
    }
}

#[test]
fn what_is_no_frequency_is_refused() {
    for asked in [0, 1_000_001, u64::MAX] {
        let refused = Frequency::new(asked).expect_err("out of range");
        assert_eq!(refused.asked, asked);
        assert!(
            refused.to_string().contains(&asked.to_string()),
            "the answer names what was asked"
        );
    }
    assert_eq!(Frequency::new(1).map(Frequency::get), Ok(1));
    assert_eq!(Frequency::new(1_000_000).map(Frequency::get), Ok(1_000_000));
}

#[test]
fn nothing_overflows_in_fifty_years_at_the_highest_frequency() {
    let fifty_years = at_ns(50 * YEAR_NS);
    let clock = clock_at(1_000_000);
    let then = clock.now(fifty_years);
    assert_eq!(then.as_nanounits(), i128::from(50 * YEAR_NS) * 1_000_000);
    assert_eq!(clock.real_at(then), Some(fifty_years));
    assert_eq!(
        clock.real_at(then + GameSpan::from_nanounits(1)),
        Some(fifty_years + ns(1))
    );
    for frequency in [1, 100, 1_000_000] {
        let delay = GameTime::ZERO + GameSpan::from_units(1 << 31);
        let wake = clock_at(frequency)
            .real_at(delay)
            .expect("within three centuries");
        assert_eq!(
            wake.as_nanos(),
            ((1_i64 << 31) * NANOS).unsigned_abs().div_ceil(frequency) as i64
        );
    }
    let never = GameTime::from_nanounits(i128::MAX / 2);
    assert_eq!(
        clock_at(1).real_at(never),
        None,
        "beyond the range of real time: no wake-up, not a wrapped one"
    );
}
