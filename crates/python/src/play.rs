//! A whole match between minds of ours, as `trantor-server sim` plays it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trantor_engine::leap::{Ended, Leap};
use trantor_game::GameConfig;
use trantor_server::options::PROGRAM;
use trantor_server::scripts::Scripts;
use trantor_time::GameSpan;

use crate::scene::{digest, winner};
use crate::setup;

/// How far a match is played between two looks for Ctrl-C: milliseconds, even with a thousand agents.
const STRIDE: GameSpan = GameSpan::from_units(500);

/// Plays a match of the opponents of a setup to its end, or to the setup's last unit.
#[pyfunction]
pub(crate) fn play<'py>(
    py: Python<'py>,
    setup: &Bound<'py, PyAny>,
    seed: u64,
    record: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let setup = setup::read(setup)?;
    if !setup.teams.is_empty() {
        return Err(PyValueError::new_err(
            "a match of minds has no seats: use an environment",
        ));
    }
    let config = GameConfig { seed, ..setup.config };
    let mut scripts = Scripts::default();
    let groups = setup.opponents.groups(&config, &mut scripts);
    let mut leap = Leap::with_groups(config, groups.map_err(PyValueError::new_err)?);
    if record {
        leap.start_recording(PROGRAM);
    }
    // Levels of each team by unit, one row a stride.
    let mut levels: Vec<(f64, Vec<u32>)> = Vec::new();
    let ended = loop {
        let until = (leap.game().now() + STRIDE).min(setup.until);
        let ended = leap.run(Some(until));
        let highest = leap.highest_levels().into_iter().map(u32::from).collect();
        levels.push((leap.game().now().as_units_f64(), highest));
        py.check_signals()?;
        // Scripts cannot move to a thread without the interpreter; other threads have their turn between two strides.
        py.detach(|| ());
        if ended != Ended::TimeReached || leap.game().now() >= setup.until {
            break ended;
        }
    };
    if let Ended::Won(_) = ended {
        leap.remove_agents();
    }
    let journal = leap.stop_recording();
    let result = PyDict::new(py);
    let game = leap.game();
    result.set_item("winner", winner(game))?;
    result.set_item("units", game.now().as_units_f64())?;
    result.set_item("deadlines", game.steps())?;
    result.set_item("actions", leap.actions())?;
    result.set_item("joins", leap.joins())?;
    result.set_item("levels", levels)?;
    result.set_item("digest", digest(game))?;
    result.set_item("recording", record.then_some(journal))?;
    let reports = scripts.reports().into_iter().map(|report| report.text);
    result.set_item("reports", reports.collect::<Vec<_>>())?;
    Ok(result)
}
