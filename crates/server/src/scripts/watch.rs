//! Changes of script files: a thread that sleeps until the system reports one, and reads what has changed.
//!
//! Folders are watched and not files, since many editors put another file in the place of the old one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use trantor_runtime::threads::{self, Thread};

use super::Source;
use super::luau::read;

/// How long a folder must be quiet before a changed file is read: editors write a file in several steps, a few milliseconds
/// apart.
const QUIET_SPAN: Duration = Duration::from_millis(50);

/// Waits for quiet at most so often: a folder that never rests does not keep a change waiting for a second.
const QUIET_WAITS_MAX: usize = 8;

/// A watch of files, until it is dropped.
pub(super) struct Watch {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Dropped first: its end is the thread's.
    _watcher: RecommendedWatcher,
    _thread: Thread<()>,
}

impl Watch {
    pub(super) fn start(
        paths: BTreeSet<PathBuf>,
        send: impl Fn(PathBuf, Source) + Send + 'static,
    ) -> io::Result<Self> {
        let names: BTreeSet<OsString> = paths
            .iter()
            .filter_map(|path| path.file_name().map(Into::into))
            .collect();
        // One word is enough: the thread reads all files.
        let (changed, changes) = bounded(1);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let may_matter = event.is_ok_and(|event| {
                let is_read = matches!(event.kind, EventKind::Access(_));
                let is_ours = |path: &PathBuf| path.file_name().is_some_and(|name| names.contains(name));
                !is_read && event.paths.iter().any(is_ours)
            });
            if may_matter {
                // If a word waits already, it stands for this change too.
                let _ = changed.try_send(());
            }
        })
        .map_err(io::Error::other)?;
        let folders: BTreeSet<PathBuf> = paths.iter().map(|path| folder_of(path)).collect();
        for folder in folders {
            watcher
                .watch(&folder, RecursiveMode::NonRecursive)
                .map_err(io::Error::other)?;
        }
        // As they were loaded, or so shortly after that a change in between is seen as one.
        let mut known: Vec<(PathBuf, Source)> = paths.iter().map(|path| (path.clone(), read(path))).collect();
        let thread = threads::spawn("scripts", move || {
            while changes.recv().is_ok() {
                wait_for_quiet(&changes);
                for (path, source) in &mut known {
                    let found = read(path);
                    if *source != found {
                        source.clone_from(&found);
                        send(path.clone(), found);
                    }
                }
            }
        })?;
        Ok(Self {
            paths,
            _watcher: watcher,
            _thread: thread,
        })
    }
}

fn wait_for_quiet(changes: &Receiver<()>) {
    for _ in 0..QUIET_WAITS_MAX {
        if changes.recv_timeout(QUIET_SPAN) == Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
