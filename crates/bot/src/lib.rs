//! What a Zappy agent needs: a session with a server, and a team that plays to win.
//!
//! A bot of your own, in one thread and without a loop, is a [`Session`]:
//!
//! ```no_run
//! use trantor_bot::{Answer, Command, Session};
//!
//! let mut session = Session::join("localhost:4242", "red")?;
//! while let Answer::Look(sights) = session.ask(Command::Look)? {
//!     println!("{} things here", sights[0].ground.total());
//!     session.ask(Command::Forward)?;
//! }
//! # Ok::<(), trantor_bot::SessionError>(())
//! ```
//!
//! The program `trantor-bot` is a [`Team`]: several agents in one thread, each with a connection of its own and
//! a brain from `trantor-strategy`. What is said on a connection is kept apart from sockets in [`dialogue`], and
//! when to connect, to try again and to give up apart from both in [`roster`], and when not to wait for an answer any
//! more in [`overdue`].
//!
//! Only the text protocol is spoken, so all of this works with any Zappy server.

pub mod cli;
pub mod dialogue;
pub mod load;
pub mod manual;
pub mod overdue;
pub mod player;
pub mod roster;
pub mod session;
mod socket;
pub mod team;

pub use dialogue::{Answer, Heard, News};
pub use session::{Session, SessionError};
pub use team::{Team, TeamError};
pub use trantor_model::{Command, Counts, Level, Resource, Sight, Turn};
pub use trantor_protocol::text::Dialect;
