//! Socket options: no delay, and TCP keep-alive.

use std::io;
use std::time::Duration;

use mio::net::TcpStream;
use rustix::net::sockopt;
use trantor_time::RealSpan;

/// The interval between probes, and how many go unanswered before the connection counts as broken.
const KEEP_ALIVE_PAUSE: RealSpan = RealSpan::from_secs(15);
const KEEP_ALIVE_PROBES: u32 = 4;

/// When a silent peer counts as gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe; in whole seconds, at least one.
    pub silence: RealSpan,
    /// How long a peer may leave its output unread: the system must not close a connection before that.
    pub stall: RealSpan,
}

impl KeepAlive {
    /// How long sent data may stay unacknowledged. Meanwhile the system sends no probes, and by default retransmits for a
    /// quarter of an hour.
    fn user_timeout(self) -> Duration {
        self.silence.max(self.stall).to_std() + KEEP_ALIVE_PAUSE.to_std() * KEEP_ALIVE_PROBES
    }
}

/// Sets the options of a socket. If the system refuses one, the connection is served without it.
pub(crate) fn prepare(socket: &TcpStream, keep_alive: Option<KeepAlive>) {
    // Without it a reply would wait for the acknowledgement of the one before.
    let no_delay = socket.set_nodelay(true);
    let keep_alive = keep_alive.map_or(Ok(()), |keep_alive| {
        sockopt::set_socket_keepalive(socket, true)?;
        sockopt::set_tcp_keepidle(socket, keep_alive.silence.to_std())?;
        sockopt::set_tcp_keepintvl(socket, KEEP_ALIVE_PAUSE.to_std())?;
        sockopt::set_tcp_keepcnt(socket, KEEP_ALIVE_PROBES)?;
        let user_timeout_ms = keep_alive.user_timeout().as_millis();
        set_user_timeout(socket, u32::try_from(user_timeout_ms).unwrap_or(u32::MAX))
    });
    for refused in [no_delay, keep_alive.map_err(io::Error::from)]
        .into_iter()
        .filter_map(Result::err)
    {
        log::debug!("a socket option was refused: {refused}");
    }
}

#[cfg(target_os = "linux")]
fn set_user_timeout(socket: &TcpStream, user_timeout_ms: u32) -> rustix::io::Result<()> {
    sockopt::set_tcp_user_timeout(socket, user_timeout_ms)
}

/// Elsewhere a peer that vanishes with output pending is found when the system gives up retransmitting.
#[cfg(not(target_os = "linux"))]
fn set_user_timeout(_socket: &TcpStream, _user_timeout_ms: u32) -> rustix::io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_vanished_is_found_within_two_minutes_whatever_it_is_owed() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = |stall| {
            let socket = TcpStream::connect(address).unwrap();
            let silence = RealSpan::from_secs(60);
            prepare(&socket, Some(KeepAlive { silence, stall }));
            assert_eq!(sockopt::tcp_keepidle(&socket), Ok(Duration::from_secs(60)));
            sockopt::tcp_user_timeout(&socket).unwrap()
        };
        assert_eq!(asked(RealSpan::from_secs(60)), 120_000);
        // A peer that may read nothing for an hour is not disconnected by the system before that.
        assert_eq!(asked(RealSpan::from_secs(3_600)), 3_660_000);
    }
}
