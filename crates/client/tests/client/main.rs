//! The client against servers: one that keeps time and has no rules, one that says anything, and text of other servers.

#![allow(clippy::unwrap_used, reason = "a test that is wrong should stop")]

mod frames;
mod hostile;
mod transcripts;
