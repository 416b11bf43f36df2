//! All arithmetic of time: units, the game clock, deadline stores, ticks, pacing.
//!
//! Times are handed in. This crate never reads a clock, waits, starts a thread, or knows of a game; a loop asks it
//! what is due and does the rest. `docs/timing.md` tells how it works and what is proven about it.
//!
//! | To … | read |
//! |---|---|
//! | keep two times apart | [`units`], [`moment`] for what they have in common, [`clock`] for where real time comes from |
//! | map one to the other, change speed, pause | [`game_clock`]; [`overload`] when the machine cannot keep up |
//! | hold work until it is due | [`store`] for the contract, [`heap`] for the exact one, [`wheel`] for masses of coarse timers |
//! | name timers, own them, repeat them | [`timers`], with [`late`] for missed periods and [`stats`] for counters |
//! | run on a grid, at a rate, or between frames | [`tick_clock`], [`pacing`], [`frame_budget`] |
//! | delay and lose messages | [`link`] |

mod chain;
pub mod clock;
mod entry;
pub mod frame_budget;
pub mod game_clock;
pub mod heap;
pub mod late;
pub mod link;
pub mod moment;
pub mod overload;
pub mod pacing;
mod pending;
mod queue;
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
