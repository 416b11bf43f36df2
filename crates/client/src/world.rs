//! The world as told: agents, eggs and elevations, changed by changes.
//!
//! Every value a server sends is checked here before it is used: numbers of agents, eggs and teams, tiles,
//! spans, and how much there may be of each. Nothing here knows what a change looks like; that is
//! [`crate::display`]'s. What lies on the ground is kept by the caller, since it is by far the largest part.

mod checked;

use trantor_model::{AgentId, AgentView, CommandKind, Counts, EggId, MapSize, TeamId, Tile};
use trantor_protocol::wire::{AgentState, Change, EggState, RitualState, SnapshotPart};
use trantor_time::GameTime;

use crate::error::WorldError;
use crate::table::Table;
use checked::checked_action;
/// Bytes of a broadcast that servers of ours tell; they wait with it until it is shown, and many may.
pub const SAID_BYTES_MAX: usize = 256;

pub use checked::{AGENTS_MAX, EGGS_MAX, RITUALS_MAX};

/// All that lives on the map. `X` is what the owner keeps beside each agent.
#[derive(Clone, Debug)]
pub struct World<X> {
    size: MapSize,
    teams: usize,
    /// Whether the server may leave out which egg hatched and whose an egg is.
    is_lenient: bool,
    agents: Table<Agent<X>>,
    eggs: Table<EggState>,
    rituals: Vec<Ritual>,
    rituals_begun: u64,
    winner: Option<TeamId>,
}

/// An agent as told.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent<X> {
    /// What can be seen of it.
    pub view: AgentView,
    /// What it does or did last.
    pub action: Option<Action>,
    /// When the food being digested is used up; `None` where hunger is off or unknown.
    pub food_ends: Option<GameTime>,
    /// The elevation that holds it: [`Ritual::serial`].
    pub held_by: Option<u64>,
    /// The owner's own.
    pub extra: X,
}

/// Something an agent does, from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// What.
    pub kind: CommandKind,
    /// When it began.
    pub start: GameTime,
    /// When it ends; not before it began.
    pub end: GameTime,
    /// Whether the line was refused, so that nothing comes of it.
    pub refused: bool,
}

/// An elevation under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Ritual {
    /// Counts elevations from the first that was told; several may share a tile.
    pub serial: u64,
    /// Where, who, since when and until when. Those who died or left are taken out.
    pub state: RitualState,
}

impl<X: Default> World<X> {
    /// Nobody there yet.
    pub fn new(size: MapSize, teams: usize) -> Self {
        Self {
            size,
            teams,
            is_lenient: false,
            agents: Table::new(),
            eggs: Table::new(),
            rituals: Vec::new(),
            rituals_begun: 0,
            winner: None,
        }
    }

    /// Nobody there yet, in a world of which a server of another kind tells: eggs of [`crate::scene::TEAM_UNKNOWN`] may lie
    /// there, and agents may hatch from eggs that were never told.
    pub fn lenient(size: MapSize) -> Self {
        Self {
            is_lenient: true,
            ..Self::new(size, 0)
        }
    }

    /// There is one more team.
    pub fn add_team(&mut self) {
        self.teams += 1;
    }

    /// The same world with nothing kept beside agents yet.
    pub fn with_extra<Y: Default>(&self) -> World<Y> {
        let with_extra = |agent: &Agent<X>| Agent {
            view: agent.view,
            action: agent.action,
            food_ends: agent.food_ends,
            held_by: agent.held_by,
            extra: Y::default(),
        };
        World {
            size: self.size,
            teams: self.teams,
            is_lenient: self.is_lenient,
            agents: self.agents.map(with_extra),
            eggs: self.eggs.clone(),
            rituals: self.rituals.clone(),
            rituals_begun: self.rituals_begun,
            winner: self.winner,
        }
    }

    /// The map.
    pub fn size(&self) -> MapSize {
        self.size
    }

    /// All agents by ascending number.
    pub fn agents(&self) -> impl Iterator<Item = &Agent<X>> {
        self.agents.iter()
    }

    /// All agents by ascending number, to keep something beside them.
    pub(crate) fn agents_mut(&mut self) -> impl Iterator<Item = &mut Agent<X>> {
        self.agents.iter_mut()
    }

    /// The agent with that number.
    pub fn agent(&self, id: AgentId) -> Option<&Agent<X>> {
        self.agents.get(id.0)
    }

    /// The agent with that number, to keep something beside it.
    pub(crate) fn agent_mut(&mut self, id: AgentId) -> Option<&mut Agent<X>> {
        self.agents.get_mut(id.0)
    }

    /// All eggs by ascending number.
    pub fn eggs(&self) -> impl Iterator<Item = &EggState> {
        self.eggs.iter()
    }

