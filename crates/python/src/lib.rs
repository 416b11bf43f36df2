//! Trantor for Python: the game that the server runs, inside the process.
//!
//! This library holds what must be fast or must be the game itself: games with seats for the caller's agents, many at once
//! ([`batch`]). Environments, tournaments and the rest of the package are Python, in `python/trantor`.

mod actions;
mod arena;
mod batch;
mod play;
mod recording;
mod scene;
mod seats;
mod setup;
mod tally;
mod thinking;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trantor_model::Percept;
use trantor_protocol::text::AiLine;

/// The native part of `trantor`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<batch::Batch>()?;
    module.add_class::<recording::Recording>()?;
    module.add_class::<play::Match>()?;
    module.add("ACTION_NAMES", actions::action_names())?;
    module.add("STATE_NAMES", arena::state_names())?;
    module.add(
        "WELCOME",
        PyBytes::new(module.py(), &seats::line(&AiLine::Welcome)),
    )?;
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("SEATS_MAX", setup::SEATS_MAX)?;
    module.add("UNITS_MAX", setup::UNITS_MAX)?;
    module.add_function(wrap_pyfunction!(setup::check_team, module)?)?;
    module.add(
        "KO",
        PyBytes::new(module.py(), &seats::line(&AiLine::Percept(Percept::Ko))),
    )?;
    Ok(())
}
