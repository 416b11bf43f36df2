//! The ways of waiting that are compared. The first is the product's; the others are what it might have been.

use std::io;
use std::time::Duration;

use trantor_runtime::Wait;
use trantor_server::wait::{MioWait, WaitPolicy};
use trantor_time::RealTime;

use super::WaitUntil;

/// A way of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The server's own [`MioWait`]: a timer of the system among the descriptors of mio's poll.
    TimerInPoll,
    /// The same with the server's `--precise`.
    Precise,
    /// `epoll_pwait2`, whose time-out counts nanoseconds, as a thread ordinarily has it.
    #[cfg(target_os = "linux")]
    EpollPwait2,
    /// The same with the thread's timer slack set to its least.
    #[cfg(target_os = "linux")]
    EpollPwait2NoSlack,
    /// mio's own time-out, which mio rounds up to milliseconds.
    PollRoundedUp,
    /// The time-out cut to whole milliseconds, as many servers do it: it spins through the last one.
    PollTruncated,
}

impl Way {
    /// Those that this system has.
    pub(super) fn available() -> Vec<Self> {
        vec![
            Self::TimerInPoll,
            Self::Precise,
            #[cfg(target_os = "linux")]
            Self::EpollPwait2,
            #[cfg(target_os = "linux")]
            Self::EpollPwait2NoSlack,
            Self::PollRoundedUp,
            Self::PollTruncated,
        ]
    }

    /// What the table calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TimerInPoll => "**timerfd in mio** (the server's)",
            Self::Precise => "the server's with `--precise`",
            #[cfg(target_os = "linux")]
            Self::EpollPwait2 => "`epoll_pwait2`",
            #[cfg(target_os = "linux")]
            Self::EpollPwait2NoSlack => "`epoll_pwait2`, timer slack 1 ns",
            Self::PollRoundedUp => "mio time-out, rounded up to ms",
            Self::PollTruncated => "milliseconds truncated, spinning",
        }
    }

    /// Makes it ready.
    pub(super) fn start(self) -> io::Result<Box<dyn WaitUntil>> {
        Ok(match self {
            Self::TimerInPoll => Box::new(TimerInPoll(MioWait::new()?)),
            Self::Precise => Box::new(Precise(MioWait::new()?)),
            #[cfg(target_os = "linux")]
            Self::EpollPwait2 => Box::new(pwait2::Epoll::new(false)?),
            #[cfg(target_os = "linux")]
            Self::EpollPwait2NoSlack => Box::new(pwait2::Epoll::new(true)?),
            Self::PollRoundedUp => Box::new(Poll::new(|left| left)?),
            Self::PollTruncated => {
                Box::new(Poll::new(|left| Duration::from_millis(left.as_millis() as u64))?)
            }
        })
    }
}

struct TimerInPoll(MioWait);

impl WaitUntil for TimerInPoll {
    fn wait_until(&mut self, due: RealTime, _now: RealTime) {
        self.0.wait(Some(due));
    }
}

struct Precise(MioWait);

impl WaitUntil for Precise {
    fn wait_until(&mut self, due: RealTime, _now: RealTime) {
        self.0.set_policy(WaitPolicy {
            game_due: Some(due),
            is_precise: true,
            ..WaitPolicy::default()
        });
        self.0.wait(Some(due));
    }
}

/// mio's poll with a time-out, shaped by a rule.
struct Poll {
    poll: mio::Poll,
    events: mio::Events,
    shape: fn(Duration) -> Duration,
}

impl Poll {
    fn new(shape: fn(Duration) -> Duration) -> io::Result<Self> {
        Ok(Self {
            poll: mio::Poll::new()?,
            events: mio::Events::with_capacity(8),
            shape,
        })
    }
}

impl WaitUntil for Poll {
    fn wait_until(&mut self, due: RealTime, now: RealTime) {
        let limit = (self.shape)(due.since(now).to_std());
        // An interruption is one way of returning early; the caller asks again.
        let _interrupted = self.poll.poll(&mut self.events, Some(limit));
    }
}

#[cfg(target_os = "linux")]
mod pwait2 {
    use std::io;
    use std::num::NonZeroU64;
    use std::os::fd::OwnedFd;

    use rustix::event::{Timespec, epoll};
    use rustix::thread::set_current_timer_slack;
    use trantor_time::{NANOS, RealTime};

    use super::WaitUntil;

    pub(super) struct Epoll {
        epoll: OwnedFd,
        /// The thread's slack is given back when this is dropped.
        no_slack: bool,
    }

    impl Epoll {
        pub(super) fn new(no_slack: bool) -> io::Result<Self> {
            if no_slack {
                set_current_timer_slack(NonZeroU64::new(1))?;
            }
            Ok(Self {
                epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
                no_slack,
            })
        }
    }

    impl WaitUntil for Epoll {
        fn wait_until(&mut self, due: RealTime, now: RealTime) {
            let left = due.since(now).as_nanos();
            let limit = Timespec {
                tv_sec: left / NANOS,
                tv_nsec: left % NANOS,
            };
            let mut events = [const { std::mem::MaybeUninit::<epoll::Event>::uninit() }; 8];
            // An interruption is one way of returning early; the caller asks again.
            let _interrupted = epoll::wait(&self.epoll, &mut events[..], Some(&limit));
        }
    }

    impl Drop for Epoll {
        fn drop(&mut self) {
            if self.no_slack {
                // None means the default; a thread that keeps its least slack would favour the next way.
                let _refused = set_current_timer_slack(None);
            }
        }
    }
}
