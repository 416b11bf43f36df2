//! Waiting for nothing but deadlines and wakes: the thread is parked.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use trantor_time::{Clock, RealSpan, RealTime};

use crate::real_clock::RealClock;

use super::{WakeGate, Waker, Woken};

/// Sleeps by parking the thread; for loops that wait for nothing but deadlines and posts.
///
/// Accurate to the system's timer (some 60 µs late on Linux), never early.
#[derive(Debug)]
pub struct Parker {
    clock: RealClock,
    gate: WakeGate,
    bed: Arc<(Mutex<()>, Condvar)>,
}

impl Parker {
    /// A parker that measures its deadlines with the machine's clock.
    pub fn new() -> Self {
        let bed = Arc::new((Mutex::new(()), Condvar::new()));
        let of_wakers = Arc::clone(&bed);
        let gate = WakeGate::new(move || {
            // The sleeper tests for a wake with the lock held. Taking it here means that it either saw this wake
            // or has begun to wait for the notice.
            drop(of_wakers.0.lock().unwrap_or_else(PoisonError::into_inner));
            of_wakers.1.notify_one();
        });
        Self {
            clock: RealClock::new(),
            gate,
            bed,
        }
    }

    /// Sleeps until `until`, or without limit if `None`, or until woken; never returns [`Woken::Deadline`] before `until`.
    pub fn wait(&mut self, until: Option<RealTime>) -> Woken {
        if self.gate.lie_down() {
            let (lock, notice) = &*self.bed;
            let mut held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            // Going round until the state says so makes spurious and belated notices harmless.
            while !self.gate.is_woken() {
                held = match until {
                    None => notice.wait(held).unwrap_or_else(PoisonError::into_inner),
                    Some(until) => {
                        let left = until.since(self.clock.now());
                        if left == RealSpan::ZERO {
                            break;
                        }
                        notice
                            .wait_timeout(held, left.to_std())
                            .unwrap_or_else(PoisonError::into_inner)
                            .0
                    }
                };
            }
        }
        if self.gate.rise() {
            Woken::Posted
        } else {
            Woken::Deadline
        }
    }

    /// A handle that ends a sleep from any thread.
    pub fn waker(&self) -> Waker {
        self.gate.waker()
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}
