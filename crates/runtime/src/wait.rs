//! Putting a loop to sleep until a deadline or a wake.
//!
//! A loop sleeps in one [`Wait`] and wakes for three reasons only: something became ready outside, a deadline was
//! reached, or another thread used its [`Waker`] (R-000-19). Three versions: [`Parker`] for loops without sockets,
//! one over the operating system's readiness calls in the server, and [`ManualWait`], which moves a manual clock
//! instead of sleeping.
//!
//! [`WakeGate`] and [`Waker`] are what they share. A wake is remembered from the moment it is given until the loop
//! has risen from its next wait, so none is lost (R-002-35); and only the first one given to a sleeping loop costs
//! a system call, so a thousand cost as little as one (R-002-34).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use trantor_time::{Clock, ManualClock, RealSpan, RealTime};

use crate::real_clock::RealClock;

/// A way to sleep.
pub trait Wait {
    /// Sleeps until `until`, or without limit if `None`, or until woken; an instant already reached sleeps not at all.
    ///
    /// It never returns [`Woken::Deadline`] before `until`, and never spins (R-000-22).
    fn wait(&mut self, until: Option<RealTime>) -> Woken;

    /// A handle that ends a sleep from any thread.
    fn waker(&self) -> Waker;
}

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

impl<W: Wait + ?Sized> Wait for Box<W> {
    fn wait(&mut self, until: Option<RealTime>) -> Woken {
        (**self).wait(until)
    }

    fn waker(&self) -> Waker {
        (**self).waker()
    }
}

/// Wakes one loop, from any thread, without ever blocking.
///
/// Put what the loop shall find first, then wake: whoever is woken after that sees it.
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

/// The loop's side of its wakers: says whether it may lie down, and whether somebody woke it.
pub struct WakeGate(Arc<Signal>);

impl WakeGate {
    /// A gate whose loop is roused from sleep by `rouse`, called on the waking thread.
    ///
    /// A rouse may come late, when the loop is awake again already: it must do no harm then.
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

    /// Announces a sleep. `false`: somebody woke the loop since it last rose, so it must only look, not sleep.
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
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Wait for Parker {
    fn wait(&mut self, until: Option<RealTime>) -> Woken {
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

    fn waker(&self) -> Waker {
        self.gate.waker()
    }
}

/// Moves a [`ManualClock`] to the deadline instead of sleeping; what shall happen meanwhile is scripted.
///
/// With it any loop runs through a year in seconds, in one thread and the same way every time (R-X-3).
/// Clones share the script and the counts, so that a test keeps a hand on a wait that a loop owns.
#[derive(Clone)]
pub struct ManualWait {
    clock: ManualClock,
    gate: Rc<RefCell<WakeGate>>,
    script: Rc<RefCell<Script>>,
}

#[derive(Default)]
struct Script {
    /// By instant, then in the order they were written.
    happenings: BTreeMap<(RealTime, u64), Happening>,
    written: u64,
    oversleep: RealSpan,
    counts: WaitCounts,
}

/// Told the instant it happens at; answers when it happens again.
type Happening = Box<dyn FnMut(RealTime) -> Option<RealTime>>;

/// How often a [`ManualWait`] was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// Waits that moved the clock or were ended by a wake given during them.
    pub slept: u64,
    /// Waits that returned at once, because of a wake or a deadline already reached.
    pub passed: u64,
}

impl ManualWait {
    /// A wait that moves `clock`.
    pub fn new(clock: &ManualClock) -> Self {
        Self {
            clock: clock.clone(),
            gate: Rc::new(RefCell::new(WakeGate::new(|| {}))),
            script: Rc::default(),
        }
    }

    /// Lets `happening` be called when a wait reaches `instant`, and again whenever it answers another instant.
    ///
    /// It sees the clock at its instant, or later if the loop was at work then. To end the sleep it uses a waker.
    pub fn at(&self, instant: RealTime, happening: impl FnMut(RealTime) -> Option<RealTime> + 'static) {
        self.script.borrow_mut().insert(instant, Box::new(happening));
    }

    /// Makes every sleep that reaches its deadline end `oversleep` later, as real sleeps do.
    pub fn set_oversleep(&self, oversleep: RealSpan) {
        self.script.borrow_mut().oversleep = oversleep;
    }

