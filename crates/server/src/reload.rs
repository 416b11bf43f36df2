//! SIGHUP: the options are read again, and those that harm nobody take effect at once.
//!
//! What is read is what the program was started with: its command line, its environment, and the file as it is now.
//! Options that would need another game, another socket or another file are named in the log, and wait for a restart.
//! A mistake changes nothing.

use trantor_engine::{Engine, Token};

use crate::autosave::Autosave;
use crate::conn::Conns;
use crate::listener::Listener;
use crate::logging::Logging;
use crate::options::cli::Resolved;
use crate::options::{OptionError, Options};

/// The options that take effect while the server runs.
pub const RELOADED: [&str; 13] = [
    "control",
    "token-file",
    "spectator-delay",
    "connections-limit",
    "connections-per-address",
    "accept-rate",
    "greeting-limit",
    "idle-limit",
    "request-rate",
    "stall-limit",
    "keep-alive",
    "save-keep",
    "log",
];

/// Reads the options again.
pub type Read = Box<dyn Fn() -> Result<Resolved, OptionError>>;

/// What is needed to reload.
pub struct Reload {
    read: Read,
    /// What is in force.
    running: Resolved,
    logging: Logging,
}

/// The parts of a running server that options reach.
pub(crate) struct Parts<'a> {
    pub(crate) engine: &'a mut Engine,
    pub(crate) conns: &'a mut Conns,
    pub(crate) listener: Option<&'a mut Listener>,
    pub(crate) autosave: Option<&'a mut Autosave>,
}

impl Reload {
    /// Options that are `running` and can be `read` again.
    pub fn new(running: Resolved, logging: Logging, read: Read) -> Self {
        Self {
            read,
            running,
            logging,
        }
    }

    /// Reads the options again, and puts into force what can be. The log tells which.
    pub(crate) fn again(&mut self, parts: Parts<'_>) {
        let read = (self.read)().and_then(|resolved| {
            let token = resolved.options.token()?;
            Ok((resolved, token))
        });
        let (resolved, token) = match read {
            Ok(read) => read,
            Err(error) => {
                log::error!("not reloaded, everything is as it was: {error}");
                return;
            }
        };
        let changed = self.running.origins.differences(&resolved.origins);
        let (now, later): (Vec<_>, Vec<_>) = changed.into_iter().partition(|name| RELOADED.contains(name));
        self.put_into_force(&resolved.options, token, parts);
        for name in &now {
            self.running.origins.copy(name, &resolved.origins);
        }
        match now.is_empty() {
            true => log::info!("reloaded: no option has changed that can change while the server runs"),
            false => log::info!("reloaded: {}", now.join(", ")),
        }
        if !later.is_empty() {
            log::warn!("changed, but in force after a restart only: {}", later.join(", "));
        }
    }

    fn put_into_force(&mut self, options: &Options, token: Option<Token>, parts: Parts<'_>) {
        let engine = parts.engine;
        engine.set_control(options.control, token);
        engine.set_spectator_delay(options.spectator_delay);
        engine.set_limits(&options.limits);
        parts.conns.set_keep_alive(options.keep_alive);
        if let Some(listener) = parts.listener {
            listener.limit_rate(options.limits.accepts_per_second);
        }
        if let Some(autosave) = parts.autosave {
            autosave.set_keep(options.save.keep);
        }
        self.logging.set(&options.log);
    }
}
