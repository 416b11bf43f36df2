//! Putting a loop to sleep until a deadline or a wake.
//!
//! A loop wakes for three reasons only: something became ready outside, a deadline was reached, or another thread used
//! its [`Waker`]. [`Parker`] is for loops without sockets; the server has a wait over the system's readiness calls.
//!
//! [`WakeGate`] and [`Waker`] are what they share. A wake is remembered from the moment it is given until the loop
//! has risen from its next wait, so none is lost; and only the first one given to a sleeping loop costs
//! a system call, so a thousand cost as little as one.

mod parker;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

pub use self::parker::Parker;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The deadline is reached, and nothing else happened.
    Deadline,
    /// A [`Waker`] was used, before or during the wait.
    Posted,
    /// Something outside is ready to be read or written.
    Io,
}

/// Wakes one loop, from any thread, without ever blocking.
///
/// Put what the loop shall find first, then wake: the woken loop sees it.
#[derive(Clone)]
pub struct Waker(Arc<Signal>);

impl Waker {
    /// Makes the loop's present or next wait return.
    pub fn wake(&self) {
        // Release: what was put before is visible to the loop once it has seen the wake. Acquire keeps the chain
        // of wakes unbroken, so that the loop, having seen the last one, sees what was put before each of them.
        if self.0.state.swap(WOKEN, Ordering::AcqRel) == ASLEEP {
            (self.0.rouse)();
        }
    }
}

/// The loop's side of its wakers: says whether it may sleep, and whether it was woken.
pub struct WakeGate(Arc<Signal>);

impl WakeGate {
    /// A gate whose loop is roused from sleep by `rouse`, called on the waking thread.
    ///
    /// A rouse may come late, when the loop is awake again already: it must have no effect then.
    pub fn new(rouse: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Signal {
            state: AtomicU8::new(AWAKE),
            rouse: Box::new(rouse),
        }))
    }

    /// A new waker for this loop.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.0))
    }

    /// Announces a sleep. `false`: the loop was woken since it last rose, so it must only look, not sleep.
    pub fn lie_down(&mut self) -> bool {
        self.0
            .state
            .compare_exchange(AWAKE, ASLEEP, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Whether a wake has been given since the loop last rose.
    pub fn is_woken(&self) -> bool {
        self.0.state.load(Ordering::Acquire) == WOKEN
    }

    /// Ends a wait, slept or not. Answers whether a wake was given; only now may the loop look at what was put.
    pub fn rise(&mut self) -> bool {
        self.0.state.swap(AWAKE, Ordering::AcqRel) == WOKEN
    }
}

struct Signal {
    state: AtomicU8,
    rouse: Box<dyn Fn() + Send + Sync>,
}

/// The loop is working and will look at its queues before it sleeps; a wake needs no system call.
const AWAKE: u8 = 0;
/// A wake was given; the loop may not sleep before it has risen once.
const WOKEN: u8 = 1;
/// The loop sleeps, or is about to; the next wake must rouse it.
const ASLEEP: u8 = 2;

impl fmt::Debug for Waker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waker").finish_non_exhaustive()
    }
}

impl fmt::Debug for WakeGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeGate")
            .field("woken", &self.is_woken())
            .finish_non_exhaustive()
    }
}
