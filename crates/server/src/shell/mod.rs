//! The state of the server's loop: the engine, and the sockets, timers, tasks and files around it.
//!
//! The stages and their budgets are in `stages`.

pub(crate) mod jobs;
pub mod tasks;
pub(crate) mod timers;

use std::io;
use std::path::{Path, PathBuf};

use mio::Token;
use trantor_engine::limits::Limits;
use trantor_engine::{ControlAccess, Engine};
use trantor_model::{Show, ShownBy};
use trantor_runtime::fault::caught;
use trantor_runtime::signals::{Signal, Signals};
use trantor_runtime::{RealClock, StopSignal, UserToken};
use trantor_time::{Clock as _, RealSpan, RealTime};

use self::jobs::Jobs;
use self::tasks::TaskQueue;
use self::timers::{Ran, TimerCallback, Timers};
use crate::autosave::{self, Autosave};
use crate::conn::{Conns, READ_BYTES_MAX};
use crate::listener::{Listener, WAITING_MAX};
use crate::logging::LinesLogged;
use crate::options::Options;
use crate::passes::LoopStats;
use crate::recorder::{self, Recorder, sync_all};
use crate::scripts::{Bytecode, Report, Scripts};
use crate::service_manager::ServiceManager;
use crate::storage::Storage;
use crate::wait::MioWait;
use trantor_play::words::MindSpec;

/// Tokens of what is watched besides connections, whose tokens count from zero.
pub(crate) const TOKEN_LISTENER: Token = Token(usize::MAX - 16);
pub(crate) const TOKEN_SIGNALS: Token = Token(usize::MAX - 17);

/// Reads the options again.
type ReloadCallback = Box<dyn FnMut(&mut Shell)>;

/// Reports at the end of each pass how far a game was shown.
type ReportShown = Box<dyn Fn(&Engine)>;

/// The state of the server's loop.
///
/// It belongs to the loop's thread; others reach it by tasks only ([`tasks`]):
///
/// ```compile_fail,E0277
/// fn another_thread_may_have<T: Send>() {}
/// another_thread_may_have::<trantor_server::shell::Shell>();
/// ```
pub struct Shell {
    pub engine: Engine,
    pub(crate) now: RealTime,
    pub(crate) wait: MioWait,
    pub(crate) tasks: TaskQueue,
    pub(crate) tasks_run: u64,
    /// Saves, figures for the log, watchdog.
    pub(crate) timers: Timers,
    /// Declared after the tasks, whose queue its thread may wait for.
    pub(crate) jobs: Jobs,
    pub(crate) stop: StopSignal,
    pub(crate) conns: Conns,
    /// `None` once the loop is ending.
    pub(crate) listener: Option<Listener>,
    pub(crate) stats: LoopStats,
    pub storage: Storage,
    /// Reloads the options, if they can be.
    pub(crate) reload: Option<ReloadCallback>,
    /// The token for programs of the server's own user, under `--control user`.
    pub(crate) user_token: Option<UserToken>,
    pub(crate) manager: ServiceManager,
    pub(crate) scripts: Scripts,
    /// Operators who wait for scripts; one each.
    pub(crate) script_waits: Vec<ScriptWait>,
    pub(crate) operators_logged: LinesLogged,
    /// For a game that is played elsewhere.
    pub(crate) report_shown: Option<ReportShown>,
    pub(crate) ends_at_win: bool,
    /// Whether to spin for the last microseconds before the game's deadlines.
    pub(crate) is_precise: bool,
    pub(crate) has_won: bool,
    /// Connections that there are descriptors for, besides those that wait to be accepted.
    pub(crate) connections_room: usize,
    pub(crate) signals: Option<Signals>,
    pub(crate) read_buffer: Box<[u8]>,
    /// Connections with unwritten bytes, as of the latest pass, blocked viewers included.
    pub(crate) unwritten: usize,
    /// Whether the latest pass left messages, which an orderly end waits for.
    pub(crate) has_messages_left: bool,
}

/// One descriptor in so many is for connections that wait to be accepted, where there are few.
const WAITING_PART: usize = 8;

/// The limits, with no more connections than there are descriptors for.
pub(crate) fn within_room(limits: &Limits, connections_room: usize) -> Limits {
    let room = u32::try_from(connections_room).unwrap_or(u32::MAX);
    Limits {
        connections_max: limits.connections_max.min(room.max(1)),
        ..limits.clone()
    }
}

