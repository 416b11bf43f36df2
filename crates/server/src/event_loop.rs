//! The server's loop: one thread, one wait, and passes of stages around one [`Engine`].
//!
//! ```text
//!  sleep until a socket is ready, a task comes, or a deadline ─> the stages, in their order ─> count ─> round
//! ```
//!
//! [`crate::stages`] is the list of stages with their budgets, [`crate::shell`] what they work on. The loop runs on the calling
//! thread or on one of its own, and several can run in one process.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use trantor_engine::{ControlAccess, Engine, EngineStats, FiredKind};
use trantor_runtime::fault::{Fault, caught};
use trantor_runtime::signals::{Handled, Signals};
use trantor_runtime::{RealClock, StopSignal, Woken};
use trantor_time::{Clock, RealSpan, RealTime};

use crate::autosave::{self, Autosave};
use crate::listener::{Acceptor, Listener};
use crate::metrics;
pub use crate::passes::{Budget, StageUse};
use crate::passes::{Passes, REAL_KINDS};
use crate::recorder::Recorder;
use crate::reload::Reload;
use crate::service_manager::{self, ServiceManager};
use crate::shell::jobs::Work;
use crate::shell::tasks::TaskSender;
use crate::shell::timers::Ran;
use crate::shell::{Shell, TOKEN_SIGNALS};
use crate::stages::{self, STAGES};
use crate::wait::Ready;

/// How long an ending loop flushes its outboxes. The whole end stays well within the second that people and service
/// managers wait.
const ENDING_SPAN: RealSpan = RealSpan::from_millis(500);

pub struct EventLoop {
    pub(crate) shell: Shell,
    clock: Box<dyn Clock>,
    passes: Passes,
    address: SocketAddr,
    /// `None` before the first pass, which does not wait.
    last_wake: Option<RealTime>,
    /// Set while stopping: when the loop ends at the latest.
    stopping_until: Option<RealTime>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It was asked to end, and everything accepted was finished.
    Stopped,
    /// It was asked to end, and its time limit came before everything was finished.
    StopLimit,
    /// A stage panicked, and may have left the engine half changed.
    Failed(Fault),
}

impl EventLoop {
    /// A loop that accepts connections of `socket`, around the engine that `make` makes.
    pub fn new(socket: TcpListener, make: impl FnOnce(RealTime) -> io::Result<Engine>) -> io::Result<Self> {
        let mut listener = Listener::new(socket)?;
        let address = listener.address();
        let clock = RealClock::new();
        let now = clock.now();
        let engine = make(now)?;
        listener.limit_rate(engine.config().limits.accepts_per_second);
        let mut shell = Shell::new(engine, listener, now)?;
        // Programs of this user find its token as soon as they can connect.
        if shell.engine.config().control == ControlAccess::User {
            shell.set_control(ControlAccess::User, None);
        }
        Ok(Self::of(shell, Box::new(clock), address))
    }

    fn of(shell: Shell, clock: Box<dyn Clock>, address: SocketAddr) -> Self {
        let passes = Passes::new(STAGES.iter().map(|stage| (stage.name, stage.budget)));
        log::debug!("server: budgets of a pass: {}", stages::declared());
        Self {
            shell,
            clock,
            passes,
            address,
            last_wake: None,
            stopping_until: None,
        }
    }

    /// Ends in order at SIGINT or SIGTERM. For the one loop of a program: signals are the process's.
    pub fn end_at_signals(&mut self) -> io::Result<()> {
        let registry = self.shell.wait.registry();
        self.shell.signals = Some(Signals::watch(registry, TOKEN_SIGNALS, Handled::Service)?);
        Ok(())
    }

    /// Reads the options again at SIGHUP, which otherwise ends the loop.
    pub fn reload_at_hang_up(&mut self, mut reload: Reload) {
        self.shell.reload = Some(Box::new(move |shell| reload.again(shell)));
    }

    /// Notifies a service manager that `what` is ready, of each watchdog interval, and of the end.
    pub fn serve(&mut self, manager: ServiceManager, what: &str) {
        manager.ready(what);
        if let Some(every) = manager.watchdog_interval() {
            self.shell.every(service_manager::TIMER, every, |shell| {
                shell.manager.alive();
                Ok(Ran::Done)
            });
        }
        self.shell.manager = manager;
    }

    pub fn record(&mut self, recorder: Recorder) -> io::Result<()> {
        self.shell.storage.recorder = Some(recorder);
        self.shell.engine.start_recording();
        self.shell.jobs.start_disk()
    }

