//! The state of the server's loop: the engine, and the sockets, timers, tasks and files around it.
//!
//! The stages and their budgets are in `stages`.

pub(crate) mod disk;
mod scripts;
pub mod tasks;
mod timers;

use std::io;

use mio::Token;
use trantor_engine::limits::Limits;
use trantor_engine::{ConnId, Control, Engine, Input, Output};
use trantor_model::TeamId;
use trantor_runtime::signals::{Handled, Signal, Signals};
use trantor_runtime::{RealClock, StopSignal, UserToken};
use trantor_time::{Clock as _, RealSpan, RealTime};

use self::disk::Disk;
use self::tasks::TaskQueue;
use self::timers::{TimerCallback, Timers};
use crate::autosave::{self, Autosave};
use crate::conn::{Conns, READ_BYTES_MAX, ReadOutcome, WriteOutcome};
use crate::listener::{Listener, WAITING_MAX};
use crate::options::Options;
use crate::passes::LoopStats;
use crate::recorder::{self, Recorder, sync_all};
use crate::scripts::Scripts;
use crate::service_manager::ServiceManager;
use crate::storage::Storage;
use crate::wait::{MioWait, WaitPolicy, spacing_at};

/// Tokens of what is watched besides connections, whose tokens count from zero.
pub(crate) const TOKEN_LISTENER: Token = Token(usize::MAX - 16);
pub(crate) const TOKEN_SIGNALS: Token = Token(usize::MAX - 17);

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
    /// Saves, watchdog.
    pub(crate) timers: Timers,
    /// Declared after the tasks, whose queue its thread may wait for.
    pub(crate) disk: Disk,
    pub(crate) stop: StopSignal,
    pub(crate) conns: Conns,
    /// `None` once the loop is ending.
    pub(crate) listener: Option<Listener>,
    pub(crate) stats: LoopStats,
    /// The journal and saves on the disk.
    pub storage: Storage,
    /// Reloads the options, if they can be.
    pub(crate) reload: Option<TimerCallback>,
    /// The token for programs of the server's own user, under `--control user`.
    pub(crate) user_token: Option<UserToken>,
    pub(crate) manager: ServiceManager,
    pub(crate) scripts: Scripts,
    /// For a game that is played elsewhere.
    pub(crate) report_shown: Option<ReportShown>,
    pub(crate) ends_at_win: bool,
    /// Whether to spin for the last microseconds before the game's deadlines.
    pub(crate) is_precise: bool,
    /// A team has won since the last pass.
    has_won: bool,
    /// Connections that there are descriptors for, besides those that wait to be accepted.
    pub(crate) connections_room: usize,
    signals: Option<Signals>,
    read_buffer: Box<[u8]>,
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
        conns.set_keep_alive(Options::default().keep_alive());
        Ok(Self {
            engine,
            now,
            stop: StopSignal::new(wait.waker()),
            wait,
            timers: Timers::default(),
            disk: Disk::new(tasks.sender()),
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
        callback: impl FnMut(&mut Self) + 'static,
    ) {
        let at = self.now.saturating_add(delay);
        self.timers.set(name, at, None, Box::new(callback));
    }

    /// Sets a timer that runs every `period`, first after one, and coalesces what it misses.
    pub(crate) fn every(
        &mut self,
        name: &'static str,
        period: RealSpan,
        callback: impl FnMut(&mut Self) + 'static,
    ) {
        let at = self.now.saturating_add(period);
        self.timers.set(name, at, Some(period), Box::new(callback));
    }

    /// Listens to signals from now on; see [`Self::sort_ready`].
    pub(crate) fn watch_signals(&mut self) -> io::Result<()> {
        let registry = self.wait.registry();
        self.signals = Some(Signals::watch(registry, TOKEN_SIGNALS, Handled::Service)?);
        Ok(())
    }

    /// Sets who may control the engine, by `token` or by one for programs of this user. Answers whether the token is
    /// another one.
    pub(crate) fn set_control(&mut self, control: Control, token: Option<trantor_engine::Token>) -> bool {
        let token = match control {
            Control::User => self.leave_user_token(),
            Control::Everyone | Control::Loopback | Control::Token | Control::Off => {
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
        if !self.disk.is_open() {
            return;
        }
        if let Some(task) = self.storage.autosave.as_mut().and_then(Autosave::next_task) {
            let clock = RealClock::new();
            let work = move || {
                let began = clock.now();
                task.run().map(|written| (written, clock.now().since(began)))
            };
            self.submit_job(autosave::TIMER, work, |shell, saved| {
                if let Ok((_, took)) = &saved {
                    shell.stats.save_write.record(*took);
                }
                if let Some(autosave) = &mut shell.storage.autosave {
                    autosave.end(saved.map(|(written, _)| written));
                }
            });
        }
        if let Some(task) = self.storage.recorder.as_mut().and_then(Recorder::next_pack) {
            self.submit_job(
                recorder::PACK,
                || task.run(),
                |shell, packed| {
                    if let Some(recorder) = &mut shell.storage.recorder {
                        recorder.end_pack(packed);
                    }
                },
            );
        }
        let now = self.now;
        let recorder = self.storage.recorder.as_mut();
        if let Some(files) = recorder.and_then(|recorder| recorder.next_sync(now)) {
            self.submit_job(
                recorder::SYNC,
                move || sync_all(&files),
                |shell, synced| {
                    if let Some(recorder) = &mut shell.storage.recorder {
                        recorder.end_sync(synced, &mut shell.engine, shell.now);
                    }
                },
            );
        }
    }

    /// As [`Disk::submit`]; `done` has a refusal too.
    fn submit_job<T: Send + 'static>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
        done: fn(&mut Self, Result<T, String>),
    ) {
        if let Err(refused) = self.disk.submit(name, work, done) {
            done(self, Err(refused.to_owned()));
        }
    }

    /// Captures the game for a disk job that saves it. Answers to which directory.
    pub(crate) fn save(&mut self) -> Result<std::path::PathBuf, String> {
        if !self.disk.is_open() && self.storage.autosave.is_some() {
            return Err("the loop is stopping".to_owned());
        }
        let clock = RealClock::new();
        let began = clock.now();
        let directory = self.storage.save(&self.engine)?.to_owned();
        self.stats.save_capture.record(clock.now().since(began));
        Ok(directory)
    }

    /// When the pass began, or its latest input came in; in a timer its deadline.
    pub fn now(&self) -> RealTime {
        self.now
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Passes on what the system reported of each socket. Answers a signal that came.
    pub(crate) fn sort_ready(&mut self) -> Option<Signal> {
        let mut signal = None;
        while let Some(ready) = self.wait.next_ready() {
            match ready.token {
                TOKEN_LISTENER => self.listener.iter_mut().for_each(Listener::note_ready),
                TOKEN_SIGNALS => signal = self.signals.as_mut().and_then(Signals::received),
                _ => self.conns.note_ready(ready),
            }
        }
        signal
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

    /// Accepts one new connection, if there is one.
    pub(crate) fn accept_one(&mut self, now: RealTime) {
        let Some(listener) = &mut self.listener else {
            return;
        };
        // One more may come, for which the engine closes another.
        if self.conns.len() > self.connections_room {
            listener.back_off("the free descriptors are reserved for the journal and saves", now);
            return;
        }
        let Some((socket, peer)) = listener.accept(now) else {
            return;
        };
        match self.conns.open(socket, self.wait.registry()) {
            Ok(conn) => {
                log::debug!("connection {conn} from {peer}");
                self.engine.handle(Input::Opened { conn, peer }, now);
                // Right away: it may close another connection to make room.
                self.carry_out_outputs(|| {});
            }
            Err(error) => log::warn!("a connection from {peer} cannot be watched and is closed: {error}"),
        }
    }

    /// Reads once from the next connection. `arrival` reads the clock: input is stamped after the read, or it could be
    /// carried out before it was sent.
    pub(crate) fn read_one(&mut self, arrival: impl FnOnce() -> RealTime) {
        match self.conns.read_next(&mut self.read_buffer) {
            None => {}
            Some((conn, ReadOutcome::Bytes(bytes))) => {
                self.engine.handle(Input::Bytes { conn, bytes }, arrival());
                // Right away, or a throttled connection would be read again in this pass.
                self.carry_out_outputs(|| {});
            }
            Some((conn, ReadOutcome::Ended)) => self.close_lost(conn, arrival()),
        }
    }

    /// Carries out all outputs of the engine. At most two for each connection and one for the game can wait, each a system
    /// call at most, so this needs no budget.
    pub(crate) fn carry_out_outputs(&mut self, mut count: impl FnMut()) {
        while let Some(output) = self.engine.poll_output() {
            count();
            match output {
                Output::ShutdownWrite { conn } => self.conns.shut_down_write(conn),
                Output::Close { conn, reason } => {
                    log::trace!("connection {conn} is closed: {}", reason.name());
                    self.close(conn);
                }
                Output::Reading { conn, is_wanted } => self.conns.set_reading(conn, is_wanted),
                Output::Won { team } => {
                    let name = self.engine.config().game.team_name(team);
                    match team {
                        TeamId::DRAW => log::info!("the match is a draw"),
                        _ => log::info!("team {name} has won"),
                    }
                    self.has_won = true;
                }
            }
        }
    }

    /// Whether a team has won since the last call.
    pub(crate) fn take_won(&mut self) -> bool {
        std::mem::take(&mut self.has_won)
    }

    /// Queues connections for writing that take bytes again, each among those of its kind.
    pub(crate) fn note_writable(&mut self) {
        while let Some(conn) = self.conns.next_to_write() {
            self.engine.write_soon(conn);
        }
    }

    /// Flushes one outbox, a piece a write, each of which `admits` must allow. What is left comes first of its kind next
    /// time. Answers whether all was written that can be.
    pub(crate) fn flush_one(
        &mut self,
        conn: ConnId,
        now: RealTime,
        mut admits: impl FnMut() -> bool,
    ) -> bool {
        loop {
            let bytes = self.engine.unsent(conn);
            if bytes.is_empty() {
                self.conns.all_written(conn);
                return true;
            }
            if !admits() {
                self.engine.write_later(conn);
                return false;
            }
            // The journal stage has written most of it, but not what followed from a connection lost since, nor what a viewer
            // that reads again is behind with.
            self.storage.write_ahead(&mut self.engine, now);
            match self.conns.write(conn, self.engine.unsent(conn)) {
                WriteOutcome::Taken(count) => self.engine.sent(conn, count),
                WriteOutcome::Blocked => return true,
                WriteOutcome::Failed => {
                    self.close_lost(conn, now);
                    return true;
                }
            }
        }
    }

    /// Updates what the system watches. Input may wait for the next deadline unless a player's command is awaited (docs/decisions/0106); and dense deadlines together (0106).
    pub(crate) fn update_watch(&mut self, now: RealTime) {
        self.wait.set_policy(WaitPolicy {
            input_may_wait: !self.engine.awaits_command(),
            spacing: spacing_at(self.engine.game_clock().frequency()),
            game_due: self.engine.game_due(),
            is_precise: self.is_precise,
        });
        for conn in self.conns.update_watch(self.wait.registry()) {
            self.close_lost(conn, now);
        }
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

    /// Closes a connection that is lost, and tells the engine.
    fn close_lost(&mut self, conn: ConnId, now: RealTime) {
        log::trace!("connection {conn} is gone");
        self.engine.handle(Input::Closed { conn }, now);
        self.close(conn);
    }

    fn close(&mut self, conn: ConnId) {
        self.conns.close(conn, self.wait.registry());
        if let Some(listener) = &mut self.listener {
            listener.room_was_made();
        }
    }
}
