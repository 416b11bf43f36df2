//! What ends a poll of mio's at a deadline.
//!
//! On Linux a timer of the system, watched beside the sockets: to the nanosecond, and a system call only when the
//! deadline has changed; and a plain sleep, where nothing but the instant is to end it. Elsewhere mio's own time limit,
//! rounded up to what the system's poll can do.

#[cfg(not(target_os = "linux"))]
pub(super) use self::time_limit::Timer;
#[cfg(target_os = "linux")]
pub(super) use self::timerfd::Timer;

/// A descriptor that becomes readable at an instant of the monotonic clock.
#[cfg(target_os = "linux")]
mod timerfd {
    use std::io;
    use std::num::NonZeroU64;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry, Token};
    use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use trantor_runtime::real_clock::system_monotonic_at;
    use trantor_time::{NANOS, RealSpan, RealTime};

    #[derive(Debug)]
    pub(in crate::wait) struct Timer {
        timer: OwnedFd,
        armed: Option<RealTime>,
        times_set: u64,
        /// Whether the system was asked not to round the sleeps of the loop's thread.
        is_sleep_exact: bool,
    }

    /// Timer slack: what the system may add to a sleep so that several end together; 50 µs by default. Timers that are
    /// watched are exact anyway.
    const SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

    impl Timer {
        pub(in crate::wait) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self {
                timer,
                armed: None,
                times_set: 0,
                is_sleep_exact: false,
            })
        }

        /// Lets the poll that follows end at `until`. Answers the limit to give to that poll: none is needed.
        pub(in crate::wait) fn set(&mut self, until: Option<RealTime>, _now: RealTime) -> Option<Duration> {
            if until != self.armed {
                // Zero would disarm, and an instant in the past expires at once: both as wanted.
                let expires_at = until.map_or(RealSpan::ZERO, |until| {
                    system_monotonic_at(until).max(RealSpan::from_nanos(1))
                });
                let setting = Itimerspec {
                    it_interval: timespec(RealSpan::ZERO),
                    it_value: timespec(expires_at),
                };
                timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)
                    .expect("the timer is open, and its time is in range");
                self.armed = until;
                self.times_set += 1;
            }
            None
        }

        /// Sleeps until then, whatever else happens; a signal may end it before. It needs neither the timer nor the poll,
        /// which costs less. Answers whether it can.
        pub(in crate::wait) fn sleep_until(&mut self, until: RealTime) -> bool {
            if !std::mem::replace(&mut self.is_sleep_exact, true)
                && let Err(error) = set_current_timer_slack(Some(SLACK_NS))
            {
                log::debug!("the loop may sleep some 50 us too long now and then: {error}");
            }
            // A signal is no reason to fail, and nothing else can be wrong with an instant that is in range.
            let _reached_or_interrupted =
                clock_nanosleep_absolute(ClockId::Monotonic, &timespec(system_monotonic_at(until)));
            true
        }

        /// The poll reported the timer. It need not be read: readiness is edge-triggered, and setting the timer
        /// anew clears what is unread.
        pub(in crate::wait) fn has_expired(&mut self) {
            self.armed = None;
        }

        pub(in crate::wait) fn times_set(&self) -> u64 {
            self.times_set
        }
    }

    fn timespec(span: RealSpan) -> Timespec {
        Timespec {
            tv_sec: span.as_nanos() / NANOS,
            tv_nsec: span.as_nanos() % NANOS,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod time_limit {
    use std::io;
    use std::time::Duration;

    use mio::{Registry, Token};
    use trantor_time::RealTime;

    #[derive(Debug)]
    pub(in crate::wait) struct Timer;

    impl Timer {
        pub(in crate::wait) fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
            Ok(Self)
        }

        /// The limit for the poll that follows. Late rather than early, and never zero with time left.
        pub(in crate::wait) fn set(&mut self, until: Option<RealTime>, now: RealTime) -> Option<Duration> {
            until.map(|until| until.since(now).to_std())
        }

        pub(in crate::wait) fn has_expired(&mut self) {}

        /// There is nothing to sleep on but the poll itself.
        pub(in crate::wait) fn sleep_until(&mut self, _until: RealTime) -> bool {
            false
        }

        pub(in crate::wait) fn times_set(&self) -> u64 {
            0
        }
    }
}
