//! systemd, or whatever else started the program as a service: told how it goes, and asked for its socket.
//!
//! The two protocols are sd_notify(3) and sd_listen_fds(3). Without a service manager nothing of this does anything.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use listenfd::ListenFd;
use trantor_time::RealSpan;

/// Where the service manager listens.
#[derive(Debug, Default)]
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    /// How long it lets the program be silent.
    patience: Option<RealSpan>,
}

impl ServiceManager {
    /// The one that the environment names; one that hears nothing if there is none.
    pub fn from_environment() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| match connect(&name) {
            Ok(socket) => Some(socket),
            Err(error) => {
                log::warn!("NOTIFY_SOCKET={}: {error}", name.to_string_lossy());
                None
            }
        });
        Self {
            patience: socket.as_ref().and_then(|_| patience()),
            socket,
        }
    }

    /// Tells that clients may connect, and in a word what is running.
    pub fn ready(&self, what: &str) {
        self.tell(&format!("READY=1\nSTATUS={what}"));
    }

    /// Tells that the end has begun.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// Tells that the program is alive; to be done every [`Self::sign_of_life_every`].
    pub fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// How often to tell that the program is alive, if that is wanted: twice in the time that it may be silent.
    pub fn sign_of_life_every(&self) -> Option<RealSpan> {
        self.patience
            .map(|patience| RealSpan::from_nanos((patience.as_nanos() / 2).max(1)))
    }

    fn tell(&self, state: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(state.as_bytes())
        {
            log::debug!("the service manager does not listen: {error}");
        }
    }
}

/// A path, or a name that begins with `@` and is in no file system.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    // The loop must not wait for it.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn patience() -> Option<RealSpan> {
    let own = std::process::id().to_string();
    if std::env::var("WATCHDOG_PID").is_ok_and(|process| process != own) {
        return None;
    }
    let micros: i64 = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    (micros > 0).then(|| RealSpan::from_micros(micros))
}

/// The listening socket that the service manager has opened for us, if it has.
///
/// # Errors
/// If it has opened something else.
pub fn socket_handed_over() -> io::Result<Option<TcpListener>> {
    ListenFd::from_env().take_tcp_listener(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_by_path_and_by_abstract_name() {
        let path = std::env::temp_dir().join(format!("trantor-notify-{}", std::process::id()));
        let abstract_name = format!("@trantor-notify-{}", std::process::id());
        let by_path = UnixDatagram::bind(&path).unwrap();
        let by_name =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&abstract_name[1..]).unwrap()).unwrap();
        for (name, hears) in [(path.as_os_str(), by_path), (OsStr::new(&abstract_name), by_name)] {
            let manager = ServiceManager {
                socket: Some(connect(name).unwrap()),
                patience: Some(RealSpan::from_secs(30)),
            };
            manager.ready("listening");
            manager.alive();
            manager.stopping();
            let mut heard = [0; 64];
            for expected in ["READY=1\nSTATUS=listening", "WATCHDOG=1", "STOPPING=1"] {
                let count = hears.recv(&mut heard).unwrap();
                assert_eq!(&heard[..count], expected.as_bytes());
            }
            assert_eq!(manager.sign_of_life_every(), Some(RealSpan::from_secs(15)));
        }
        std::fs::remove_file(&path).unwrap();
        assert!(connect(OsStr::new("/nowhere/socket")).is_err());
    }
}
