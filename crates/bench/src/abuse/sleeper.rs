//! What the machine alone makes late: a thread that sleeps from instant to instant, and does nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use hdrhistogram::Histogram;
use trantor_runtime::threads::{self, Thread};
use trantor_runtime::{Parker, RealClock, Wait};
use trantor_time::{Clock, RealSpan};

use crate::figures::histogram_ns;

/// Between two instants: as far apart as the deadlines of a hundred agents at 100 units a second.
const GAP: RealSpan = RealSpan::from_micros(700);

/// A thread that sleeps, in the scheduling class of the one that started it.
pub(super) struct Sleeper {
    is_over: Arc<AtomicBool>,
    thread: Thread<Histogram<u64>>,
}

impl Sleeper {
    pub(super) fn start() -> Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = threads::spawn("sleeper", move || {
            let (clock, mut parker, mut lateness_ns) = (RealClock::new(), Parker::new(), histogram_ns());
            let mut at = clock.now();
            while !seen.load(Ordering::Relaxed) {
                // An instant that a pause of the machine passes over is late as well, as agents are.
                at += GAP;
                parker.wait(Some(at));
                let late_ns = clock.now().since(at).as_nanos();
                lateness_ns.saturating_record(u64::try_from(late_ns).unwrap_or(0));
            }
            lateness_ns
        })?;
        Ok(Self { is_over, thread })
    }

    /// Ends it; answers its p99 of lateness, in microseconds.
    pub(super) fn end(self) -> Result<f64> {
        self.is_over.store(true, Ordering::Relaxed);
        Ok(self.thread.join()?.value_at_quantile(0.99) as f64 / 1e3)
    }
}
