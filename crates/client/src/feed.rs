//! Entries of what happened: for an event list, an inspector, a score line, a sound.
//!
//! Entries come when their moment is shown, so that list and picture agree. Entries that are not read are dropped, the
//! oldest first.

use trantor_model::AgentId;
pub use trantor_model::{FeedKind, RitualOutcome, Who};
use trantor_protocol::wire::Change;
pub use trantor_protocol::wire::FeedEntry;

use crate::world::World;

/// Entries kept until they are read: a few seconds of a busy game.
pub const FEED_MAX: usize = 4_096;

/// The entry of a change, from the world before it; `None` if it is about ground or numbers only.
pub(crate) fn kind_of(change: &Change, world: &World) -> Option<FeedKind> {
    let view = |id: AgentId| world.agent(id).map(|agent| &agent.view);
    let who = |id: AgentId| {
        view(id).map(|view| Who {
            agent: id,
            team: view.team,
        })
    };
    Some(match *change {
        Change::Joined { ref agent, .. } => FeedKind::Joined(Who {
            agent: agent.id,
            team: agent.team,
        }),
        Change::Died { agent } => FeedKind::Died(who(agent)?, view(agent)?.level),
        Change::Left { agent } => FeedKind::Left(who(agent)?, view(agent)?.level),
        Change::ActionStarted { agent, action } if action.refused => {
            FeedKind::Refused(who(agent)?, action.kind)
        }
        Change::ActionStarted { agent, action } => FeedKind::Started(who(agent)?, action.kind),
        Change::Carried {
            agent,
            resource,
            taken,
            ..
        } => FeedKind::Carried(who(agent)?, resource, taken),
        Change::Said { agent, ref text } => FeedKind::Said(who(agent)?, text.as_slice().into()),
        Change::Ejected { agent } => FeedKind::Pushed(who(agent)?),
        Change::EggLaid { egg, .. } => FeedKind::EggLaid(egg.egg, egg.team, egg.tile),
        Change::EggDestroyed { egg } => {
            let state = world.egg(egg)?;
            FeedKind::EggBroken(egg, state.team, state.tile)
        }
        Change::RitualStarted(ref ritual) => {
            FeedKind::RitualStarted(ritual.tile, ritual.level, ritual.participants.len() as u32)
        }
        Change::RitualEnded {
            tile,
            level,
            success,
            ref participants,
        } => {
            let agents = participants
                .iter()
                .filter_map(|&id| Some((id, view(id)?.team, view(id)?.tile)));
            FeedKind::RitualEnded(tile, level, RitualOutcome::new(success, tile, agents))
        }
        Change::LevelChanged { agent, level } => FeedKind::Rose(who(agent)?, level),
        Change::Won { team } => FeedKind::Won(team),
        Change::Moved { .. } | Change::Inventory { .. } | Change::Ground { .. } | Change::Sent { .. } => {
            return None;
        }
    })
}
