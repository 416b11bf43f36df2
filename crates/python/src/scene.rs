//! The state of a game as arrays: what pictures and tables are made from.

use numpy::{PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trantor_game::Game;
use trantor_model::{Resource, TeamId};

/// A game's state, copied, so that it can be read while the game goes on.
pub(crate) struct Scene {
    units: f64,
    digest: String,
    winner: Option<String>,
    /// Rows, columns.
    sides: (usize, usize),
    /// By row, column and resource.
    ground: Vec<u16>,
    /// By agent: [`agent_columns`].
    agents: Vec<[i32; AGENT_FIGURES]>,
    /// By egg: number, team, x, y.
    eggs: Vec<[i32; 4]>,
    teams: Vec<String>,
}

/// Figures of an agent: six, and what it carries.
const AGENT_FIGURES: usize = 6 + Resource::COUNT;

/// What they are.
fn agent_columns() -> Vec<&'static str> {
    let carried = Resource::ALL.map(Resource::name);
    [&["agent", "team", "x", "y", "direction", "level"][..], &carried].concat()
}

impl Scene {
    pub(crate) fn of(game: &Game) -> Self {
        let (world, size) = (game.world(), game.config().size);
        let tiles = (0..size.area()).map(|index| world.ground(size.tile_at(index)));
        let small = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
        let figure = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let agents = world.agents().map(|agent| {
            let mut row = [0; AGENT_FIGURES];
            let place = [agent.tile.x, agent.tile.y].map(i32::from);
            row[..6].copy_from_slice(&[
                figure(agent.id.0),
                i32::from(agent.team.0),
                place[0],
                place[1],
                i32::from(agent.facing.number()),
                i32::from(agent.level.get()),
            ]);
            for (cell, count) in row[6..].iter_mut().zip(agent.inventory.0) {
                *cell = figure(count);
            }
            row
        });
        let eggs = world.eggs().map(|egg| {
            let (team, tile) = (i32::from(egg.team.0), egg.tile);
            [figure(egg.id.0), team, i32::from(tile.x), i32::from(tile.y)]
        });
        Self {
            units: game.now().as_units_f64(),
            digest: digest(game),
            winner: winner(game),
            sides: (usize::from(size.height()), usize::from(size.width())),
            ground: tiles.flat_map(|ground| ground.0.map(small)).collect(),
            agents: agents.collect(),
            eggs: eggs.collect(),
            teams: game.config().teams.clone(),
        }
    }

    pub(crate) fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        let (rows, columns) = self.sides;
        let ground = PyArray3::zeros(py, [rows, columns, Resource::COUNT], false);
        ground.readwrite().as_slice_mut()?.copy_from_slice(&self.ground);
        dict.set_item("units", self.units)?;
        dict.set_item("digest", self.digest)?;
        dict.set_item("winner", self.winner)?;
        dict.set_item("teams", self.teams)?;
        dict.set_item("ground", ground)?;
        dict.set_item("agents", table(py, &self.agents)?)?;
        dict.set_item("eggs", table(py, &self.eggs)?)?;
        dict.set_item("agent_columns", agent_columns())?;
        Ok(dict)
    }
}

fn table<'py, const COLUMNS: usize>(
    py: Python<'py>,
    rows: &[[i32; COLUMNS]],
) -> PyResult<Bound<'py, PyArray2<i32>>> {
    let table = PyArray2::zeros(py, [rows.len(), COLUMNS], false);
    table
        .readwrite()
        .as_slice_mut()?
        .copy_from_slice(rows.as_flattened());
    Ok(table)
}

/// The digest of a game's state as the programs write it.
pub(crate) fn digest(game: &Game) -> String {
    format!("{:016x}", game.digest())
}

/// The name of the team that has won, or `draw`.
pub(crate) fn winner(game: &Game) -> Option<String> {
    let name = |team: TeamId| game.config().team_name(team).to_owned();
    game.winner().map(name)
}
