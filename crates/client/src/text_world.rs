//! Lines of a text server, decoded into changes of a world.
//!
//! Zappy's text servers send results: an agent *is* somewhere, has picked something up, has spoken. When
//! it began is known all the same, since every command takes a known time. So each result is shown as the end
//! of an action that began that much earlier, and the display is kept as far behind.
//!
//! Servers differ, and leave things out. What contradicts the world is left out too, and counted; it never ends the
//! connection.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use trantor_model::feed::SAID_BYTES_MAX;
use trantor_model::{
    ActionState, AgentId, AgentView, Change, CommandKind, Counts, Direction, EggId, EggState, ElevationId,
    ElevationState, GroundChange, InventoryChange, Level, MapSize, MoveKind, Resource, TeamId, Tile, Turn,
    WorldError,
};
use trantor_protocol::text::GuiEvent;
use trantor_time::{GameSpan, GameTime};

use crate::motion::ShownWorld;
use crate::readable::readable_bytes;
use crate::scene::TEAMS_MAX;

/// No egg has this number; an agent may hatch from it where the server does not say which.
const NO_EGG: EggId = EggId(u32::MAX);

/// Elevations of one level on one tile are the same if they begin within this time: agents that could begin another one
/// there would have been in the first.
const BEGUN_WITHIN: GameSpan = GameSpan::from_units(7);

/// A world as a text server describes it.
#[derive(Debug)]
pub struct TextWorld {
    /// As the lines say it is now: what a line means depends on it.
    pub latest: ShownWorld,
    /// Changes decoded and not yet taken out, each with its moment.
    pub changes: Vec<(GameTime, Change)>,
    pub teams: Vec<Arc<str>>,
    /// When each agent last moved or was born: an action of it cannot have begun earlier.
    since: BTreeMap<AgentId, GameTime>,
    /// An agent that was received and not yet added, since the egg it hatched from may come next.
    born: Option<AgentView>,
    /// An egg that hatched, as some servers send before the agent.
    hatched: Option<EggId>,
    /// Elevations that began: text servers do not number them.
    elevations_begun: u64,
    /// Which tiles were received, until all were.
    tiles_received: Vec<bool>,
    pub tiles_missing: usize,
    /// Lines that contradict the world.
    pub ignored: u64,
    /// The game time of what is received now.
    now: GameTime,
    /// How long an action of seven units is shown to take: less at low speeds, where it would be long.
    action: GameSpan,
}

impl TextWorld {
    pub fn new(size: MapSize) -> Self {
        Self {
            latest: ShownWorld::lenient(size),
            changes: Vec::new(),
            teams: Vec::new(),
            since: BTreeMap::new(),
            born: None,
            hatched: None,
            elevations_begun: 0,
            tiles_received: vec![false; size.area()],
            tiles_missing: size.area(),
            ignored: 0,
            now: GameTime::ZERO,
            action: GameSpan::ZERO,
        }
    }

    /// Counts what contradicts the world and is left out.
    pub fn ignore(&mut self, error: &dyn Display) {
        log::debug!("left out what the server sent: {error}");
        self.ignored += 1;
    }

    /// What follows is received at this game time; an action of seven units is shown to take `action`.
    pub fn set_now(&mut self, now: GameTime, action: GameSpan) {
        (self.now, self.action) = (now, action);
    }

