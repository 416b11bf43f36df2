//! Sleeping in mio's poll until a socket is ready, a deadline is reached, or another thread wakes the loop.
//!
//! The deadline is a timer of the system among the watched descriptors, so that it is neither rounded to
//! milliseconds nor early. It is armed only when the earliest deadline has changed: under load that saves most of
//! the system calls, and at rest nothing is armed and nothing wakes (R-000-20 to R-000-22).
//!
//! What readiness means is the caller's to know: [`MioWait::ready`] tells the tokens.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Registry, Token};
use trantor_runtime::{RealClock, Wait, WakeGate, Waker, Woken};
use trantor_time::{Clock, RealTime};

/// Readiness taken from the system in one wait. What does not fit is reported by the next, so this bounds only
/// memory and the longest row of accepted bytes; it is large enough for one wait to see every player of a big match.
const EVENTS_CAPACITY: usize = 1_024;

/// Tokens from here down are the wait's own; callers count from zero.
const TOKEN_WAKER: Token = Token(usize::MAX - 1);
const TOKEN_ALARM: Token = Token(usize::MAX - 2);

/// A [`Wait`] over mio's poll.
#[derive(Debug)]
pub struct MioWait {
    poll: Poll,
    events: Events,
    alarm: Alarm,
    gate: WakeGate,
    clock: RealClock,
    stats: WaitStats,
}

/// What a [`MioWait`] did so far; all from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitStats {
    /// Waits asked for.
    pub waits: u64,
    /// Waits that could sleep: no wake was pending and no deadline was reached.
    pub sleeps: u64,
    /// Times the system returned from a sleep, for whatever reason.
    pub wake_ups: u64,
    /// Times the alarm was set.
    pub alarms_set: u64,
}

/// Something that became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// What it was registered as.
    pub token: Token,
    /// It may be read, or its end or an error may be found by reading.
    pub readable: bool,
    /// It may be written.
    pub writable: bool,
    /// The peer has ended its side, or the connection is broken.
    pub hung_up: bool,
}

impl MioWait {
    /// A wait that watches nothing yet.
    ///
    /// # Errors
    /// If the system gives no descriptors for it.
    pub fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let alarm = Alarm::new(poll.registry())?;
        // mio allows one of its wakers per poll; all of ours share it.
        let rouser = Arc::new(mio::Waker::new(poll.registry(), TOKEN_WAKER)?);
        let gate = WakeGate::new(move || {
            if let Err(error) = rouser.wake() {
                log::error!("the loop could not be woken: {error}");
            }
        });
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS_CAPACITY),
            alarm,
            gate,
            clock: RealClock::new(),
            stats: WaitStats::default(),
        })
    }

    /// Where sockets are registered.
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// What became ready in the latest wait.
    pub fn ready(&self) -> impl Iterator<Item = Ready> + '_ {
        self.events
            .iter()
            .filter(|event| !is_own(event.token()))
            .map(|event| Ready {
                token: event.token(),
                // An end or an error is found by reading, whichever of them the system reported.
                readable: event.is_readable() || is_end(event),
                writable: event.is_writable(),
                hung_up: is_end(event),
            })
    }

    /// What it did so far.
    pub fn stats(&self) -> WaitStats {
        self.stats
    }

    /// Asks the system once; an interruption by a signal counts as nothing having happened.
    fn poll_once(&mut self, limit: Option<Duration>) {
        match self.poll.poll(&mut self.events, limit) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.events.clear(),
            // The descriptors are ours and open: nothing else can be wrong with them.
            Err(error) => panic!("waiting for events failed: {error}"),
        }
        if self.events.iter().any(|event| event.token() == TOKEN_ALARM) {
            self.alarm.has_rung();
        }
    }

    fn has_io(&self) -> bool {
        self.events.iter().any(|event| !is_own(event.token()))
    }
}

impl Wait for MioWait {
    fn wait(&mut self, until: Option<RealTime>) -> Woken {
        self.stats.waits += 1;
        let is_reached = |clock: &RealClock| until.is_some_and(|until| until <= clock.now());
        if self.gate.lie_down() && !is_reached(&self.clock) {
            self.stats.sleeps += 1;
            loop {
                let limit = self.alarm.set(until, self.clock.now());
                self.poll_once(limit);
                self.stats.wake_ups += 1;
                // An interruption, or a belated ring for an older deadline: the deadline is absolute, go round.
                if self.has_io() || self.gate.is_woken() || is_reached(&self.clock) {
                    break;
                }
            }
        } else {
            // There is work already: look at what is ready, and leave the alarm as it is.
            self.poll_once(Some(Duration::ZERO));
        }
        let posted = self.gate.rise();
        self.stats.alarms_set = self.alarm.times_set();
        match (self.has_io(), posted) {
            (true, _) => Woken::Io,
            (false, true) => Woken::Posted,
            (false, false) => Woken::Deadline,
        }
    }

    fn waker(&self) -> Waker {
        self.gate.waker()
    }
}

fn is_end(event: &Event) -> bool {
    event.is_read_closed() || event.is_write_closed() || event.is_error()
}

fn is_own(token: Token) -> bool {
    token == TOKEN_WAKER || token == TOKEN_ALARM
}

#[cfg(target_os = "linux")]
use self::timerfd::Alarm;

#[cfg(not(target_os = "linux"))]
use self::time_limit::Alarm;

/// The alarm as a descriptor that becomes readable at an instant of the monotonic clock.
#[cfg(target_os = "linux")]
mod timerfd {
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Duration;

    use mio::unix::SourceFd;
    use mio::{Interest, Registry};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use trantor_runtime::real_clock::system_monotonic_at;
    use trantor_time::{NANOS, RealSpan, RealTime};

