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
use std::net::SocketAddr;
use std::path::Path;

use trantor_engine::{Control, Engine, EngineStats};
use trantor_runtime::fault::{Fault, caught};
use trantor_runtime::life::StopSignal;
use trantor_runtime::{RealClock, Wait as _, Woken};
use trantor_time::{Clock, RealSpan, RealTime};

use crate::autosave::{self, Autosave};
use crate::keeping;
use crate::listener::{Door, Listener};
use crate::options::RecordKeep;
use crate::passes::Passes;
use crate::reload::Reload;
use crate::service_manager::ServiceManager;
use crate::shell::Shell;
use crate::shell::tasks::TaskSender;
use crate::stages::{self, STAGES};

/// How long an ending loop goes on trying to deliver what it owes. With the rest of the end it stays well within
/// the second that people and service managers wait.
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
    /// A loop that listens at `door`, mostly an address, around the engine that `make` makes.
    ///
    /// # Errors
    /// If the address cannot be listened on, the system gives no descriptors, or `make` fails.
    pub fn new(door: impl Into<Door>, make: impl FnOnce(RealTime) -> io::Result<Engine>) -> io::Result<Self> {
        let mut listener = Listener::open(door.into())?;
        let address = listener.address();
        let clock = RealClock::new();
        let now = clock.now();
        let engine = make(now)?;
        listener.limit_rate(engine.config().limits.accepts_per_second);
        let mut shell = Shell::new(engine, listener, now)?;
        // Programs of this user find its token as soon as they can connect.
        if shell.engine.config().control == Control::User {
            shell.set_control(Control::User, None);
        }
        Ok(Self::of(shell, Box::new(clock), address))
    }

    fn of(shell: Shell, clock: Box<dyn Clock>, address: SocketAddr) -> Self {
        let passes = Passes::new(STAGES.iter().map(|stage| (stage.name, stage.budget)));
        log::info!("server: {}", stages::declared());
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
    ///
    /// # Errors
    /// If the system does not let us handle them.
    pub fn end_at_signals(&mut self) -> io::Result<()> {
        self.shell.watch_signals()
    }

    /// Reads the options again at SIGHUP, which otherwise ends the loop.
    pub fn reload_at_hang_up(&mut self, mut reload: Reload) {
        self.shell.reload = Some(Box::new(move |shell| reload.again(shell)));
    }

    /// Tells a service manager that `what` is ready, that it is alive as often as that is wanted, and of its end.
    pub fn serve(&mut self, manager: ServiceManager, what: &str) {
        manager.ready(what);
        if let Some(every) = manager.watchdog_interval() {
            let alive = |shell: &mut Shell| shell.manager.alive();
            self.shell.every("watchdog", every, alive);
        }
        self.shell.manager = manager;
    }

    /// Keeps a journal of everything in `directory`, and of older ones as much as `keep` says.
    ///
    /// # Errors
    /// If no file can be made there, or the system refuses a thread.
    pub fn record(&mut self, directory: &Path, keep: RecordKeep) -> io::Result<()> {
        self.shell.start_recording(directory, keep)?;
        self.shell.disk.start()
    }

    /// Saves the game so often, and once more at the end.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn save(&mut self, autosave: Autosave, every: RealSpan) -> io::Result<()> {
        self.shell.autosave = Some(autosave);
        self.shell.engine.expect_saves();
        self.shell.every(autosave::TIMER, every, keeping::save_or_warn);
        self.shell.disk.start()
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
        let why = loop {
            if let Some(why) = self.pass() {
                break why;
            }
        };
        log::info!("the loop ended: {why:?}");
        self.shell.disk.stop(match why {
            EndReason::Stopped => ENDING_SPAN,
            EndReason::StopLimit | EndReason::Failed(_) => RealSpan::ZERO,
        });
        self.shell.close_all();
        if matches!(why, EndReason::Stopped | EndReason::StopLimit) {
            self.shell.finish_keeping();
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
        self.begin_stop();
        let fault = self.run_stages();
        self.shell.stats.count_pass(&self.passes);
        let (tasks, jobs) = (self.shell.tasks.len(), self.shell.disk.in_flight());
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
            self.shell.stats.sleeps += 1;
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
    fn next_wake(&self) -> Option<RealTime> {
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
            self.shell.disk.close();
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
    /// One number for the state in which the game was left, as `trantor-server sim` tells it.
    pub digest: u64,
}

impl fmt::Display for Ended {
    /// One line for people and scripts: how long, how much, how late, and what the machine could not keep up with.
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

#[cfg(test)]
mod tests {
    use super::*;

    use std::cell::{Cell, RefCell};
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::rc::Rc;

    use trantor_time::ManualClock;

    use crate::console;
    use crate::options::Options;
    use crate::shell::tasks::TaskError;

    fn event_loop(options: Options) -> EventLoop {
        let options = Options { port: 0, ..options };
        EventLoop::new(options.listen_address(), |now| {
            Ok(Engine::new(options.engine_config(1), now))
        })
        .unwrap()
    }

    #[test]
    fn what_is_recorded_is_forced_to_the_disk_in_the_background() {
        let directory = std::env::temp_dir().join(format!("trantor-sync-{}", std::process::id()));
        let mut event_loop = event_loop(Options::default());
        event_loop.record(&directory, RecordKeep::default()).unwrap();
        event_loop.tasks().send("wake", |_| {}).unwrap();
        event_loop.pass();
        let synced = |event_loop: &EventLoop| {
            let recorder = event_loop.shell.recorder.as_ref();
            recorder.map_or(0, |recorder| recorder.stats().synced)
        };
        let timer = event_loop.next_wake().unwrap();
        assert!(
            timer > RealClock::new().now(),
            "the beginning of the journal waits for its turn"
        );
        keeping::sync(&mut event_loop.shell);
        while synced(&event_loop) == 0 {
            event_loop.pass();
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_save_that_is_not_begun_is_not_said_to_be() {
        let directory = std::env::temp_dir().join(format!("trantor-save-twice-{}", std::process::id()));
        let mut event_loop = event_loop(Options::default());
        let say = |event_loop: &mut EventLoop| console::carry_out(&mut event_loop.shell, None, "save");
        assert!(say(&mut event_loop).unwrap_err().contains("--save DIR"));
        let autosave = Autosave::new(&directory, 3).unwrap();
        event_loop.save(autosave, RealSpan::from_secs(60)).unwrap();
        assert!(say(&mut event_loop).unwrap().starts_with("saving in "));
        let refused = say(&mut event_loop).unwrap_err();
        assert!(refused.contains("still being written"), "{refused}");
        drop(event_loop);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_pass_allocates_nothing() {
        let mut event_loop = event_loop(Options::default());
        let waker = event_loop.shell.wait.waker();
        let mut pass = || {
            waker.wake();
            assert_eq!(event_loop.pass(), None);
        };
        (0..10).for_each(|_| pass());
        assert_eq!(
            allocation_counter::measure(|| (0..100).for_each(|_| pass())).count_total,
            0
        );
    }

    #[test]
    fn a_stopping_loop_runs_the_tasks_it_has_accepted_and_refuses_others() {
        let event_loop = event_loop(Options::default());
        let (tasks, stop) = (event_loop.tasks(), event_loop.stop_signal());
        let (told, ran) = std::sync::mpsc::sync_channel(2);
        let (other, told_too) = (tasks.clone(), told.clone());
        let first = move |_: &mut Shell| told.send(other.send("late", |_| {})).unwrap();
        tasks.send("first", first).unwrap();
        tasks
            .send("second", move |_| told_too.send(Ok(())).unwrap())
            .unwrap();
        stop.request();
        assert_eq!(event_loop.run().why, EndReason::Stopped);
        let outcomes: Vec<_> = ran.iter().collect();
        assert_eq!(outcomes, [Err(TaskError::Closed), Ok(())]);
        assert_eq!(tasks.send("after the end", |_| {}), Err(TaskError::Closed));
    }

    #[test]
    fn the_queue_of_tasks_is_bounded() {
        let event_loop = event_loop(Options::default());
        let tasks = event_loop.tasks();
        let refusal = (0..100_000).find_map(|_| tasks.send("one of many", |_| {}).err());
        assert_eq!(refusal, Some(TaskError::Full));
    }

    #[test]
    fn a_panic_ends_the_loop_and_is_told_with_its_place() {
        let event_loop = event_loop(Options::default());
        event_loop.tasks().send("broken", |_| panic!("no way")).unwrap();
        match event_loop.run().why {
            EndReason::Failed(fault) => assert_eq!(fault.to_string(), "tasks: broken failed: no way"),
            why => panic!("{why:?}"),
        }
    }

    #[test]
    fn there_is_one_disk_job_of_a_name_and_its_failure_comes_to_the_loop() {
        let mut event_loop = event_loop(Options::default());
        let disk = &mut event_loop.shell.disk;
        disk.start().unwrap();
        let (told, outcomes) = std::sync::mpsc::sync_channel(2);
        let done = move |_: &mut Shell, outcome| told.send(outcome).unwrap();
        let broken = || -> Result<(), String> { panic!("no disk") };
        disk.submit("sync", broken, done.clone()).unwrap();
        assert!(disk.submit("sync", broken, done.clone()).is_err());
        disk.submit("save", || Ok::<_, String>(()), done).unwrap();
        while event_loop.shell.disk.in_flight() > 0 {
            event_loop.pass();
        }
        assert_eq!(
            outcomes.try_iter().collect::<Vec<_>>(),
            [Err("no disk".to_owned()), Ok(())]
        );
        let stats = event_loop.shell.disk.stats();
        assert_eq!((stats.done, stats.failed, stats.refused), (1, 1, 1));
    }

    /// Drawing a map takes milliseconds, and an operator may ask for hundreds at once.
    #[test]
    fn an_operator_that_asks_for_much_at_once_gets_it_in_many_passes() {
        let mut event_loop = event_loop(Options {
            width: 200,
            height: 200,
            control: Control::Loopback,
            ..Options::default()
        });
        let mut peer = TcpStream::connect(event_loop.address()).unwrap();
        let lines = format!("ADMIN\n{}tick rate 200\n", "map\n".repeat(100));
        peer.write_all(lines.as_bytes()).unwrap();
        let now = event_loop.clock.now();
        loop {
            event_loop.pass();
            let engine = &mut event_loop.shell.engine;
            if engine.has_operator_line() {
                break;
            }
            assert_eq!(engine.stats(now).counters.admin_requests, 0, "all in one pass");
        }
    }

    /// A manual clock that moves between any two readings, by so little that no agent starves in all passes together, and an
    /// agent's peer that speaks within a pass.
    #[derive(Clone)]
    struct MovingClock {
        clock: ManualClock,
        peer: Rc<RefCell<TcpStream>>,
        /// Readings until it speaks, while it is yet to speak.
        speaks_in: Rc<Cell<Option<u32>>>,
        spoke_at: Rc<Cell<RealTime>>,
    }

    impl Clock for MovingClock {
        fn now(&self) -> RealTime {
            self.clock.advance(RealSpan::from_micros(1));
            match self.speaks_in.get() {
                Some(0) => {
                    self.spoke_at.set(self.clock.now());
                    self.peer.borrow_mut().write_all(b"ght\n").unwrap();
                    self.speaks_in.set(None);
                }
                more => self.speaks_in.set(more.map(|readings| readings - 1)),
            }
            self.clock.now()
        }
    }

    /// Passes until `is_reached`, without sleeping; everything is on loopback and comes at once, or soon. The peer speaks in the
    /// first pass if `speaks`: at the second reading, which is not that of the pass.
    fn pass_until(
        event_loop: &mut EventLoop,
        clock: &MovingClock,
        mut speaks: bool,
        is_reached: impl Fn(&Engine) -> bool,
    ) {
        for _ in 0..100_000 {
            if is_reached(&event_loop.shell.engine) {
                return;
            }
            event_loop.shell.wait.wait(Some(RealTime::ZERO));
            if std::mem::take(&mut speaks) {
                clock.speaks_in.set(Some(1));
            }
            event_loop.shell.now = clock.now();
            assert_eq!(event_loop.run_stages(), None);
        }
        panic!("it is never reached");
    }

    /// The peer sends the end of its command when the pass has begun, and the read stage finds it.
    #[test]
    fn what_is_read_is_stamped_after_it_was_sent() {
        let options = Options {
            port: 0,
            ..Options::default()
        };
        let listener = Listener::open(options.listen_address().into()).unwrap();
        let address = listener.address();
        let clock = MovingClock {
            clock: ManualClock::default(),
            peer: Rc::new(RefCell::new(TcpStream::connect(address).unwrap())),
            speaks_in: Rc::default(),
            spoke_at: Rc::default(),
        };
        let now = clock.clock.now();
        let engine = Engine::new(options.engine_config(1), now);
        let shell = Shell::new(engine, listener, now).unwrap();
        let mut event_loop = EventLoop::of(shell, Box::new(clock.clone()), address);
        let team = options.engine_config(1).game.teams[0].clone();
        let say = |text: &str| clock.peer.borrow_mut().write_all(text.as_bytes()).unwrap();
        say(&format!("{team}\n"));
        pass_until(&mut event_loop, &clock, false, |engine| {
            engine.game().world().agents().len() == 1
        });
        // The system reports the beginning before the pass; the rest comes within it.
        say("Ri");
        let started = |engine: &Engine| {
            let agent = engine.game().world().agents().next()?;
            agent.action().map(|action| action.start)
        };
        pass_until(&mut event_loop, &clock, true, |engine| started(engine).is_some());
        let engine = &event_loop.shell.engine;
        let spoke_at = engine.game_clock().now(clock.spoke_at.get());
        assert!(started(engine).unwrap() >= spoke_at);
    }
}
