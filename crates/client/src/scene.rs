//! What to draw, as plain data.
//!
//! A [`Scene`] is one moment of the game as a viewer shows it: every position already interpolated, every
//! effect already aged. It names no colour, no mesh and no pixel, so that a window, a terminal and a test read
//! the same values. Its buffers are used again, so that a frame allocates nothing once they have grown.
//!
//! Spaces: a *tile position* is a pair of `f32` in tiles, `x` to the east and `y` to the south, with the middle
//! of tile `(3, 5)` at `(3.0, 5.0)`. It is not wrapped: an agent that walks east out of the last column is at
//! `width - 1 + progress` until it has arrived; other places to draw it are up to the renderer.
//! A *heading* is in radians, 0 to the north and growing clockwise as seen from above (east is π/2), in `0..2π`.
//! Ages and remaining times are in units of game time: a pause freezes them and speed scales them.

use std::collections::BTreeMap;
use std::sync::Arc;

use trantor_model::{
    AgentId, CommandKind, Counts, EggState, Level, MapSize, MatchTotals, Resource, Shown, ShownBy, TeamId,
    Tile,
};
use trantor_time::GameTime;
use trantor_time::link::LinkSettings;

/// What agents and the server show beside the game, by owner.
pub type ShownOwners = BTreeMap<ShownBy, Arc<Shown>>;

/// One moment of the game, ready to be drawn.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// What lies on the tiles; `None` until the map is known.
    pub ground: Option<SceneGround>,
    /// Living agents, by ascending number; see [`Self::agent`].
    pub agents: Vec<SceneAgent>,
    /// Eggs, by ascending number; of [`TeamId::UNKNOWN`] where the server did not send whose they are.
    pub eggs: Vec<EggState>,
    /// Elevations under way, by place in the row-by-row list of tiles; see [`Self::participants`].
    pub elevations: Vec<SceneElevation>,
    /// What happened lately and is still to be seen, oldest first; see [`Self::text`].
    pub effects: Vec<SceneEffect>,
    /// Teams in the order of their ids.
    pub teams: Vec<SceneTeam>,
    pub clock: SceneClock,
    pub winner: Option<TeamId>,
    /// What the match came to, from its end on; `None` where the server does not send it.
    pub totals: Option<Arc<MatchTotals>>,
    pub link: LinkState,
    /// Notes, marks and cards. An agent's may be here before it hatches.
    pub shown: Arc<ShownOwners>,
    /// How messages between agents travel, in words; `None` if they arrive at once.
    pub lag: Option<Arc<str>>,
    /// Participants of all elevations, one after the other; read through [`Self::participants`].
    pub elevation_participants: Vec<AgentId>,
    /// What was said, one after the other; read through [`Self::text`].
    pub texts: Vec<u8>,
}

/// What lies on the tiles, and which of them changed.
#[derive(Clone, Debug)]
pub struct SceneGround {
    pub size: MapSize,
    /// Counts by place in the row-by-row list of all tiles ([`MapSize::index_of`]); as many as the map has tiles.
    pub tiles: Vec<Counts>,
    /// Raised whenever a tile changes; never the same for two different contents.
    pub version: u64,
    /// The version that [`Self::changed`] starts from. A copy of another version (a frame was
    /// skipped, or the world was loaded anew) takes all tiles; see [`Self::changes_since`].
    pub changed_since: u64,
    /// Places of the tiles that changed from there to `version`. May name a tile twice.
    pub changed: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneAgent {
    pub id: AgentId,
    pub team: TeamId,
    pub level: Level,
    /// The tile it stands on by the rules; while it walks, the one that it leaves.
    pub tile: Tile,
    pub x: f32,
    pub y: f32,
    pub heading: f32,
    pub inventory: Counts,
    /// What it is doing; `None` when it waits for its player.
    pub action: Option<SceneAction>,
    pub held: bool,
    /// Units until it starves if it eats nothing but what it carries; `None` where hunger is off or unknown.
    pub food_left_units: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneAction {
    pub kind: CommandKind,
    /// How much of it is done, `0.0..=1.0`.
    pub progress: f32,
    /// Units until it is done, at least 0.
    pub remaining_units: f32,
    /// Whether the line was refused: it takes its time, and nothing is to be seen of it.
    pub refused: bool,
}

/// Teams shown. Far more than a game has; each has a line in every frame.
pub(crate) const TEAMS_MAX: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneElevation {
    pub tile: Tile,
    /// The level before it.
    pub level: Level,
    /// How much of it is done, `0.0..=1.0`.
    pub progress: f32,
    /// Units until it is done, at least 0.
    pub remaining_units: f32,
    /// Where its participants begin in [`Scene::elevation_participants`], and how many there are.
    pub participants: Span,
}

/// Something that happened at a moment and is shown for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneEffect {
    pub kind: EffectKind,
    pub x: f32,
    pub y: f32,
    /// The agent that did it or that it happened to, and its team; `None` if there is none.
    pub agent: Option<(AgentId, TeamId)>,
    /// Units since it happened, at least 0.
    pub age_units: f32,
    /// The age as a part of the whole time it is shown for, `0.0..=1.0`; see [`EffectKind::shown_units`].
    pub progress: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EffectKind {
    /// An agent hatched.
    Birth,
    /// An agent died.
    Death { level: Level, heading: f32 },
    /// An agent left without dying.
    Departure { level: Level, heading: f32 },
    /// An agent said something: a ring that grows from here.
    Broadcast {
        /// Where the words are in [`Scene::texts`].
        text: Span,
        /// How the ring grows where messages take time.
        spread: Option<Spread>,
    },
    /// A message that took time reached the agent.
    Heard {
        /// Of the sender.
        team: TeamId,
    },
    /// A message was lost that would have reached the agent now.
    Lost,
    /// An agent pushed the others off its tile.
    Push {
        /// Where it faced, and so where they went.
        heading: f32,
    },
    /// An agent picked one up.
    Took { resource: Resource },
    /// An agent put one down.
    Put { resource: Resource },
    /// An agent began to digest a food.
    Ate,
    /// An egg was laid.
    EggLaid { team: TeamId },
    /// An egg was broken.
    EggBroken { team: TeamId },
    /// An elevation ended.
    ElevationEnded {
        /// The level before it.
        level: Level,
        success: bool,
    },
    /// An agent rose to this level.
    Rose { level: Level },
}

/// How a broadcast spreads where messages take time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Units until it leaves the agent.
    pub latency_units: f32,
    /// Units from then until it is at its edge.
    pub travel_units: f32,
    /// Tiles to its edge: the range of messages, or what is farthest on the map.
    pub edge: f32,
    /// Whether there are places beyond the edge: those out of range.
    pub ends_before_all: bool,
}

impl Spread {
    /// Units for which the edge is shown after the ring has reached it.
    pub const EDGE_UNITS: f32 = 30.0;
    /// Units until the slowest ring is at its edge; a slower one ends on the way.
    const UNITS_MAX: f32 = 2_000.0;

