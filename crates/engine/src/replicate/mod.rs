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

use trantor_game::{GameEvent, Reply};
use trantor_model::{AgentId, Resource, Sight};
use trantor_protocol::text::{AiLine, LongLook, write_ai_line};

use crate::config::{EngineConfig, FoodTold};
use crate::limits;
use crate::session::Sessions;

pub(crate) use frames::{FrameUpdates, clock_anchor, send, send_at_once};
pub(crate) use text::TextUpdates;

/// Queues the line for an agent about `event`, as a piece of its own. Returns the agent and the length of the line in
/// bytes; `None` for a long look, which answers the agent's own command and is written as the agent reads it.
pub(crate) fn send_agent_line(
    sessions: &mut Sessions,
    config: &EngineConfig,
    event: &GameEvent,
) -> Option<(AgentId, usize)> {
    let (agent, line) = line_of(event, config.food_told)?;
    let conn = sessions.of_agent(agent)?;
    if let AiLine::Look(sights) = &line
        && objects_in(sights) > limits::LOOK_OBJECTS_AT_ONCE
    {
        sessions.push_look(conn, LongLook::new(config.dialect, sights.to_vec()));
        return None;
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
        Reply::Look(sights) => AiLine::Look(sights.into()),
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
