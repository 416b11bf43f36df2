//! Copies of the world for comparison with viewers' worlds.

use std::collections::{BTreeMap, BTreeSet};

use trantor_engine::ConnId;
use trantor_game::World;
use trantor_model::{AgentId, AgentView, Counts, EggId, Level, TeamId, Tile};
use trantor_time::GameTime;

/// Pictures by tick number.
pub(crate) type Pictures = BTreeMap<u64, Ticked>;

/// The world at the end of a tick.
#[derive(Clone, Debug)]
pub(crate) struct Ticked {
    /// When the tick ended.
    pub(crate) picture: Picture,
    /// Viewers that were sent all of it.
    pub(crate) up_to_date: BTreeSet<ConnId>,
}

/// The part of a world that viewers receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    ground: Vec<Counts>,
    /// With the ends of their current food, `None` once a team has won.
    agents: Vec<(AgentView, Option<GameTime>)>,
    eggs: Vec<(EggId, TeamId, Tile)>,
    rituals: Vec<(GameTime, Tile, Level, Vec<AgentId>)>,
    pub(crate) winner: Option<TeamId>,
}

impl Picture {
    pub(crate) fn of_world(world: &World) -> Self {
        let size = world.size();
        let is_over = world.winner().is_some();
        let mut rituals: Vec<_> = world
            .rituals()
            .map(|it| (it.end, it.tile, it.level, sorted(&it.participants)))
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

    /// Whether the match is over. All agents are gone then, and new viewers are still sent the last ones.
    fn is_over(&self) -> bool {
        self.winner.is_some() && self.agents.is_empty()
    }

    /// Describes how `mirror` differs from this world.
    pub(crate) fn difference(&self, mirror: &Self) -> Option<String> {
        let parts = [
            (self.ground == mirror.ground, "ground".to_owned()),
            (
                self.agents == mirror.agents || self.is_over(),
                format!("agents {:?}, mirrored as {:?}", self.agents, mirror.agents),
            ),
            (
                self.eggs == mirror.eggs,
                format!("eggs {:?}, mirrored as {:?}", self.eggs, mirror.eggs),
            ),
            (
                self.rituals == mirror.rituals || self.winner.is_some(),
                format!("elevations {:?}, mirrored as {:?}", self.rituals, mirror.rituals),
            ),
            (self.winner == mirror.winner, "winner".to_owned()),
        ];
        let different = parts.into_iter().filter(|(is_same, _)| !is_same);
        let named: Vec<_> = different.map(|(_, part)| part).collect();
        (!named.is_empty()).then(|| named.join("; "))
    }

    /// What the text protocol sends of it: eggs from `first_egg` on, and neither teams nor ends of food and elevations.
    pub(crate) fn in_text(mut self, first_egg: EggId, has_inventories: bool) -> Self {
        for (view, food_ends) in &mut self.agents {
            (view.team, *food_ends) = (TeamId(0), None);
            if !has_inventories {
                view.inventory = Counts([0; 7]);
            }
        }
        self.agents.sort_by_key(|(view, _)| view.id);
        self.eggs.retain(|(egg, ..)| *egg >= first_egg);
        self.eggs.iter_mut().for_each(|(_, team, _)| *team = TeamId(0));
        self.rituals.clear();
        self.winner = self.winner.map(|_| TeamId(0));
        self
    }
}

fn sorted(agents: &[AgentId]) -> Vec<AgentId> {
    let mut agents = agents.to_vec();
    agents.sort();
    agents
}
