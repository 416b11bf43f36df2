//! Scripts of minds and of the scenario: files are loaded here, watched, and taken over when they change.
//!
//! A thread of its own waits for changes in the files' folders and reads what has changed; the loop takes it over as a task. A
//! script that does not compile changes nothing: the one before runs on, and the mistake is reported. A build without the
//! feature `script` refuses scripts in words.

#[cfg(not(feature = "script"))]
mod absent;
#[cfg(feature = "script")]
mod link;
#[cfg(feature = "script")]
mod luau;
#[cfg(feature = "script")]
mod mailbox;
#[cfg(feature = "script")]
mod request;
#[cfg(feature = "script")]
mod worker;

#[cfg(not(feature = "script"))]
pub use absent::Scripts;
#[cfg(not(feature = "script"))]
pub(crate) use absent::{Bytecode, Isolation, compile};
#[cfg(feature = "script")]
pub use luau::Scripts;
#[cfg(feature = "script")]
pub(crate) use trantor_script::Bytecode;
#[cfg(feature = "script")]
pub(crate) use {link::Isolation, worker::compile};

/// What was found in a file: its source, or in one line why it cannot be read.
pub type Source = Result<Vec<u8>, String>;

/// Something about a script that people should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub level: log::Level,
    pub text: String,
    /// As `text`, for viewers, who do not learn in which folder a file is; `None` if it is nothing to them.
    pub shown: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptTotals {
    pub loaded: usize,
    pub suspended: usize,
    pub resumptions: u64,
    /// Routines that failed.
    pub errors: u64,
    /// Sources that were not taken over.
    pub mistakes: u64,
    pub memory_bytes: usize,
    /// Decisions that the match did not wait for.
    pub late: u64,
}
