//! Termination signals: the first ends the loop in order, the second ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use mio::{Interest, Registry, Token};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook_mio::v1_0::Signals;

/// Exit status when a second signal would not wait for the end in order.
const EXIT_STATUS_FORCED: i32 = 1;

/// Turns signals into readiness, so that the loop needs not look for them.
pub struct Termination {
    signals: Signals,
}

impl Termination {
    /// Takes SIGINT and SIGTERM over from the system, reported as `token`.
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
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        registry.register(&mut signals, token, Interest::READABLE)?;
        Ok(Self { signals })
    }

    /// The name of the signal that came since the last call, if one did.
    pub fn received(&mut self) -> Option<&'static str> {
        let last = self.signals.pending().last()?;
        Some(if last == SIGINT { "SIGINT" } else { "SIGTERM" })
    }
}
