//! Scripts while the loop runs: what happens in them is reported, and changed files take over.

use std::io;
use std::path::Path;

use trantor_model::{Show, ShownBy};

use super::Shell;
use crate::scripts::{Report, Source};

impl Shell {
    /// Watches the files of all scripts that are loaded now.
    pub(crate) fn watch_scripts(&mut self) -> io::Result<()> {
        let tasks = self.tasks.sender();
        self.scripts.watch(move |path, source| {
            let sent = tasks.send("script", move |shell| {
                // What is wrong with it is reported there.
                let _ = shell.take_over_script(&path, &source);
            });
            if let Err(error) = sent {
                log::warn!("a changed script was not read: {error}");
            }
        })
    }

    /// Has another source take over in the scripts of a file, between two passes.
    pub(crate) fn take_over_script(&mut self, path: &Path, source: &Source) -> Result<String, String> {
        let report = self.scripts.take_over(path, source);
        self.engine.reschedule_minds();
        let text = report.text.clone();
        let is_done = report.level > log::Level::Error;
        self.publish(report);
        match is_done {
            true => Ok(text + "\n"),
            false => Err(text),
        }
    }

    /// Reads the file of a script again.
    pub(crate) fn reload_script(&mut self, file: &str) -> Result<String, String> {
        let (path, source) = self.scripts.read(file)?;
        self.take_over_script(&path, &source)
    }

    /// Has a script run again that is suspended.
    pub(crate) fn resume_script(&mut self, file: &str) -> Result<String, String> {
        self.scripts.resume(file)?;
        self.engine.reschedule_minds();
        Ok(String::new())
    }

    /// Reports what happened in scripts.
    pub(crate) fn report_scripts(&mut self) {
        if self.scripts.is_empty() {
            return;
        }
        for report in self.scripts.reports() {
            self.publish(report);
        }
    }

    fn publish(&mut self, report: Report) {
        log::log!(report.level, "{}", report.text);
        if let Some(text) = report.shown {
            self.engine.show(ShownBy::Server, Show::Announce(text.into()));
        }
    }
}
