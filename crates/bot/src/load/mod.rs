//! The load generator: many agents and viewers on one server, and how late its answers are.
//!
//! Agents here do not play; each keeps a number of commands open, drawn from a [`Mix`], and notes when each was
//! answered. For every command there is an *ideal end*: its duration after the ideal end of the one before, or
//! after it was sent if that is later. What is later than that is *lateness*; it holds everything between the
//! two programs, the generator's own slowness included, so the generator reports its processor time as well.
//!
//! ```text
//! sent        ideal end                answered
//!  |-- wait --|--- duration / speed ---|-- lateness --|
//!  |------------------- latency ----------------------|
//! ```
//!
//! Answers are measured as histograms, never as averages; only a steady stretch after a warm-up counts.
//! [`agent`] and [`viewer`] are what a peer does with bytes, [`generator`] the one loop around them, [`report`] what is
//! counted and shown.

mod agent;
pub mod cli;
mod generator;
mod mix;
mod peer;
pub mod report;
mod viewer;

use std::io;
use std::net::SocketAddr;

use trantor_time::Frequency;

pub use generator::{Phase, run, run_watched};
pub use mix::Mix;
pub use report::Report;

/// How the generator knows how fast the game is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// It asks, as a text viewer, which leaves before anything is measured.
    Asked,
    /// It sets it, as such a viewer; until all have joined the game is slowed down, so that no agent starves.
    Set(Frequency),
    /// It is given, and no viewer is opened: on very large maps the first burst to one would be part of the load.
    Assumed(Frequency),
}

/// Why no load could be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No server listens at that address, or it takes no more connections.
    #[error("cannot connect to {server}: {error}")]
    Connect {
        /// The address.
        server: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The server does not send its speed, or refuses the one asked for.
    #[error("the server did not confirm its speed in time; --assume says it without asking")]
    NoSpeed,
    /// The server does not take the speed.
    #[error("the server refused {0} units a second; without -f its own speed is used")]
    SpeedRefused(Frequency),
    /// Not one agent has a place.
    #[error(
        "no agent was given a place: {refused} were refused; the server needs these teams (-n {teams}) with places for \
         all (-c {places}), and --respawn-slots on if others have played and left"
    )]
    NobodyJoined {
        /// How many were refused.
        refused: usize,
        /// The teams asked for.
        teams: String,
        /// Places that each of them needs.
        places: usize,
    },
    /// Agents connected, and none got an answer about its place.
    #[error(
        "no agent got an answer about its place: a game that waits for its start, or no server of this game"
    )]
    NoPlaceTold,
    /// A signal came before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The viewer that asks for the speed was disconnected.
    #[error("the server closed the connection")]
    Closed,
    /// Agents asked, and were not answered.
    #[error(
        "nothing was answered in {seconds:.1} s: a game that is paused, or a server that hangs or is gone"
    )]
    NothingAnswered {
        /// How long was measured.
        seconds: f64,
    },
    /// The host's name leads nowhere; the line says why.
    #[error("{0}")]
    UnknownHost(String),
    /// The system refuses what every program needs.
    #[error("this machine: {0}")]
    System(#[from] io::Error),
}
