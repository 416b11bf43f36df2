//! The only reader of the machine's clocks.
//!
//! Loops take a [`Clock`] and are given [`RealClock`] in production; everything else is handed instants. Two more
//! readings exist under names that no game logic would use by accident (R-X-7): the date, for records, and the
//! processor time used, for measurements. Neither is ever compared with a deadline (R-X-1).

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use trantor_time::{Clock, RealSpan, RealTime};

/// The machine's monotonic clock; its origin is the first use in this process.
///
/// All copies share that origin, so instants may pass between the loops and threads of one process.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    origin: Instant,
}

impl RealClock {
    /// The clock of this process.
    pub fn new() -> Self {
        Self { origin: *ORIGIN }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where monotonic time enters the program"
    )]
    fn now(&self) -> RealTime {
        RealTime::ZERO + RealSpan::from_std(Instant::now().duration_since(self.origin))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the origin that every reading of RealClock counts from"
)]
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The date, as time since the Unix epoch: for file names, log lines and health answers only.
///
/// It jumps when somebody sets the clock, so nothing may be scheduled by it. Dates before 1970 read as 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the date enters the program"
)]
pub fn date_for_records() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Processor time that all threads of this process have used so far; `None` where the system does not tell.
pub fn processor_time_for_measurement() -> Option<RealSpan> {
    #[cfg(unix)]
    {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(RealSpan::from_secs(used.tv_sec) + RealSpan::from_nanos(used.tv_nsec))
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_one_origin_and_never_go_back() {
        let first = RealClock::new();
        let before = first.now();
        let second = RealClock::new();
        assert!(second.now() >= before);
        assert!(first.now() >= before);
    }
}
