//! Events that were not polled yet, in order.
//!
//! Some are for agents, and most for viewers alone. A game without viewers, such as a leap, spares itself the second
//! kind, which would be built to be thrown away; and the directions of what is said: where a thousand hear it, few need them.

use crate::event::GameEvent;

/// Which events are made. It cannot change the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// All.
    #[default]
    Everything,
    /// Lines for agents, births, deaths and leaves, and the victory.
    Owed,
    /// The same, but one [`GameEvent::Said`] instead of a line for each agent that hears it; the driver of the game asks
    /// for directions by [`crate::World::direction_of_sound`]. Messages that take time to arrive are lines as ever.
    OwedOnce,
}

/// Where the rules put events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// The first `polled` of them are gone.
    waiting: Vec<GameEvent>,
    polled: usize,
    pub(crate) telling: Telling,
}

impl Events {
    /// Adds a line for an agent, or a change of who is there.
    pub(crate) fn push(&mut self, event: GameEvent) {
        self.waiting.push(event);
    }

    /// Adds what only viewers are sent.
    pub(crate) fn push_for_viewers(&mut self, event: impl FnOnce() -> GameEvent) {
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
