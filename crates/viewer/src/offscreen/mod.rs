//! Pictures and films of a stage into files, without a window.

pub mod film;
pub mod screenshot;
