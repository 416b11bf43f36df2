//! The machinery of a loop without a game in it.
//!
//! A loop turns in *passes*: it sleeps until something is due or somebody wakes it, reads the clock once, works
//! through its stages in their declared order, each within its budget, and goes round. Everything here is a value
//! that is handed instants; a loop takes a [`Clock`](trantor_time::Clock) and a [`Wait`], and the manual pair drives
//! it through a year in seconds.
//!
//! # Which parts a program picks
//!
//! | You have | Take |
//! |---|---|
//! | a service: messages in, timers, background work, messages out | [`ServiceLoop`], with your own stages among the usual ones |
//! | a simulation: parts that want to be called at rates of their own | [`SystemLoop`], or [`Systems`](systems::Systems) inside another loop |
//! | pictures and events | [`FrameLoop`], or [`FramePacer`] where the platform owns the event loop |
//! | sockets | a [`Wait`] of your own over the system's readiness calls; [`WakeGate`] makes its wakers |
//!
//! # What they are made of
//!
//! - Time enters in [`real_clock`], threads start in [`threads`], sleep happens in [`wait`]: nowhere else.
//! - Into a loop lead [`inbox`] (events), [`posts`] (actions), [`jobs`] (work elsewhere, its result here) and
//!   [`listeners`] (timers that any part may request). All are bounded and tell whoever puts when they are full.
//! - [`stages`] keeps order, budgets and fairness; [`service`], [`systems`] and [`frames`] are the loops.
//! - [`publish`] is what the loop's own parts may read of it, [`metrics`] what other threads may.
//! - [`fault`] says what a failing callback does to its loop, [`life`] how loops start and end.
//! - [`standard_output`], [`standard_error`] and [`user_token`] are for the programs around them.
//!
//! The arithmetic of time is all in `trantor_time`; sockets, windows and games are all elsewhere.

pub mod fault;
pub mod frames;
pub mod inbox;
pub mod jobs;
pub mod life;
pub mod listeners;
pub mod metrics;
pub mod posts;
pub mod publish;
pub mod real_clock;
pub mod service;
pub mod stages;
pub mod standard_error;
pub mod standard_output;
pub mod systems;
pub mod threads;
pub mod user_token;
pub mod wait;

pub use fault::{Fault, FaultPolicy, Faults};
pub use frames::{FrameLoop, FramePacer};
pub use inbox::{Inbox, Priority};
pub use jobs::{Job, JobSpec, Jobs};
pub use life::{LoopThread, StopSignal};
pub use posts::{Poster, Posts};
pub use real_clock::RealClock;
pub use service::{Service, ServiceBuilder, ServiceLoop};
pub use stages::{Budget, StageSpec, Stages};
pub use systems::SystemLoop;
pub use user_token::UserToken;
pub use wait::{ManualWait, Parker, Wait, WakeGate, Waker, Woken};
