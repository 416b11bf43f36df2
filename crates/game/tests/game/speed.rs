//! Speed cannot change the outcome: the same inputs at the same game stamps give the same game, whatever the
//! frequency, pauses, steps, slips and cuts of passes on the way.

use std::collections::VecDeque;

use proptest::prelude::*;
use trantor_game::{Game, GameConfig, GameEvent, GameInput, PaceChange};
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, RealSpan, RealTime};

use crate::random::{Step, any_config, any_steps, with_agent_of};

/// One pass of a loop that drives a game.
#[derive(Clone, Debug)]
struct Pass {
    /// Real time since the one before.
    since: RealSpan,
    /// How much it may do before it is cut.
    budget: usize,
    /// Whether time is let slip when it is cut.
    slips: bool,
    /// What is done to the speed before it.
    speed: Speed,
}

#[derive(Clone, Copy, Debug)]
enum Speed {
    AsItIs,
    Set(u32),
    Pause,
    Resume,
    StepUnit,
    StepNext,
}

fn any_pass() -> impl Strategy<Value = Pass> {
    let speed = prop_oneof![
        6 => Just(Speed::AsItIs),
        2 => prop::sample::select(vec![1, 3, 7, 100, 300, 999, 10_000, 1_000_000]).prop_map(Speed::Set),
        1 => Just(Speed::Pause),
        2 => Just(Speed::Resume),
        1 => Just(Speed::StepUnit),
        1 => Just(Speed::StepNext),
    ];
    let since = prop_oneof![0..2_000i64, 0..50_000_000i64, 0..3_000_000_000i64];
    (since, 1..6usize, any::<bool>(), speed).prop_map(|(since, budget, slips, speed)| Pass {
        since: RealSpan::from_nanos(since),
        budget,
        slips,
        speed,
    })
}

/// The events of a game and when they happened, and its digest at the end.
type Outcome = (Vec<(GameTime, GameEvent)>, u64);

/// What is to come in, and when; and when the game is looked at.
fn planned(steps: &[Step]) -> (VecDeque<(GameTime, GameInput)>, GameTime) {
    let mut at = GameTime::ZERO;
    let mut plan = VecDeque::new();
    for step in steps {
        match step {
            Step::Wait(nanounits) => at += GameSpan::from_nanounits(i128::from(*nanounits)),
            Step::Fire(count) => at += GameSpan::from_units(i64::from(*count)),
            Step::Input(input) => plan.push_back((at, input.clone())),
        }
    }
    (plan, at + GameSpan::from_units(50))
}

/// A game under way with what is still to come in.
struct Driven {
    game: Game,
    plan: VecDeque<(GameTime, GameInput)>,
    events: Vec<(GameTime, GameEvent)>,
}

impl Driven {
    /// Hands in the next input or carries out the next deadline, whichever comes first and is due; on a tie
    /// the input, as a loop reads before it runs what is due.
    fn advance(&mut self, until: GameTime) -> bool {
        let deadline = self.game.next_deadline();
        let input_at = self.plan.front().map(|(at, _)| *at);
        if let Some(at) = input_at.filter(|&at| at <= until && deadline.is_none_or(|deadline| at <= deadline))
        {
            let (_, input) = self.plan.pop_front().expect("it is in front");
            if let Some(input) = with_agent_of(&self.game, &input) {
                let _ = self.game.handle(input, at);
            }
        } else if self.game.fire_next(until).is_none() {
            return false;
        }
        while let Some(event) = self.game.poll_event() {
            self.events.push((self.game.now(), event));
        }
        true
    }
}

/// As fast as possible, from deadline to deadline, without any clock.
fn leap(config: GameConfig, steps: &[Step]) -> Outcome {
    let (plan, end) = planned(steps);
    let mut driven = Driven {
        game: Game::new(config),
        plan,
        events: Vec::new(),
    };
    while driven.advance(end) {}
    (driven.events, driven.game.digest())
}

/// By a real clock, pass by pass, at the speeds that the passes ask for; then on to the end.
fn paced(config: GameConfig, steps: &[Step], passes: &[Pass]) -> Outcome {
    let (plan, end) = planned(steps);
    let mut driven = Driven {
        game: Game::new(config),
        plan,
        events: Vec::new(),
    };
    let hundred = Frequency::new(100).expect("it is a frequency");
    let mut clock = GameClock::new(RealTime::ZERO, GameTime::ZERO, hundred);
    let mut real = RealTime::ZERO;
    let mut last = GameTime::ZERO;
    let finish = Pass {
        since: RealSpan::from_secs(1),
        budget: 3,
        slips: false,
        speed: Speed::Set(1_000_000),
    };
    for pass in passes.iter().chain(std::iter::repeat(&finish)) {
        real = real.saturating_add(pass.since);
        change_speed(&mut clock, real, pass.speed, &mut driven.game);
        let until = clock.now(real).min(end);
        let is_cut = (0..pass.budget).all(|_| driven.advance(until));
        if !is_cut {
            driven.game.advance_to(until);
            if until == end {
                return (driven.events, driven.game.digest());
            }
        } else if pass.slips && !clock.is_paused() {
            let behind = driven.game.next_deadline().unwrap_or(until).clamp(last, until);
            clock.slip(real, behind.max(clock.anchor().1));
        }
        last = clock.now(real).min(end).max(last);
    }
    unreachable!("the finish never ends")
}

fn change_speed(clock: &mut GameClock, real: RealTime, speed: Speed, game: &mut Game) {
    let change = match speed {
        Speed::AsItIs => return,
        Speed::Set(hertz) => {
            let frequency = Frequency::new(u64::from(hertz)).expect("passes name frequencies");
            clock.resume(real);
            clock.set_frequency(real, frequency);
            PaceChange::Frequency(frequency)
        }
        Speed::Pause => {
            clock.pause(real);
            PaceChange::Paused
        }
        Speed::Resume => {
            clock.resume(real);
            PaceChange::Resumed
        }
        Speed::StepUnit if clock.is_paused() => {
            clock.step_unit();
            PaceChange::Stepped
        }
        Speed::StepNext if clock.is_paused() => {
            clock.step_to(game.next_deadline().unwrap_or(GameTime::ZERO));
            PaceChange::Stepped
        }
        Speed::StepUnit | Speed::StepNext => return,
    };
    let _ = game.handle(GameInput::Pace(change), game.now());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn speed_cannot_change_the_outcome(
        config in any_config(),
        steps in any_steps(80),
        passes in prop::collection::vec(any_pass(), 0..80),
        others in prop::collection::vec(any_pass(), 0..80),
    ) {
        let leaped = leap(config.clone(), &steps);
        prop_assert_eq!(&leaped, &paced(config.clone(), &steps, &passes));
        prop_assert_eq!(&leaped, &paced(config, &steps, &others));
    }
}
