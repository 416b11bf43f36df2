//! Trantor for Python: the game that the server runs, inside the process.
//!
//! This library holds what must be fast or must be the game itself: games with seats for the caller's agents, many at once
//! ([`batch`]). Environments, tournaments and the rest of the package are Python, in `python/trantor`.

mod arena;
mod batch;
mod play;
mod recording;
mod scene;
mod setup;

use pyo3::prelude::*;

/// The native part of `trantor`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<batch::Batch>()?;
    module.add_class::<recording::Recording>()?;
    module.add_function(wrap_pyfunction!(play::play, module)?)?;
    module.add("ACTION_NAMES", arena::action_names())?;
    module.add("STATE_NAMES", arena::state_names())?;
    Ok(())
}
