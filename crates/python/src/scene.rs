//! The state of a game as arrays: what pictures and tables are made from.

use std::borrow::Cow;

use numpy::ndarray::{Array, Array2, Array3, Dimension};
use numpy::{Element, IntoPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trantor_game::Game;
use trantor_model::{Resource, TeamId};

/// A game's state, copied, so that it can be read while the game goes on.
#[derive(IntoPyObject)]
pub(crate) struct Scene {
    units: f64,
    digest: String,
    winner: Option<String>,
    teams: Vec<String>,
    /// By row, column and resource.
    #[pyo3(into_py_with = to_numpy)]
    ground: Array3<u16>,
    /// What the figures of an agent are.
    agent_columns: Vec<&'static str>,
    #[pyo3(into_py_with = to_numpy)]
    agents: Array2<i32>,
    /// By egg: number, team, x, y.
    #[pyo3(into_py_with = to_numpy)]
    eggs: Array2<i32>,
}

impl Scene {
    pub(crate) fn of(game: &Game) -> Self {
        let (world, size) = (game.world(), game.config().size);
        let tiles = (0..size.area()).map(|index| world.ground(size.tile_at(index)));
        let small = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
        let figure = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let carried = Resource::ALL.map(Resource::name);
        let columns = [&["agent", "team", "x", "y", "direction", "level"][..], &carried].concat();
        let agents = world.agents().flat_map(|agent| {
            let (team, tile) = (i32::from(agent.team.0), agent.tile);
            let who = [figure(agent.id.0), team, i32::from(tile.x), i32::from(tile.y)];
            let how = [agent.facing.number(), agent.level.get()].map(i32::from);
            who.into_iter().chain(how).chain(agent.inventory.0.map(figure))
        });
        let agents: Vec<_> = agents.collect();
        let rows = (agents.len() / columns.len(), columns.len());
        let eggs = world.eggs().map(|egg| {
            let (team, tile) = (i32::from(egg.team.0), egg.tile);
            [figure(egg.id.0), team, i32::from(tile.x), i32::from(tile.y)]
        });
        let ground = tiles.flat_map(|ground| ground.0.map(small)).collect();
        let sides = (
            usize::from(size.height()),
            usize::from(size.width()),
            Resource::COUNT,
        );
        Self {
            units: game.now().as_units_f64(),
            digest: digest(game),
            winner: winner(game),
            teams: game.config().teams.clone(),
            ground: Array3::from_shape_vec(sides, ground).expect("each tile has all resources"),
            agent_columns: columns,
            agents: Array2::from_shape_vec(rows, agents).expect("each row is whole"),
            eggs: eggs.collect::<Vec<_>>().into(),
        }
    }

    pub(crate) fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        self.into_pyobject(py)
    }
}

fn to_numpy<'py, T: Element + Clone, D: Dimension>(
    array: Cow<'_, Array<T, D>>,
    py: Python<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(array.into_owned().into_pyarray(py).into_any())
}

/// The digest of a game's state as the programs write it.
pub(crate) fn digest(game: &Game) -> String {
    format!("{:016x}", game.digest())
}

/// What a match without a winner is said to be won by: the name of [`TeamId::DRAW`].
pub(crate) const DRAW: &str = "draw";

/// The name of the team that has won, or [`DRAW`].
pub(crate) fn winner(game: &Game) -> Option<String> {
    let name = |team: TeamId| game.config().team_name(team).to_owned();
    game.winner().map(name)
}
