//! The deterministic core: same start, same inputs, same events.
//!
//! [`Game`] is the whole of it: inputs and game time go in, events come out, and nothing else has an effect.
//! It knows nothing of real time, connections or bytes on a wire.

mod agenda;
mod chance;
mod check;
pub mod config;
mod desk;
pub mod digest;
pub mod event;
mod events;
pub mod game;
pub mod history;
pub mod input;
pub mod journal;
pub mod lag;
pub mod replay;
pub mod rules;
pub mod save;

pub use agenda::{DueKind, Fired};
pub use config::{ConfigError, GameConfig, Rules};
pub use desk::OUTSTANDING_MAX;
pub use digest::{Digest, Part};
pub use event::{Carry, GameEvent, GroundChange, MoveKind, Reply};
pub use events::Telling;
pub use game::Game;
pub use history::History;
pub use input::{AdminAction, GameInput, Handled, LeaveCause, OPERATOR_COUNT_MAX, PaceChange, Refusal};
pub use journal::{JOURNAL_VERSION, JournalError, PieceWriter, Stamp};
pub use lag::{Lag, LagError};
pub use replay::{Divergence, Replay};
pub use rules::{Agent, Egg, Ritual, RitualId, RunningAction, Team, World};
pub use save::{SNAPSHOT_VERSION, SaveError, Snapshot};
