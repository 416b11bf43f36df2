//! The arena's server: sockets, disk, signals and command line around the engine.
//!
//! The engine decides, this crate carries out: it reads the clock once a pass, moves bytes between sockets
//! and sessions, sleeps until the next deadline, and ends in order when asked. It knows no rule of the game
//! and cuts no line out of a stream.
//!
//! Read [`options`] for what can be chosen at start, and [`replay`] for what is done with recorded games.

#![allow(missing_docs, reason = "a program: items whose names say all have no comment")]

pub mod archive;
pub mod autosave;
pub mod background;
pub mod cli;
pub mod conn;
pub mod console;
pub mod descriptors;
pub mod event_loop;
pub mod export;
pub mod headless;
mod http;
pub mod listener;
pub mod live;
pub mod logging;
mod metrics;
pub mod options;
mod passes;
pub mod playback;
pub mod recorder;
pub mod reload;
pub mod replay;
pub mod scripts;
pub mod service_manager;
pub mod shell;
mod stages;
pub mod start;
pub mod storage;
pub mod store;
mod twins;
pub mod wait;
