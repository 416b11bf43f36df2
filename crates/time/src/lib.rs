//! All arithmetic of time: units, the game clock, deadline stores, ticks, pacing.
//!
//! Times are handed in. This crate never reads a clock, starts a thread, or knows of a game.

pub mod clock;
pub mod frame_budget;
pub mod game_clock;
pub mod heap;
mod slots;
pub mod store;
pub mod units;

pub use clock::{Clock, ManualClock};
pub use frame_budget::FrameBudget;
pub use game_clock::GameClock;
pub use heap::DeadlineHeap;
pub use store::{DeadlineStore, Taken, TimerId};
pub use units::{Frequency, FrequencyError, GameSpan, GameTime, NANOS, RealSpan, RealTime};
