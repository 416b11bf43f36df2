//! Waiting on a manual clock: time is moved, and what happens meanwhile is scripted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use trantor_time::{Clock, ManualClock, RealSpan, RealTime};

use super::{Wait, WakeGate, Waker, Woken};

/// Moves a [`ManualClock`] to the deadline instead of sleeping; what shall happen meanwhile is scripted.
///
/// With it any loop runs through a year in seconds, in one thread and the same way every time.
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
