//! Elevation: conditions at the start and again at the end, participants held in between.
//!
//! At the start every agent on the tile of the asker's level that no other ritual holds takes part. What
//! counts at the end is which of them still live, stand on the tile and have that level, and what lies there
//! then; the asker has no special part. Several rituals may run on one tile: each is judged at its own
//! end, by the stones left then.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trantor_model::{
    AgentId, Change, CommandKind, GroundChange, Level, Percept, RitualId, RitualState, Tile,
};
use trantor_time::{GameSpan, GameTime};

use crate::agenda::Due;
use crate::rules::agents::Agent;
use crate::rules::world::World;
use crate::rules::{Events, reply_done, send};

/// A running elevation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ritual {
    /// Its number.
    pub id: RitualId,
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

impl Ritual {
    /// As viewers see it. It began as long before its end as elevations take.
    pub fn state(&self) -> RitualState {
        let span = GameSpan::from_units(i64::from(CommandKind::Incantation.duration_units()));
        RitualState {
            ritual: self.id,
            tile: self.tile,
            level: self.level,
            participants: self.participants.as_slice().into(),
            start: self.end - span,
            end: self.end,
        }
    }

    /// Its end, on the agenda.
    pub(crate) fn due(&self) -> Due {
        Due::Ritual {
            ritual: self.id,
            asker: self.asker,
        }
    }
}

/// The running elevations, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rituals {
    by_id: BTreeMap<RitualId, Ritual>,
    next_id: u64,
}

impl Rituals {
    /// Restores a running ritual with its world, and continues the numbers from `next_id`.
    pub(crate) fn restore(&mut self, rituals: Vec<Ritual>, next_id: u64) {
        self.by_id = rituals.into_iter().map(|ritual| (ritual.id, ritual)).collect();
        self.next_id = next_id;
    }

    /// The number that comes next.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    pub(crate) fn get(&self, id: RitualId) -> Option<&Ritual> {
        self.by_id.get(&id)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Ritual> {
        self.by_id.values()
    }

    /// Those with this number or a higher one.
    pub(crate) fn iter_from(&self, id: RitualId) -> impl Iterator<Item = &Ritual> {
        self.by_id.range(id..).map(|(_, ritual)| ritual)
    }

    /// Notes that an action of `agent` is over but has no effect before the ritual ends.
    pub(crate) fn withhold(&mut self, id: RitualId, agent: AgentId) {
        let ritual = self
            .by_id
            .get_mut(&id)
            .expect("an agent is held by a ritual under way");
        ritual.withheld.push(agent);
    }

    /// Takes off an agent that is gone.
    pub(crate) fn forget(&mut self, id: RitualId, agent: AgentId) {
        let ritual = self
            .by_id
            .get_mut(&id)
            .expect("an agent is held by a ritual under way");
        ritual.participants.retain(|&participant| participant != agent);
        ritual.withheld.retain(|&participant| participant != agent);
    }
}

/// Begins an elevation that ends at `end`, or replies `ko` and returns `None` if the conditions do not hold.
pub(crate) fn begin(
    world: &mut World,
    asker: AgentId,
    end: GameTime,
    events: &mut Events,
) -> Option<RitualId> {
    let (tile, level) = (world.agents[asker].tile, world.agents[asker].level);
    let Some(participants) = participants_of(world, asker, tile, level) else {
        send(events, asker, Percept::Ko);
        return None;
    };
    let id = RitualId(world.rituals.next_id);
    world.rituals.next_id += 1;
    let ritual = Ritual {
        id,
        tile,
        level,
        asker,
        participants,
        end,
        withheld: Vec::new(),
    };
    events.push_for_viewers(|| Change::RitualStarted(ritual.state()));
    for &participant in &ritual.participants {
        world.agents[participant].ritual = Some(id);
        send(events, participant, Percept::ElevationUnderway);
    }
    world.rituals.by_id.insert(id, ritual);
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
        *id != asker && agent.level == level && agent.ritual.is_none()
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

/// Ends an elevation and releases its participants. Returns the ritual as it ended: with the living
/// participants, and those withheld, whose effects apply now.
///
/// Order of events: each participant's line, with the new level of each that rose; the end of the ritual;
/// what is left on the tile.
pub(crate) fn end(world: &mut World, id: RitualId, events: &mut Events) -> Ritual {
    let ritual = world
        .rituals
        .by_id
        .remove(&id)
        .expect("a ritual's deadline ends it once");
    let needed = ritual
        .level
        .requirement()
        .expect("no ritual begins at the last level");
    let counts = |world: &World, participant: AgentId| {
        let agent = &world.agents[participant];
        agent.tile == ritual.tile && agent.level == ritual.level
    };
    let present = ritual
        .participants
        .iter()
        .filter(|&&participant| counts(world, participant))
        .count();
    let success = present >= needed.agents as usize && world.ground(ritual.tile).covers(&needed.stones);
    let risen = ritual.level.next().expect("no ritual begins at the last level");
    for &participant in &ritual.participants {
        world.agents[participant].ritual = None;
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
    events.push_for_viewers(|| Change::RitualEnded {
        ritual: ritual.id,
        tile: ritual.tile,
        level: ritual.level,
        success,
        participants: ritual.participants.as_slice().into(),
    });
    if success {
        let mut ground = *world.ground(ritual.tile);
        ground.subtract(&needed.stones);
        world.set_ground(ritual.tile, ground);
        events.push_for_viewers(|| Change::Ground {
            tile: ritual.tile,
            ground,
            why: GroundChange::Ritual,
        });
    }
    ritual
}

/// Cancels every elevation at the end of the game. There are events for viewers, so that none shows one for ever,
/// and none for agents.
pub(crate) fn break_off_all(world: &mut World, events: &mut Events) {
    for ritual in std::mem::take(&mut world.rituals.by_id).into_values() {
        events.push_for_viewers(|| Change::RitualEnded {
            ritual: ritual.id,
            tile: ritual.tile,
            level: ritual.level,
            success: false,
            participants: ritual.participants.into(),
        });
    }
}
