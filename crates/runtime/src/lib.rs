//! The machinery of a loop without a game in it.
//!
//! It knows time only from `trantor_time`, and nothing of sockets, windows or the game.

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
pub mod systems;
pub mod threads;
pub mod wait;

pub use fault::{Fault, FaultPolicy, Faults};
pub use frames::{FrameLoop, FramePacer};
pub use inbox::{Inbox, Priority};
pub use jobs::{Job, JobSpec, Jobs};
pub use posts::{Poster, Posts};
pub use real_clock::RealClock;
pub use stages::{Budget, StageSpec, Stages};
pub use wait::{ManualWait, Parker, Wait, WakeGate, Waker, Woken};
