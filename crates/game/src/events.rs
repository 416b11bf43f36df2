//! What was seen to happen and not told yet, in order.
//!
//! Some of it agents are owed, and some only those see who watch. A game that nobody watches, as a leap, spares itself
//! the second kind: it is most of what happens, and would be put together to be thrown away. The same goes for what is
//! said: where a thousand hear it, few listen.

use crate::event::GameEvent;

/// How much events tell of. It cannot change the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// Everything.
    #[default]
    Everything,
    /// What agents are told themselves, who comes and goes, and who has won.
    Owed,
    /// The same, but what is said once, as [`GameEvent::Said`], and not once for each who hears it; whoever drives the
    /// game asks for directions by [`crate::World::direction_of_sound`]. What takes time to arrive is told one by one.
    OwedOnce,
}

/// Where the rules put what was seen to happen.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// Behind the first `polled`, not told yet.
    waiting: Vec<GameEvent>,
    polled: usize,
    telling: Telling,
}

impl Events {
    /// Nothing yet, and all of it to be told.
    pub(crate) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            polled: 0,
            telling: Telling::Everything,
        }
    }

    /// How much is to be told from now on.
    pub(crate) fn set_telling(&mut self, telling: Telling) {
        self.telling = telling;
    }

    /// Whether what is said is told to each who hears it.
    pub(crate) fn tells_each_hearer(&self) -> bool {
        self.telling != Telling::OwedOnce
    }

    /// Something that an agent is owed, or that changes who is there.
    pub(crate) fn tell(&mut self, event: GameEvent) {
        self.waiting.push(event);
    }

    /// Something that only those see who watch.
    pub(crate) fn show(&mut self, event: impl FnOnce() -> GameEvent) {
        if self.telling == Telling::Everything {
            self.waiting.push(event());
        }
    }

    /// Whether there is one that was not polled.
    pub(crate) fn has_some(&self) -> bool {
        self.polled < self.waiting.len()
    }

    /// The next one in order.
    pub(crate) fn poll(&mut self) -> Option<GameEvent> {
        let Some(event) = self.waiting.get_mut(self.polled) else {
            self.forget_polled();
            return None;
        };
        self.polled += 1;
        Some(std::mem::replace(event, GameEvent::Refilled))
    }

    /// Exchanges all that were not polled for `buffer`.
    pub(crate) fn swap(&mut self, buffer: &mut Vec<GameEvent>) {
        self.forget_polled();
        std::mem::swap(&mut self.waiting, buffer);
    }

    fn forget_polled(&mut self) {
        self.waiting.drain(..self.polled);
        self.polled = 0;
    }
}
