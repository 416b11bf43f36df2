//! Where the loop sleeps: mio's poll, until a socket is ready, a deadline is reached, or another thread wakes the loop.
//!
//! The deadline is a timer of the system among the watched descriptors (`timer`), so that it is neither rounded to
//! milliseconds nor early. It is set only when the earliest deadline has changed: under load that saves most of
//! the system calls, and an idle loop has none set and does not wake up.
//!
//! Where deadlines are dense several share a wake-up (`limiter`). With `--precise` each deadline of the game has a
//! wake-up of its own, a little early, and the loop spins for the rest (`spin`).
//!
//! What readiness means is the caller's to know: [`MioWait::next_ready`] has the tokens.

mod limiter;
mod spin;
mod timer;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Registry, Token};
use trantor_runtime::{RealClock, WakeGate, Waker, Woken};
use trantor_time::{Clock, RealSpan, RealTime};

pub use self::limiter::spacing_at;
use self::limiter::{Due, WakeLimiter};
use self::spin::Spin;
use self::timer::Timer;

/// Readiness taken from the system in one wait. What does not fit is reported by the next, so this bounds only
/// memory and the longest row of accepted bytes; it is large enough for one wait to see every player of a big match.
const EVENTS_CAPACITY: usize = 1_024;

/// Tokens from here down are the wait's own; callers count from zero.
const TOKEN_WAKER: Token = Token(usize::MAX - 1);
const TOKEN_TIMER: Token = Token(usize::MAX - 2);

/// How soon a deadline has to be for input to be taken together with it, if it may wait. Well below what a person at a
/// screen could notice, and enough to spare a busy server every other wake-up.
const INPUT_WAIT_SPAN: RealSpan = RealSpan::from_millis(1);

/// How often a spin polls the sockets. A poll takes up to a microsecond, so input waits no longer than it does for a sleeping
/// thread, and few spins end late by a poll.
const SPIN_POLL_SPAN: RealSpan = RealSpan::from_micros(10);

/// What may be deferred to share a wake-up; by default nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Input may wait until the next deadline, if that is soon.
    pub input_may_wait: bool,
    /// The longest that a deadline is deferred where deadlines are dense; see [`spacing_at`].
    pub spacing: RealSpan,
    /// The game's next deadline. No other deadline defers it, however dense those are.
    pub game_due: Option<RealTime>,
    /// Wake a little before the game's deadlines and spin for the rest, while the core is not shared.
    pub is_precise: bool,
}

