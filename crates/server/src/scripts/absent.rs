//! A build without scripts: it refuses them in words, and replays what they have played.

use std::io;
use std::path::{Path, PathBuf};

use trantor_engine::minds::{MindSource, Scenario};

use super::{ReadLine, Report, ScriptTotals, Source};

const NO_SCRIPTS: &str = "this build has no scripts (it was made without the feature script)";

/// None. With a field, so that it is made as the other build makes its own.
#[derive(Default)]
pub struct Scripts {
    _none: (),
}

impl Scripts {
    pub fn definitions() -> Result<String, String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub fn minds(&mut self, _path: &Path) -> Result<MindSource, String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub fn scenario(
        &mut self,
        _path: &Path,
        _seed: u64,
        _read_line: ReadLine,
    ) -> Result<Box<dyn Scenario>, String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn watch(&mut self, _send: impl Fn(PathBuf, Source) + Send + 'static) -> io::Result<()> {
        Ok(())
    }

    pub fn reports(&self) -> Vec<Report> {
        Vec::new()
    }

    pub fn totals(&self) -> ScriptTotals {
        ScriptTotals::default()
    }

    pub fn list(&self) -> String {
        format!("{NO_SCRIPTS}\n")
    }

    pub fn resume(&self, _file: &str) -> Result<(), String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub fn read(&self, _file: &str) -> Result<(PathBuf, Source), String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub fn take_over(&mut self, path: &Path, _source: &Source) -> Report {
        Report {
            level: log::Level::Error,
            text: format!("{}: {NO_SCRIPTS}", path.display()),
            shown: None,
        }
    }
}