    /// Saves the game at this interval, and once more at the end.
    pub fn save(&mut self, autosave: Autosave, every: RealSpan) -> io::Result<()> {
        self.shell.storage.autosave = Some(autosave);
        self.shell.engine.expect_saves();
        self.shell
            .every(autosave::TIMER, every, |shell| match shell.save() {
                Ok(_) => Ok(Ran::Done),
                Err(reason) => {
                    log::warn!("{reason}");
                    Ok(Ran::Skipped)
                }
            });
        self.shell.jobs.start_disk()
    }

    pub fn log_metrics(&mut self, level: log::Level, every: RealSpan) {
        self.shell.every("metrics_log", every, move |shell| {
            log::log!(level, "metrics: {}", metrics::collect(shell).to_log_line());
            Ok(Ran::Done)
        });
    }

    /// The address listened on, with the port that the system chose if it was asked to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks the loop to end, from any thread.
    pub fn stop_signal(&self) -> StopSignal {
        self.shell.stop.clone()
    }

    pub fn tasks(&self) -> TaskSender {
        self.shell.tasks.sender()
    }

    /// Runs until a signal or [`Self::stop_signal`] ends it; all connections are then closed.
    pub fn run(mut self) -> Ended {
        loop {
            if let Some(why) = self.pass() {
                return self.end(why);
            }
        }
    }

    /// Closes all connections, and ends journal and saves.
    fn end(mut self, why: EndReason) -> Ended {
        log::info!("the loop ended: {why:?}");
        self.shell.jobs.stop(match why {
            EndReason::Stopped => ENDING_SPAN,
            EndReason::StopLimit | EndReason::Failed(_) => RealSpan::ZERO,
        });
        self.shell.close_all();
        if matches!(why, EndReason::Stopped | EndReason::StopLimit) {
            let storage = std::mem::take(&mut self.shell.storage);
            storage.finish(&mut self.shell.engine, self.shell.now);
        }
        Ended {
            why,
            stats: self.shell.engine.stats(self.clock.now()),
            digest: self.shell.engine.game().digest(),
        }
    }

    /// Waits, and runs one pass; answers why the loop ended, once it has.
    fn pass(&mut self) -> Option<EndReason> {
        self.sleep();
        self.run_pass()
    }

    fn run_pass(&mut self) -> Option<EndReason> {
        self.begin_stop();
        let fault = self.run_stages();
        self.shell.stats.count_pass(&self.passes);
        let (tasks, jobs) = (self.shell.tasks.len(), self.shell.jobs.in_flight());
        let unwritten = self.shell.unwritten;
        self.passes
            .log_if_long(format_args!("tasks {tasks}, jobs {jobs}, flush {unwritten}"));
        match fault {
            Some(fault) => Some(EndReason::Failed(fault)),
            None => self.end_reason(),
        }
    }

    fn sleep(&mut self) {
        let until = self.next_wake();
        let is_idle = until.is_none_or(|until| until > self.clock.now());
        if is_idle {
            self.shell.stats.idle_sleeps += 1;
        }
        let woken = self.shell.wait.wait(until);
        // A reading that is not later changes nothing.
        let now = self.clock.now().max(self.shell.now);
        if let (true, Woken::Deadline, Some(until)) = (is_idle, woken, until) {
            self.shell.stats.wake_lateness.record(now.since(until));
        }
        self.shell.now = now;
        self.last_wake = Some(now);
    }

    /// When the loop wakes next if nothing happens: at once if work was left over, `None` for never.
    pub fn next_wake(&self) -> Option<RealTime> {
        let Some(last_wake) = self.last_wake else {
            return Some(self.shell.now);
        };
        if self.passes.work_is_left() {
            return Some(last_wake);
        }
        let next = stages::next_wake(&self.shell)
            .into_iter()
            .chain(self.stopping_until);
        Some(next.min()?.max(last_wake))
    }

    /// Runs the stages in their order, at the time of the pass or of the latest arrival in it, until one panics.
    fn run_stages(&mut self) -> Option<Fault> {
        self.passes.begin(self.shell.now);
        for (index, stage) in STAGES.iter().enumerate() {
            let now = self.shell.now;
            let mut turn = self.passes.enter(index, &*self.clock);
            let ran = caught(|| {
                (stage.run)(&mut self.shell, &mut turn);
                Ok::<_, String>(())
            });
            if let Err(message) = ran {
                let place = self.passes.place(index);
                let fault = Fault { place, message };
                log::error!("{fault}");
                return Some(fault);
            }
            self.shell.now = now.max(turn.leave().unwrap_or(now));
        }
        None
    }