#[derive(Debug)]
pub struct MioWait {
    /// What may be deferred, from the next wait on.
    pub(crate) policy: WaitPolicy,
    poll: Poll,
    events: Events,
    /// What became ready in the latest wait, in reverse order.
    ready: Vec<Ready>,
    timer: Timer,
    limiter: WakeLimiter,
    spin: Spin,
    gate: WakeGate,
    clock: RealClock,
    pub(crate) stats: WaitStats,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitStats {
    /// Waits that could sleep: no wake was pending and no deadline was reached.
    pub sleeps: u64,
    pub wake_ups: u64,
    pub timers_set: u64,
    /// Sleeps that were prolonged, because wake-ups were dense.
    pub deferred: u64,
    pub spins: u64,
    /// Times that spinning was disabled because the core is shared: one at most.
    pub spins_disabled: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    pub token: Token,
    pub readable: bool,
    pub writable: bool,
    pub hung_up: bool,
}

impl MioWait {
    pub fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TOKEN_TIMER)?;
        // mio allows one of its wakers per poll; all of ours share it.
        let waker = Arc::new(mio::Waker::new(poll.registry(), TOKEN_WAKER)?);
        let gate = WakeGate::new(move || {
            if let Err(error) = waker.wake() {
                log::error!("the loop could not be woken: {error}");
            }
        });
        Ok(Self {
            policy: WaitPolicy::default(),
            poll,
            events: Events::with_capacity(EVENTS_CAPACITY),
            ready: Vec::new(),
            timer,
            limiter: WakeLimiter::default(),
            spin: Spin::default(),
            gate,
            clock: RealClock::new(),
            stats: WaitStats::default(),
        })
    }

    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// The next readiness of the latest wait. What is not taken before the next wait is reported again only if it changes.
    pub fn next_ready(&mut self) -> Option<Ready> {
        self.ready.pop()
    }

    /// Reports `ready` as the next wait would, in a simulation.
    pub(crate) fn report(&mut self, ready: impl IntoIterator<Item = Ready>) {
        self.ready.clear();
        self.ready.extend(ready);
        self.ready.reverse();
    }

    /// Asks the system once; an interruption by a signal counts as nothing having happened.
    fn poll_once(&mut self, limit: Option<Duration>) {
        match self.poll.poll(&mut self.events, limit) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.events.clear(),
            // The descriptors are ours and open: nothing else can be wrong with them.
            Err(error) => panic!("waiting for events failed: {error}"),
        }
        if self.events.iter().any(|event| event.token() == TOKEN_TIMER) {
            self.timer.has_expired();
        }
    }

    /// Passes on what became ready. Answers whether anything did.
    fn hand_over(&mut self) -> bool {
        self.ready.clear();
        // Those reported first are taken first: the list is taken from its end.
        self.ready.extend(
            self.events
                .iter()
                .filter(|event| !is_own(event.token()))
                .map(Ready::new),
        );
        self.ready.reverse();
        !self.ready.is_empty()
    }

    /// Spins until `until`, another thread's wake, or readiness; if input `may_wait`, readiness ends it at `until` only. The
    /// sockets are polled at least once.
    fn spin_until(&mut self, until: RealTime, may_wait: bool) {
        self.stats.spins += 1;
        let mut polled_at = self.clock.now();
        self.spin.begin(polled_at);
        self.poll_once(Some(Duration::ZERO));
        while !self.gate.is_woken() && (may_wait || !self.has_io()) {
            let now = self.clock.now();
            self.spin.note_reading(now);
            if now >= until {
                break;
            }
            // What was polled and may wait would be lost by another poll.
            if !may_wait && now - polled_at >= SPIN_POLL_SPAN {
                self.poll_once(Some(Duration::ZERO));
                polled_at = now;
            }
            std::hint::spin_loop();
        }
        if self.spin.is_core_shared() {
            log::warn!(
                "--precise is off until the next start: other programs run on the core of the server's loop"
            );
            self.stats.spins_disabled += 1;
        }
    }

    fn has_io(&self) -> bool {
        self.events.iter().any(|event| !is_own(event.token()))
    }

    fn is_precise(&self) -> bool {
        self.policy.is_precise && !self.spin.is_core_shared()
    }

    fn due(&self, until: Option<RealTime>) -> Option<Due> {
        let game = self.policy.game_due;
        until.map(|first| Due { first, game })
    }

    /// When a sleep for `until` ends at the latest: then, or a little later if the limiter defers it.
    pub(crate) fn wake_at(&mut self, until: Option<RealTime>) -> Option<RealTime> {
        // A deferral would hide what a precise wake-up gains.
        let spacing = match self.is_precise() {
            true => RealSpan::ZERO,
            false => self.policy.spacing,
        };
        self.limiter.set_spacing(spacing);
        self.due(until).map(|due| self.limiter.wake_at(due))
    }

    /// A sleep for `until` has ended at `now`.
    pub(crate) fn note_woken(&mut self, until: Option<RealTime>, now: RealTime) {
        if let Some(due) = self.due(until) {
            self.limiter.take(due, now);
        }
    }

    /// Sleeps until `until`, or a little after it if the limiter defers it, or until something else ends the sleep.
    fn sleep(&mut self, until: Option<RealTime>) {
        self.stats.sleeps += 1;
        let is_precise = self.is_precise();
        let wake_at = self.wake_at(until);
        let due = self.due(until);
        self.stats.deferred += u64::from(wake_at != until);
        // Only the game's deadlines are worth spinning for.
        let spins = is_precise && due.is_some_and(Due::is_game_first);
        let lead = if spins { self.spin.lead() } else { RealSpan::ZERO };
        let timer_at = wake_at.map(|wake_at| wake_at - lead);
        loop {
            let now = self.clock.now();
            match wake_at.filter(|_| spins && timer_at <= Some(now)) {
                Some(wake_at) => self.spin_until(wake_at, self.policy.input_may_wait),
                None => {
                    let has_polled = self.sleep_until(timer_at, now, spins);
                    if !has_polled {
                        // The spin polls first.
                        continue;
                    }
                }
            }
            // An interruption, or a belated timer of an older deadline: the deadline is absolute, sleep again.
            if self.has_io() || self.gate.is_woken() || until.is_some_and(|until| until <= self.clock.now()) {
                break;
            }
        }
        self.note_woken(until, self.clock.now());
    }

    /// Sleeps once, at most until `timer_at`: in the poll, or in a plain sleep where input may wait for a deadline that is
    /// soon. Answers whether the sockets were polled, which is left to the spin that follows.
    fn sleep_until(&mut self, timer_at: Option<RealTime>, now: RealTime, spins: bool) -> bool {
        let soon = timer_at.filter(|at| self.policy.input_may_wait && *at <= now + INPUT_WAIT_SPAN);
        let has_slept = soon.is_some_and(|soon| self.timer.sleep_until(soon));
        if !has_slept {
            let limit = self.timer.set(timer_at, now);
            self.poll_once(limit);
        } else if !spins {
            self.poll_once(Some(Duration::ZERO));
        }
        self.stats.wake_ups += 1;
        if let Some(timer_at) = timer_at.filter(|_| spins) {
            let latency = self.clock.now() - timer_at;
            if latency >= RealSpan::ZERO {
                self.spin.learn(latency);
            }
        }
        !(has_slept && spins)
    }

    /// Sleeps until `until`, or without limit if `None`, or until woken or ready; an instant already reached sleeps not at
    /// all. Never returns [`Woken::Deadline`] before `until`.
    pub fn wait(&mut self, until: Option<RealTime>) -> Woken {
        let is_reached = |clock: &RealClock| until.is_some_and(|until| until <= clock.now());
        if self.gate.lie_down() && !is_reached(&self.clock) {
            self.sleep(until);
        } else {
            // There is work already: look at what is ready, and leave the timer as it is.
            self.poll_once(Some(Duration::ZERO));
        }
        let posted = self.gate.rise();
        self.stats.timers_set = self.timer.times_set();
        match (self.hand_over(), posted) {
            (true, _) => Woken::Io,
            (false, true) => Woken::Posted,
            (false, false) => Woken::Deadline,
        }
    }

    pub fn waker(&self) -> Waker {
        self.gate.waker()
    }
}

