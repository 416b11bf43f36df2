//! The only reader of the machine's clocks.
//!
//! Loops take a [`Clock`] and are given [`RealClock`] in production; everything else is handed instants. More
//! readings exist under names that no game logic would use by accident: the date, for records, and the
//! processor time used, for measurements. None is ever compared with a deadline.

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

/// What the system's own monotonic clock shows at `instant` of [`RealClock`]: for timers that the system keeps.
///
/// Rounded up, by the few nanoseconds between two readings of the clock, so that such a timer is never early.
#[cfg(target_os = "linux")]
pub fn system_monotonic_at(instant: RealTime) -> RealSpan {
    *SYSTEM_ORIGIN + (instant - RealTime::ZERO)
}

/// What the system's clock shows at the origin, or slightly more.
///
/// The standard library does not tell what an `Instant` counts from, so both clocks are read and compared. The
/// program may be interrupted between the readings; of several tries the tightest tells the truth best.
#[cfg(target_os = "linux")]
static SYSTEM_ORIGIN: LazyLock<RealSpan> = LazyLock::new(|| {
    const TRIES: usize = 16;
    let read_system = || {
        let shown = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        RealSpan::from_secs(shown.tv_sec) + RealSpan::from_nanos(shown.tv_nsec)
    };
    let clock = RealClock::new();
    let tries = (0..TRIES).map(|_| {
        let before = read_system();
        let ours = clock.now();
        let after = read_system();
        (after - before, after - (ours - RealTime::ZERO))
    });
    let (_, origin) = tries.min().expect("there is at least one try");
    origin
});

/// The date, as time since the Unix epoch: for file names, log lines and health answers only.
///
/// It jumps when the clock is set, so nothing may be scheduled by it. Dates before 1970 read as 1970.
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

/// Processor time that this thread alone has used so far; `None` where the system does not tell.
pub fn thread_time_for_measurement() -> Option<RealSpan> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Some(RealSpan::from_secs(used.tv_sec) + RealSpan::from_nanos(used.tv_nsec))
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    None
}

/// The processor time of a thread, as that thread and others read it. Where the system does not tell, the time that has passed.
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock {
    /// By its number, which the system gives a new thread once this one has ended.
    #[cfg(target_os = "linux")]
    id: i32,
}

impl ThreadClock {
    /// The clock of the thread that calls this.
    pub fn of_this_thread() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            id: rustix::thread::gettid().as_raw_nonzero().get(),
        }
    }

    /// Processor time that the thread has used; nothing more once it has ended.
    pub fn used(&self) -> RealSpan {
        #[cfg(target_os = "linux")]
        {
            // As pthread_getcpuclockid(3) makes it on Linux: the complement of the number, and what kind of time.
            const OF_THREAD_SCHEDULED: i32 = 4 | 2;
            let clock = nix::time::ClockId::from_raw((!self.id << 3) | OF_THREAD_SCHEDULED);
            let used = clock.now().map_or(Duration::ZERO, Duration::from);
            RealSpan::from_std(used)
        }
        #[cfg(not(target_os = "linux"))]
        {
            RealClock::new().now() - RealTime::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_thread_is_read_by_another() {
        let (send, clock) = std::sync::mpsc::sync_channel(1);
        let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(0);
        let busy = crate::threads::spawn("busy", move || {
            send.send(ThreadClock::of_this_thread()).unwrap();
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {}
        })
        .unwrap();
        let clock = clock.recv().unwrap();
        let before = clock.used();
        while clock.used() <= before {
            std::thread::yield_now();
        }
        drop(stop);
        busy.join().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_s_clock_is_never_ahead_of_what_we_say_it_shows() {
        let clock = RealClock::new();
        for _ in 0..1_000 {
            let ours = clock.now();
            let shown = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            let shown = RealSpan::from_secs(shown.tv_sec) + RealSpan::from_nanos(shown.tv_nsec);
            // Read later, so it shows at least as much; were our figure too small, timers would be early.
            let later = clock.now();
            assert!(system_monotonic_at(later) >= shown);
            assert!((system_monotonic_at(ours) - shown).as_nanos() < 1_000_000);
        }
    }

    #[test]
    fn copies_share_one_origin_and_never_go_back() {
        let first = RealClock::new();
        let before = first.now();
        let second = RealClock::new();
        assert!(second.now() >= before);
        assert!(first.now() >= before);
    }
}