impl Shell {
    /// A shell around a new engine, at `now`.
    pub(crate) fn new(engine: Engine, mut listener: Listener, now: RealTime) -> io::Result<Self> {
        let wait = MioWait::new()?;
        listener.watch(wait.registry(), TOKEN_LISTENER)?;
        let tasks = TaskQueue::new(wait.waker());
        let mut conns = Conns::default();
        conns.keep_alive = Options::default().keep_alive();
        Ok(Self {
            engine,
            now,
            stop: StopSignal::new(wait.waker()),
            wait,
            timers: Timers::default(),
            jobs: Jobs::new(tasks.sender()),
            tasks,
            tasks_run: 0,
            conns,
            listener: Some(listener),
            stats: LoopStats::default(),
            storage: Storage::default(),
            reload: None,
            user_token: None,
            manager: ServiceManager::default(),
            scripts: Scripts::default(),
            script_waits: Vec::new(),
            operators_logged: LinesLogged::new(now),
            report_shown: None,
            ends_at_win: false,
            is_precise: false,
            has_won: false,
            connections_room: usize::MAX,
            signals: None,
            read_buffer: vec![0; READ_BYTES_MAX].into(),
            unwritten: 0,
            has_messages_left: false,
        })
    }

    /// Sets a timer that runs once, after `delay`.
    pub(crate) fn once(
        &mut self,
        name: &'static str,
        delay: RealSpan,
        callback: impl FnMut(&mut Self) -> Result<Ran, String> + 'static,
    ) {
        let at = self.now.saturating_add(delay);
        self.timers.set(name, at, None, Box::new(callback));
    }

    /// Sets a timer that runs every `period`, first after one, and coalesces what it misses.
    pub(crate) fn every(
        &mut self,
        name: &'static str,
        period: RealSpan,
        callback: impl FnMut(&mut Self) -> Result<Ran, String> + 'static,
    ) {
        let at = self.now.saturating_add(period);
        self.timers.set(name, at, Some(period), Box::new(callback));
    }

    /// Runs a timer. Its failure is its own: no timer changes the game, so a panic leaves the engine whole, and the match goes on.
    pub(crate) fn run_timer(&mut self, callback: &mut TimerCallback) -> Result<Ran, String> {
        let mut has_returned = false;
        let outcome = caught(|| {
            let outcome = callback(self);
            has_returned = true;
            outcome
        });
        self.timers.panics += u64::from(!has_returned);
        outcome
    }

    /// Sets who may control the engine, by `token` or by one for programs of this user. Answers whether the token is
    /// another one.
    pub(crate) fn set_control(
        &mut self,
        control: ControlAccess,
        token: Option<trantor_engine::Token>,
    ) -> bool {
        let token = match control {
            ControlAccess::User => self.leave_user_token(),
            ControlAccess::Everyone | ControlAccess::Loopback | ControlAccess::Token | ControlAccess::Off => {
                self.user_token = None;
                token
            }
        };
        self.engine.set_control(control, token)
    }

    /// The token for programs of this user, made if there is none yet.
    fn leave_user_token(&mut self) -> Option<trantor_engine::Token> {
        if self.user_token.is_none() {
            let address = self.listener.as_ref()?.address();
            match UserToken::create(address) {
                Ok(token) => {
                    log::debug!("{}: the token for programs of this user", token.path().display());
                    self.user_token = Some(token);
                }
                Err(error) => log::warn!(
                    "programs of this user cannot control the server, there is no place for their token: {error}"
                ),
            }
        }
        let token = self.user_token.as_ref()?.token();
        Some(trantor_engine::Token::read(token).expect("random digits are a token"))
    }

