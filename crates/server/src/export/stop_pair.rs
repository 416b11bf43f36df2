//! Two connected sockets: dropping one makes the other readable, beside a listener in one poll.

use std::io;

#[cfg(unix)]
pub(super) use std::os::unix::net::UnixStream as Stop;

#[cfg(unix)]
pub(super) fn pair() -> io::Result<(Stop, Stop)> {
    Stop::pair()
}

#[cfg(not(unix))]
pub(super) use std::net::TcpStream as Stop;

#[cfg(not(unix))]
pub(super) fn pair() -> io::Result<(Stop, Stop)> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    let stop = Stop::connect(listener.local_addr()?)?;
    loop {
        // Another program may have connected first.
        let (stopped, peer) = listener.accept()?;
        if peer == stop.local_addr()? {
            return Ok((stop, stopped));
        }
    }
}
