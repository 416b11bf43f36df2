//! systemd, or another service manager that speaks its protocols: readiness, signs of life and the listening socket.
//!
//! The protocols are sd_notify(3), which exists on Linux alone, and sd_listen_fds(3). Without a service manager nothing of this
//! does anything.

use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;
use trantor_time::RealSpan;

use self::system::{State, notify, watchdog_limit};

/// What has been agreed with the service manager.
#[derive(Debug, Default)]
pub struct ServiceManager {
    /// The longest that the program may be silent.
    watchdog_limit: Option<RealSpan>,
}

impl ServiceManager {
    /// As the environment says.
    pub fn from_environment() -> Self {
        Self {
            watchdog_limit: watchdog_limit(),
        }
    }

    /// Clients may connect; `status` says to what.
    pub fn ready(&self, status: &str) {
        notify(&[State::Ready, State::Status(status)]);
    }

    /// The program has begun to end.
    pub fn stopping(&self) {
        notify(&[State::Stopping]);
    }

    /// The program is alive; to be called every [`Self::watchdog_interval`].
    pub fn alive(&self) {
        notify(&[State::Watchdog]);
    }

    /// Half of the longest silence, if there is a limit.
    pub fn watchdog_interval(&self) -> Option<RealSpan> {
        self.watchdog_limit
            .map(|limit| RealSpan::from_nanos((limit.as_nanos() / 2).max(1)))
    }
}

/// The listening socket that the service manager has opened for us, if it has.
///
/// # Errors
/// If it has opened something else.
pub fn inherited_listener() -> io::Result<Option<TcpListener>> {
    ListenFd::from_env().take_tcp_listener(0)
}

#[cfg(target_os = "linux")]
mod system {
    pub(super) use sd_notify::NotifyState as State;
    use trantor_time::RealSpan;

    pub(super) fn notify(states: &[State<'_>]) {
        if let Err(error) = sd_notify::notify(states) {
            log::warn!("the service manager cannot be notified: {error}");
        }
    }

    pub(super) fn watchdog_limit() -> Option<RealSpan> {
        sd_notify::watchdog_enabled().map(RealSpan::from_std)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use trantor_time::RealSpan;

    #[expect(dead_code, reason = "nobody reads them here")]
    pub(super) enum State<'a> {
        Ready,
        Status(&'a str),
        Stopping,
        Watchdog,
    }

    pub(super) fn notify(_states: &[State<'_>]) {}

    pub(super) fn watchdog_limit() -> Option<RealSpan> {
        None
    }
}
