//! What was seen to happen and not told yet, in order.
//!
//! Some of it agents are owed, and some only those see who watch. A game that nobody watches, as a leap, spares itself
//! the second kind: it is most of what happens, and would be put together to be thrown away.

use crate::event::GameEvent;

/// Where the rules put what was seen to happen.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// Behind the first `polled`, not told yet.
    waiting: Vec<GameEvent>,
    polled: usize,
    is_watched: bool,
}

impl Events {
    /// Nothing yet, in a game that is watched.
    pub(crate) fn new() -> Self {
        Self {
            waiting: Vec::new(),
            polled: 0,
            is_watched: true,
        }
    }

    /// Whether what only those see who watch is to be told from now on.
    pub(crate) fn set_watched(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    /// Something that an agent is owed, or that changes who is there.
    pub(crate) fn tell(&mut self, event: GameEvent) {
        self.waiting.push(event);
    }

    /// Something that only those see who watch.
    pub(crate) fn show(&mut self, event: impl FnOnce() -> GameEvent) {
        if self.is_watched {
            self.waiting.push(event());
        }
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
