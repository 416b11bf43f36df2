//! A server of the viewer's own that plays a recording: `--replay` is that server and this viewer in one call.
//!
//! The viewer knows no journals and no rules; whatever plays a recording speaks to viewers as any server does. So the
//! program beside this one is started, on a free port of this machine, and ended with this one: it ends with its standard
//! input, which the system closes however this program ends.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};

const PROGRAM: &str = "trantor-server";
const LISTENING: &str = "listening on ";

/// A server that plays a recording for as long as this is kept.
#[derive(Debug)]
pub struct ReplayServer {
    child: Child,
    port: u16,
    /// Kept open: a program whose output is closed may end.
    _said: BufReader<ChildStdout>,
}

impl ReplayServer {
    /// Starts it, and waits until it has read the recording.
    ///
    /// # Errors
    /// If there is no such program, or it refuses; why, it says itself.
    pub fn start(recording: &Path) -> anyhow::Result<Self> {
        let program = program();
        let mut child = Command::new(&program)
            .args([
                "replay",
                "play",
                "-p",
                "0",
                "--log",
                "error",
                "--console",
                "until-end",
            ])
            .arg(recording)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} plays recordings, and cannot be started", program.display()))?;
        let mut said = BufReader::new(child.stdout.take().context("its output is piped")?);
        let mut line = String::new();
        // Its errors are written to where ours are.
        let _: usize = said.read_line(&mut line)?;
        let Some(port) = port_in(&line) else {
            let _ = child.kill();
            let status = child.wait()?;
            bail!("{} cannot be played ({PROGRAM}: {status})", recording.display());
        };
        Ok(Self {
            child,
            port,
            _said: said,
        })
    }

    /// The port of this machine that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for ReplayServer {
    fn drop(&mut self) {
        // One that has ended by itself needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program beside this one, or else the one that is found as any command is.
fn program() -> PathBuf {
    let beside = std::env::current_exe()
        .ok()
        .map(|viewer| viewer.with_file_name(PROGRAM));
    let there = beside.filter(|program| program.is_file());
    there.unwrap_or_else(|| PathBuf::from(PROGRAM))
}

fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once(LISTENING)?;
    let address = rest.split_whitespace().next()?;
    address.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_in_the_first_line() {
        assert_eq!(
            port_in("trantor-server: listening on 127.0.0.1:40123 (a recording: 900 units)\n"),
            Some(40_123)
        );
        assert_eq!(port_in("listening on [::1]:7 (x)"), Some(7));
        assert_eq!(port_in(""), None);
        assert_eq!(port_in("trantor-server: no such file\n"), None);
    }
}