    /// As messages with these settings travel on a map of this size.
    pub fn of(settings: &LinkSettings, size: MapSize) -> Self {
        /// Settings give distances in thousandths of a tile.
        const MILLITILES: f32 = 1e3;
        let (width, height) = (f32::from(size.width()), f32::from(size.height()));
        let farthest = width.hypot(height) / 2.0;
        let range = settings
            .range
            .map_or(f32::INFINITY, |range| range as f32 / MILLITILES);
        let edge = farthest.min(range);
        let latency = settings.latency.as_units_f64().max(0.0) as f32;
        let travel = settings.speed.map(|speed| edge * MILLITILES / speed.get() as f32);
        // Where the distance takes no time the ring is under way for as long as the message.
        let (latency, travel) = travel.map_or((0.0, latency), |travel| (latency, travel));
        Self {
            latency_units: latency.min(Self::UNITS_MAX),
            travel_units: travel.min(Self::UNITS_MAX),
            edge,
            ends_before_all: range < farthest,
        }
    }

    /// How far the ring has come, in tiles; 0 before it leaves the agent.
    pub fn radius(&self, age_units: f32) -> f32 {
        let age = age_units - self.latency_units;
        match age < self.travel_units {
            true => self.edge * (age / self.travel_units).max(0.0),
            false => self.edge,
        }
    }

    /// Units after which the ring is so many tiles away, or at its edge.
    pub fn reaches_after(&self, tiles: f32) -> f32 {
        self.latency_units + self.travel_units * (tiles / self.edge.max(1.0)).min(1.0)
    }

    /// How much of the time is over for which the edge is shown, `0.0..=1.0`; 0 until the ring is there.
    pub fn faded(&self, age_units: f32) -> f32 {
        let beyond = age_units - self.latency_units - self.travel_units;
        (beyond / Self::EDGE_UNITS).clamp(0.0, 1.0)
    }
}

/// A team and how it stands, counted from what is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SceneTeam {
    pub name: Arc<str>,
    pub agents: u32,
    /// Living agents by level, level 1 first.
    pub by_level: [u32; 8],
    pub eggs: u32,
    pub carried: [u64; 7],
}

/// Game time and its speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SceneClock {
    /// The moment shown, a little before the server's present; less than in the scene before only where a recording
    /// was moved back, or where the display had been too far ahead of the game. Stops when a team wins.
    pub game: GameTime,
    /// Units a second; 0 until known. As asked for, if the server has not answered yet.
    pub frequency: u32,
    /// Whether game time stands still. As asked for, if the server has not answered yet.
    pub paused: bool,
    /// Whether speed or pause wait for the server's answer.
    pub unconfirmed: bool,
    /// Milliseconds by which the server shows us everything later than it happens; 0 for viewers that may control it.
    pub delay_ms: u32,
    /// Units that passed since the scene before this one. From about 3 on single steps cannot be seen.
    pub elapsed_units: f32,
}

