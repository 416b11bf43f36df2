//! SIGHUP: the options are read again, and those that can change take effect at once.
//!
//! What is read is what the program was started with: its command line, its environment, and the file as it is now.
//! Options that would need another game, another socket or another file are named in the log, and wait for a restart.
//! A mistake changes nothing.

use trantor_engine::{ControlAccess, Token};

use crate::logging::Logging;
use crate::options::settings::Resolved;
use crate::options::{OptionError, Options};
use crate::shell::{Shell, within_room};

/// The options that take effect while the server runs.
pub const RELOADED: [&str; 15] = [
    "control",
    TOKEN_FILE,
    "spectator-delay",
    "connections-limit",
    "connections-per-address",
    "accept-rate",
    "greeting-limit",
    "idle-limit",
    "request-rate",
    "fan-out-rate",
    "stall-limit",
    "keep-alive",
    "save-keep",
    "record-keep",
    "log",
];

const TOKEN_FILE: &str = "token-file";

pub type Read = Box<dyn Fn() -> Result<Resolved, OptionError>>;

pub struct Reload {
    read: Read,
    running: Resolved,
    logging: Logging,
}

impl Reload {
    pub fn new(running: Resolved, logging: Logging, read: Read) -> Self {
        Self {
            read,
            running,
            logging,
        }
    }

    /// Reads the options again, and applies what can change. The log tells which.
    pub(crate) fn again(&mut self, shell: &mut Shell) {
        let (resolved, token) = match self.read_again() {
            Ok(read) => read,
            Err(error) => {
                log::error!("not reloaded, everything is as it was: {error}");
                return;
            }
        };
        let changed = self.running.differences(&resolved);
        let (mut now, later): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|name| RELOADED.contains(name));
        let has_other_token = self.put_into_force(&resolved.options, token, shell);
        if has_other_token && !now.contains(&TOKEN_FILE) {
            now.push(TOKEN_FILE);
        }
        for name in &now {
            self.running.copy_origin(name, &resolved);
        }
        match now.is_empty() {
            true => log::info!("reloaded: no option has changed that can change while the server runs"),
            false => log::info!("reloaded: {}", now.join(", ")),
        }
        if !later.is_empty() {
            log::warn!("changed, but in force after a restart only: {}", later.join(", "));
        }
    }

    fn read_again(&self) -> Result<(Resolved, Option<Token>), OptionError> {
        let resolved = (self.read)()?;
        let token = resolved.options.token()?;
        Ok((resolved, token))
    }

    /// Answers whether the token of `--token-file` has changed, which the name of the file does not tell.
    fn put_into_force(&mut self, options: &Options, token: Option<Token>, shell: &mut Shell) -> bool {
        let has_other_token = shell.set_control(options.control, token);
        shell.engine.set_spectator_delay(options.spectator_delay);
        let limits = within_room(&options.limits(), shell.connections_room);
        shell.engine.set_limits(&limits);
        shell.conns.keep_alive = options.keep_alive();
        if let Some(listener) = &mut shell.listener {
            listener.limit_rate(options.limits.accepts_per_second);
        }
        if let Some(autosave) = &mut shell.storage.autosave {
            autosave.set_keep(options.save.keep);
        }
        if let Some(recorder) = &mut shell.storage.recorder {
            recorder.set_keep(options.record_keep);
        }
        self.logging.set(&options.log);
        has_other_token && options.control == ControlAccess::Token
    }
}
