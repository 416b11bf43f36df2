//! History of the world after each pass, as far back as delayed spectators see.

use std::collections::VecDeque;

use trantor_game::World;
use trantor_time::{RealSpan, RealTime};

use crate::picture::Picture;

/// Delayed output is sent on this grid: the tick interval.
const GRID: RealSpan = RealSpan::from_millis(50);

/// See the module.
#[derive(Debug)]
pub(crate) struct WorldHistory {
    delay: RealSpan,
    /// Spectators have different delays since a reload; the engine then sends to none before earlier ones.
    is_mixed: bool,
    worlds: VecDeque<PassWorld>,
}

/// The world after a pass.
#[derive(Debug)]
struct PassWorld {
    began: RealTime,
    ended: RealTime,
    picture: Picture,
}

impl WorldHistory {
    /// For a server with this spectator delay.
    pub(crate) fn new(delay: RealSpan) -> Self {
        Self {
            delay,
            is_mixed: false,
            worlds: VecDeque::new(),
        }
    }

    /// Delay of new spectators.
    pub(crate) fn delay(&self) -> RealSpan {
        self.delay
    }

    /// Changes the delay of new spectators.
    pub(crate) fn set_delay(&mut self, delay: RealSpan) {
        self.is_mixed |= delay != self.delay;
        self.delay = delay;
    }

    /// Whether the world that each spectator must have is known.
    pub(crate) fn is_certain(&self) -> bool {
        !self.is_mixed
    }

    /// Records the world after the passes from `began` to `now`.
    pub(crate) fn note(&mut self, began: RealTime, now: RealTime, world: &World) {
        if self.delay == RealSpan::ZERO {
            return;
        }
        self.worlds.push_back(PassWorld {
            began,
            ended: now,
            picture: Picture::of_world(world),
        });
        let visible_until = self.visible_until(now);
        while self.worlds.get(1).is_some_and(|pass| pass.ended <= visible_until) {
            self.worlds.pop_front();
        }
    }

    /// The world that spectators must have at `now`; `None` if they cannot have one yet.
    pub(crate) fn world_at(&self, now: RealTime) -> Option<&Picture> {
        let visible_until = self.visible_until(now);
        let result = self.worlds.iter().rev().find(|pass| pass.ended <= visible_until);
        result.map(|pass| &pass.picture)
    }

    /// Whether spectators have the world amid a pass at `now`, which is not recorded.
    pub(crate) fn is_within_pass(&self, now: RealTime) -> bool {
        let visible_until = self.visible_until(now);
        let mut passes = self.worlds.iter();
        passes.any(|pass| pass.began <= visible_until && visible_until < pass.ended)
    }

    fn visible_until(&self, now: RealTime) -> RealTime {
        let grid = GRID.as_nanos();
        RealTime::from_nanos(now.as_nanos() / grid * grid) - self.delay
    }
}
