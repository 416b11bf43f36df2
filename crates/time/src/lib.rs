//! All arithmetic of time: units, the game clock, deadlines, ticks, pacing.
//!
//! Times are handed in. This crate never reads a clock, waits, starts a thread, or knows of a game; a loop asks it
//! what is due and does the rest. `docs/timing.md` says how it works and what is proven about it.
//!
//! | To … | read |
//! |---|---|
//! | keep two times apart | [`units`]; [`clock`] for where real time comes from |
//! | map one to the other, change speed, pause | [`game_clock`]; [`overload`] when the machine cannot keep up |
//! | hold work in real time until it is due | [`timers`] |
//! | run on a grid, at a rate, or between frames | [`tick_clock`], [`pacing`], [`frame_budget`] |
//! | limit how often something happens | [`token_bucket`] |
//! | delay and lose messages | [`link`] |

pub mod clock;
pub mod frame_budget;
pub mod game_clock;
pub mod link;
pub mod overload;
pub mod pacing;
pub mod tick_clock;
pub mod timers;
pub mod token_bucket;
pub mod units;

pub use clock::{Clock, ManualClock};
pub use frame_budget::{FrameBudget, Turn};
pub use game_clock::GameClock;
pub use link::{Delivery, Link, LinkSettings};
pub use overload::OverloadGovernor;
pub use pacing::{Due, Pace, Pacer, Pacing, Rate, RateError};
pub use tick_clock::{Tick, TickClock};
pub use timers::{TimerId, TimerQueue};
pub use token_bucket::{TokenBucket, TokenRate};
pub use units::{Frequency, FrequencyError, GameSpan, GameTime, NANOS, RealSpan, RealTime, read_decimal};
