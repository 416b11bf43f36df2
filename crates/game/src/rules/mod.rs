//! The rules: what is true next.
//!
//! Each module changes the [`World`] and reports events; none knows when it is called. The
//! moments (deadlines, queues, busy agents) are `game.rs`'s, which calls in here when something is due.
//!
//! | rule | text command |
//! |---|---|
//! | [`movement`] | `Forward`, `Right`, `Left` |
//! | [`look`] | `Look` |
//! | [`carry`] | `Take`, `Set`, `Inventory` |
//! | [`broadcast`] | `Broadcast` |
//! | [`eject`] | `Eject` |
//! | [`incantation`] | `Incantation` |
//! | [`hatching`] | `Fork`, `Connect_nbr`, and a team's name at the door |
//! | [`hunger`], [`spawning`], [`victory`] | none: they come by themselves |

pub(crate) mod action;
pub(crate) mod agents;
pub(crate) mod broadcast;
pub(crate) mod carry;
pub(crate) mod eject;
pub(crate) mod hatching;
pub(crate) mod hunger;
pub(crate) mod incantation;
pub(crate) mod look;
pub(crate) mod movement;
pub(crate) mod roster;
pub(crate) mod spawning;
pub(crate) mod victory;
pub(crate) mod world;

use trantor_model::AgentId;

pub(crate) use crate::events::Events;

use crate::event::{GameEvent, Reply};

pub use agents::{Agent, RunningAction};
pub use hatching::{Egg, Team};
pub use incantation::Ritual;
pub use world::World;

/// Answers an agent.
pub(crate) fn reply(events: &mut Events, agent: AgentId, reply: Reply) {
    events.push(GameEvent::Reply { agent, reply });
}

/// Answers an agent `ok` or `ko`.
pub(crate) fn reply_done(events: &mut Events, agent: AgentId, done: bool) {
    reply(events, agent, if done { Reply::Ok } else { Reply::Ko });
}
