//! Signals of the system: SIGINT and SIGTERM ask for the end, SIGHUP for what the program says.
//!
//! [`Signals`] are readiness of a poll, so that a loop that sleeps in it need not look; [`end_flag`] is for loops that
//! draw frames. On Windows both are of the console's Ctrl-C and Ctrl-Break, and of the window, session or system closing.

pub use system::{Signals, end_flag};

/// Exit status when a second signal forces a server's end.
const EXIT_STATUS_FORCED: i32 = 1;

/// What a signal asks for, the most urgent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// The options have changed; or the terminal is gone.
    HangUp,
    /// An end in order, by the signal of this name.
    End(&'static str),
}

/// Which signals a loop handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// SIGINT and SIGTERM.
    End,
    /// These, of which a second one ends the process at once, even if its loop hangs; SIGHUP; and SIGXFSZ, which ends
    /// nothing: a write beyond the limit of a file's size returns an error.
    Service,
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use mio::{Interest, Registry, Token};
    use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::flag::{register, register_conditional_shutdown};

    use super::{EXIT_STATUS_FORCED, Handled, Signal};

    /// The signals that a poll reports.
    pub struct Signals(signal_hook_mio::v1_0::Signals);

    impl Signals {
        /// Handles signals from now on, reported as `token`.
        ///
        /// # Errors
        /// If the system does not allow it.
        pub fn watch(registry: &Registry, token: Token, handled: Handled) -> io::Result<Self> {
            let mut signals = match handled {
                Handled::End => signal_hook_mio::v1_0::Signals::new([SIGINT, SIGTERM])?,
                Handled::Service => {
                    let asked_before = Arc::new(AtomicBool::new(false));
                    for signal in [SIGINT, SIGTERM] {
                        exit_on_second(signal, EXIT_STATUS_FORCED, &asked_before)?;
                    }
                    register(SIGXFSZ, Arc::default())?;
                    signal_hook_mio::v1_0::Signals::new([SIGINT, SIGTERM, SIGHUP])?
                }
            };
            registry.register(&mut signals, token, Interest::READABLE)?;
            Ok(Self(signals))
        }

        /// The most urgent signal since the last call.
        pub fn received(&mut self) -> Option<Signal> {
            let signal = |number| match number {
                SIGINT => Signal::End("SIGINT"),
                SIGTERM => Signal::End("SIGTERM"),
                _ => Signal::HangUp,
            };
            self.0.pending().map(signal).max()
        }
    }

    /// A flag that SIGINT, SIGTERM and SIGHUP set. With `exits_on_second`, a signal ends the process while it is set.
    ///
    /// # Errors
    /// If the system does not allow to handle them.
    pub fn end_flag(exits_on_second: bool) -> io::Result<Arc<AtomicBool>> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if exits_on_second {
                exit_on_second(signal, 128 + signal, &flag)?;
            } else {
                register(signal, Arc::clone(&flag))?;
            }
        }
        Ok(flag)
    }

    /// In this order: the first signal finds the flag unset and sets it, the second finds it set and exits in the handler.
    fn exit_on_second(signal: i32, status: i32, flag: &Arc<AtomicBool>) -> io::Result<()> {
        register_conditional_shutdown(signal, status, Arc::clone(flag))?;
        register(signal, Arc::clone(flag)).map(|_id| ())
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use mio::{Interest, Registry, Token};

    use super::{EXIT_STATUS_FORCED, Handled, Signal};

    /// The signals that a poll reports: a datagram of the handler's thread to a socket that is connected to itself, since
    /// a poll has only one waker.
    pub struct Signals {
        socket: mio::net::UdpSocket,
    }

    impl Signals {
        /// Handles signals from now on, reported as `token`.
        ///
        /// # Errors
        /// If the system does not allow it.
        pub fn watch(registry: &Registry, token: Token, handled: Handled) -> io::Result<Self> {
            let handler = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            handler.connect(handler.local_addr()?)?;
            handler.set_nonblocking(true)?;
            let mut socket = mio::net::UdpSocket::from_std(handler.try_clone()?);
            registry.register(&mut socket, token, Interest::READABLE)?;
            let asked_before = AtomicBool::new(false);
            handle(move || {
                if asked_before.swap(true, Ordering::Relaxed) && handled == Handled::Service {
                    std::process::exit(EXIT_STATUS_FORCED);
                }
                // With no room for it, others wait to be read.
                let _is_reported = handler.send(&[0]);
            })?;
            Ok(Self { socket })
        }

        /// A signal since the last call.
        pub fn received(&mut self) -> Option<Signal> {
            let mut signal = None;
            while self.socket.recv(&mut [0]).is_ok() {
                signal = Some(Signal::End("Ctrl-C"));
            }
            signal
        }
    }

    /// A flag that signals set. With `exits_on_second`, a signal ends the process while it is set.
    ///
    /// # Errors
    /// If the system does not allow to handle them.
    pub fn end_flag(exits_on_second: bool) -> io::Result<Arc<AtomicBool>> {
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        handle(move || {
            if set.swap(true, Ordering::Relaxed) && exits_on_second {
                std::process::exit(EXIT_STATUS_FORCED);
            }
        })?;
        Ok(flag)
    }

    fn handle(handler: impl FnMut() + Send + 'static) -> io::Result<()> {
        ctrlc::set_handler(handler).map_err(io::Error::other)
    }
}
