//! The scripts of a game, where the build has them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use trantor_engine::minds::{MindSource, Scenario};
use trantor_runtime::threads::{self, Thread};
use trantor_script::limits::SOURCE_BYTES_MAX;
use trantor_script::{Script, ScriptError, ScriptEvent, ScriptNews};

use super::scenario::ScriptScenario;
use super::{ReadLine, Report, ScriptTotals, Source};

/// What a console line without a known file is answered.
const NO_SUCH_FILE: &str = "no script of that name runs; script list has them";

#[derive(Default)]
pub struct Scripts {
    loaded: Vec<Loaded>,
    watch: Option<Watch>,
}

struct Loaded {
    path: PathBuf,
    script: Script,
    is_scenario: bool,
    /// Why its latest source was not taken over.
    mistake: Option<String>,
    /// Sources that were not.
    mistakes: u64,
}

impl Scripts {
    /// The types of what scripts may call, for editors.
    pub fn definitions() -> Result<String, String> {
        Ok(trantor_script::api::DEFINITIONS.to_owned())
    }

    /// The minds of a file. Those of one file share a VM.
    pub fn minds(&mut self, path: &Path) -> Result<MindSource, String> {
        let same = |loaded: &&Loaded| loaded.path == path && !loaded.is_scenario;
        let script = match self.loaded.iter().find(same) {
            Some(loaded) => loaded.script.clone(),
            None => {
                let script = Script::load(&shown(path), &read(path)?);
                let script = script.map_err(|error| refusal(path, &error))?;
                self.add(path, script.clone(), false);
                script
            }
        };
        Ok(MindSource::Made {
            name: format!("script:{}", path.display()),
            factory: Box::new(script),
        })
    }

    pub fn scenario(
        &mut self,
        path: &Path,
        seed: u64,
        read_line: ReadLine,
    ) -> Result<Box<dyn Scenario>, String> {
        let loaded = trantor_script::Scenario::load(&shown(path), &read(path)?, seed);
        let scenario = loaded.map_err(|error| refusal(path, &error))?;
        self.add(path, scenario.script().clone(), true);
        Ok(Box::new(ScriptScenario::new(scenario, read_line)))
    }

