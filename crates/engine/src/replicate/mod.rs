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

use trantor_game::{GameEvent, Reply};
use trantor_model::{AgentId, Resource, Sight};
use trantor_protocol::text::{AiLine, Dialect, LongLook, write_ai_line};

use crate::config::{EngineConfig, FoodTold};
use crate::limits;
use crate::session::Sessions;

pub(crate) use frames::{FrameUpdates, clock_anchor, send, send_at_once};
pub(crate) use text::TextUpdates;

/// Queues the line for an agent about `event`, as a piece of its own. Returns the agent and the length of the line in
/// bytes; of a long look, which is written as the agent reads it, about that length.
pub(crate) fn send_agent_line(
    sessions: &mut Sessions,
    config: &EngineConfig,
    looks: &mut EncodedLooks,
    event: &GameEvent,
) -> Option<(AgentId, usize)> {
    let (agent, line) = line_of(event, config.food_told)?;
    let conn = sessions.of_agent(agent)?;
    if let GameEvent::Reply {
        reply: Reply::Look(sights),
        ..
    } = event
    {
        let objects = objects_in(sights);
        if objects > limits::LOOK_OBJECTS_AT_ONCE {
            sessions.push_look(conn, LongLook::new(config.dialect, Arc::clone(sights)));
            let bytes = objects.saturating_mul(OBJECT_BYTES);
            return Some((agent, usize::try_from(bytes).unwrap_or(usize::MAX)));
        }
        let bytes = looks.encoded(config.dialect, sights);
        sessions.push(conn, |outbox| outbox.extend_from_slice(bytes));
        return Some((agent, bytes.len()));
    }
    let mut bytes = 0;
    let write = |outbox: &mut Vec<u8>| {
        let before = outbox.len();
        write_ai_line(outbox, config.dialect, &line);
        bytes = outbox.len() - before;
    };
    match event {
        GameEvent::Heard { .. } | GameEvent::PushedFrom { .. } => sessions.push_message(conn, write),
        _ => sessions.push(conn, write),
    }
    Some((agent, bytes))
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
    fn encoded(&mut self, dialect: Dialect, sights: &Arc<[Sight]>) -> &[u8] {
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
            write_ai_line(text, dialect, &AiLine::Look((&**sights).into()));
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

fn line_of(event: &GameEvent, food_told: FoodTold) -> Option<(AgentId, AiLine<'_>)> {
    Some(match event {
        GameEvent::Reply { agent, reply } => (*agent, line_of_reply(reply, food_told)),
        GameEvent::Heard {
            agent,
            direction,
            text,
        } => (
            *agent,
            AiLine::Message {
                direction: *direction,
                text,
            },
        ),
        GameEvent::PushedFrom { agent, direction } => (
            *agent,
            AiLine::Ejected {
                direction: *direction,
            },
        ),
        GameEvent::Died { agent } => (*agent, AiLine::Dead),
        _ => return None,
    })
}

fn line_of_reply(reply: &Reply, food_told: FoodTold) -> AiLine<'_> {
    match reply {
        Reply::Ok => AiLine::Ok,
        Reply::Ko => AiLine::Ko,
        Reply::Look(sights) => AiLine::Look((&**sights).into()),
        Reply::Inventory {
            inventory,
            life_units,
        } => AiLine::Inventory {
            inventory: *inventory,
            life_units: match food_told {
                FoodTold::Life => *life_units,
                FoodTold::Meals => inventory[Resource::Food],
            },
        },
        Reply::ConnectNbr(places) => AiLine::Places(*places),
        Reply::ElevationUnderway => AiLine::ElevationUnderway,
        Reply::CurrentLevel(level) => AiLine::CurrentLevel(*level),
    }
}
