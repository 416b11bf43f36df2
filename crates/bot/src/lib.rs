//! Zappy agents: a session with a server, and a team that plays to win.
//!
//! A simple bot is a blocking [`Session`]:
//!
//! ```no_run
//! use trantor_bot::{Command, Percept, Session};
//!
//! let mut session = Session::join("localhost:4242", "red")?;
//! while let Percept::Look(sights) = session.ask(Command::Look)? {
//!     println!("{} things here", sights[0].ground.total());
//!     session.ask(Command::Forward)?;
//! }
//! # Ok::<(), trantor_bot::SessionError>(())
//! ```
//!
//! For many agents in one thread use a [`dialogue::Dialogue`], which is the protocol without sockets. The program
//! `trantor-bot` is [`team`]: agents in one thread, each with its own connection and a mind from `trantor-strategy`.
//! `roster` decides when to connect, retry and give up.
//!
//! It uses only the text protocol, so it works with any Zappy server.

pub mod cli;
pub mod dialogue;
pub mod load;
#[cfg(test)]
mod matches;
#[cfg(test)]
mod odd_servers;
mod roster;
pub mod session;
mod socket;
pub mod team;
#[cfg(test)]
mod transcripts;

pub use dialogue::Event;
pub use session::{Session, SessionError};
pub use trantor_model::{Command, Counts, Level, Percept, Resource, Sight, Turn};
pub use trantor_protocol::text::Dialect;
