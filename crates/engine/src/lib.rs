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

mod burst;
mod check;
mod config;
mod engine;
pub mod limits;
mod replicate;
mod session;
mod shell;
mod shown;
mod snapshot;
mod stats;

pub use config::{ControlAccess, EngineConfig, InventoryFood, JoinPlaces, RefillUpdates, Token};
pub use engine::{Engine, Fired, FiredKind, JournalBytes, JournalPressure, PlaybackStart};
pub use shell::{CloseReason, ConnId, Input, OperatorLine, Output};
pub use stats::{Counters, EngineStats, Spans};
pub use trantor_play::view::{Client, ClientKind, LockStepState};
