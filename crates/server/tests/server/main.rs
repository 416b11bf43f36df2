//! The server from outside: its options, its sockets, its files, and how it behaves when the system gives it no more.
//!
//! One test program, so that it is linked once.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

mod support;

mod console;
#[cfg(target_os = "linux")]
mod exhausted;
mod export;
mod operators;
mod options;
#[cfg(target_os = "linux")]
mod packaging;
mod program;
mod replay;
mod sockets;
mod storage;
#[cfg(target_os = "linux")]
mod terminal;
mod transcripts;
#[cfg(target_os = "linux")]
mod wall_clock;
