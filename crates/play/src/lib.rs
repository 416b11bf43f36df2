//! A match without sockets: who plays it inside the process, and how it is played without a clock.
//!
//! | To … | read |
//! |---|---|
//! | decide for agents, or act as operators do | [`minds`] |
//! | play a whole game at once | [`leap`] |
//! | name players as people do | [`words`] |
//! | see a match as an operator | [`view`] |
//!
//! The rules are [`trantor_game`]'s, and how our agents play to win [`trantor_strategy`]'s. Connections and clocks are the engine's,
//! which has the same minds play a match at any speed.

pub mod leap;
pub mod minds;
pub mod view;
pub mod words;
