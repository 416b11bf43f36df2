//! `trantor-server sim --check-scripts`: each script runs in two VMs, and both must decide the same.
//!
//! The VMs are given what the match has come to, and have nothing in common but that: they lie at other addresses, with other
//! allocations between theirs, and take turns in who decides first. The match goes on with what the first decides.

use std::sync::{Arc, Mutex, PoisonError};

use trantor_game::Game;
use trantor_model::{AgentId, Change};
use trantor_play::minds::{
    Act, Mind, MindFactory, MindSource, Newborn, Percept, Published, Scenario, ScenarioAct,
};
use trantor_time::GameTime;

/// Allocations that are kept to lie between those of the VMs.
const BALLAST_MAX: usize = 4_096;

/// The first difference that was found.
#[derive(Clone, Default)]
pub struct Difference(Arc<Mutex<Option<String>>>);

impl Difference {
    /// The first one, in words.
    pub fn found(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what both came to, if it is not the same.
    pub fn compare<T: PartialEq + std::fmt::Debug>(&self, one: &T, other: &T, of: impl FnOnce() -> String) {
        if one != other {
            let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            found.get_or_insert_with(|| format!("{}: one VM came to {one:?}, the other to {other:?}", of()));
        }
    }
}

/// Pairs what comes from two VMs; built-in minds are left as they are.
pub fn pair(one: MindSource, other: MindSource, difference: &Difference) -> MindSource {
    match (one, other) {
        (MindSource::Made { name, factory: one }, MindSource::Made { factory: other, .. }) => {
            MindSource::Made {
                factory: Box::new(Factories {
                    name: name.clone(),
                    factories: [one, other],
                    difference: difference.clone(),
                    ballast: Ballast::default(),
                }),
                name,
            }
        }
        (one, _) => one,
    }
}

/// Pairs the scenario of two VMs.
pub fn pair_scenarios(
    one: Box<dyn Scenario>,
    other: Box<dyn Scenario>,
    difference: &Difference,
) -> Box<dyn Scenario> {
    Box::new(Scenarios {
        scenarios: [one, other],
        difference: difference.clone(),
        ballast: Ballast::default(),
    })
}

/// Allocations of many sizes, some of which are given back again.
#[derive(Default)]
struct Ballast {
    kept: Vec<Box<[u8]>>,
    count: usize,
}

impl Ballast {
    fn shift(&mut self) {
        self.count = self.count.wrapping_add(1);
        let size = self.count.wrapping_mul(7_919) % 769 + 1;
        let piece = vec![0; size].into_boxed_slice();
        if self.kept.len() < BALLAST_MAX {
            self.kept.push(piece);
        } else {
            let place = self.count.wrapping_mul(31) % BALLAST_MAX;
            self.kept[place] = piece;
        }
    }

    /// Which of the two acts first.
    fn order(&mut self) -> [usize; 2] {
        self.shift();
        if self.count.is_multiple_of(2) {
            [0, 1]
        } else {
            [1, 0]
        }
    }
}

struct Factories {
    name: String,
    factories: [Box<dyn MindFactory>; 2],
    difference: Difference,
    ballast: Ballast,
}

impl MindFactory for Factories {
    fn awaken(&mut self, born: &Newborn) -> Box<dyn Mind> {
        let [one, other] = &mut self.factories;
        let one = one.awaken(born);
        for _ in 0..64 {
            self.ballast.shift();
        }
        Box::new(Minds {
            name: self.name.clone(),
            agent: born.agent,
            minds: [one, other.awaken(born)],
            difference: self.difference.clone(),
            ballast: Ballast::default(),
        })
    }
}

struct Minds {
    name: String,
    agent: AgentId,
    minds: [Box<dyn Mind>; 2],
    difference: Difference,
    ballast: Ballast,
}

impl Minds {
    fn both(
        &mut self,
        now: GameTime,
        acts: &mut Vec<Act>,
        mut run: impl FnMut(&mut dyn Mind, &mut Vec<Act>),
    ) {
        let mut decided = [Vec::new(), Vec::new()];
        for place in self.ballast.order() {
            run(&mut *self.minds[place], &mut decided[place]);
        }
        let [one, other] = decided;
        let place = || {
            format!(
                "{}, agent {}, unit {}",
                self.name,
                self.agent.0,
                now.as_units_f64()
            )
        };
        self.difference.compare(&one, &other, place);
        let [wake, other_wake] = self.minds.each_ref().map(|mind| mind.wake_at());
        self.difference
            .compare(&wake, &other_wake, || format!("{}, its next wake-up", place()));
        acts.extend(one);
    }
}

impl Mind for Minds {
    fn perceive(&mut self, percept: &Percept) {
        self.minds.iter_mut().for_each(|mind| mind.perceive(percept));
    }