    /// Accepts nothing new once the loop is asked to stop.
    fn begin_stop(&mut self) {
        if self.stopping_until.is_none() && self.shell.stop.is_requested() {
            self.stopping_until = Some(self.shell.now.saturating_add(ENDING_SPAN));
            self.shell.refuse_input();
            self.shell.tasks.close();
            self.shell.jobs.close();
        }
    }

    fn end_reason(&self) -> Option<EndReason> {
        let until = self.stopping_until?;
        if !stages::has_unfinished(&self.shell) {
            return Some(EndReason::Stopped);
        }
        (self.clock.now() >= until).then_some(EndReason::StopLimit)
    }
}

#[derive(Debug)]
pub struct Ended {
    pub why: EndReason,
    pub stats: EngineStats,
    /// The digest of the last state, as `trantor-server sim` prints it.
    pub digest: u64,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineStats {
            uptime_ms,
            counters,
            lateness,
            slipped,
            ..
        } = &self.stats;
        write!(
            f,
            "ended after {:.1} s: {} deadlines, {} commands, lateness p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms, slipped {:.1} units, \
             state {:016x}",
            *uptime_ms as f64 / 1e3,
            counters.fired.iter().sum::<u64>(),
            counters.commands,
            lateness.p50_ns as f64 / 1e6,
            lateness.p99_ns as f64 / 1e6,
            lateness.max_ns as f64 / 1e6,
            slipped.as_units_f64(),
            self.digest,
        )
    }
}

/// The loop in a simulation, which sleeps for it, accepts, and runs its disk jobs when it wants them done. Everything else is
/// the loop that ships: stages and budgets, connections, wake-up limiter, timers, tasks, storage.
impl EventLoop {
    /// A loop around `engine` that accepts connections of `acceptor`. Nothing of it runs on another thread.
    pub fn simulated(engine: Engine, acceptor: Box<dyn Acceptor>, clock: Box<dyn Clock>) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut listener = Listener::of(acceptor, address);
        listener.limit_rate(engine.config().limits.accepts_per_second);
        let mut shell = Shell::new(engine, listener, clock.now())?;
        shell.jobs.simulate();
        Ok(Self::of(shell, clock, address))
    }

    /// When the loop wakes if nothing else wakes it: the next deadline, or later if the limiter defers it.
    pub fn wake_at(&mut self) -> Option<RealTime> {
        let until = match self.shell.tasks.len() {
            0 => self.next_wake(),
            _ => Some(self.passes.end()),
        };
        match until {
            Some(until) if until > self.passes.end() => self.shell.wait.wake_at(Some(until)),
            _ => until,
        }
    }

    /// A sleep has ended at `now`: the limiter takes a token if it was for a deadline.
    pub fn note_woken(&mut self, now: RealTime) {
        let until = self.next_wake();
        if until.is_some_and(|until| until > self.passes.end()) {
            self.shell.wait.note_woken(until, now);
        }
    }

    /// Runs a pass with these sockets `ready`; answers why the loop ended, once it has.
    pub fn pass_with(&mut self, ready: impl IntoIterator<Item = Ready>) -> Option<EndReason> {
        self.shell.wait.report(ready);
        self.shell.now = self.clock.now().max(self.shell.now);
        self.last_wake = Some(self.shell.now);
        self.run_pass()
    }

    /// The next disk job that waits for a worker: its name and its work. Its end comes to the next pass.
    pub fn take_disk_job(&mut self) -> Option<(&'static str, Work)> {
        self.shell.jobs.take_work()
    }

    pub fn finish(self, why: EndReason) -> Ended {
        self.end(why)
    }

    pub fn engine(&self) -> &Engine {
        &self.shell.engine
    }

    pub fn shell(&mut self) -> &mut Shell {
        &mut self.shell
    }

    /// Runs of timers that ended in a panic, which ends no match.
    pub fn timer_panics(&self) -> u64 {
        self.shell.timers.panics
    }

    pub fn ticks_run(&self) -> u64 {
        let kinds = REAL_KINDS.iter().zip(self.shell.stats.real_deadlines);
        kinds
            .filter(|(kind, _)| **kind == FiredKind::Tick)
            .map(|(_, count)| count)
            .sum()
    }

    pub fn stages(&self) -> &[StageUse] {
        self.passes.stages()
    }

    #[cfg(feature = "faults")]
    pub fn ignore_budgets(&mut self) {
        self.passes.ignore_budgets();
    }
}

#[cfg(test)]
mod tests;
