//! The game as others use it: the rules played, random games, and games kept and continued.

mod arena;
mod commands;
mod journals;
mod lags;
mod living;
mod lock_step;
mod mirror;
mod random;
mod recordings;
mod rituals;
mod rituals_end;
mod saving;
mod spatial;
mod speed;
mod winning;
