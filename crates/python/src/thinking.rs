//! How long the scripts of a match think: a real time, which the caller may limit. It changes nothing in the game.

use std::cell::Cell;
use std::rc::Rc;

use trantor_model::TeamId;
use trantor_play::minds::{Act, Mind, MindFactory, MindGroup, MindSource, Newborn, Percept, Published};
use trantor_runtime::RealClock;
use trantor_time::{Clock, GameTime, RealSpan};

/// The time that the minds of one group took.
#[derive(Clone, Debug)]
pub(crate) struct Thinking {
    pub team: TeamId,
    spans: Rc<Cell<Spans>>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans {
    /// In all.
    pub total: RealSpan,
    /// The longest that one agent took to decide.
    pub slowest: RealSpan,
}

impl Thinking {
    /// Measures a group from now on, if its minds are made by a script.
    pub(crate) fn measure(group: MindGroup) -> (MindGroup, Option<Self>) {
        let MindSource::Made { name, factory } = group.source else {
            return (group, None);
        };
        let thinking = Self {
            team: group.team,
            spans: Rc::default(),
        };
        let factory = Box::new(Timed {
            inner: factory,
            spans: thinking.spans.clone(),
        });
        let source = MindSource::Made { name, factory };
        (MindGroup { source, ..group }, Some(thinking))
    }

    pub(crate) fn spans(&self) -> Spans {
        self.spans.get()
    }
}

/// A factory, or a mind of one, whose time is measured.
struct Timed<T> {
    inner: T,
    spans: Rc<Cell<Spans>>,
}

impl<T> Timed<T> {
    fn measured<A>(&mut self, work: impl FnOnce(&mut T) -> A) -> A {
        let clock = RealClock::new();
        let before = clock.now();
        let answer = work(&mut self.inner);
        let took = clock.now() - before;
        let Spans { total, slowest } = self.spans.get();
        self.spans.set(Spans {
            total: total + took,
            slowest: slowest.max(took),
        });
        answer
    }
}

impl MindFactory for Timed<Box<dyn MindFactory>> {
    fn awaken(&mut self, born: &Newborn) -> Box<dyn Mind> {
        let inner = self.measured(|factory| factory.awaken(born));
        Box::new(Timed {
            inner,
            spans: self.spans.clone(),
        })
    }
}

impl Mind for Timed<Box<dyn Mind>> {
    fn perceive(&mut self, percept: &Percept) {
        self.measured(|mind| mind.perceive(percept));
    }

    fn decides_after_percepts(&self) -> bool {
        self.inner.decides_after_percepts()
    }

    fn publish(&mut self, published: &Published) {
        self.inner.publish(published);
    }

    fn prepare(&mut self, now: GameTime) {
        self.measured(|mind| mind.prepare(now));
    }

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        self.measured(|mind| mind.decide(now, acts));
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.inner.wake_at()
    }

    fn died(&mut self, now: GameTime, acts: &mut Vec<Act>) {
        self.measured(|mind| mind.died(now, acts));
    }
}
