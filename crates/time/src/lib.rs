//! All arithmetic of time: units, the game clock, deadline stores, ticks, pacing.
//!
//! Times are handed in. This crate never reads a clock, starts a thread, or knows of a game.

mod chain;
mod chunks;
pub mod clock;
pub mod frame_budget;
pub mod game_clock;
pub mod heap;
pub mod late;
pub mod link;
pub mod moment;
pub mod overload;
pub mod pacing;
mod queue;
mod ring;
mod slots;
pub mod stats;
pub mod store;
pub mod tick_clock;
pub mod timers;
pub mod units;
pub mod wheel;

pub use clock::{Clock, ManualClock};
pub use frame_budget::{FrameBudget, FrameStart, Turn};
pub use game_clock::GameClock;
pub use heap::DeadlineHeap;
pub use late::LatePolicy;
pub use link::{Fate, Link, LinkSettings};
pub use moment::Moment;
pub use overload::LagGovernor;
pub use pacing::{Call, Due, Pace, Pacer, Pacing, Rate, RateError};
pub use stats::WorkStats;
pub use store::{DeadlineStore, Taken, TimerId};
pub use tick_clock::{Tick, TickClock};
pub use timers::{NewTimer, RegisterError, Run, TimerView, Timers};
pub use units::{Frequency, FrequencyError, GameSpan, GameTime, NANOS, RealSpan, RealTime};
pub use wheel::TimerWheel;
