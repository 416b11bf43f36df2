//! The AI of an agent: percepts go in, commands come out.
//!
//! A [`Brain`] is a value. It has no socket, no clock and no thread, and knows nothing that an agent could not
//! learn from its server, so that it can play over TCP against any Zappy server as well as inside a process
//! that runs the game itself. Its rng has no other seed: the same seed and the same percepts in the
//! same order give the same commands.
//!
//! The plan of a team, in short:
//!
//! 1. A team of six or more makes a camp at once: it lays eggs on one tile, six climb there from the first level to the last, and
//!    the others bring stones and food (`brain::camp`).
//! 2. Where that cannot work each agent rises to level 2 alone, as soon as it has a linemate, to see more.
//! 3. All forage: food first, then whatever stones the team still lacks for the whole climb, which needs each
//!    stone once and not once per agent. Now and then each sends the others what it has ([`signal`]).
//! 4. Once six are fed and together have all stones, one calls; the others walk towards the sound ([`meeting`]).
//! 5. They put all stones down on one tile, and rise from level to level together, in one go.
//! 6. Missing agents are replaced: an egg is laid, and the new agent climbs after the others ([`team`]).
//!
//! That is the highest [`Skill`]; weaker opponents leave out steps of it.

mod body;
mod brain;
pub mod flight;
mod forage;
mod meeting;
mod signal;
mod skill;
mod team;

pub use brain::{Brain, agent_seed};
pub use signal::{Signal, SignalCodec};
pub use skill::Skill;
pub use team::agents_at_most;
