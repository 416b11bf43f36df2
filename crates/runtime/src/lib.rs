//! What the programs need of a thread that loops, without a game, a connection or a window in it.
//!
//! - Time enters in [`real_clock`], threads start in [`threads`], sleep happens in [`wait`]: nowhere else.
//! - [`signals`] are what the system asks of a loop, [`fault`] makes messages of panics.
//! - [`files`] opens and reads what somebody names: regular files of a bounded size, without waiting.
//! - [`standard_output`], [`standard_error`] and [`user_token`] are for the programs around them.
//!
//! The loops themselves are the programs' own. The arithmetic of time is in `trantor_time`.

pub mod fault;
pub mod files;
pub mod real_clock;
pub mod signals;
pub mod standard_error;
pub mod standard_output;
pub mod threads;
pub mod user_token;
pub mod wait;

pub use real_clock::{RealClock, ThreadClock};
pub use user_token::UserToken;
pub use wait::{Parker, StopSignal, WakeGate, Waker, Woken};