    /// How often it was used so far.
    pub fn counts(&self) -> WaitCounts {
        self.script.borrow().counts
    }

    /// Lets happen what is written for instants up to `instant`, stopping at the first wake.
    fn play_until(&self, instant: Option<RealTime>) {
        while !self.gate.borrow().is_woken() {
            let Some((at, mut happening)) = self.script.borrow_mut().take_first_until(instant) else {
                return;
            };
            self.clock.advance_to(at);
            if let Some(again) = happening(at) {
                self.script.borrow_mut().insert(again, happening);
            }
        }
    }
}

impl Wait for ManualWait {
    /// # Panics
    /// If the loop sleeps without limit and the script holds nothing that could wake it: the test would never end.
    fn wait(&mut self, until: Option<RealTime>) -> Woken {
        let may_sleep =
            self.gate.borrow_mut().lie_down() && until.is_none_or(|until| until > self.clock.now());
        if may_sleep {
            self.script.borrow_mut().counts.slept += 1;
            self.play_until(until);
            if !self.gate.borrow().is_woken() {
                let until = until.expect("a loop sleeps without limit, and nothing scripted will wake it");
                self.clock.advance_to(until + self.script.borrow().oversleep);
            }
        } else {
            self.script.borrow_mut().counts.passed += 1;
            self.play_until(Some(self.clock.now()));
        }
        if self.gate.borrow_mut().rise() {
            Woken::Posted
        } else {
            Woken::Deadline
        }
    }

    fn waker(&self) -> Waker {
        self.gate.borrow().waker()
    }
}

impl Script {
    fn insert(&mut self, instant: RealTime, happening: Happening) {
        self.happenings.insert((instant, self.written), happening);
        self.written += 1;
    }

    fn take_first_until(&mut self, limit: Option<RealTime>) -> Option<(RealTime, Happening)> {
        let first = self.happenings.first_entry()?;
        let at = first.key().0;
        limit
            .is_none_or(|limit| at <= limit)
            .then(|| (at, first.remove()))
    }
}

impl fmt::Debug for ManualWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.script.borrow();
        f.debug_struct("ManualWait")
            .field("clock", &self.clock)
            .field("scripted", &script.happenings.len())
            .field("counts", &script.counts)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> RealTime {
        RealTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn r_000_19_a_wait_ends_at_its_deadline_or_at_a_wake() {
        let clock = ManualClock::default();
        let mut wait = ManualWait::new(&clock);
        assert_eq!(wait.wait(Some(ms(10))), Woken::Deadline);
        assert_eq!(clock.now(), ms(10));

        let waker = wait.waker();
        wait.at(ms(15), move |_| {
            waker.wake();
            None
        });
        assert_eq!(wait.wait(None), Woken::Posted);
        assert_eq!(clock.now(), ms(15));
    }

    #[test]
    fn r_002_35_a_wake_given_while_awake_ends_the_next_wait() {
        let clock = ManualClock::default();
        let mut wait = ManualWait::new(&clock);
        wait.waker().wake();
        wait.waker().wake();
        assert_eq!(wait.wait(Some(ms(10))), Woken::Posted);
        assert_eq!(clock.now(), ms(0), "it did not sleep");
        assert_eq!(wait.wait(Some(ms(10))), Woken::Deadline, "two wakes were one");
        assert_eq!(wait.counts(), WaitCounts { slept: 1, passed: 1 });
    }

    #[test]
    fn r_002_34_only_the_first_wake_of_a_sleep_rouses() {
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
    fn r_000_22_a_parker_is_never_early() {
        let clock = RealClock::new();
        let mut parker = Parker::new();
        for micros in [0, 1, 50, 300, 1_700] {
            let until = clock.now() + RealSpan::from_micros(micros);
            assert_eq!(parker.wait(Some(until)), Woken::Deadline);
            assert!(clock.now() >= until);
        }
    }

    #[test]
    fn r_003_34_a_parker_is_woken_by_another_thread() {
        let mut parker = Parker::new();
        let waker = parker.waker();
        let other = crate::threads::spawn("waker", move || waker.wake()).unwrap();
        assert_eq!(parker.wait(None), Woken::Posted);
        other.join().unwrap();
    }
}
