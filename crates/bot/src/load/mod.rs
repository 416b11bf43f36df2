//! Load generator: many agents and viewers on one server; measures the lateness of answers.
//!
//! Agents here do not play; each keeps a number of commands in flight, drawn from a [`cli::Mix`], and records when each is
//! answered. The *ideal end* of a command is its duration after the ideal end of the previous one, or after it was sent if
//! that is later. *Lateness* is the time from the ideal end to the answer. It includes everything between the two programs
//! and delays of the generator itself, so the generator reports its processor time as well.
//!
//! ```text
//! sent        ideal end                answered
//!  |-- wait --|--- duration / speed ---|-- lateness --|
//!  |------------------- latency ----------------------|
//! ```
//!
//! Figures are histograms, not averages, of a steady phase after a warm-up. [`agent`] and [`peer`] hold the protocols,
//! [`generator`] the event loop, [`report`] the figures.

pub(crate) mod agent;
pub mod cli;
mod generator;
pub(crate) mod peer;
pub mod report;

use std::io;
use std::net::SocketAddr;

use trantor_time::Frequency;

pub use generator::{Phase, run, run_watched};
pub use report::Report;

/// Why the load failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No server listens at that address, or it refuses connections.
    #[error("cannot connect to {server}: {error}")]
    Connect {
        /// The address.
        server: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The server did not send the speed in time.
    #[error("the server did not confirm its speed in time; --assume sets it without a query")]
    NoSpeed,
    /// The server refused the speed.
    #[error("the server refused {0} units a second; without -f its own speed is used")]
    SpeedRefused(Frequency),
    /// No agent joined.
    #[error(
        "no agent was given a place: {refused} were refused; the server needs these teams (-n {teams}) with places for \
         all (-c {places}), and --respawn-slots on if others have played and left"
    )]
    NobodyJoined {
        /// Number of refused agents.
        refused: usize,
        /// The teams.
        teams: String,
        /// Places needed in each team.
        places: usize,
    },
    /// Agents connected, and the server answered none of them.
    #[error(
        "no agent got an answer about its place: a game that waits for its start, or no server of this game"
    )]
    NoPlaceTold,
    /// A signal came before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The control viewer was disconnected.
    #[error("the server closed the connection")]
    Closed,
    /// The server answered no command.
    #[error(
        "nothing was answered in {seconds:.1} s: a game that is paused, or a server that hangs or is gone"
    )]
    NothingAnswered {
        /// Length of the measurement.
        seconds: f64,
    },
    /// The host's name does not resolve; the line has the reason.
    #[error("{0}")]
    UnknownHost(String),
    /// The system has no poll or signal handler for us.
    #[error("this machine: {0}")]
    System(#[from] io::Error),
}