impl Ready {
    fn new(event: &Event) -> Self {
        Self {
            token: event.token(),
            // An end or an error is found by reading, whichever of them the system reported.
            readable: event.is_readable() || is_end(event),
            writable: event.is_writable(),
            hung_up: is_end(event),
        }
    }
}

fn is_end(event: &Event) -> bool {
    event.is_read_closed() || event.is_write_closed() || event.is_error()
}

fn is_own(token: Token) -> bool {
    token == TOKEN_WAKER || token == TOKEN_TIMER
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::Interest;
    use std::net::{Ipv4Addr, TcpStream};

    const LISTENER: Token = Token(7);
    const HOUR_US: i64 = 3_600_000_000;

    struct Bench {
        wait: MioWait,
        listener: mio::net::TcpListener,
    }

    impl Bench {
        fn new(policy: WaitPolicy) -> Self {
            let mut wait = MioWait::new().unwrap();
            wait.policy = policy;
            let mut listener = mio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
            let registered = wait
                .registry()
                .register(&mut listener, LISTENER, Interest::READABLE);
            registered.unwrap();
            Self { wait, listener }
        }

        fn connect(&self) -> TcpStream {
            TcpStream::connect(self.listener.local_addr().unwrap()).unwrap()
        }

        /// Waits for a deadline in so many microseconds. Answers whether it was reached.
        fn wait(&mut self, micros: i64) -> (Woken, bool) {
            let until = RealClock::new().now() + RealSpan::from_micros(micros);
            let woken = self.wait.wait(Some(until));
            (woken, RealClock::new().now() >= until)
        }
    }

    #[test]
    fn no_wait_ends_early_and_each_has_one_wake_up() {
        let mut bench = Bench::new(WaitPolicy::default());
        for micros in [1, 20, 50, 99, 200, 200, 200, 300, 999, 1_000, 1_001, 2_500] {
            assert_eq!(bench.wait(micros), (Woken::Deadline, true));
        }
        let stats = bench.wait.stats;
        assert!(stats.wake_ups <= 12 || !cfg!(target_os = "linux"), "{stats:?}");
        // So long that a busy machine does not make them sparse: some are deferred in the end, and none is early.
        bench.wait.policy = WaitPolicy {
            spacing: RealSpan::from_millis(20),
            ..WaitPolicy::default()
        };
        for _ in 0..1_000 {
            assert_eq!(bench.wait(20), (Woken::Deadline, true));
            if bench.wait.stats.deferred > 0 {
                return;
            }
        }
        panic!("nothing was deferred");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_timer_is_set_only_when_the_deadline_has_changed() {
        let mut bench = Bench::new(WaitPolicy::default());
        let waker = bench.wait.waker();
        let until = RealClock::new().now() + RealSpan::from_micros(HOUR_US);
        for _ in 0..10 {
            waker.wake();
            bench.wait.wait(Some(until));
        }
        assert_eq!(bench.wait.stats.timers_set, 0, "a pending wake means no sleep");
        for _ in 0..10 {
            let _peer = bench.connect();
            assert_eq!(bench.wait.wait(Some(until)), Woken::Io);
            bench.listener.accept().unwrap();
        }
        assert_eq!(bench.wait.stats.timers_set, 1);
        assert_eq!(bench.wait(20_000).0, Woken::Deadline);
        assert_eq!(bench.wait.stats.timers_set, 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn input_that_may_wait_is_taken_with_a_deadline_that_is_soon() {
        let mut bench = Bench::new(WaitPolicy {
            input_may_wait: true,
            ..WaitPolicy::default()
        });
        for _ in 0..20 {
            let _peer = bench.connect();
            assert_eq!(bench.wait(900), (Woken::Io, true));
            bench.listener.accept().unwrap();
        }
        let _peer = bench.connect();
        assert_eq!(bench.wait(HOUR_US), (Woken::Io, false), "it is far");
        bench.listener.accept().unwrap();
        bench.wait.policy = WaitPolicy::default();
        let _peer = bench.connect();
        assert_eq!(bench.wait(HOUR_US), (Woken::Io, false));
    }

    #[test]
    fn a_precise_wait_is_never_early_and_keeps_what_arrives() {
        let mut bench = Bench::new(WaitPolicy::default());
        for nth in 0..300 {
            let peer = (nth % 3 == 0).then(|| bench.connect());
            let input_may_wait = nth % 2 == 0;
            let until = RealClock::new().now() + RealSpan::from_micros(150);
            bench.wait.policy = WaitPolicy {
                input_may_wait,
                spacing: RealSpan::from_millis(1),
                game_due: Some(until),
                is_precise: true,
            };
            let woken = bench.wait.wait(Some(until));
            let is_reached = RealClock::new().now() >= until;
            assert_eq!(woken == Woken::Io, peer.is_some(), "{nth}");
            assert!(is_reached || (peer.is_some() && !input_may_wait), "{nth}: early");
            if peer.is_some() {
                bench.listener.accept().unwrap();
            }
        }
        let stats = bench.wait.stats;
        // No deadline of the game: nothing to spin for.
        bench.wait.policy = WaitPolicy {
            is_precise: true,
            ..WaitPolicy::default()
        };
        bench.wait(150);
        assert_eq!(bench.wait.stats.spins, stats.spins);
        // Elsewhere the poll counts milliseconds, which no lead makes up for.
        assert!(stats.spins > 0 || !cfg!(target_os = "linux"), "{stats:?}");
        assert!(stats.deferred == 0 || stats.spins_disabled == 1, "{stats:?}");
    }

    #[test]
    fn a_wake_from_another_thread_ends_a_wait_without_limit() {
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
        let mut bench = Bench::new(WaitPolicy::default());
        assert_eq!(bench.wait(0), (Woken::Deadline, true));
        let _peer = bench.connect();
        assert_eq!(bench.wait(0), (Woken::Io, true));
        assert_eq!(bench.wait.next_ready().map(|ready| ready.token), Some(LISTENER));
        assert_eq!(bench.wait.next_ready(), None);
        assert_eq!(bench.wait.stats.sleeps, 0);
    }
}
