//! What the machine alone makes late: a thread that sleeps from instant to instant, and does nothing else.
//!
//! Measured beside a server, it tells how much of a lateness is the machine's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, anyhow};
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::{Parker, RealClock, Wait};
use trantor_time::{Clock, RealSpan};

use crate::samples::Samples;

/// Between two instants: as far apart as the deadlines of a hundred agents at 100 units a second.
const GAP: RealSpan = RealSpan::from_micros(700);

/// A sleeper under way.
#[derive(Debug)]
pub(crate) struct Sleeper {
    is_over: Arc<AtomicBool>,
    thread: Thread<Samples>,
}

impl Sleeper {
    /// Sets one to sleep, in the class of this thread.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub(crate) fn start() -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = threads::spawn("sleeper", move || {
            let (clock, mut parker, mut samples) = (RealClock::new(), Parker::new(), Samples::new());
            let mut at = clock.now();
            while !seen.load(Ordering::Relaxed) {
                // What a pause passes over is late as well, as agents are.
                at += GAP;
                parker.wait(Some(at));
                samples.record(clock.now().since(at));
            }
            samples
        })?;
        Ok(Self { is_over, thread })
    }

    /// Wakes it for good; answers how late it was each time.
    ///
    /// # Errors
    /// If it did not come to its end.
    pub(crate) fn end(self) -> Result<Samples> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the sleeper did not end"))
    }
}