    /// The egg with that number.
    pub fn egg(&self, id: EggId) -> Option<&EggState> {
        self.eggs.get(id.0)
    }

    /// Elevations in the order they began.
    pub fn rituals(&self) -> &[Ritual] {
        &self.rituals
    }

    /// The team that won, once one has.
    pub fn winner(&self) -> Option<TeamId> {
        self.winner
    }

    /// Takes a piece of a snapshot other than ground.
    ///
    /// # Errors
    /// If anything in it cannot be.
    pub fn load(&mut self, part: SnapshotPart) -> Result<(), WorldError> {
        match part {
            SnapshotPart::Ground { .. } => {}
            SnapshotPart::Agents(agents) => {
                for agent in agents {
                    self.add_agent(agent)?;
                }
            }
            SnapshotPart::Eggs(eggs) => {
                for egg in eggs {
                    self.add_egg(egg)?;
                }
            }
            SnapshotPart::Rituals(rituals) => {
                for ritual in rituals {
                    self.begin_ritual(ritual)?;
                }
            }
            SnapshotPart::Winner(team) => self.win(team)?,
        }
        Ok(())
    }

    /// Applies one change, and answers the tile whose ground it tells, by its place, with what now lies there.
    ///
    /// # Errors
    /// If anything in it cannot be. Nothing has changed then.
    pub fn apply(&mut self, at: GameTime, change: &Change) -> Result<Option<(usize, Counts)>, WorldError> {
        match *change {
            Change::Joined {
                agent,
                egg,
                food_ends,
            } => {
                let agent = self.checked_agent(AgentState {
                    view: agent,
                    action: None,
                    food_ends,
                })?;
                match self.take_egg(egg) {
                    Err(WorldError::UnknownEgg(_)) if self.is_lenient => {}
                    taken => taken?,
                }
                self.agents.insert(agent.view.id.0, agent);
            }
            Change::Died { agent } | Change::Left { agent } => self.remove_agent(agent)?,
            Change::ActionStarted { agent, action } => {
                let action = checked_action(action)?;
                self.known(agent)?.action = Some(action);
            }
            Change::Moved {
                agent,
                tile,
                facing,
                forced,
            } => {
                self.check_tile(tile)?;
                let agent = self.known(agent)?;
                agent.view.tile = tile;
                agent.view.facing = facing;
                // A push does not end what its victim does; its own step or turn does.
                if !forced {
                    agent
                        .action
                        .take_if(|action| action.is_motion() && action.end <= at);
                }
            }
            Change::Carried {
                agent,
                inventory,
                ground,
                ..
            } => {
                let agent = self.known(agent)?;
                agent.view.inventory = inventory;
                let tile = agent.view.tile;
                return Ok(Some((self.size.index_of(tile), ground)));
            }
            Change::Inventory {
                agent,
                inventory,
                food_ends,
            } => {
                let agent = self.known(agent)?;
                agent.view.inventory = inventory;
                agent.food_ends = food_ends;
            }
            Change::Said { agent, ref text } => {
                self.known(agent)?;
                if text.len() > SAID_BYTES_MAX {
                    let (what, max) = ("bytes in a broadcast", SAID_BYTES_MAX);
                    return Err(WorldError::TooMany { what, max });
                }
            }
            Change::Ejected { agent } => {
                self.known(agent)?;
            }
            Change::EggLaid { egg, .. } => self.add_egg(egg)?,
            Change::EggDestroyed { egg } => self.take_egg(egg)?,
            Change::RitualStarted(ref ritual) => self.begin_ritual(ritual.clone())?,
            Change::RitualEnded {
                tile,
                level,
                ref participants,
                ..
            } => self.end_ritual(tile, level, participants)?,
            Change::LevelChanged { agent, level } => self.known(agent)?.view.level = level,
            Change::Ground { tile, ground } => {
                self.check_tile(tile)?;
                return Ok(Some((self.size.index_of(tile), ground)));
            }
            Change::Won { team } => self.win(team)?,
        }
        Ok(None)
    }

    fn known(&mut self, id: AgentId) -> Result<&mut Agent<X>, WorldError> {
        self.agents.get_mut(id.0).ok_or(WorldError::UnknownAgent(id))
    }

    fn check_tile(&self, tile: Tile) -> Result<(), WorldError> {
        match self.size.contains(tile) {
            true => Ok(()),
            false => Err(WorldError::OffMap(tile)),
        }
    }
}

impl Action {
    /// Whether the agent is on its way while it does this.
    pub fn is_motion(&self) -> bool {
        let moves = matches!(
            self.kind,
            CommandKind::Forward | CommandKind::Left | CommandKind::Right
        );
        moves && !self.refused
    }
}