    /// Hands the disk worker the jobs that are due. An ending loop begins none, and finishes the work itself.
    pub(crate) fn submit_jobs(&mut self) {
        if !self.jobs.has_disk() {
            return;
        }
        if let Some(task) = self.storage.autosave.as_mut().and_then(Autosave::next_task) {
            let clock = RealClock::new();
            let work = move || {
                let began = clock.now();
                task.run().map(|written| (written, clock.now().since(began)))
            };
            self.submit_job(autosave::TIMER, work, |shell, saved| {
                match &saved {
                    Ok((_, took)) => shell.stats.save_write.record(*took),
                    Err(_) => shell.timers.count_error(autosave::TIMER),
                }
                if let Some(autosave) = &mut shell.storage.autosave {
                    autosave.end(saved.map(|(written, _)| written));
                }
            });
        }
        if let Some(pack) = self.storage.recorder.as_mut().and_then(Recorder::next_pack) {
            self.submit_job(recorder::PACK, pack, |shell, packed| {
                if let Some(recorder) = &mut shell.storage.recorder {
                    recorder.end_pack(packed);
                }
            });
        }
        let now = self.now;
        let recorder = self.storage.recorder.as_mut();
        if let Some(files) = recorder.and_then(|recorder| recorder.next_sync(now)) {
            let sync = move || sync_all(&files);
            self.submit_job(recorder::SYNC, sync, |shell, synced| {
                if let Some(recorder) = &mut shell.storage.recorder {
                    recorder.end_sync(synced, &mut shell.engine, shell.now);
                }
            });
        }
    }

    /// As [`Jobs::submit`]; `done` has a refusal too.
    fn submit_job<T: Send + 'static>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
        done: fn(&mut Self, Result<T, String>),
    ) {
        if let Err(refused) = self.jobs.submit(name, work, done) {
            done(self, Err(refused.to_owned()));
        }
    }

    /// Captures the game for a disk job that saves it. Answers to which directory, or why no save is begun.
    pub(crate) fn save(&mut self) -> Result<&Path, &'static str> {
        let autosave = self.storage.autosave.as_mut();
        let autosave = autosave.ok_or("there is no place to save to: start the server with --save DIR")?;
        if !self.jobs.has_disk() {
            return Err("the loop is stopping");
        }
        let clock = RealClock::new();
        let began = clock.now();
        if !autosave.capture(|| self.engine.state_to_save()) {
            return Err("the last save is still being written; this one is skipped");
        }
        self.stats.save_capture.record(clock.now().since(began));
        Ok(autosave.directory())
    }

    /// When the pass began, or its latest input came in; in a timer its deadline.
    pub fn now(&self) -> RealTime {
        self.now
    }

    /// Obeys a signal. Answers why the loop is to end, if it is.
    pub(crate) fn obey(&mut self, signal: Signal) -> Option<&'static str> {
        match (signal, self.reload.take()) {
            (Signal::End(name), _) => Some(name),
            (Signal::HangUp, None) => Some("SIGHUP"),
            (Signal::HangUp, Some(mut reload)) => {
                reload(self);
                self.reload = Some(reload);
                None
            }
        }
    }

    /// Bounds the connections by the descriptors, some of which are for connections that wait to be accepted.
    pub(crate) fn leave_descriptors(&mut self, room: usize) {
        let waiting = WAITING_MAX.min(room / WAITING_PART);
        self.connections_room = room - waiting;
        if let Some(listener) = &mut self.listener {
            listener.set_waiting_max(waiting);
        }
        let limits = within_room(&self.engine.config().limits, self.connections_room);
        self.engine.set_limits(&limits);
    }

    /// Accepts and reads nothing from now on: the loop is ending.
    pub(crate) fn refuse_input(&mut self) {
        self.manager.stopping();
        // Dropping it closes the port: the system refuses new connections.
        self.listener = None;
        self.conns.stop_reading();
    }

    /// Closes all connections.
    pub(crate) fn close_all(&mut self) {
        self.conns.close_all(&mut self.read_buffer);
    }
}

/// The answer to a line of the console: text of whole lines, or in one line why it was not done.
pub type Answer = Result<String, String>;

/// Has the answer of a line of the console, which may come later.
pub(crate) type Reply = Box<dyn FnOnce(&mut Shell, Answer)>;

/// An operator who waits for a script.
pub(crate) struct ScriptWait {
    path: PathBuf,
    kind: ScriptWaitKind,
    reply: Reply,
}

enum ScriptWaitKind {
    /// Its agents join once it is loaded.
    Loaded(MindSpec),
    /// Another source takes over.
    Replaced,
}

/// Scripts while the loop runs: what happens in them is reported, and changed files take over.
impl Shell {
    /// Watches the files of all scripts that are loaded now.
    pub(crate) fn watch_scripts(&mut self) -> io::Result<()> {
        let tasks = self.tasks.sender();
        self.scripts.watch(move |path, compiled| {
            let sent = tasks.send("script", move |shell| shell.take_over_script(&path, compiled));
            if let Err(error) = sent {
                log::warn!("a changed script was not read: {error}");
            }
        })
    }

