//! The programs of a demo: started one by one, ended together.

use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Result, bail};

/// The programs that were started. Dropping it ends them all: none is left behind, whatever went wrong.
#[derive(Default)]
pub struct Programs {
    running: Vec<(&'static str, Child)>,
}

impl Programs {
    pub(super) fn add(&mut self, name: &'static str, child: Child) {
        self.running.push((name, child));
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.running.iter().any(|(running, _)| *running == name)
    }

    /// Those that have ended, and how. They are forgotten.
    pub(super) fn take_ended(&mut self) -> Vec<(&'static str, ExitStatus)> {
        let mut ended = Vec::new();
        self.running.retain_mut(|(name, child)| {
            let exit = child.try_wait().ok().flatten();
            ended.extend(exit.map(|exit| (*name, exit)));
            exit.is_none()
        });
        ended
    }

    /// Waits until `name` ends and answers whether it succeeded.
    pub(super) fn wait_for(&mut self, name: &str) -> Result<bool> {
        let Some(index) = self.running.iter().position(|(running, _)| *running == name) else {
            bail!("no program called {name} was started");
        };
        let (_, mut child) = self.running.remove(index);
        Ok(child.wait()?.success())
    }

    /// Asks one to end, and waits until it has.
    pub(super) fn end_one(&mut self, name: &str) {
        let (wanted, others) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|(running, _)| *running == name);
        self.running = wanted;
        self.end();
        self.running = others;
    }

    /// Asks all to end, the last started first, and waits until they have.
    pub(super) fn end(&mut self) {
        for (_, child) in self.running.iter_mut().rev() {
            // The programs end in order on SIGTERM; one that ended by itself is not asked.
            if matches!(child.try_wait(), Ok(None)) {
                let asked = Command::new("kill")
                    .arg(child.id().to_string())
                    .stderr(Stdio::null())
                    .status();
                if !asked.is_ok_and(|status| status.success()) {
                    child.kill().ok();
                }
            }
        }
        for (name, mut child) in self.running.drain(..) {
            if let Err(error) = child.wait() {
                eprintln!("demo: cannot wait for the {name}: {error}");
            }
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.end();
    }
}
