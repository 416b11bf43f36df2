//! The deterministic core: same start, same inputs, same events.
//!
//! [`Game`] is the whole of it: inputs and game time go in, events come out, and nothing else has an effect.
//! It knows nothing of real time, connections or bytes on a wire.

mod agenda;
mod check;
pub mod config;
pub mod digest;
pub mod event;
pub mod game;
pub mod history;
pub mod input;
pub mod journal;
pub mod lag;
pub mod replay;
mod rng;
pub mod rules;
pub mod save;
mod totals;

pub use agenda::{DueKind, Fired};
pub use config::{ConfigError, GameConfig, Rules};
pub use digest::{Digest, Part};
pub use event::{EventFilter, GameEvent};
pub use game::Game;
pub use history::History;
pub use input::{GameInput, Handled, PaceChange};
pub use journal::{JOURNAL_VERSION, JournalError, PieceWriter, Stamp};
pub use lag::{Delays, Lag, LagTotals};
pub use replay::{Divergence, Replay};
pub use rules::{Agent, Egg, Elevation, OUTSTANDING_MAX, Team, World};
pub use save::{SNAPSHOT_VERSION, SaveError, Snapshot};
