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
    worlds: VecDeque<(RealTime, Picture)>,
}

impl Past {
    /// Of a server whose spectators see the game so much later.
    pub(crate) fn new(delay: RealSpan) -> Self {
        Self {
            delay,
            worlds: VecDeque::new(),
        }
    }

    /// How much later spectators see the game.
    pub(crate) fn delay(&self) -> RealSpan {
        self.delay
    }

    /// All passes at `now` are over.
    pub(crate) fn note(&mut self, now: RealTime, world: &World) {
        if self.delay == RealSpan::ZERO {
            return;
        }
        self.worlds.push_back((now, Picture::of_world(world)));
        let told_until = self.told_until(now);
        while self.worlds.get(1).is_some_and(|(at, _)| *at <= told_until) {
            self.worlds.pop_front();
        }
    }

    /// The world as spectators must know it at `now`; `None` if they cannot know any yet.
    pub(crate) fn told_by(&self, now: RealTime) -> Option<&Picture> {
        let told_until = self.told_until(now);
        let told = self.worlds.iter().rev().find(|(at, _)| *at <= told_until);
        told.map(|(_, picture)| picture)
    }

    /// The server begins anew.
    pub(crate) fn forget(&mut self) {
        self.worlds.clear();
    }

    fn told_until(&self, now: RealTime) -> RealTime {
        let grid = GRID.as_nanos();
        RealTime::from_nanos(now.as_nanos() / grid * grid) - self.delay
    }
}
