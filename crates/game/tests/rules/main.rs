//! The rules of the game, played: what each command does, when, and what everybody is told.

#[allow(dead_code, reason = "the bench for all rules; more of them follow")]
mod arena;
mod commands;
