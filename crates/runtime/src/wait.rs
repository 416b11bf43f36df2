//! Putting a loop to sleep until a deadline or a wake.
//!
//! A loop wakes for three reasons only: something became ready outside, a deadline was reached, or another thread used
//! its [`Waker`]. [`Parker`] is for loops without sockets; the server has a wait over the system's readiness calls.
//!
//! [`WakeGate`] and [`Waker`] are what they share. A wake is remembered from the moment it is given until the loop
//! has risen from its next wait, so none is lost; and only the first one given to a sleeping loop costs
//! a system call, so a thousand cost as little as one. A [`StopSignal`] asks a loop to end; what an orderly stop still has to
//! finish is the loop's to know.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use trantor_time::{Clock, RealSpan, RealTime};

use crate::real_clock::RealClock;

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

/// Asks one loop to end, from any thread and from inside the loop itself.
#[derive(Clone, Debug)]
pub struct StopSignal {
    is_requested: Arc<AtomicBool>,
    waker: Waker,
}

impl StopSignal {
    /// A signal for the loop that `waker` wakes.
    pub fn new(waker: Waker) -> Self {
        Self {
            is_requested: Arc::default(),
            waker,
        }
    }

    /// Asks for a stop. Asking again changes nothing.
    pub fn request(&self) {
        self.is_requested.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Whether a stop was asked for; the loop looks once a pass.
    pub fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_given_while_awake_ends_the_next_wait() {
        let mut parker = Parker::new();
        parker.waker().wake();
        parker.waker().wake();
        assert_eq!(parker.wait(None), Woken::Posted);
        let soon = RealClock::new().now() + RealSpan::from_micros(1);
        assert_eq!(parker.wait(Some(soon)), Woken::Deadline, "two wakes were one");
    }

    #[test]
    fn only_the_first_wake_of_a_sleep_rouses() {
        let roused = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counted = Arc::clone(&roused);
        let mut gate = WakeGate::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let waker = gate.waker();
        waker.wake();
        assert_eq!(
            roused.load(Ordering::Relaxed),
            0,
            "an awake loop needs no rousing"
        );
        assert!(!gate.lie_down());
        assert!(gate.rise());
        assert!(gate.lie_down());
        (0..1_000).for_each(|_| waker.wake());
        assert_eq!(roused.load(Ordering::Relaxed), 1);
        assert!(gate.rise());
        assert!(!gate.rise(), "a wake counts once");
    }

    #[test]
    fn a_parker_is_never_early() {
        let clock = RealClock::new();
        let mut parker = Parker::new();
        for micros in [0, 1, 50, 300, 1_700] {
            let until = clock.now() + RealSpan::from_micros(micros);
            assert_eq!(parker.wait(Some(until)), Woken::Deadline);
            assert!(clock.now() >= until);
        }
    }

    #[test]
    fn a_parker_is_woken_by_another_thread() {
        let mut parker = Parker::new();
        let waker = parker.waker();
        let other = crate::threads::spawn("waker", move || waker.wake()).unwrap();
        assert_eq!(parker.wait(None), Woken::Posted);
        other.join().unwrap();
    }
}
