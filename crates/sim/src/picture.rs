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

    /// Tiles of eggs, ordered by number.
    pub(crate) fn eggs(&self) -> impl Iterator<Item = (EggId, Tile)> {
        self.eggs.iter().map(|(egg, _, tile)| (*egg, *tile))
    }

    /// Whether the match is over. All agents are gone then, and new viewers are still sent the last ones.
    pub(crate) fn is_over(&self) -> bool {
        self.winner.is_some() && self.agents.is_empty()
    }

    pub(crate) fn has_winner(&self) -> bool {
        self.winner.is_some()
    }

    /// Describes how `mirror` differs from this world.
    pub(crate) fn difference(&self, mirror: &Self) -> Option<String> {
        if self == mirror {
            return None;
        }
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
                self.rituals == mirror.rituals || self.has_winner(),
                format!("elevations {:?}, mirrored as {:?}", self.rituals, mirror.rituals),
            ),
            (self.winner == mirror.winner, "winner".to_owned()),
        ];
        named(parts)
    }

    /// The same for the text protocol, which sends eggs from `first_egg` on, without their teams, and no ends of food and
    /// elevations.
    pub(crate) fn difference_in_text(
        &self,
        mirror: &Self,
        first_egg: EggId,
        has_inventories: bool,
    ) -> Option<String> {
        let agents = |picture: &Self| -> Vec<_> {
            let views = picture.agents.iter().map(|(view, _)| view);
            let inventory = |view: &AgentView| has_inventories.then_some(view.inventory);
            let mut agents: Vec<_> = views
                .map(|view| (view.id, view.tile, view.facing, view.level, inventory(view)))
                .collect();
            agents.sort_by_key(|agent| agent.0);
            agents
        };
        let eggs =
            |picture: &Self| -> BTreeSet<_> { picture.eggs().filter(|(egg, _)| *egg >= first_egg).collect() };
        let ([here, there], [eggs_here, eggs_there]) = ([self, mirror].map(agents), [self, mirror].map(eggs));
        named([
            (self.ground == mirror.ground, "ground".to_owned()),
            (
                here == there || self.is_over(),
                format!("agents {here:?}, mirrored as {there:?}"),
            ),
            (
                eggs_here == eggs_there,
                format!("eggs {eggs_here:?}, mirrored as {eggs_there:?}"),
            ),
        ])
    }
}

/// Descriptions of the parts that differ.
fn named<const COUNT: usize>(parts: [(bool, String); COUNT]) -> Option<String> {
    let different = parts.into_iter().filter(|(same, _)| !same);
    let named: Vec<_> = different.map(|(_, part)| part).collect();
    (!named.is_empty()).then(|| named.join("; "))
}

fn sorted(agents: &[AgentId]) -> Vec<AgentId> {
    let mut agents = agents.to_vec();
    agents.sort();
    agents
}
