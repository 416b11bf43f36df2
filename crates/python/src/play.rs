//! One match, of minds and of players outside this library, which are asked whenever their agent can act.
//!
//! Starting programs, speaking to them and judging how they behave is Python's, in `trantor/matches.py` and `trantor/programs.py`.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use trantor_time::{GameSpan, GameTime};

use crate::actions::ACTIONS;
use crate::arena::{Arena, Pause, SIGHT_TILES, STATE_FIGURES, Setup, TILE_FIGURES, Views};
use crate::scene::{Scene, digest, winner};
use crate::seats::MESSAGES_MAX;
use crate::setup;
use crate::thinking::Spans;

/// How far a match is played between two looks for Ctrl-C: milliseconds, even with a thousand agents.
const STRIDE: GameSpan = GameSpan::from_units(500);

/// A match with seats for players outside.
#[pyclass(module = "trantor._core", unsendable)]
pub(crate) struct Match {
    arena: Arena,
    /// By seat: its agent has lived and is gone, and the caller knows.
    noted: Vec<bool>,
    /// By team: agents that have left.
    left: Vec<u32>,
    /// By team: its scripts have thought for longer than they may.
    is_slow: Vec<bool>,
    /// Levels of each team by unit, one row a stride.
    levels: Vec<(f64, Vec<u32>)>,
    /// The end of the stride.
    until: GameTime,
}

#[pymethods]
impl Match {
    #[new]
    fn new(setup: &Bound<'_, PyAny>, seed: u64, record: bool) -> PyResult<Self> {
        let setup: Setup = setup::read(setup)?;
        Ok(Self {
            arena: Arena::counted(&setup, seed, record).map_err(PyValueError::new_err)?,
            noted: vec![false; setup.seats()],
            left: vec![0; setup.config.teams.len()],
            is_slow: vec![false; setup.config.teams.len()],
            levels: Vec::new(),
            until: GameTime::ZERO + STRIDE,
        })
    }

    /// Plays on until the agent of a seat can act, or is gone. Answers the seat and whether the agent lives; `None`: the match is
    /// over.
    fn advance(&mut self, py: Python<'_>) -> PyResult<Option<(usize, bool)>> {
        loop {
            let turn = self.arena.advance(self.until);
            let unnoted = |seat: &usize| !self.noted[*seat] && self.arena.is_gone(*seat);
            if let Some(seat) = (0..self.noted.len()).find(unnoted) {
                self.noted[seat] = true;
                return Ok(Some((seat, false)));
            }
            match turn {
                Pause::Acts(seat) => return Ok(Some((seat, true))),
                Pause::Slow(team) => {
                    let place = usize::from(team.0);
                    self.is_slow[place] = true;
                    self.left[place] += self.arena.leave_all(team);
                    continue;
                }
                Pause::TimeReached | Pause::Over => {}
            }
            let leap = self.arena.leap();
            let highest = leap.highest_levels().into_iter().map(u32::from).collect();
            self.levels.push((leap.game().now().as_units_f64(), highest));
            if turn == Pause::Over {
                return Ok(None);
            }
            self.until += STRIDE;
            py.check_signals()?;
            // Scripts cannot move to a thread without the interpreter; other threads have their turn between two strides.
            py.detach(|| ());
        }
    }

    /// Hands in an action of a seat; 0 waits for the time of a step.
    fn act(&mut self, seat: usize, action: u8) {
        self.arena.act(seat, action);
    }

    /// What the agent of a seat sees and may do, as environments have it.
    fn observe<'py>(&mut self, py: Python<'py>, seat: usize) -> PyResult<Bound<'py, PyDict>> {
        let sight = PyArray2::zeros(py, [SIGHT_TILES, TILE_FIGURES], false);
        let state = PyArray1::zeros(py, STATE_FIGURES, false);
        let messages = PyArray2::zeros(py, [MESSAGES_MAX, 2], false);
        let mask = PyArray1::zeros(py, ACTIONS, false);
        self.arena.write_seat(
            seat,
            Views {
                sight: sight.readwrite().as_slice_mut()?,
                state: state.readwrite().as_slice_mut()?,
                messages: messages.readwrite().as_slice_mut()?,
                mask: mask.readwrite().as_slice_mut()?,
                rewards: &mut [0.0],
                terminations: &mut [false],
                truncations: &mut [false],
            },
            0.0,
        );
        let seen = [
            ("sight", sight.as_any()),
            ("state", state.as_any()),
            ("messages", messages.as_any()),
        ];
        let seen = seen.into_py_dict(py)?;
        [("observation", seen.as_any()), ("action_mask", mask.as_any())].into_py_dict(py)
    }

    /// Takes the lines that the agent of a raw seat was sent since the last call.
    fn hear(&mut self, seat: usize) -> Vec<u8> {
        self.arena.take_text(seat)
    }

    /// Hands in a line of a seat, without its end. Answers whether it begins with a command.
    fn say(&mut self, seat: usize, line: &[u8]) -> bool {
        self.arena.say(seat, line)
    }

    /// The agent of a seat leaves the game, if it lives.
    fn leave(&mut self, seat: usize) {
        if let Some(team) = self.arena.leave(seat) {
            self.left[usize::from(team.0)] += 1;
        }
    }

    /// Game time.
    #[getter]
    fn units(&self) -> f64 {
        self.arena.game().now().as_units_f64()
    }

    /// Ends the match. Teams are in the order of the game.
    fn result<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let scene = Scene::of(self.arena.game()).into_dict(py)?;
        let deeds = self.arena.deeds();
        let mut spans = vec![Spans::default(); deeds.len()];
        for thinking in self.arena.thinking() {
            let (spans, more) = (&mut spans[usize::from(thinking.team.0)], thinking.spans());
            spans.total += more.total;
            spans.slowest = spans.slowest.max(more.slowest);
        }
        let leap = self.arena.leap();
        let mut deaths: Vec<u32> = vec![0; self.left.len()];
        for group in leap.mind_groups() {
            deaths[usize::from(group.team.0)] += group.joined - group.living;
        }
        for (deaths, left) in deaths.iter_mut().zip(&self.left) {
            *deaths -= left;
        }
        if leap.game().winner().is_some() {
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
        result.set_item("levels", std::mem::take(&mut self.levels))?;
        result.set_item("digest", digest(game))?;
        let teams = PyDict::new(py);
        for (place, name) in game.config().teams.iter().enumerate() {
            let team = deeds[place].into_pyobject(py)?;
            team.set_item("deaths", deaths[place])?;
            team.set_item("is_slow", self.is_slow[place])?;
            team.set_item("thinking_seconds", spans[place].total.as_secs_f64())?;
            team.set_item("slowest_seconds", spans[place].slowest.as_secs_f64())?;
            teams.set_item(name, team)?;
        }
        result.set_item("teams", teams)?;
        result.set_item("scene", scene)?;
        result.set_item("recording", Some(journal).filter(|journal| !journal.is_empty()))?;
        let reports = self.arena.scripts().reports(false).into_iter();
        result.set_item("reports", reports.map(|report| report.text).collect::<Vec<_>>())?;
        Ok(result)
    }
}
