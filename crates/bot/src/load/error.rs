//! Why there is no load, or nothing to report: each a message of one line.

use std::io;
use std::net::SocketAddr;

use trantor_time::Frequency;

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
    /// The system refuses what every program needs.
    #[error("this machine: {0}")]
    System(#[from] io::Error),
}
