//! Replication: the only place that turns events into bytes, for each audience in its language.
//!
//! | event | agents | text viewers | frame viewers |
//! |---|---|---|---|
//! | when | at once | at once | with the next tick |
//! | how | one line, one write | lines, encoded once for all | frames, encoded once for all |
//!
//! Nothing here decides anything about the game, and nothing here knows sockets.

mod frames;
mod text;

use std::sync::Arc;

use trantor_model::{AgentId, Percept, Resource, Sight};
use trantor_protocol::text::{AiLine, Dialect, LongLook, write_ai_line, write_percept};

use crate::config::{EngineConfig, InventoryFood};
use crate::limits;
use crate::session::Sessions;

pub(crate) use frames::{FrameUpdates, clock_anchor, send, send_at_once};
pub(crate) use text::TextUpdates;

/// Queues the line in which an agent is sent what it perceives, as a piece of its own. Returns the length of the line in bytes;
/// of a long look, which is written as the agent reads it, about that length. `None` if the agent has no connection.
pub(crate) fn send_percept(
    sessions: &mut Sessions,
    config: &EngineConfig,
    looks: &mut EncodedLooks,
    agent: AgentId,
    percept: &Percept,
) -> Option<usize> {
    let conn = sessions.of_agent(agent)?;
    if let Percept::Look(sights) = percept {
        let objects = objects_in(sights);
        if objects > limits::LOOK_OBJECTS_AT_ONCE {
            sessions.push_look(conn, LongLook::new(config.dialect, Arc::clone(sights)));
            let bytes = objects.saturating_mul(OBJECT_BYTES);
            return Some(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        let bytes = looks.encoded(config.dialect, percept, sights);
        sessions.push(conn, |outbox| outbox.extend_from_slice(bytes));
        return Some(bytes.len());
    }
    let mut bytes = 0;
    let write = |outbox: &mut Vec<u8>| {
        let before = outbox.len();
        match percept {
            Percept::Inventory { inventory, .. } if config.inventory_food == InventoryFood::Meals => {
                let (inventory, life_units) = (*inventory, inventory[Resource::Food]);
                write_percept(
                    outbox,
                    config.dialect,
                    &Percept::Inventory {
                        inventory,
                        life_units,
                    },
                );
            }
            _ => write_percept(outbox, config.dialect, percept),
        }
        bytes = outbox.len() - before;
    };
    match percept.is_of_others() {
        true => sessions.push_message(conn, write),
        false => sessions.push(conn, write),
    }
    Some(bytes)
}

/// Queues the last line of an agent that has died.
pub(crate) fn send_death(sessions: &mut Sessions, config: &EngineConfig, agent: AgentId) {
    if let Some(conn) = sessions.of_agent(agent) {
        sessions.push(conn, |outbox| {
            write_ai_line(outbox, config.dialect, &AiLine::Dead)
        });
    }
}

/// Bytes of an object in a look, about: a space, and a word such as `player` or `linemate`.
const OBJECT_BYTES: u64 = 8;

/// Looks whose text is kept, for agents that see the same: as many as the game keeps, which shares them.
const ENCODED_LOOKS_MAX: usize = 8;

/// The texts of the latest looks, each encoded once for all that see it.
#[derive(Debug, Default)]
pub(crate) struct EncodedLooks {
    /// With their texts, which are those of one dialect.
    looks: Vec<(Arc<[Sight]>, Vec<u8>)>,
    /// The place in the list that is used next once it is full.
    next: usize,
}

impl EncodedLooks {
    fn encoded(&mut self, dialect: Dialect, percept: &Percept, sights: &Arc<[Sight]>) -> &[u8] {
        let known = self
            .looks
            .iter()
            .position(|(known, _)| Arc::ptr_eq(known, sights));
        let place = known.unwrap_or_else(|| {
            let place = self.next;
            self.next = (place + 1) % ENCODED_LOOKS_MAX;
            if place == self.looks.len() {
                self.looks.push((Arc::from([]), Vec::new()));
            }
            let (kept, text) = &mut self.looks[place];
            *kept = Arc::clone(sights);
            text.clear();
            write_percept(text, dialect, percept);
            place
        });
        &self.looks[place].1
    }
}

fn objects_in(sights: &[Sight]) -> u64 {
    let objects = |sight: &Sight| {
        let resources: u64 = sight.ground.0.iter().map(|&count| u64::from(count)).sum();
        u64::from(sight.agents) + resources + u64::from(sight.eggs)
    };
    sights.iter().map(objects).sum()
}
