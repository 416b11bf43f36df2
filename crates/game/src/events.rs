//! Events that were not polled yet, in order.
//!
//! Some are for agents, and most for viewers alone. A game without viewers, such as a leap, makes none of the second
//! kind, and no directions of messages: of a thousand recipients, few need them.

use crate::event::GameEvent;

/// The events that a game makes. It has no effect on the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventFilter {
    /// All events.
    #[default]
    All,
    /// Lines for agents, births, deaths and leaves, and the victory.
    Agents,
    /// The same, but one [`GameEvent::HeardByAll`] instead of a line for each recipient; the driver of the game asks for
    /// directions by [`crate::World::direction_of_sound`]. Messages that take time to arrive are still lines.
    AgentsShared,
    /// All events, but messages as in [`Self::AgentsShared`].
    AllShared,
}

/// Where the rules put events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// The first `polled` of them are gone.
    waiting: Vec<GameEvent>,
    polled: usize,
    pub(crate) filter: EventFilter,
}

impl Events {
    /// Adds a line for an agent, or a change of the living agents.
    pub(crate) fn push(&mut self, event: GameEvent) {
        self.waiting.push(event);
    }

    /// Adds an event for viewers alone.
    pub(crate) fn push_for_viewers(&mut self, event: impl FnOnce() -> GameEvent) {
        if self.are_for_viewers() {
            self.waiting.push(event());
        }
    }

    /// Whether events for viewers alone are made.
    pub(crate) fn are_for_viewers(&self) -> bool {
        matches!(self.filter, EventFilter::All | EventFilter::AllShared)
    }

    /// Whether a message that reaches all agents at once is one event.
    pub(crate) fn are_messages_shared(&self) -> bool {
        matches!(self.filter, EventFilter::AgentsShared | EventFilter::AllShared)
    }

    /// Whether there is one that was not polled.
    pub(crate) fn has_some(&self) -> bool {
        self.polled < self.waiting.len()
    }

    /// The next one in order.
    pub(crate) fn poll(&mut self) -> Option<GameEvent> {
        let Some(event) = self.waiting.get_mut(self.polled) else {
            self.waiting.clear();
            self.polled = 0;
            return None;
        };
        self.polled += 1;
        Some(std::mem::replace(event, GameEvent::Refilled))
    }

    /// Exchanges all events for `buffer`.
    pub(crate) fn swap(&mut self, buffer: &mut Vec<GameEvent>) {
        assert_eq!(self.polled, 0, "events are polled or swapped");
        std::mem::swap(&mut self.waiting, buffer);
    }
}
