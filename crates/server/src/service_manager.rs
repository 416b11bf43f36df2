//! systemd, or another service manager that speaks its protocols: readiness, signs of life and the listening socket.
//!
//! The protocols are sd_notify(3), which exists on Linux alone, and sd_listen_fds(3). Without a service manager nothing of this
//! does anything.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::TcpListener;

use listenfd::ListenFd;
use trantor_time::RealSpan;

/// The timer that tells it that the server lives; without it the server would be restarted.
pub(crate) const TIMER: &str = "watchdog";

/// The service manager of this process; by default none.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<OsString>,
    watchdog_limit: Option<RealSpan>,
}

impl ServiceManager {
    pub fn from_environment() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET");
        Self {
            watchdog_limit: socket.as_ref().and_then(|_| watchdog_limit()),
            socket,
        }
    }

    pub fn ready(&self, status: &str) {
        self.notify(&format!("READY=1\nSTATUS={status}"));
    }

    pub fn stopping(&self) {
        self.notify("STOPPING=1");
    }

    /// The program is alive; to be called every [`Self::watchdog_interval`].
    pub fn alive(&self) {
        self.notify("WATCHDOG=1");
    }

    /// Half of the longest silence, if there is a limit.
    pub fn watchdog_interval(&self) -> Option<RealSpan> {
        self.watchdog_limit
            .map(|limit| RealSpan::from_nanos((limit.as_nanos() / 2).max(1)))
    }

    fn notify(&self, state: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = send(socket, state)
        {
            log::warn!("NOTIFY_SOCKET={}: {error}", socket.to_string_lossy());
        }
    }
}

/// The listening socket that the service manager has opened for us, if it has.
pub fn inherited_listener() -> io::Result<Option<TcpListener>> {
    ListenFd::from_env().take_tcp_listener(0)
}

/// The limit that the manager of this process has set, if it has.
fn watchdog_limit() -> Option<RealSpan> {
    let own = std::process::id().to_string();
    if std::env::var("WATCHDOG_PID").is_ok_and(|process| process != own) {
        return None;
    }
    let micros: i64 = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    (micros > 0).then(|| RealSpan::from_micros(micros))
}

/// Sends to a path, or to a name that begins with `@` and is in no file system. The crate `sd-notify` knows no abstract names
/// and may block, which the loop must not.
#[cfg(target_os = "linux")]
fn send(name: &OsStr, state: &str) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn send(_name: &OsStr, _state: &str) -> io::Result<()> {
    Ok(())
}