    fn add(&mut self, path: &Path, script: Script, is_scenario: bool) {
        self.loaded.push(Loaded {
            path: path.to_owned(),
            script,
            is_scenario,
            mistake: None,
            mistakes: 0,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }

    /// Watches the files that are loaded now; the source of one that changes is sent.
    pub fn watch(&mut self, send: impl Fn(PathBuf, Source) + Send + 'static) -> io::Result<()> {
        let paths = self.loaded.iter().map(|loaded| loaded.path.clone()).collect();
        let is_watched = self.watch.as_ref().is_some_and(|watch| watch.paths == paths);
        if !paths.is_empty() && !is_watched {
            self.watch = Some(Watch::start(paths, send)?);
        }
        Ok(())
    }

    /// What happened in scripts since the last call.
    pub fn reports(&self) -> Vec<Report> {
        let events = self.loaded.iter().flat_map(|loaded| {
            let next = || loaded.script.next_event();
            std::iter::from_fn(next).map(|event| report(&loaded.path, event))
        });
        events.collect()
    }

    pub fn totals(&self) -> ScriptTotals {
        let add = |sum: ScriptTotals, loaded: &Loaded| {
            let counts = loaded.script.counts();
            ScriptTotals {
                loaded: sum.loaded + 1,
                suspended: sum.suspended + usize::from(loaded.script.is_suspended()),
                resumptions: sum.resumptions + counts.resumptions,
                errors: sum.errors + counts.errors,
                mistakes: sum.mistakes + loaded.mistakes,
                memory_bytes: sum.memory_bytes + counts.memory_bytes,
            }
        };
        self.loaded.iter().fold(ScriptTotals::default(), add)
    }

    pub fn list(&self) -> String {
        let mut text = String::new();
        for loaded in &self.loaded {
            let counts = loaded.script.counts();
            let what = match loaded.is_scenario {
                true => "scenario".to_owned(),
                false => format!("{} agents", counts.agents),
            };
            let state = match loaded.script.is_suspended() {
                true => "suspended",
                false => "running",
            };
            let (file, kib) = (shown(&loaded.path), counts.memory_bytes / 1024);
            let (resumptions, errors) = (counts.resumptions, counts.errors);
            text +=
                &format!("{file}: {state}, {what}, {resumptions} resumptions, {errors} errors, {kib} KiB\n");
            if let Some(mistake) = &loaded.mistake {
                text += &format!("  not taken over: {mistake}\n");
            }
        }
        text + &format!("scripts: {}\n", self.loaded.len())
    }

    /// The places of the scripts of a file, called by its path or its name.
    fn named(&self, file: &str) -> Result<Vec<usize>, String> {
        let is_it =
            |path: &Path| path == Path::new(file) || path.file_name().is_some_and(|name| name == file);
        let places = self.loaded.iter().enumerate();
        let places: Vec<usize> = places
            .filter(|(_, one)| is_it(&one.path))
            .map(|(place, _)| place)
            .collect();
        match places.is_empty() {
            true => Err(NO_SUCH_FILE.to_owned()),
            false => Ok(places),
        }
    }

    /// Has the scripts of a file run again that are suspended.
    pub fn resume(&self, file: &str) -> Result<(), String> {
        for place in self.named(file)? {
            self.loaded[place].script.resume();
        }
        Ok(())
    }

    /// The path and the present source of a file.
    pub fn read(&self, file: &str) -> Result<(PathBuf, Source), String> {
        let path = self.loaded[self.named(file)?[0]].path.clone();
        let source = read(&path);
        Ok((path, source))
    }

    /// Has another source take over in all scripts of a file. One that cannot be read or does not compile changes nothing.
    pub fn take_over(&mut self, path: &Path, source: &Source) -> Report {
        let mut mistake = None;
        for loaded in self.loaded.iter_mut().filter(|loaded| loaded.path == path) {
            loaded.mistake = match source {
                Ok(source) => loaded.script.reload(source).err().map(|error| error.to_string()),
                Err(why) => Some(why.clone()),
            };
            loaded.mistakes += u64::from(loaded.mistake.is_some());
            mistake = mistake.or_else(|| loaded.mistake.clone());
        }
        let (level, text) = match mistake {
            None => (log::Level::Info, format!("{}: reloaded", shown(path))),
            Some(mistake) => (log::Level::Error, format!("not reloaded: {mistake}")),
        };
        let shown = Some(without_folder(path, &text));
        Report { level, text, shown }
    }
}

/// Why the script of a file is refused. A file of another kind has many mistakes.
fn refusal(path: &Path, error: &ScriptError) -> String {
    match path.extension().is_some_and(|end| end == "luau" || end == "lua") {
        true => error.to_string(),
        false => format!("{error}: a script is a file in Luau, such as scout.luau"),
    }
}

fn without_folder(path: &Path, text: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    text.replace(&shown(path), &name)
}

fn report(path: &Path, event: ScriptEvent) -> Report {
    let file = shown(path);
    let by = event
        .agent
        .map_or_else(String::new, |agent| format!(", agent {}", agent.0));
    let at = format!("unit {}{by}", event.at.whole_units());
    let (level, text) = match event.news {
        ScriptNews::Log(text) => (log::Level::Info, format!("{file} ({at}): {text}")),
        ScriptNews::Failed(error) => (log::Level::Warn, format!("{error} ({at})")),
        ScriptNews::Suspended => {
            let text = format!("{file} has failed too often and is suspended: script resume {file}");
            (log::Level::Error, text)
        }
    };
    let shown = (level == log::Level::Error).then(|| without_folder(path, &text));
    Report { level, text, shown }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The source, and one byte more than a source may have if it is longer.
fn read(path: &Path) -> Source {
    let bytes_max = SOURCE_BYTES_MAX as u64 + 1;
    let mut source = Vec::new();
    let found = File::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut source));
    let expected = "expected the path of a script, as in folder/scout.luau";
    found.map_err(|error| format!("{}: {error}: {expected}", path.display()))?;
    Ok(source)
}

/// How long a folder must be quiet before a changed file is read: editors write a file in several steps, a few milliseconds
/// apart.
const QUIET_SPAN: Duration = Duration::from_millis(50);

/// Waits for quiet at most so often: a folder that never rests does not keep a change waiting for a second.
const QUIET_WAITS_MAX: usize = 8;

struct Watch {
    paths: BTreeSet<PathBuf>,
    /// Dropped first: its end is the thread's.
    _watcher: RecommendedWatcher,
    _thread: Thread<()>,
}

impl Watch {
    fn start(paths: BTreeSet<PathBuf>, send: impl Fn(PathBuf, Source) + Send + 'static) -> io::Result<Self> {
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
