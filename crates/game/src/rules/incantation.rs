//! Elevation: conditions at the start and again at the end, participants held in between.
//!
//! At the start every agent on the tile of the asker's level that no other elevation holds takes part. What
//! counts at the end is which of them still live, stand on the tile and have that level, and what lies there
//! then; the asker has no special part. Several elevations may run on one tile: each is judged at its own
//! end, by the stones left then.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trantor_model::{
    AgentId, Change, CommandKind, ElevationId, ElevationState, GroundChange, Level, Percept, Tile,
};
use trantor_time::{GameSpan, GameTime};

use crate::agenda::Due;
use crate::rules::agents::Agent;
use crate::rules::world::World;
use crate::rules::{Events, reply_done, send};

/// A running elevation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elevation {
    /// Its number.
    pub id: ElevationId,
    /// Where it was begun.
    pub tile: Tile,
    /// The level before it.
    pub level: Level,
    /// The agent that began it, alive or not.
    pub asker: AgentId,
    /// Living participants: the asker first, the others by number.
    pub participants: Vec<AgentId>,
    /// When it ends.
    pub end: GameTime,
    /// Participants whose action ended meanwhile, in the order the ends fell due.
    pub(crate) withheld: Vec<AgentId>,
}

impl Elevation {
    /// As viewers see it. It began as long before its end as elevations take.
    pub fn state(&self) -> ElevationState {
        let span = GameSpan::from_units(i64::from(CommandKind::Incantation.duration_units()));
        ElevationState {
            elevation: self.id,
            tile: self.tile,
            level: self.level,
            participants: self.participants.as_slice().into(),
            start: self.end - span,
            end: self.end,
        }
    }

    /// Its end, on the agenda.
    pub(crate) fn due(&self) -> Due {
        Due::Elevation {
            elevation: self.id,
            asker: self.asker,
        }
    }
}

/// The running elevations, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elevations {
    by_id: BTreeMap<ElevationId, Elevation>,
    next_id: u64,
}

impl Elevations {
    /// Restores a running elevation with its world, and continues the numbers from `next_id`.
    pub(crate) fn restore(&mut self, elevations: Vec<Elevation>, next_id: u64) {
        self.by_id = elevations
            .into_iter()
            .map(|elevation| (elevation.id, elevation))
            .collect();
        self.next_id = next_id;
    }

    /// The number that comes next.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    pub(crate) fn get(&self, id: ElevationId) -> Option<&Elevation> {
        self.by_id.get(&id)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Elevation> {
        self.by_id.values()
    }

    /// Those with this number or a higher one.
    pub(crate) fn iter_from(&self, id: ElevationId) -> impl Iterator<Item = &Elevation> {
        self.by_id.range(id..).map(|(_, elevation)| elevation)
    }

    /// Notes that an action of `agent` is over but has no effect before the elevation ends.
    pub(crate) fn withhold(&mut self, id: ElevationId, agent: AgentId) {
        let elevation = self
            .by_id
            .get_mut(&id)
            .expect("an agent is held by an elevation under way");
        elevation.withheld.push(agent);
    }

    /// Takes off an agent that is gone.
    pub(crate) fn forget(&mut self, id: ElevationId, agent: AgentId) {
        let elevation = self
            .by_id
            .get_mut(&id)
            .expect("an agent is held by an elevation under way");
        elevation.participants.retain(|&participant| participant != agent);
        elevation.withheld.retain(|&participant| participant != agent);
    }
}

/// Begins an elevation that ends at `end`, or replies `ko` and returns `None` if the conditions do not hold.
pub(crate) fn begin(
    world: &mut World,
    asker: AgentId,
    end: GameTime,
    events: &mut Events,
) -> Option<ElevationId> {
    let (tile, level) = (world.agents[asker].tile, world.agents[asker].level);
    let Some(participants) = participants_of(world, asker, tile, level) else {
        send(events, asker, Percept::Ko);
        return None;
    };
    let id = ElevationId(world.elevations.next_id);
    world.elevations.next_id += 1;
    let elevation = Elevation {
        id,
        tile,
        level,
        asker,
        participants,
        end,
        withheld: Vec::new(),
    };
    events.push_for_viewers(|| Change::ElevationStarted(elevation.state()));
    for &participant in &elevation.participants {
        world.agents[participant].elevation = Some(id);
        send(events, participant, Percept::ElevationUnderway);
    }
    world.elevations.by_id.insert(id, elevation);
    Some(id)
}

