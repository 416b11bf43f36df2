//! The world as it was after each pass, as far back as spectators see.

use std::collections::VecDeque;

use trantor_game::World;
use trantor_time::{RealSpan, RealTime};

use crate::picture::Picture;

/// What is told later leaves on this grid: the length of a tick.
const GRID: RealSpan = RealSpan::from_millis(50);

/// See the module.
#[derive(Debug)]
pub(crate) struct Past {
    delay: RealSpan,
    /// Spectators see the game later by different times, and each is told no sooner than those who came before.
    is_mixed: bool,
    worlds: VecDeque<Passed>,
}

/// The world after a pass.
#[derive(Debug)]
struct Passed {
    began: RealTime,
    ended: RealTime,
    picture: Picture,
}

impl Past {
    /// Of a server whose spectators see the game so much later.
    pub(crate) fn new(delay: RealSpan) -> Self {
        Self {
            delay,
            is_mixed: false,
            worlds: VecDeque::new(),
        }
    }

    /// How much later those see the game who come now.
    pub(crate) fn delay(&self) -> RealSpan {
        self.delay
    }

    /// Another delay holds for spectators that come from now on.
    pub(crate) fn set_delay(&mut self, delay: RealSpan) {
        self.is_mixed |= delay != self.delay;
        self.delay = delay;
    }

    /// Whether it can be said what each spectator knows.
    pub(crate) fn is_certain(&self) -> bool {
        !self.is_mixed
    }

    /// All passes from `began` to `now` are over.
    pub(crate) fn note(&mut self, began: RealTime, now: RealTime, world: &World) {
        if self.delay == RealSpan::ZERO {
            return;
        }
        self.worlds.push_back(Passed {
            began,
            ended: now,
            picture: Picture::of_world(world),
        });
        let told_until = self.told_until(now);
        while self.worlds.get(1).is_some_and(|pass| pass.ended <= told_until) {
            self.worlds.pop_front();
        }
    }

    /// The world as spectators must know it at `now`; `None` if they cannot know any yet.
    pub(crate) fn told_by(&self, now: RealTime) -> Option<&Picture> {
        let told_until = self.told_until(now);
        let told = self.worlds.iter().rev().find(|pass| pass.ended <= told_until);
        told.map(|pass| &pass.picture)
    }

    /// Whether spectators know the world of the middle of a pass at `now`, of which there is no picture.
    pub(crate) fn is_within_pass(&self, now: RealTime) -> bool {
        let told_until = self.told_until(now);
        let mut passes = self.worlds.iter();
        passes.any(|pass| pass.began <= told_until && told_until < pass.ended)
    }

    fn told_until(&self, now: RealTime) -> RealTime {
        let grid = GRID.as_nanos();
        RealTime::from_nanos(now.as_nanos() / grid * grid) - self.delay
    }
}
