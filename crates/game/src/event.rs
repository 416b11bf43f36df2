//! Events of the game, in order.
//!
//! An event carries all that a message about it needs, so that no reader has to look at a world that has since
//! changed. Which peer sees which event is for the engine to decide; how it is written, for the protocol.
//!
//! Some are for agents, and most for viewers alone. A game without viewers, such as a leap, makes none of the second
//! kind, and no directions of messages: of a thousand recipients, few need them.

#![allow(missing_docs, reason = "most fields are what their names say")]

use std::sync::Arc;

use trantor_model::{AgentId, Change, Percept};

/// One thing that happened, or one line for an agent.
///
/// No recording holds events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameEvent {
    /// An agent perceives something: the answer to its oldest open request, a sound, a push, or its part in an elevation.
    To { agent: AgentId, percept: Percept },
    /// A sound reached all other agents at once: instead of a [`Percept::Message`] for each, for drivers that ask for directions.
    HeardByAll {
        speaker: AgentId,
        /// The message, byte for byte.
        text: Arc<[u8]>,
    },
    /// The world changed. Births, deaths, leaves and the victory are for all drivers, other changes for viewers alone.
    Seen(Change),
}

/// The events that a game makes. It has no effect on the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventFilter {
    /// All events.
    #[default]
    All,
    /// Lines for agents, births, deaths and leaves, and the victory.
    Agents,
    /// As `Agents`, but one [`GameEvent::HeardByAll`] instead of a line for each recipient; the driver of the game asks for
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

    /// Adds a change for viewers alone.
    pub(crate) fn push_for_viewers(&mut self, change: impl FnOnce() -> Change) {
        if self.are_for_viewers() {
            self.waiting.push(GameEvent::Seen(change()));
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
        Some(std::mem::replace(event, GameEvent::Seen(Change::Refilled)))
    }

    /// Exchanges all events for `buffer`.
    pub(crate) fn swap(&mut self, buffer: &mut Vec<GameEvent>) {
        assert_eq!(self.polled, 0, "events are polled or swapped");
        std::mem::swap(&mut self.waiting, buffer);
    }
}
