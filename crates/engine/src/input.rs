//! All that may wake the engine, besides time, as one closed enum.
//!
//! Operators' requests have answers and therefore a verb of their own, [`crate::Engine::admin`].

use std::fmt;
use std::net::IpAddr;

/// Names one connection, for the shell and the engine alike. Chosen by the shell.
///
/// `slot` is the connection's place in the shell's table, the smallest free one: the engine keeps its own
/// table by it. `generation` is raised each time a place is taken again, so that a late word about a
/// connection that is gone is not taken for one about its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    /// Place in the shell's table.
    pub slot: u32,
    /// How often that place was taken before.
    pub generation: u32,
}

impl fmt::Display for ConnId {
    /// As it stands in logs, and is typed by operators: `3.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// One thing that happened to a connection.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A peer connected. It is greeted at once, or when the game is started.
    Opened {
        /// Its name from now on. The place must be free: the last one there was closed by either side.
        conn: ConnId,
        /// Where it comes from; decides whether it may change the speed.
        peer: IpAddr,
    },
    /// Bytes arrived, cut anywhere.
    Bytes {
        /// The sender. Bytes of a connection that the engine has closed are dropped.
        conn: ConnId,
        /// What arrived.
        bytes: &'a [u8],
    },
    /// The connection is gone; a half-closed one counts as gone. The engine forgets it at once.
    Closed {
        /// Which.
        conn: ConnId,
        /// How.
        cause: CloseCause,
    },
}

/// How a connection ended on the peer's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCause {
    /// The peer closed it, or its writing half.
    EndOfStream,
    /// Reading or writing failed.
    Failed,
}
