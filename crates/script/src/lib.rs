//! Scripts: minds and scenarios written in Luau, sandboxed, bounded and deterministic.
//!
//! A [`Script`] is one file in one VM. As a [`MindFactory`](trantor_play::minds::MindFactory) it makes a mind for each
//! agent: a coroutine in an environment of its own, which sends commands and is resumed with their answers. A
//! [`Scenario`] is one coroutine that is sent the events of the game and answers with lines of the operator's console.
//!
//! What a script may do depends on nothing but its source, its seed and what it was sent: there is no clock, no file, no
//! address and no order of a hash in it. All that it may use is bounded by the limits in [`limits`]; what goes wrong in it
//! is a [`ScriptEvent`], and everybody else plays on.
//!
//! Nothing else of the project knows Lua. This crate knows no socket and no file: the server reads the files, watches them
//! for changes, and prints what happens. The compiler alone runs on a thread of its own, which is joined at once.

mod actor;
pub mod api;
mod bytecode;
mod data;
mod events;
mod jobs;
pub mod limits;
mod names;
mod scenario;
mod script;
mod source;
mod state;
mod vm;

pub use data::Data;
pub use events::ScenarioEvents;
pub use jobs::JobWorker;
pub use scenario::Scenario;
pub use script::{Script, ScriptCounts, ScriptEvent, ScriptNews};
pub use vm::{Bytecode, Host, ScriptError, TimeLimit};
