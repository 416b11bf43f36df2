//! The programs `trantor-bot` and `trantor-load` and the library's session, against Trantor's server and scripted servers.

#![allow(clippy::unwrap_used, reason = "a test that is wrong should stop")]

mod documented;
mod load;
mod lock_step;
mod program;
mod session;
mod support;
