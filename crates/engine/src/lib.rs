//! Sessions, limits, outboxes and replication of a game, and real time mapped to game time.
//!
//! An [`Engine`] is the server without sockets, files, threads or a clock. A shell brings it bytes and
//! instants, and carries out what it asks for:
//!
//! ```text
//! loop {
//!     wait until engine.poll_timeout(), or for I/O
//!     engine.begin_pass(now)                              game time of the pass
//!     engine.handle(Opened | Bytes | Closed, now)         what is ready, within a budget
//!     engine.fire_next(now)                               what is due, one a call, within a budget
//!     engine.poll_output()                                close, shut down writing, read or do not read
//!     engine.next_dirty(), unsent(conn), sent(conn, n)    write until it would block
//!     engine.write_later(conn)                            where the budget ends before
//! }
//! ```
//!
//! The same engine runs behind sockets, in a simulation on a manual clock, and without any clock. It decides
//! nothing about the rules (that is [`trantor_game`]) and nothing about bytes (that is [`trantor_protocol`]).

mod check;
mod config;
mod control;
mod engine;
mod input;
pub mod leap;
pub mod limits;
mod lock_step;
pub mod minds;
mod output;
mod pace;
mod replicate;
mod session;
mod snapshot;
mod stats;
mod ticks;

pub use config::{EngineConfig, FoodTold, PlacesTold, RefillNews};
pub use control::{Control, Token};
pub use engine::{
    AdminRefusal, AdminRequest, Client, ClientKind, Engine, Fired, FiredKind, JournalBytes, JournalPressure,
    PlaybackStart, Step,
};
pub use input::{CloseCause, ConnId, Input};
pub use lock_step::LockStepState;
pub use output::{CloseReason, OperatorLine, Output};
pub use stats::{Counters, EngineStats, Spans};