    pub fn take(&mut self, event: GuiEvent<'_>) {
        self.settle_birth(&event);
        match event {
            GuiEvent::Tile { tile, ground } => self.ground(tile, ground),
            GuiEvent::Team(name) => {
                self.team(name);
            }
            GuiEvent::Joined {
                agent,
                tile,
                facing,
                level,
                team,
            } => {
                let team = self.team(team);
                self.joined(agent, tile, facing, level, team);
            }
            GuiEvent::Position { agent, tile, facing } => self.position(agent, tile, facing),
            GuiEvent::Level { agent, level } => self.level(agent, level),
            GuiEvent::Inventory { agent, inventory, .. } => self.inventory(agent, inventory),
            GuiEvent::Ejected { agent } => {
                self.late_start(agent, CommandKind::Eject);
                self.apply(Change::Ejected { agent });
            }
            GuiEvent::Said { agent, text } => {
                self.late_start(agent, CommandKind::Broadcast);
                let text = text[..text.len().min(SAID_BYTES_MAX)].into();
                self.apply(Change::Said { agent, text });
            }
            GuiEvent::ElevationStarted {
                tile,
                level,
                participants,
            } => self.elevation_started(tile, level, &participants),
            GuiEvent::ElevationEnded { tile, success } => self.elevation_ended(tile, success),
            GuiEvent::ForkStarted { agent } => self.started(agent, CommandKind::Fork),
            GuiEvent::Put { agent, resource } => self.carried(agent, resource, false),
            GuiEvent::Took { agent, resource } => self.carried(agent, resource, true),
            GuiEvent::Died { agent } => {
                self.since.remove(&agent);
                self.apply(Change::Died { agent });
            }
            GuiEvent::EggLaid { egg, layer, tile } => {
                let layer = layer.filter(|layer| self.view(*layer).is_some());
                let team = layer
                    .and_then(|layer| self.view(layer))
                    .map_or(TeamId::UNKNOWN, |view| view.team);
                let egg = EggState { egg, team, tile };
                self.apply(Change::EggLaid { egg, layer });
            }
            // With an agent that was born or is being born; an egg that hatches for no agent is gone as well.
            GuiEvent::EggHatched { egg } => {
                if let Some(egg) = self.hatched.replace(egg) {
                    self.apply(Change::EggDestroyed { egg });
                }
            }
            GuiEvent::EggDestroyed { egg } => self.apply(Change::EggDestroyed { egg }),
            GuiEvent::Won { team } => {
                let is_draw = team == b"draw" && self.teams.iter().all(|name| **name != *"draw");
                let team = if is_draw { TeamId::DRAW } else { self.team(team) };
                self.apply(Change::Won { team, totals: None });
            }
            // These are the session's.
            GuiEvent::MapSize(_)
            | GuiEvent::Frequency(_)
            | GuiEvent::Message(_)
            | GuiEvent::UnknownRequest
            | GuiEvent::BadParameter
            | GuiEvent::EggMatured { .. } => {}
        }
    }

    /// Nothing more follows for now: an agent that was being born is complete.
    pub fn settle(&mut self) {
        if let Some(view) = self.born.take() {
            self.add(view, self.hatched);
            self.hatched = None;
        }
        if let Some(egg) = self.hatched.take() {
            self.apply(Change::EggDestroyed { egg });
        }
    }

    /// An agent's first lines belong to its birth; any other line means that it is complete.
    fn settle_birth(&mut self, event: &GuiEvent<'_>) {
        let Some(born) = &mut self.born else { return };
        match event {
            GuiEvent::Inventory { agent, inventory, .. } if *agent == born.id => born.inventory = *inventory,
            GuiEvent::Level { agent, level } if *agent == born.id => born.level = *level,
            GuiEvent::EggHatched { .. } => {}
            _ => {
                let view = *born;
                self.born = None;
                let egg = self.hatched.take();
                self.add(view, egg);
            }
        }
    }

    fn joined(&mut self, id: AgentId, tile: Tile, facing: Direction, level: Level, team: TeamId) {
        // A server that sends an agent again sends how it is now.
        if self.view(id).is_some() {
            self.position(id, tile, facing);
            self.level(id, level);
            return;
        }
        self.born = Some(AgentView {
            id,
            team,
            tile,
            facing,
            level,
            inventory: Counts::ZERO,
        });
    }