    #[derive(Debug)]
    pub(super) struct Alarm {
        timer: OwnedFd,
        armed: Option<RealTime>,
        times_set: u64,
    }

    impl Alarm {
        pub(super) fn new(registry: &Registry) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            registry.register(
                &mut SourceFd(&timer.as_raw_fd()),
                super::TOKEN_ALARM,
                Interest::READABLE,
            )?;
            Ok(Self {
                timer,
                armed: None,
                times_set: 0,
            })
        }

        /// Lets the poll that follows end at `until`. Answers the limit to give to that poll: none is needed.
        pub(super) fn set(&mut self, until: Option<RealTime>, _now: RealTime) -> Option<Duration> {
            if until != self.armed {
                // Zero would disarm, and an instant in the past rings at once: both as wanted.
                let rings = until.map_or(RealSpan::ZERO, |until| {
                    system_monotonic_at(until).max(RealSpan::from_nanos(1))
                });
                let nanos = rings.as_nanos();
                let setting = Itimerspec {
                    it_interval: Timespec {
                        tv_sec: 0,
                        tv_nsec: 0,
                    },
                    it_value: Timespec {
                        tv_sec: nanos / NANOS,
                        tv_nsec: nanos % NANOS,
                    },
                };
                timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)
                    .expect("the timer is open, and its time is in range");
                self.armed = until;
                self.times_set += 1;
            }
            None
        }

        /// The poll reported the timer. It need not be read: readiness is edge-triggered, and setting the timer
        /// anew clears what is unread.
        pub(super) fn has_rung(&mut self) {
            self.armed = None;
        }

        pub(super) fn times_set(&self) -> u64 {
            self.times_set
        }
    }
}

/// The alarm as mio's own time limit, which mio rounds up to what the system's poll can do.
#[cfg(not(target_os = "linux"))]
mod time_limit {
    use std::io;
    use std::time::Duration;

    use mio::Registry;
    use trantor_time::RealTime;

    #[derive(Debug)]
    pub(super) struct Alarm;

    impl Alarm {
        pub(super) fn new(_registry: &Registry) -> io::Result<Self> {
            Ok(Self)
        }

        /// The limit for the poll that follows. Late rather than early, and never zero with time left.
        pub(super) fn set(&mut self, until: Option<RealTime>, now: RealTime) -> Option<Duration> {
            until.map(|until| until.since(now).to_std())
        }

        pub(super) fn has_rung(&mut self) {}

        pub(super) fn times_set(&self) -> u64 {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddr};
    use trantor_time::RealSpan;

    const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    fn in_micros(micros: i64) -> RealTime {
        RealClock::new().now() + RealSpan::from_micros(micros)
    }

    #[test]
    fn r_000_5_no_wait_ends_early() {
        let mut wait = MioWait::new().unwrap();
        for micros in [1, 20, 50, 99, 300, 999, 1_000, 1_001, 2_500] {
            let until = in_micros(micros);
            assert_eq!(wait.wait(Some(until)), Woken::Deadline);
            assert!(RealClock::new().now() >= until);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn r_000_22_one_wake_up_per_deadline() {
        let mut wait = MioWait::new().unwrap();
        for _ in 0..200 {
            wait.wait(Some(in_micros(200)));
        }
        let stats = wait.stats();
        assert!(stats.wake_ups <= 200, "{stats:?}");
        assert!(stats.alarms_set <= 200, "{stats:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_alarm_is_set_only_when_the_deadline_has_changed() {
        let mut wait = MioWait::new().unwrap();
        let waker = wait.waker();
        let until = in_micros(3_600_000_000);
        for _ in 0..10 {
            waker.wake();
            wait.wait(Some(until));
        }
        assert_eq!(
            wait.stats().alarms_set,
            0,
            "a pending wake means no sleep, and no sleep needs no alarm"
        );

        let mut listener = mio::net::TcpListener::bind(LOOPBACK).unwrap();
        wait.registry()
            .register(&mut listener, Token(0), mio::Interest::READABLE)
            .unwrap();
        let mut peers = Vec::new();
        for _ in 0..10 {
            peers.push(std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap());
            assert_eq!(wait.wait(Some(until)), Woken::Io);
            listener.accept().unwrap();
        }
        assert_eq!(wait.stats().alarms_set, 1);

        assert_eq!(
            wait.wait(Some(in_micros(100))),
            Woken::Deadline,
            "an earlier deadline replaces it"
        );
        assert_eq!(wait.stats().alarms_set, 2);
    }

    #[test]
    fn r_000_19_a_wake_from_another_thread_ends_a_wait_without_limit() {
        let mut wait = MioWait::new().unwrap();
        for _ in 0..100 {
            let waker = wait.waker();
            let thread = trantor_runtime::threads::spawn("waker", move || waker.wake()).unwrap();
            assert_eq!(wait.wait(None), Woken::Posted);
            thread.join().unwrap();
        }
    }

    #[test]
    fn a_deadline_already_reached_is_no_wait_but_shows_what_is_ready() {
        let mut wait = MioWait::new().unwrap();
        assert_eq!(wait.wait(Some(RealTime::ZERO)), Woken::Deadline);
        let mut listener = mio::net::TcpListener::bind(LOOPBACK).unwrap();
        wait.registry()
            .register(&mut listener, Token(7), mio::Interest::READABLE)
            .unwrap();
        let _peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(wait.wait(Some(RealTime::ZERO)), Woken::Io);
        assert_eq!(
            wait.ready().map(|ready| ready.token).collect::<Vec<_>>(),
            [Token(7)]
        );
        assert_eq!(wait.stats().sleeps, 0);
    }
}
