//! The rules: what is true next.
//!
//! Each module changes the [`World`] and reports events; none knows when it is called. The
//! moments (deadlines, queues, busy agents) are `game.rs`'s, which calls in here when something is due.
//!
//! | rule | text command |
//! |---|---|
//! | [`action`] | `Forward`, `Right`, `Left`, `Take`, `Set`, `Inventory`, `Eject` |
//! | [`look`] | `Look` |
//! | [`broadcast`] | `Broadcast` |
//! | [`incantation`] | `Incantation` |
//! | [`hatching`] | `Fork`, `Connect_nbr`, and a team's name at the door |
//! | [`hunger`], [`spawning`], [`victory`] | none: they come by themselves |

pub(crate) mod action;
pub(crate) mod agents;
pub(crate) mod broadcast;
pub(crate) mod hatching;
pub(crate) mod hunger;
pub(crate) mod incantation;
pub(crate) mod look;
pub(crate) mod spawning;
pub(crate) mod victory;
pub(crate) mod world;

use trantor_model::{AgentId, Percept};

pub(crate) use crate::event::Events;

use crate::event::GameEvent;

pub use agents::{Agent, OUTSTANDING_MAX};
pub(crate) use agents::{CommandQueue, Running};
pub use hatching::{Egg, Team};
pub use incantation::Elevation;
pub use world::World;

/// An agent perceives something.
pub(crate) fn send(events: &mut Events, agent: AgentId, percept: Percept) {
    events.push(GameEvent::To { agent, percept });
}

/// Answers an agent `ok` or `ko`.
pub(crate) fn reply_done(events: &mut Events, agent: AgentId, done: bool) {
    send(events, agent, if done { Percept::Ok } else { Percept::Ko });
}