    fn add(&mut self, agent: AgentView, egg: Option<EggId>) {
        self.apply(Change::Joined {
            agent,
            egg: egg.unwrap_or(NO_EGG),
            food_ends: None,
        });
        // One that was left out leaves nothing behind.
        if self.view(agent.id).is_some() {
            self.since.insert(agent.id, self.now);
        }
    }

    fn ground(&mut self, tile: Tile, ground: Counts) {
        let size = self.latest.size();
        if !size.contains(tile) {
            self.ignore(&WorldError::OffMap(tile));
            return;
        }
        let place = size.index_of(tile);
        if let Some(received) = self.tiles_received.get_mut(place)
            && !std::mem::replace(received, true)
        {
            self.tiles_missing -= 1;
            if self.tiles_missing == 0 {
                self.tiles_received = Vec::new();
            }
        }
        if self.latest.ground()[place] != ground {
            let why = GroundChange::Admin;
            self.apply(Change::Ground { tile, ground, why });
        }
    }

    fn level(&mut self, agent: AgentId, level: Level) {
        if !self.is_being_born(agent) && self.view(agent).is_none_or(|view| view.level != level) {
            self.apply(Change::LevelChanged { agent, level });
        }
    }

    fn is_being_born(&self, agent: AgentId) -> bool {
        self.born.is_some_and(|born| born.id == agent)
    }

    fn inventory(&mut self, agent: AgentId, inventory: Counts) {
        if self.is_being_born(agent) {
            return;
        }
        let Some(&view) = self.view(agent) else {
            self.ignore(&WorldError::UnknownAgent(agent));
            return;
        };
        if view.inventory != inventory {
            let food = Resource::Food;
            let why = match inventory[food].checked_add(1) == Some(view.inventory[food]) {
                true => InventoryChange::Ate,
                false => InventoryChange::Set,
            };
            self.apply(Change::Inventory {
                agent,
                tile: view.tile,
                inventory,
                food_ends: None,
                why,
            });
        }
    }

    /// The number of the team with that name, which is new if it was not received before. Some servers name no team.
    fn team(&mut self, name: &[u8]) -> TeamId {
        let name = match name.trim_ascii() {
            b"" => "?".to_owned(),
            name => readable_bytes(name),
        };
        let known = self.teams.iter().position(|team| **team == *name);
        let place = known.unwrap_or_else(|| {
            if self.teams.len() == TEAMS_MAX {
                // Whatever belongs to it will not fit the world, and be left out.
                return TEAMS_MAX;
            }
            self.latest.add_team();
            self.teams.push(name.into());
            self.teams.len() - 1
        });
        TeamId(place as u16)
    }

    fn position(&mut self, agent: AgentId, tile: Tile, facing: Direction) {
        let Some(&view) = self.view(agent) else {
            self.ignore(&WorldError::UnknownAgent(agent));
            return;
        };
        if (view.tile, view.facing) == (tile, facing) {
            return;
        }
        let size = self.latest.size();
        let kind = if facing == view.facing && tile == size.step(view.tile, facing) {
            Some(CommandKind::Forward)
        } else if tile != view.tile {
            None
        } else if facing == view.facing.turned(Turn::Right) {
            Some(CommandKind::Right)
        } else if facing == view.facing.turned(Turn::Left) {
            Some(CommandKind::Left)
        } else {
            None
        };
        if let Some(kind) = kind {
            self.late_start(agent, kind);
        }
        self.since.insert(agent, self.now);
        self.apply(Change::Moved {
            agent,
            tile,
            facing,
            how: match kind {
                None => MoveKind::Placed,
                Some(CommandKind::Forward) => MoveKind::Walked,
                Some(_) => MoveKind::Turned,
            },
        });
    }

