//! The rules of the game, played: what each command does, when, and what everybody is told.

mod arena;
mod commands;
mod living;
mod mirror;
mod random;
mod rituals;
mod spatial;
