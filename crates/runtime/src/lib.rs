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
//! | sockets | a [`Wait`] of your own over the system's readiness calls; [`WakeGate`] makes its wakers |
//!
//! # What they are made of
//!
//! - Time enters in [`real_clock`], threads start in [`threads`], sleep happens in [`wait`]: nowhere else.
//! - Into a loop lead [`inbox`] (events), [`posts`] (actions) and [`jobs`] (work elsewhere, its result here). All are
//!   bounded and tell whoever puts when they are full.
//! - [`stages`] keeps order, budgets and fairness; [`service`] is the loop; [`metrics`] is what other threads may read.
//! - [`fault`] says what a failing callback does to its loop, [`life`] how loops start and end.
//! - [`standard_output`], [`standard_error`] and [`user_token`] are for the programs around them.
//!
//! The arithmetic of time is all in `trantor_time`; sockets, windows and games are all elsewhere.

pub mod fault;
pub mod inbox;
pub mod jobs;
pub mod life;
pub mod metrics;
pub mod posts;
pub mod real_clock;
pub mod service;
pub mod stages;
pub mod standard_error;
pub mod standard_output;
pub mod threads;
pub mod user_token;
pub mod wait;

pub use fault::{Fault, FaultPolicy, Faults};
pub use inbox::{Inbox, Priority};
pub use jobs::{Job, JobSpec, Jobs};
pub use life::{LoopThread, StopSignal};
pub use posts::{Poster, Posts};
pub use real_clock::RealClock;
pub use service::{Service, ServiceBuilder, ServiceLoop};
pub use stages::{Budget, StageSpec, Stages};
pub use user_token::UserToken;
pub use wait::{ManualWait, Parker, Wait, WakeGate, Waker, Woken};
