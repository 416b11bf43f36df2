//! Copies of the world for comparison with viewers' worlds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use trantor_engine::ConnId;
use trantor_game::World;
use trantor_model::{AgentId, AgentView, Counts, EggId, Level, TeamId, Tile};
use trantor_time::GameTime;

use crate::actors::CheckResult;

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
    elevations: Vec<(GameTime, Tile, Level, Vec<AgentId>)>,
    pub(crate) winner: Option<TeamId>,
}

impl Picture {
    pub(crate) fn of_world(world: &World) -> Self {
        let size = world.size();
        let tiles = (0..size.area()).map(|index| size.tile_at(index));
        let elevations = world.elevations();
        let picture = Self {
            ground: tiles.map(|tile| *world.ground(tile)).collect(),
            agents: world
                .agents()
                .map(|agent| (agent.view(), agent.food_ends()))
                .collect(),
            eggs: world.eggs().map(|egg| (egg.id, egg.team, egg.tile)).collect(),
            elevations: elevations
                .map(|it| (it.end, it.tile, it.level, it.participants.to_vec()))
                .collect(),
            winner: world.winner(),
        };
        picture.normalised()
    }

    pub(crate) fn of_viewer<T: Default>(world: &trantor_model::World<T>) -> Self {
        let elevations = world.elevations().iter();
        let picture = Self {
            ground: world.ground().to_vec(),
            agents: world
                .agents()
                .map(|agent| (agent.view, agent.food_ends))
                .collect(),
            eggs: world.eggs().map(|egg| (egg.egg, egg.team, egg.tile)).collect(),
            elevations: elevations
                .map(|it| (it.end, it.tile, it.level, it.participants.to_vec()))
                .collect(),
            winner: world.winner(),
        };
        picture.normalised()
    }

    fn normalised(mut self) -> Self {
        if self.winner.is_some() {
            self.agents
                .iter_mut()
                .for_each(|(_, food_ends)| *food_ends = None);
        }
        for (.., participants) in &mut self.elevations {
            participants.sort();
        }
        self.elevations.sort();
        self
    }

    /// Compares this world with how a viewer has it.
    pub(crate) fn check(&self, mirror: &Self) -> CheckResult {
        let is_won = self.winner.is_some();
        ensure!(self.ground == mirror.ground, "ground");
        // At the end of a match all agents are gone, and new viewers are still sent the last ones.
        ensure!(
            self.agents == mirror.agents || (is_won && self.agents.is_empty()),
            "agents {:?}, mirrored as {:?}",
            self.agents,
            mirror.agents
        );
        ensure!(
            self.eggs == mirror.eggs,
            "eggs {:?}, mirrored as {:?}",
            self.eggs,
            mirror.eggs
        );
        ensure!(
            self.elevations == mirror.elevations || is_won,
            "elevations {:?}, mirrored as {:?}",
            self.elevations,
            mirror.elevations
        );
        ensure!(self.winner == mirror.winner, "winner");
        Ok(())
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
        self.elevations.clear();
        self.winner = self.winner.map(|_| TeamId(0));
        self
    }
}
