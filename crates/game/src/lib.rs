//! The deterministic core: same start, same inputs, same events.
//!
//! Knows nothing of real time, connections or bytes on a wire.

pub mod event;
pub mod input;

pub use event::{Carry, GameEvent, GroundChange, MoveKind, Reply};
pub use input::{AdminAction, GameInput, LeaveCause, PaceChange};
