//! A build without scripts: it refuses them in words, and replays what they have played.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trantor_play::minds::{MindSource, Scenario};

use super::{Report, ScriptTotals};

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

    pub fn scenario(&mut self, _path: &Path, _seed: u64) -> Result<Box<dyn Scenario>, String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub fn is_empty(&self) -> bool {
        true
    }

    pub(crate) fn isolated(_isolation: Isolation) -> Self {
        Self::default()
    }

    pub(crate) fn load(&mut self, _path: &Path) -> Result<bool, String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub(crate) fn take_load(&mut self) -> Option<(PathBuf, Result<(), String>)> {
        None
    }

    pub(crate) fn watch(
        &mut self,
        _send: impl Fn(PathBuf, Result<Bytecode, String>) + Send + 'static,
    ) -> io::Result<()> {
        Ok(())
    }

    pub fn reports(&mut self, _is_over: bool) -> Vec<Report> {
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

    pub(crate) fn path_of(&self, _file: &str) -> Result<PathBuf, String> {
        Err(NO_SCRIPTS.to_owned())
    }

    pub(crate) fn take_over(&mut self, _path: &Path, _compiled: Result<Bytecode, String>) -> Option<Report> {
        None
    }

    pub(crate) fn catch_up(&mut self) -> Vec<(PathBuf, Report)> {
        Vec::new()
    }

    pub(crate) fn is_replacing(&self, _path: &Path) -> bool {
        false
    }
}

/// What scripts on threads of their own need of the server.
pub struct Isolation {
    pub is_limited: bool,
    pub notify: Arc<dyn Fn() + Send + Sync>,
    pub job_worker: JobWorker,
}

type JobWorker = Arc<dyn Fn(&'static str, Box<dyn FnOnce() -> Result<(), String> + Send>) + Send + Sync>;

/// No source is compiled.
pub(crate) enum Bytecode {}

pub(crate) fn compile(_path: &Path) -> Result<Bytecode, String> {
    Err(NO_SCRIPTS.to_owned())
}
