//! Signals: SIGINT and SIGTERM, of which the first ends the loop in order and the second ends the process at once;
//! SIGHUP, which asks for the options to be read again; and SIGXFSZ, which is to end nothing.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mio::{Interest, Registry, Token};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook_mio::v1_0::Signals;

/// Exit status when a second signal forces the end.
const EXIT_STATUS_FORCED: i32 = 1;

/// What a signal asks for, the most urgent last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// The options have changed; or the terminal is gone.
    HangUp,
    /// An end in order, by the signal of this name.
    End(&'static str),
}

/// Reports signals as readiness, so that the loop need not poll for them.
pub struct Termination {
    signals: Signals,
}

impl Termination {
    /// Takes SIGINT, SIGTERM and SIGHUP over from the system, reported as `token`.
    ///
    /// # Errors
    /// If the system does not let us handle them.
    pub fn watch(registry: &Registry, token: Token) -> io::Result<Self> {
        let asked_before = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset and sets it, the second finds it set. This runs
            // in the handler itself, so that it ends even a loop that hangs.
            signal_hook::flag::register_conditional_shutdown(
                signal,
                EXIT_STATUS_FORCED,
                Arc::clone(&asked_before),
            )?;
            signal_hook::flag::register(signal, Arc::clone(&asked_before))?;
        }
        // Where the size of files is limited, this signal would end the program; handled, it leaves an error of the write.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        registry.register(&mut signals, token, Interest::READABLE)?;
        Ok(Self { signals })
    }

    /// The most urgent signal since the last call.
    pub fn received(&mut self) -> Option<Signal> {
        let signal = |number| match number {
            SIGINT => Signal::End("SIGINT"),
            SIGTERM => Signal::End("SIGTERM"),
            _ => Signal::HangUp,
        };
        self.signals.pending().map(signal).max()
    }
}
