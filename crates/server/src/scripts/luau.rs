//! The scripts of a game, where the build has them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use trantor_play::minds::{MindFactory, MindSource, Scenario};
use trantor_runtime::files::read_regular;
use trantor_runtime::threads::{self, Thread};
use trantor_script::limits::SOURCE_BYTES_MAX;
use trantor_script::{Bytecode, Script, ScriptCounts, ScriptError, ScriptEvent, ScriptNews};

use super::link::{self, Isolation, Link, Loading, Remote, RemoteScenario};
use super::request::{LeftOut, Role};
use super::worker;
use super::{Report, ScriptTotals, Source};

/// What a console line without a known file is answered.
const NO_SUCH_FILE: &str = "no script of that name runs; script list has them";

/// Scripts that may be loaded while a match is played, at a time: each has a thread.
const LOADS_MAX: usize = 4;

/// The scripts of a match.
#[derive(Default)]
pub struct Scripts {
    loaded: Vec<Loaded>,
    watch: Option<Watch>,
    /// How they run beside a clock; without one they run in the thread of the match.
    isolation: Option<Isolation>,
    loads: Vec<Load>,
}

/// A script that is loaded while the match is played.
struct Load {
    path: PathBuf,
    loading: Loading,
}

struct Loaded {
    path: PathBuf,
    script: Running,
    is_scenario: bool,
    /// Why its latest source was not taken over.
    mistake: Option<String>,
    /// Sources that were not.
    mistakes: u64,
    /// Sources that its thread was sent and has not answered.
    replacing: usize,
    had_agents: bool,
}

#[derive(Clone)]
enum Running {
    Here(Script),
    OnThread(Rc<Link>),
}

impl Running {
    fn next_event(&self) -> Option<ScriptEvent> {
        match self {
            Self::Here(script) => script.next_event(),
            Self::OnThread(link) => link.next_event(),
        }
    }

    fn counts(&self) -> ScriptCounts {
        match self {
            Self::Here(script) => script.counts(),
            Self::OnThread(link) => link.counts(),
        }
    }

    fn is_suspended(&self) -> bool {
        match self {
            Self::Here(script) => script.is_suspended(),
            Self::OnThread(link) => link.is_suspended(),
        }
    }

    fn resume(&self) {
        match self {
            Self::Here(script) => script.resume(),
            Self::OnThread(link) => link.resume(),
        }
    }

    fn factory(&self) -> Box<dyn MindFactory> {
        match self {
            Self::Here(script) => Box::new(script.clone()),
            Self::OnThread(link) => Box::new(Remote(Rc::clone(link))),
        }
    }
}

impl Scripts {
    /// The types of what scripts may call, for editors.
    pub fn definitions() -> Result<String, String> {
        Ok(trantor_script::api::DEFINITIONS.to_owned())
    }

    /// Scripts on threads of their own, which notify the loop when [`Self::catch_up`] has something to do.
    pub(crate) fn isolated(isolation: Isolation) -> Self {
        Self {
            isolation: Some(isolation),
            ..Self::default()
        }
    }

    /// The minds of a file. Those of one file share a VM. Waits until it is loaded.
    pub fn minds(&mut self, path: &Path) -> Result<MindSource, String> {
        if let Some(source) = self.loaded_minds(path) {
            return Ok(source);
        }
        let script = match self.start(path, Role::Agents)? {
            Some(loading) => Running::OnThread(loading.finish()?),
            None => {
                let script = Script::load(&shown(path), &read(path)?);
                Running::Here(script.map_err(|error| refusal(path, &error))?)
            }
        };
        self.add(path, script, false);
        Ok(self.loaded_minds(path).expect("it was added"))
    }

    fn loaded_minds(&self, path: &Path) -> Option<MindSource> {
        let same = |loaded: &&Loaded| loaded.path == path && !loaded.is_scenario;
        let loaded = self.loaded.iter().find(same)?;
        Some(MindSource::Made {
            name: format!("script:{}", path.display()),
            factory: loaded.script.factory(),
        })
    }

    /// Starts the thread of a script, if scripts have threads.
    fn start(&self, path: &Path, role: Role) -> Result<Option<Loading>, String> {
        let Some(isolation) = &self.isolation else {
            return Ok(None);
        };
        link::load(path, role, isolation)
            .map(Some)
            .map_err(|error| format!("{}: no thread for the script: {error}", path.display()))
    }

    /// Begins to load the minds of a file while a match is played; answers whether they are loaded already.
    /// [`Self::take_load`] has the outcome.
    pub(crate) fn load(&mut self, path: &Path) -> Result<bool, String> {
        let is_loading = |load: &Load| load.path == path;
        if self.loaded_minds(path).is_some() {
            return Ok(true);
        }
        if self.loads.iter().any(is_loading) {
            return Ok(false);
        }
        if self.loads.len() == LOADS_MAX {
            return Err("other scripts are still being loaded; try again".to_owned());
        }
        match self.start(path, Role::Agents)? {
            None => self.minds(path).map(|_| true),
            Some(loading) => {
                let path = path.to_owned();
                self.loads.push(Load { path, loading });
                Ok(false)
            }
        }
    }

