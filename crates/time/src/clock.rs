//! Where real time comes from: handed in, by a shell or by a test.
//!
//! The one reader of the machine's clock is `trantor_runtime::real_clock`. Everything else takes a
//! [`Clock`], or better, one sample of it per pass.

use std::cell::Cell;
use std::rc::Rc;

use crate::units::{RealSpan, RealTime};

/// A monotonic source of real time.
pub trait Clock {
    /// The present instant; never less than the one returned before.
    fn now(&self) -> RealTime;
}

/// A clock that stands still until it is moved; clones share one time.
///
/// It drives any loop through a year in seconds, without sleeping.
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now: Rc<Cell<RealTime>>,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn starting_at(now: RealTime) -> Self {
        Self {
            now: Rc::new(Cell::new(now)),
        }
    }

    /// Moves it forward by `span`.
    ///
    /// # Panics
    /// If `span` is negative: a monotonic clock never goes back.
    pub fn advance(&self, span: RealSpan) {
        assert!(span >= RealSpan::ZERO, "a monotonic clock never goes back");
        self.now.set(self.now.get() + span);
    }

    /// Moves it to `instant`; an instant already passed changes nothing.
    pub fn advance_to(&self, instant: RealTime) {
        self.now.set(self.now.get().max(instant));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> RealTime {
        self.now.get()
    }
}