    fn publish(&mut self, published: &Published) {
        self.minds.iter_mut().for_each(|mind| mind.publish(published));
    }

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        self.both(now, acts, |mind, acts| mind.decide(now, acts));
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.minds[0].wake_at()
    }

    fn died(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        self.both(now, acts, |mind, acts| mind.died(now, acts));
    }
}

struct Scenarios {
    scenarios: [Box<dyn Scenario>; 2],
    difference: Difference,
    ballast: Ballast,
}

impl Scenario for Scenarios {
    fn begin(&mut self, game: &Game) {
        self.scenarios
            .iter_mut()
            .for_each(|scenario| scenario.begin(game));
    }

    fn perceive(&mut self, game: &Game, change: &Change) {
        self.scenarios
            .iter_mut()
            .for_each(|scenario| scenario.perceive(game, change));
    }

    fn decide(&mut self, game: &Game, acts: &mut Vec<ScenarioAct>) {
        let mut decided = [Vec::new(), Vec::new()];
        for place in self.ballast.order() {
            self.scenarios[place].decide(game, &mut decided[place]);
        }
        let [one, other] = decided;
        self.difference.compare(&one, &other, || {
            format!("the scenario, unit {}", game.now().as_units_f64())
        });
        acts.extend(one);
    }

    fn answered(&mut self, act: u64, answer: Result<String, String>) {
        let [one, other] = &mut self.scenarios;
        one.answered(act, answer.clone());
        other.answered(act, answer);
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.scenarios[0].wake_at()
    }
}

#[cfg(test)]
mod tests {
    use trantor_model::{Command, MapSize};

    use super::*;

    /// Walks, and from its third decision on does so only if `is_true`.
    struct Walker {
        is_true: bool,
        decisions: u32,
    }

    struct Walkers {
        are_true: bool,
    }

    impl MindFactory for Walkers {
        fn awaken(&mut self, _: &Newborn) -> Box<dyn Mind> {
            Box::new(Walker {
                is_true: self.are_true,
                decisions: 0,
            })
        }
    }

    impl Mind for Walker {
        fn perceive(&mut self, _: &Percept) {}

        fn decide(&mut self, _: GameTime, acts: &mut Vec<Act>) {
            self.decisions += 1;
            if self.is_true || self.decisions < 3 {
                acts.push(Act::Command(Command::Forward));
            }
        }

        fn wake_at(&self) -> Option<GameTime> {
            None
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        for other in [true, false] {
            let difference = Difference::default();
            let made = |are_true| MindSource::Made {
                name: "script:a.luau".to_owned(),
                factory: Box::new(Walkers { are_true }),
            };
            let MindSource::Made { mut factory, .. } = pair(made(true), made(other), &difference) else {
                panic!("a pair is made");
            };
            let mut mind = factory.awaken(&Newborn {
                agent: AgentId(7),
                ..Newborn::first("red", MapSize::new(10, 10).unwrap())
            });
            let mut acts = Vec::new();
            for unit in 0..5 {
                mind.decide(GameTime::from_units(unit), &mut acts);
            }
            assert_eq!(acts.len(), 5);
            let expected =
                "script:a.luau, agent 7, unit 2: one VM came to [Command(Forward)], the other to []";
            assert_eq!(difference.found(), (!other).then(|| expected.to_owned()));
        }
    }
}