    /// The file of a load that has ended, and why it is refused if it is.
    pub(crate) fn take_load(&mut self) -> Option<(PathBuf, Result<(), String>)> {
        let done = self.loads.iter().position(|load| load.loading.is_done())?;
        let Load { path, loading } = self.loads.remove(done);
        let outcome = loading
            .finish()
            .map(|link| self.add(&path, Running::OnThread(link), false));
        Some((path, outcome))
    }

    pub fn scenario(&mut self, path: &Path, seed: u64) -> Result<Box<dyn Scenario>, String> {
        let (running, scenario): (_, Box<dyn Scenario>) = match self.start(path, Role::Scenario { seed })? {
            Some(loading) => {
                let link = loading.finish()?;
                let scenario = Box::new(RemoteScenario::new(Rc::clone(&link)));
                (Running::OnThread(link), scenario)
            }
            None => {
                let loaded = trantor_script::Scenario::load(&shown(path), &read(path)?, seed);
                let scenario = loaded.map_err(|error| refusal(path, &error))?;
                (Running::Here(scenario.script().clone()), Box::new(scenario))
            }
        };
        self.add(path, running, true);
        Ok(scenario)
    }

    fn add(&mut self, path: &Path, script: Running, is_scenario: bool) {
        self.loaded.push(Loaded {
            path: path.to_owned(),
            script,
            is_scenario,
            mistake: None,
            mistakes: 0,
            replacing: 0,
            had_agents: false,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }

    /// Watches the files that are loaded now; one that changes is compiled, and sent.
    pub(crate) fn watch(
        &mut self,
        send: impl Fn(PathBuf, Result<Bytecode, String>) + Send + 'static,
    ) -> io::Result<()> {
        let paths = self.loaded.iter().map(|loaded| loaded.path.clone()).collect();
        let is_watched = self.watch.as_ref().is_some_and(|watch| watch.paths == paths);
        if !paths.is_empty() && !is_watched {
            self.watch = Some(Watch::start(paths, send)?);
        }
        Ok(())
    }

    /// What happened in scripts since the last call. That a script has no agents is to be known where an operator can add some, and
    /// the match is not over.
    pub fn reports(&mut self, is_over: bool) -> Vec<Report> {
        let mut reports = Vec::new();
        for loaded in &mut self.loaded {
            if let Running::OnThread(link) = &loaded.script
                && link.is_given_up()
            {
                link.catch_up();
            }
            let is_known = is_over || matches!(loaded.script, Running::Here(_));
            let next = || loaded.script.next_event();
            let events =
                std::iter::from_fn(next).filter(|event| !(is_known && event.news == ScriptNews::NoAgents));
            reports.extend(events.map(|event| report(&loaded.path, event)));
            loaded.had_agents |= loaded.script.counts().agents > 0;
            if let Running::OnThread(link) = &loaded.script {
                reports.extend(left_out(&loaded.path, link.take_left_out()));
            }
        }
        reports
    }

    pub fn totals(&self) -> ScriptTotals {
        let add = |sum: ScriptTotals, loaded: &Loaded| {
            let counts = loaded.script.counts();
            let late = match &loaded.script {
                Running::Here(_) => 0,
                Running::OnThread(link) => link.times_late(),
            };
            ScriptTotals {
                loaded: sum.loaded + 1,
                suspended: sum.suspended + usize::from(loaded.script.is_suspended()),
                resumptions: sum.resumptions + counts.resumptions,
                errors: sum.errors + counts.errors,
                mistakes: sum.mistakes + loaded.mistakes,
                memory_bytes: sum.memory_bytes + counts.memory_bytes,
                late: sum.late + late,
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
            if !loaded.is_scenario && counts.agents == 0 {
                text += &format!("  {}\n", no_agents(&file, loaded.had_agents));
            }
            if let Some(mistake) = &loaded.mistake {
                text += &format!("  not taken over: {mistake}\n");
            }
        }
        for load in &self.loads {
            text += &format!("{}: is being loaded\n", shown(&load.path));
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

    /// The path of a script that is called by its path or its name.
    pub(crate) fn path_of(&self, file: &str) -> Result<PathBuf, String> {
        Ok(self.loaded[self.named(file)?[0]].path.clone())
    }

    /// Has another source take over in all scripts of a file, which [`Self::catch_up`] reports. One that cannot be read or does not
    /// compile changes nothing.
    pub(crate) fn take_over(&mut self, path: &Path, compiled: Result<Bytecode, String>) -> Option<Report> {
        let bytecode = match compiled {
            Ok(bytecode) => bytecode,
            Err(mistake) => return Some(self.not_taken_over(path, mistake)),
        };
        for loaded in self.loaded.iter_mut().filter(|loaded| loaded.path == path) {
            match &loaded.script {
                Running::OnThread(link) if link.replace(bytecode.clone()) => loaded.replacing += 1,
                Running::OnThread(_) => {
                    let busy = "the script does not answer; script list shows when it does";
                    return Some(self.not_taken_over(path, busy.to_owned()));
                }
                Running::Here(_) => unreachable!("only scripts beside a clock are watched"),
            }
        }
        None
    }

    fn not_taken_over(&mut self, path: &Path, mistake: String) -> Report {
        for loaded in self.loaded.iter_mut().filter(|loaded| loaded.path == path) {
            loaded.mistakes += 1;
            loaded.mistake = Some(mistake.clone());
        }
        reloaded(path, Err(mistake))
    }

    /// Takes in what the threads of scripts have answered that nobody waited for. Answers the files whose source was replaced or
    /// refused.
    pub(crate) fn catch_up(&mut self) -> Vec<(PathBuf, Report)> {
        let mut replaced = Vec::new();
        for loaded in &mut self.loaded {
            let Running::OnThread(link) = &loaded.script else {
                continue;
            };
            link.catch_up();
            while let Some(outcome) = link.next_replaced() {
                loaded.replacing -= 1;
                let outcome = outcome.map_err(|error| error.to_string());
                loaded.mistakes += u64::from(outcome.is_err());
                loaded.mistake = outcome.as_ref().err().cloned();
                replaced.push((loaded.path.clone(), reloaded(&loaded.path, outcome)));
            }
        }
        replaced
    }

    /// Whether a source of a file is being replaced.
    pub(crate) fn is_replacing(&self, path: &Path) -> bool {
        self.loaded
            .iter()
            .any(|loaded| loaded.path == path && loaded.replacing > 0)
    }
}

fn reloaded(path: &Path, outcome: Result<(), String>) -> Report {
    let (level, text) = match outcome {
        Ok(()) => (log::Level::Info, format!("{}: reloaded", shown(path))),
        Err(mistake) => (log::Level::Error, format!("not reloaded: {mistake}")),
    };
    let shown = Some(without_folder(path, &text));
    Report { level, text, shown }
}

/// What a script without agents needs.
fn no_agents(file: &str, had_agents: bool) -> String {
    let why = if had_agents {
        "all its agents are gone"
    } else {
        "no agent has joined"
    };
    format!("{why}: mind add TEAM=script:{file}:COUNT has agents join")
}

/// Says what a script logged and showed beyond its rates.
fn left_out(path: &Path, left_out: LeftOut) -> Option<Report> {
    let LeftOut { lines, shows } = left_out;
    let what = match (lines, shows) {
        (0, 0) => return None,
        (_, 0) => format!("{lines} lines of its log"),
        (0, _) => format!("{shows} notes, marks and cards"),
        _ => format!("{lines} lines of its log, and {shows} notes, marks and cards"),
    };
    Some(Report {
        level: log::Level::Warn,
        text: format!(
            "{}: {what} were left out: there were too many a second",
            shown(path)
        ),
        shown: None,
    })
}

/// Why the script of a file is refused. What the compiler says quotes the source, and whoever may add scripts may not therefore
/// read every file, so of a file that is not called a script nothing is quoted; a link is called as what it leads to.
pub(super) fn refusal(path: &Path, error: &ScriptError) -> String {
    let is_script = |path: &Path| path.extension().is_some_and(|end| end == "luau" || end == "lua");
    let real = path.canonicalize().unwrap_or_default();
    match is_script(&real) {
        true => error.to_string(),
        false => {
            let line = if error.line > 0 {
                format!(":{}", error.line)
            } else {
                String::new()
            };
            format!(
                "{}{line}: this is no script: a script is a file in Luau, such as scout.luau",
                error.file
            )
        }
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
            let text = format!(
                "{file} has failed too often or taken too long, and is suspended: script resume {file}"
            );
            (log::Level::Error, text)
        }
        ScriptNews::NoAgents => (log::Level::Error, format!("{file}: {}", no_agents(&file, true))),
    };
    let shown = (level == log::Level::Error).then(|| without_folder(path, &text));
    Report { level, text, shown }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The source in a file.
pub(super) fn read(path: &Path) -> Source {
    let expected = "expected the path of a script, as in folder/scout.luau";
    read_regular(path, SOURCE_BYTES_MAX as u64)
        .map_err(|error| format!("{}: {error}: {expected}", path.display()))
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
    fn start(
        paths: BTreeSet<PathBuf>,
        send: impl Fn(PathBuf, Result<Bytecode, String>) + Send + 'static,
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
                        send(path.clone(), worker::compile_source(path, &found));
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
