//! The game through its public interface: rules, random games, and games saved and replayed. The transcripts of
//! `trantor-engine` show most rules.

mod arena;
mod journals;
mod lock_step;
mod random;
mod recordings;
mod rules;
mod saving;
mod speed;
mod totals;
