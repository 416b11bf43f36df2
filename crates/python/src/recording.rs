//! Recordings: what happened, the state at any unit, and whether all of it can be played again.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use trantor_game::journal::{CutShort, Ending};
use trantor_game::replay::{IndexedPiece, Recording as Indexed};
use trantor_server::replay::{Outcome, export_bytes, in_their_runs, pieces_in, read, verify_bytes};
use trantor_time::GameTime;

use crate::scene::Scene;

/// States kept while a recording is indexed: a jump then plays a second of game at most. A large game has a few hundred.
const STATES_BYTES_MAX: usize = 64 << 20;

/// A recording of a game, of which `trantor/recordings.py` makes what Python has.
#[pyclass(module = "trantor._core", frozen, subclass)]
pub(crate) struct Recording {
    /// What was asked for.
    path: PathBuf,
    /// The file and the bytes of each piece, in order.
    pieces: Vec<(PathBuf, Arc<[u8]>)>,
    /// Made when it is first asked for.
    index: PyOnceLock<Arc<Indexed>>,
}

#[pymethods]
impl Recording {
    /// Reads a recording: a file, or a directory of pieces.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let pieces = py.detach(|| {
            let files = pieces_in(std::slice::from_ref(&path))?;
            let pieces = files
                .into_iter()
                .map(|file| read(&file).map(|bytes| (file, Arc::from(bytes))));
            pieces.collect::<io::Result<_>>()
        });
        Ok(Self {
            pieces: pieces.map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))?,
            path,
            index: PyOnceLock::new(),
        })
    }

    /// All that happened, an event a line, as JSON.
    #[pyo3(name = "_lines")]
    fn lines(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        py.detach(|| {
            let mut lines = Vec::new();
            for (_, piece) in &self.pieces {
                export_bytes(piece.clone(), &mut lines)?;
            }
            Ok(lines)
        })
    }

    /// Plays it again and compares every digest; answers that of the state at its end.
    ///
    /// Args:
    ///     unfinished: whether it may end without an end mark, after its last whole record, as one that is still being written
    ///         does, or whose writer was killed.
    ///
    /// Raises:
    ///     ValueError: it cannot be played, or where it is different, or it is not whole.
    #[pyo3(signature = (*, unfinished=false))]
    fn verify(&self, py: Python<'_>, unfinished: bool) -> PyResult<String> {
        py.detach(|| self.verified(unfinished))
            .map_err(PyValueError::new_err)
    }

    /// Its first and last moment, in units.
    #[getter]
    fn span(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let index = self.indexed(py)?;
        Ok((index.begin().as_units_f64(), index.end().as_units_f64()))
    }

    /// The state at a moment, in units; the beginning or the end if it lies outside.
    ///
    /// Returns:
    ///     `units`, `digest`, `winner`, `teams`; `ground`, shape (rows, columns, 7), uint16: food and the six stones;
    ///     `agents`, shape (agents, 13), int32, with the columns `agent_columns`; `eggs`, shape (eggs, 4), int32: number,
    ///     team, x, y.
    fn state<'py>(&self, py: Python<'py>, units: i64) -> PyResult<Bound<'py, PyDict>> {
        let index = self.indexed(py)?;
        let at = GameTime::from_units(units);
        let scene = py.detach(|| index.seek(at).map(|(game, _)| Scene::of(&game)));
        scene.map_err(invalid)?.into_dict(py)
    }
}

impl Recording {
    /// The digest at its end, or why there is none.
    fn verified(&self, may_be_unfinished: bool) -> Result<String, String> {
        let pieces = self.pieces.iter();
        let outcomes = pieces.map(|(file, bytes)| (file.clone(), verify_bytes(bytes.clone())));
        let mut state = None;
        for piece in in_their_runs(outcomes, std::slice::from_ref(&self.path)) {
            if let Outcome::Played { states, .. } = &piece.outcome {
                state = Some(format!("{:016x}", states.1.whole));
            }
            let is_whole = match &piece.outcome {
                // What a writer leaves that is at work, or was killed; anything else is damage.
                Outcome::Played {
                    ending:
                        Ending::CutOff {
                            why: CutShort::Nothing | CutShort::Torn,
                            ..
                        },
                    ..
                }
                | Outcome::Begun => false,
                Outcome::Played { ending, .. } if ending.is_in_order() => !piece.is_next_missing,
                _ => return Err(piece.in_words()),
            };
            if !is_whole && !may_be_unfinished {
                let advice = "verify(unfinished=True) answers the digest of the last state in it";
                return Err(format!("it has no end mark: it {}; {advice}", piece.in_words()));
            }
        }
        state.ok_or_else(|| "nothing of it was written whole".to_owned())
    }

    fn indexed(&self, py: Python<'_>) -> PyResult<&Arc<Indexed>> {
        let index = || {
            let share = STATES_BYTES_MAX / self.pieces.len().max(1);
            let pieces = self
                .pieces
                .iter()
                .map(|(_, piece)| IndexedPiece::new(piece.clone(), share));
            let pieces = pieces.collect::<Result<_, _>>().map_err(invalid)?;
            Indexed::join(pieces).map(Arc::new).map_err(invalid)
        };
        self.index.get_or_try_init(py, || py.detach(index))
    }
}

fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}