/// The participants if `asker` begins: itself, then all others that can, by number. `None` if an elevation
/// cannot begin: the last level, too few agents, or too few stones.
fn participants_of(world: &World, asker: AgentId, tile: Tile, level: Level) -> Option<Vec<AgentId>> {
    let needed = level.requirement()?;
    if !world.ground(tile).covers(&needed.stones) {
        return None;
    }
    let others = others_free(world, asker, tile, level);
    let participants: Vec<AgentId> = std::iter::once(asker).chain(others).collect();
    (participants.len() >= needed.agents as usize).then_some(participants)
}

/// The agents that would take part besides `asker`, by number.
fn others_free(world: &World, asker: AgentId, tile: Tile, level: Level) -> impl Iterator<Item = AgentId> {
    let is_free = move |id: &AgentId| {
        let agent = &world.agents[*id];
        *id != asker && agent.level == level && agent.elevation.is_none()
    };
    world.agents_on(tile).iter().copied().filter(is_free)
}

/// Whether an elevation could begin now if the agent asked for it.
pub(crate) fn can_begin(world: &World, asker: &Agent) -> bool {
    asker.level.requirement().is_some_and(|needed| {
        let others = || others_free(world, asker.id, asker.tile, asker.level);
        world.ground(asker.tile).covers(&needed.stones) && 1 + others().count() >= needed.agents as usize
    })
}

/// Ends an elevation and releases its participants. Returns the elevation as it ended: with the living
/// participants, and those withheld, whose effects apply now.
///
/// Order of events: each participant's line, with the new level of each that rose; the end of the elevation;
/// what is left on the tile.
pub(crate) fn end(world: &mut World, id: ElevationId, events: &mut Events) -> Elevation {
    let elevation = world
        .elevations
        .by_id
        .remove(&id)
        .expect("an elevation's deadline ends it once");
    let needed = elevation
        .level
        .requirement()
        .expect("no elevation begins at the last level");
    let counts = |world: &World, participant: AgentId| {
        let agent = &world.agents[participant];
        agent.tile == elevation.tile && agent.level == elevation.level
    };
    let present = elevation
        .participants
        .iter()
        .filter(|&&participant| counts(world, participant))
        .count();
    let success = present >= needed.agents as usize && world.ground(elevation.tile).covers(&needed.stones);
    let risen = elevation
        .level
        .next()
        .expect("no elevation begins at the last level");
    for &participant in &elevation.participants {
        world.agents[participant].elevation = None;
        if success && counts(world, participant) {
            world.agents[participant].level = risen;
            events.push_for_viewers(|| Change::LevelChanged {
                agent: participant,
                level: risen,
            });
            send(events, participant, Percept::Level(risen));
        } else {
            reply_done(events, participant, false);
        }
    }
    events.push_for_viewers(|| Change::ElevationEnded {
        elevation: elevation.id,
        tile: elevation.tile,
        level: elevation.level,
        success,
        participants: elevation.participants.as_slice().into(),
    });
    if success {
        let mut ground = *world.ground(elevation.tile);
        ground.subtract(&needed.stones);
        world.set_ground(elevation.tile, ground);
        events.push_for_viewers(|| Change::Ground {
            tile: elevation.tile,
            ground,
            why: GroundChange::Elevation,
        });
    }
    elevation
}

/// Cancels every elevation at the end of the game. There are events for viewers, so that none shows one for ever,
/// and none for agents.
pub(crate) fn break_off_all(world: &mut World, events: &mut Events) {
    for elevation in std::mem::take(&mut world.elevations.by_id).into_values() {
        events.push_for_viewers(|| Change::ElevationEnded {
            elevation: elevation.id,
            tile: elevation.tile,
            level: elevation.level,
            success: false,
            participants: elevation.participants.into(),
        });
    }
}
