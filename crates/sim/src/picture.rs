//! The world as a viewer should have it, taken when a tick ends, to be compared with the viewer's later.

use std::collections::{BTreeMap, BTreeSet};

use trantor_engine::ConnId;
use trantor_game::World;
use trantor_model::{AgentId, AgentView, Counts, EggId, Level, TeamId, Tile};
use trantor_time::{GameTime, RealTime};

/// Pictures by the number of the tick they belong to.
pub(crate) type Pictures = BTreeMap<u64, Ticked>;

/// The world at the end of a tick.
#[derive(Clone, Debug)]
pub(crate) struct Ticked {
    /// When that was.
    pub(crate) at: RealTime,
    pub(crate) picture: Picture,
    /// Those who were told all that is in it.
    pub(crate) up_to_date: BTreeSet<ConnId>,
}

/// All of a world that a viewer is told and keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    ground: Vec<Counts>,
    /// With the ends of what they eat, which nobody comes to once a team has won.
    agents: Vec<(AgentView, Option<GameTime>)>,
    eggs: Vec<(EggId, TeamId, Tile)>,
    rituals: Vec<(GameTime, Tile, Level, Vec<AgentId>)>,
    winner: Option<TeamId>,
}

impl Picture {
    pub(crate) fn of_world(world: &World) -> Self {
        let size = world.size();
        let is_over = world.winner().is_some();
        let mut rituals: Vec<_> = world
            .rituals()
            .map(|it| (it.end(), it.tile(), it.level(), sorted(it.participants())))
            .collect();
        rituals.sort();
        Self {
            ground: (0..size.area())
                .map(|index| *world.ground(size.tile_at(index)))
                .collect(),
            agents: world
                .agents()
                .map(|agent| (agent.view(), agent.food_ends().filter(|_| !is_over)))
                .collect(),
            eggs: world.eggs().map(|egg| (egg.id, egg.team, egg.tile)).collect(),
            rituals,
            winner: world.winner(),
        }
    }

    pub(crate) fn of_viewer(world: &trantor_client::world::World) -> Self {
        let is_over = world.winner().is_some();
        let mut rituals: Vec<_> = world
            .rituals()
            .iter()
            .map(|it| &it.state)
            .map(|it| (it.end, it.tile, it.level, sorted(&it.participants)))
            .collect();
        rituals.sort();
        Self {
            ground: world.ground().to_vec(),
            agents: world
                .agents()
                .map(|agent| (agent.view, agent.food_ends.filter(|_| !is_over)))
                .collect(),
            eggs: world.eggs().map(|egg| (egg.egg, egg.team, egg.tile)).collect(),
            rituals,
            winner: world.winner(),
        }
    }

    /// What lies on each tile, row by row.
    pub(crate) fn ground(&self) -> &[Counts] {
        &self.ground
    }

    /// Who lives, in the order of their numbers.
    pub(crate) fn agents(&self) -> impl Iterator<Item = &AgentView> {
        self.agents.iter().map(|(view, _)| view)
    }

    /// Where eggs lie, in the order of their numbers.
    pub(crate) fn eggs(&self) -> impl Iterator<Item = (EggId, Tile)> {
        self.eggs.iter().map(|(egg, _, tile)| (*egg, *tile))
    }

    /// The same from a number on.
    pub(crate) fn eggs_from(&self, first: EggId) -> impl Iterator<Item = (EggId, Tile)> {
        self.eggs().filter(move |(egg, _)| *egg >= first)
    }

    /// Whether a match is over: all agents are gone, and who comes then is told who was there.
    pub(crate) fn is_over(&self) -> bool {
        self.winner.is_some() && self.agents.is_empty()
    }

    /// Whether a team has won.
    pub(crate) fn has_winner(&self) -> bool {
        self.winner.is_some()
    }

    /// What `mirror` has otherwise than the world had, in words.
    pub(crate) fn difference(&self, mirror: &Self) -> Option<String> {
        if self == mirror {
            return None;
        }
        let parts = [
            (self.ground == mirror.ground, "the ground".to_owned()),
            (
                self.agents == mirror.agents || self.is_over(),
                format!("agents {:?}, mirrored as {:?}", self.agents, mirror.agents),
            ),
            (
                self.eggs == mirror.eggs,
                format!("eggs {:?}, mirrored as {:?}", self.eggs, mirror.eggs),
            ),
            (
                self.rituals == mirror.rituals || self.has_winner(),
                format!("elevations {:?}, mirrored as {:?}", self.rituals, mirror.rituals),
            ),
            (self.winner == mirror.winner, "the winner".to_owned()),
        ];
        let told: Vec<_> = parts
            .into_iter()
            .filter(|(same, _)| !same)
            .map(|(_, part)| part)
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

fn sorted(agents: &[AgentId]) -> Vec<AgentId> {
    let mut agents = agents.to_vec();
    agents.sort();
    agents
}