    /// The counts are sent again right after; here they are what they must have become.
    fn carried(&mut self, agent: AgentId, resource: Resource, taken: bool) {
        let Some(&view) = self.view(agent) else {
            self.ignore(&WorldError::UnknownAgent(agent));
            return;
        };
        let kind = match taken {
            true => CommandKind::Take,
            false => CommandKind::Set,
        };
        self.late_start(agent, kind);
        let mut ground = self.latest.ground()[self.latest.size().index_of(view.tile)];
        let mut inventory = view.inventory;
        let (from, to) = match taken {
            true => (&mut ground, &mut inventory),
            false => (&mut inventory, &mut ground),
        };
        from[resource] = from[resource].saturating_sub(1);
        to[resource] = to[resource].saturating_add(1);
        self.apply(Change::Carried {
            agent,
            resource,
            taken,
            tile: view.tile,
            inventory,
            ground,
        });
    }

    fn elevation_started(&mut self, tile: Tile, level: Level, participants: &[AgentId]) {
        let mut free: Vec<AgentId> = Vec::new();
        for &participant in participants {
            let agent = self.latest.agent(participant);
            if agent.is_some_and(|agent| agent.held_by.is_none()) && !free.contains(&participant) {
                free.push(participant);
            }
        }
        // Some servers send the same once for each participant.
        if free.is_empty() && !participants.is_empty() && self.elevations_on(tile).next().is_some() {
            return;
        }
        if let Some(&first) = free.first() {
            self.started(first, CommandKind::Incantation);
        }
        let (start, end) = (self.now, self.now + units(CommandKind::Incantation));
        let elevation = ElevationId(self.elevations_begun);
        self.elevations_begun += 1;
        self.apply(Change::ElevationStarted(ElevationState {
            elevation,
            tile,
            level,
            participants: free.into(),
            start,
            end,
        }));
    }

    /// The line says neither who took part nor from which level: the oldest elevation there is meant, and those that
    /// came with it, as some servers send them for each participant.
    fn elevation_ended(&mut self, tile: Tile, success: bool) {
        let Some(oldest) = self.elevations_on(tile).next() else {
            self.ignore(&WorldError::UnknownElevation(tile));
            return;
        };
        let (level, begun_until) = (oldest.level, oldest.start + BEGUN_WITHIN);
        let is_meant =
            |elevation: &&ElevationState| elevation.level == level && elevation.start <= begun_until;
        let ended: Vec<ElevationState> = self.elevations_on(tile).filter(is_meant).cloned().collect();
        for elevation in ended {
            self.apply(Change::ElevationEnded {
                elevation: elevation.elevation,
                tile,
                level,
                success,
                participants: elevation.participants,
            });
        }
    }

    fn elevations_on(&self, tile: Tile) -> impl Iterator<Item = &ElevationState> {
        let elevations = self.latest.elevations().iter();
        elevations.filter(move |elevation| elevation.tile == tile)
    }

    /// An agent begins something now.
    fn started(&mut self, agent: AgentId, kind: CommandKind) {
        self.apply(action_started(agent, kind, self.now, self.now + units(kind)));
    }

    /// An agent ends something now, which it must have begun before.
    fn late_start(&mut self, agent: AgentId, kind: CommandKind) {
        if self.view(agent).is_none() {
            return;
        }
        let end = self.now;
        let earliest = self.since.get(&agent).copied().unwrap_or(end);
        let start = (end - self.action).max(earliest);
        self.changes
            .push((start, action_started(agent, kind, start, end)));
    }

    fn view(&self, id: AgentId) -> Option<&AgentView> {
        self.latest.agent(id).map(|agent| &agent.view)
    }

    fn apply(&mut self, change: Change) {
        match self.latest.apply(self.now, &change) {
            Ok(_) => self.changes.push((self.now, change)),
            Err(error) => self.ignore(&error),
        }
    }
}

/// Text does not say which actions were refused.
fn action_started(agent: AgentId, kind: CommandKind, start: GameTime, end: GameTime) -> Change {
    Change::ActionStarted {
        agent,
        action: ActionState {
            kind,
            start,
            end,
            refused: false,
        },
    }
}

fn units(kind: CommandKind) -> GameSpan {
    GameSpan::from_units(i64::from(kind.duration_units()))
}
