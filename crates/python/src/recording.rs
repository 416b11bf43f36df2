//! Recordings: what happened, the state at any unit, and whether all of it can be played again.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trantor_game::Replay;
use trantor_game::replay::{Cursor, IndexedPiece, Recording as Indexed};
use trantor_server::replay::{export_bytes, pieces_in, read};
use trantor_time::GameTime;

use crate::scene::{Scene, digest};

/// States kept while a recording is indexed: a jump then plays a second of game at most. A large game has a few hundred.
const STATES_BYTES_MAX: usize = 64 << 20;

/// A recording of a game.
#[pyclass(module = "trantor._core", frozen)]
pub(crate) struct Recording {
    /// The bytes of each piece, in order.
    pieces: Vec<Arc<[u8]>>,
    /// Made when it is first asked for.
    index: Mutex<Option<Arc<Indexed>>>,
}

#[pymethods]
impl Recording {
    /// Reads a recording: a file, or a directory of pieces.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| {
            let files = pieces_in(std::slice::from_ref(&path))?;
            let pieces = files.iter().map(|file| read(file).map(Arc::from));
            Ok::<_, std::io::Error>(Self {
                pieces: pieces.collect::<Result<_, _>>()?,
                index: Mutex::new(None),
            })
        })
        .map_err(|error| PyOSError::new_err(format!("{}: {error}", path.display())))
    }

    /// All that happened, an event a line, as JSON.
    fn events(&self, py: Python<'_>) -> PyResult<String> {
        let lines = py.detach(|| {
            let mut lines = Vec::new();
            for piece in &self.pieces {
                export_bytes(piece.clone(), &mut lines)?;
            }
            Ok::<_, std::io::Error>(lines)
        });
        let lines = lines.map_err(|error| PyOSError::new_err(error.to_string()))?;
        String::from_utf8(lines).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Plays it again and compares every digest; answers inputs, deadlines, digests compared, and the digest at the end.
    fn verify(&self, py: Python<'_>) -> PyResult<(u64, u64, u64, String)> {
        let checked = py.detach(|| {
            let mut sums = (0, 0, 0, String::new());
            for piece in &self.pieces {
                let replay = Replay::open(piece.clone()).map_err(|error| error.to_string())?;
                let verified = replay.verify().map_err(|error| error.to_string())?;
                sums.0 += verified.played.inputs;
                sums.1 = verified.end.steps;
                sums.2 += verified.played.digests;
                sums.3 = digest(&verified.game);
            }
            Ok::<_, String>(sums)
        });
        checked.map_err(PyValueError::new_err)
    }

    /// Its first and last moment, in units.
    fn span(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let index = self.indexed(py)?;
        Ok((index.begin().as_units_f64(), index.end().as_units_f64()))
    }

    /// The state at a moment, in whole units; the beginning or the end if it lies outside.
    fn state<'py>(&self, py: Python<'py>, units: i64) -> PyResult<Bound<'py, PyDict>> {
        let index = self.indexed(py)?;
        let scene = py.detach(|| {
            let (game, _): (_, Cursor) = index
                .seek(GameTime::from_units(units))
                .map_err(|error| error.to_string())?;
            Ok::<_, String>(Scene::of(&game))
        });
        scene.map_err(PyValueError::new_err)?.into_dict(py)
    }
}

impl Recording {
    fn indexed(&self, py: Python<'_>) -> PyResult<Arc<Indexed>> {
        let index = py.detach(|| {
            let mut index = self.index.lock().map_err(|error| error.to_string())?;
            if let Some(index) = &*index {
                return Ok(Arc::clone(index));
            }
            let share = STATES_BYTES_MAX / self.pieces.len().max(1);
            let pieces = self
                .pieces
                .iter()
                .map(|piece| IndexedPiece::new(piece.clone(), share));
            let pieces: Vec<_> = pieces
                .collect::<Result<_, _>>()
                .map_err(|error| error.to_string())?;
            let joined = Indexed::join(pieces).map_err(|error| error.to_string())?;
            Ok::<_, String>(Arc::clone(index.insert(Arc::new(joined))))
        });
        index.map_err(PyValueError::new_err)
    }
}