/// How the connection stands, and what it is waiting for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LinkState {
    /// Nothing was received yet.
    #[default]
    Connecting,
    /// The server greeted; its answer to our hello is awaited.
    Greeting,
    /// What is shown here is shown later than it happens, and the first of it is yet to come.
    Delayed {
        /// Milliseconds that lie between.
        delay_ms: u32,
        /// Milliseconds until the first of it comes.
        left_ms: u32,
    },
    /// The world is being received.
    Loading { tiles: u32, of: u32 },
    /// The world is there and is being kept up to date.
    Live,
    /// As `Live`, but nothing was received for this long, which is more than it should be.
    Silent { for_ms: u64 },
    /// The connection is over; the last picture remains.
    Ended { reason: Arc<str> },
}

/// A run of entries in one of the shared lists of a [`Scene`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub first: u32,
    pub len: u32,
}

impl Scene {
    /// The agent with that number, if it lives. Takes logarithmic time.
    pub fn agent(&self, id: AgentId) -> Option<&SceneAgent> {
        let place = self.agents.binary_search_by_key(&id, |agent| agent.id).ok()?;
        self.agents.get(place)
    }

    /// What an agent shows, if it shows anything.
    pub fn shown_by_agent(&self, id: AgentId) -> Option<&Shown> {
        self.shown.get(&ShownBy::Agent(id)).map(Arc::as_ref)
    }

    /// Whether what `by` shows belongs on the map: an agent has hatched and lives.
    pub fn is_there(&self, by: ShownBy) -> bool {
        match by {
            ShownBy::Server => true,
            ShownBy::Agent(id) => self.agent(id).is_some(),
        }
    }

    /// Counts for each team its agents, its eggs and what they carry.
    pub fn count_teams(&mut self) {
        for team in &mut self.teams {
            (team.agents, team.eggs, team.by_level, team.carried) = (0, 0, [0; 8], [0; 7]);
        }
        for agent in &self.agents {
            if let Some(team) = self.teams.get_mut(usize::from(agent.team.0)) {
                team.agents += 1;
                team.by_level[usize::from(agent.level.get() - 1)] += 1;
                for (sum, count) in team.carried.iter_mut().zip(agent.inventory.0) {
                    *sum += u64::from(count);
                }
            }
        }
        for egg in &self.eggs {
            if let Some(team) = self.teams.get_mut(usize::from(egg.team.0)) {
                team.eggs += 1;
            }
        }
    }

    /// Who is held by an elevation of this scene.
    pub fn participants(&self, elevation: &SceneElevation) -> &[AgentId] {
        elevation.participants.of(&self.elevation_participants)
    }

    /// The words of a broadcast of this scene, as they came; empty for any other span.
    pub fn text(&self, text: Span) -> &[u8] {
        text.of(&self.texts)
    }
}

impl SceneGround {
    /// The places to take again for a copy that is at `version`, or `None` if all must be taken.
    pub fn changes_since(&self, version: u64) -> Option<&[u32]> {
        if version == self.version {
            Some(&[])
        } else if version == self.changed_since {
            Some(&self.changed)
        } else {
            None
        }
    }

    /// What lies on a tile; `None` off the map.
    pub fn at(&self, tile: Tile) -> Option<&Counts> {
        self.size
            .contains(tile)
            .then(|| &self.tiles[self.size.index_of(tile)])
    }
}

impl SceneClock {
    /// How long `units` of game time take at this speed, in seconds; `None` while paused or unknown.
    pub fn seconds(&self, units: f32) -> Option<f32> {
        (self.frequency > 0 && !self.paused).then(|| units / self.frequency as f32)
    }
}

impl EffectKind {
    /// How long it is shown, in units. Long enough to be seen at the default 100 units a second, and never so
    /// long that an agent's effects pile up: no two of a kind can follow in less than seven units.
    pub fn shown_units(&self) -> u32 {
        match self {
            Self::Broadcast {
                spread: Some(spread), ..
            } => (spread.latency_units + spread.travel_units + Spread::EDGE_UNITS) as u32,
            Self::Heard { .. } => 25,
            Self::Lost => 50,
            Self::Took { .. } | Self::Put { .. } | Self::Ate => 20,
            Self::Push { .. } => 25,
            Self::Broadcast { .. } => 60,
            Self::Birth | Self::EggLaid { .. } | Self::EggBroken { .. } => 60,
            Self::Departure { .. } | Self::Rose { .. } | Self::ElevationEnded { .. } => 100,
            Self::Death { .. } => 150,
        }
    }
}

impl Span {
    /// The entries it names in `list`; empty if they are not all there.
    pub fn of<T>(self, list: &[T]) -> &[T] {
        let first = self.first as usize;
        first
            .checked_add(self.len as usize)
            .and_then(|end| list.get(first..end))
            .unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_names_more_than_there_is_is_empty() {
        assert_eq!(Span { first: 1, len: 2 }.of(&[1, 2, 3]), [2, 3]);
        assert!(Span { first: 2, len: 2 }.of(&[1, 2, 3]).is_empty());
        assert!(
            Span {
                first: u32::MAX,
                len: u32::MAX
            }
            .of(&[1])
            .is_empty()
        );
    }
}