    /// Has agents with minds join; those of a script that is not loaded yet once it is. Answers in the end.
    pub(crate) fn add_minds(&mut self, spec: MindSpec, reply: Reply) {
        let is_loaded = match spec.script() {
            None => Ok(true),
            Some(path) => self.scripts.load(path),
        };
        match (is_loaded, spec.script().map(Path::to_owned)) {
            (Ok(false), Some(path)) => {
                let kind = ScriptWaitKind::Loaded(spec);
                self.script_waits.push(ScriptWait { path, kind, reply });
            }
            (Ok(_), _) => {
                let answer = self.add_loaded_minds(&spec);
                reply(self, answer);
            }
            (Err(reason), _) => reply(self, Err(reason)),
        }
    }

    fn add_loaded_minds(&mut self, spec: &MindSpec) -> Answer {
        let group = spec.group(self.engine.game().config(), &mut |file| self.scripts.minds(file))?;
        self.watch_scripts()
            .map_err(|error| format!("script files cannot be watched: {error}"))?;
        let joined = self.engine.add_minds(vec![group]);
        let joined = joined.map_err(|refusal| refusal.to_string())?;
        Ok(format!("joined: {joined}\n"))
    }

    /// Has another source take over in the scripts of a file.
    pub(crate) fn take_over_script(&mut self, path: &Path, compiled: Result<Bytecode, String>) {
        if let Some(report) = self.scripts.take_over(path, compiled) {
            self.script_was_replaced(path, report);
        }
    }

    fn script_was_replaced(&mut self, path: &Path, report: Report) {
        let answer = match report.level > log::Level::Error {
            true => Ok(report.text.clone() + "\n"),
            false => Err(report.text.clone()),
        };
        self.publish(report);
        if self.scripts.is_replacing(path) {
            return;
        }
        for wait in self.take_script_waits(path, |kind| matches!(kind, ScriptWaitKind::Replaced)) {
            (wait.reply)(self, answer.clone());
        }
    }

    fn take_script_waits(
        &mut self,
        path: &Path,
        is_of_kind: impl Fn(&ScriptWaitKind) -> bool,
    ) -> Vec<ScriptWait> {
        let taken = self
            .script_waits
            .extract_if(.., |wait| wait.path == path && is_of_kind(&wait.kind));
        taken.collect()
    }

    /// Takes in what the threads of scripts have done that the loop did not wait for.
    pub(crate) fn catch_up_with_scripts(&mut self) {
        while let Some((path, loaded)) = self.scripts.take_load() {
            for wait in self.take_script_waits(&path, |kind| matches!(kind, ScriptWaitKind::Loaded(_))) {
                let ScriptWaitKind::Loaded(spec) = &wait.kind else {
                    continue;
                };
                let answer = loaded.clone().and_then(|()| self.add_loaded_minds(spec));
                (wait.reply)(self, answer);
            }
        }
        for (path, report) in self.scripts.catch_up() {
            self.script_was_replaced(&path, report);
        }
        self.engine.reschedule_minds();
        self.report_scripts();
    }

    /// Reads the file of a script again, off the loop. Answers in the end.
    pub(crate) fn reload_script(&mut self, file: &str, reply: Reply) {
        let submitted = self.scripts.path_of(file).and_then(|path| {
            let read = path.clone();
            let compile = move || Ok::<_, String>(crate::scripts::compile(&read));
            let done = |shell: &mut Self, (path, compiled): (PathBuf, Result<_, String>)| {
                shell.take_over_script(&path, compiled);
            };
            let theirs = path.clone();
            self.jobs
                .submit(jobs::COMPILE, compile, move |shell, compiled| {
                    done(shell, (theirs, compiled.and_then(|compiled| compiled)));
                })
                .map(|()| path)
                .map_err(str::to_owned)
        });
        match submitted {
            Ok(path) => {
                let kind = ScriptWaitKind::Replaced;
                self.script_waits.push(ScriptWait { path, kind, reply });
            }
            Err(reason) => reply(self, Err(reason)),
        }
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
        // At the end of a match all agents go.
        let is_over = self.engine.game().winner().is_some();
        for report in self.scripts.reports(is_over) {
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
