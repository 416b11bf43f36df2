//! The server's machine: the shipped loop on a manual clock, over the simulated network and disk.

use std::collections::BTreeSet;

use trantor_engine::limits::Limits;
use trantor_engine::{AdminRequest, ConnId, Engine};
use trantor_server::console;
use trantor_server::event_loop::{EndReason, Ended, EventLoop};
use trantor_time::{Clock, GameTime, ManualClock, RealSpan, RealTime};

use crate::Coverage;
use crate::access::{Access, Credentials, Rule, TokenNumber};
use crate::actors::CheckResult;
use crate::fault::{Fault, FaultInjector};
use crate::network::Network;
use crate::picture::{Picture, Pictures, Ticked};
use crate::plan::{Plan, Reload};
use crate::replayed::Received;
use crate::rng::Rng;
use crate::storage::Storage;

/// The longest that the wake-up limiter defers a deadline, and a tolerance for rounding to whole nanoseconds.
const DEFERRED_MAX: RealSpan = RealSpan::from_nanos(101_000);

/// Readings of the clock by which a stage exceeds its time: before and after its last item, and at its end.
const READINGS_LATE: i64 = 3;

/// See the module.
pub(crate) struct Server {
    /// `None` while the machine is off.
    event_loop: Option<EventLoop>,
    clock: LoopClock,
    pub(crate) network: Network,
    pub(crate) storage: Storage,
    pub(crate) pictures: Pictures,
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    pub(crate) coverage: Coverage,
    /// Who connected, by index of the connection, and the number of access rules then.
    pub(crate) peers: Vec<(Credentials, usize)>,
    /// Game time at which this server process started.
    pub(crate) begins: GameTime,
    /// Some viewers see the game with a delay.
    pub(crate) has_delay: bool,
    ticks: u64,
    /// When the last pass ended.
    ended: RealTime,
    /// The longest turn of a stage in the last pass.
    longest_turn: RealSpan,
    /// A stall explains a late wake-up.
    is_late_expected: bool,
    injector: FaultInjector,
}

/// The loop's clock: each reading takes a drawn time, which is how time passes within a pass.
#[derive(Clone, Debug)]
struct LoopClock {
    clock: ManualClock,
    reading_ns_max: std::rc::Rc<std::cell::Cell<u32>>,
    rng: std::rc::Rc<std::cell::RefCell<Rng>>,
}

impl Clock for LoopClock {
    fn now(&self) -> RealTime {
        if self.reading_ns_max.get() > 0 {
            let takes_ns = self.rng.borrow_mut().between(0, self.reading_ns_max.get());
            self.clock.advance(RealSpan::from_nanos(i64::from(takes_ns)));
        }
        self.clock.now()
    }
}

impl Server {
    /// A server of `plan` around an engine, which records and saves unless it plays a recording.
    pub(crate) fn new(
        engine: Engine,
        seed: u64,
        plan: &Plan,
        injector: FaultInjector,
        clock: ManualClock,
    ) -> Self {
        let mut server = Self {
            event_loop: None,
            network: Network::new(clock.clone(), seed, plan.network_faults, injector),
            storage: Storage::new(seed, plan.storage, injector),
            pictures: Pictures::new(),
            access: Access::new(Rule::first(plan.config.control)),
            limits: plan.config.limits.clone(),
            coverage: Coverage::default(),
            peers: Vec::new(),
            begins: GameTime::ZERO,
            has_delay: false,
            ticks: 0,
            ended: clock.now(),
            longest_turn: RealSpan::ZERO,
            is_late_expected: false,
            injector,
            clock: LoopClock {
                clock,
                reading_ns_max: std::rc::Rc::new(std::cell::Cell::new(plan.machine.reading_ns_max)),
                rng: std::rc::Rc::new(std::cell::RefCell::new(Rng::new(seed, 2))),
            },
        };
        server
            .start(engine)
            .expect("a new disk fails no write before the chaos phase");
        server
    }

    fn start(&mut self, engine: Engine) -> CheckResult {
        self.begins = engine.game().now();
        self.has_delay = engine.config().spectator_delay > RealSpan::ZERO;
        let clock = Box::new(self.clock.clone());
        let event_loop = EventLoop::simulated(engine, self.network.acceptor(), clock);
        let mut event_loop = event_loop.map_err(|error| error.to_string())?;
        #[cfg(feature = "faults")]
        if self.injector.is(Fault::IgnoredBudgets) {
            event_loop.ignore_budgets();
        }
        if !event_loop.engine().is_playback() {
            self.storage.start(&mut event_loop)?;
        }
        self.event_loop = Some(event_loop);
        self.pictures.clear();
        self.ticks = 0;
        self.ended = self.clock.clock.now();
        self.is_late_expected = true;
        Ok(())
    }

    pub(crate) fn event_loop(&mut self) -> &mut EventLoop {
        self.event_loop.as_mut().expect("the server runs")
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.event_loop.as_ref().expect("the server runs").engine()
    }

    pub(crate) fn stats(&mut self) -> trantor_engine::EngineStats {
        let now = self.clock.clock.now();
        self.event_loop().shell().engine.stats(now)
    }

    /// Opens a connection of a peer that presents `token`; returns its index.
    pub(crate) fn connect(&mut self, token: Option<TokenNumber>, rng: &mut Rng) -> usize {
        let is_local = !self.network.conns.len().is_multiple_of(3);
        self.peers
            .push((Credentials { is_local, token }, self.access.count()));
        self.network.connect(is_local, rng)
    }

    /// The engine's name for a connection, while its server's end is open.
    pub(crate) fn id_of(&self, conn: usize) -> Option<ConnId> {
        let slot = self.network.conns[conn].borrow().slot()?;
        let mut clients = self.engine().clients();
        clients
            .find(|client| client.conn.slot == slot)
            .map(|client| client.conn)
    }

    /// Queues a request to the engine.
    pub(crate) fn ask(&mut self, request: AdminRequest) {
        self.send(move |shell| {
            let now = shell.now();
            // A refusal is a valid answer.
            let _refusal = shell.engine.admin(request, now);
        });
    }

    /// Queues a line of the server's console.
    pub(crate) fn say(&mut self, line: String) {
        self.send(move |shell| {
            let _answer = console::carry_out(shell, None, &line);
        });
    }

    fn send(&mut self, task: impl FnOnce(&mut trantor_server::shell::Shell) + Send + 'static) {
        let sent = self.event_loop().tasks().send("simulation", task);
        sent.expect("few tasks wait");
    }

    /// Changes options, as a reload does.
    pub(crate) fn reload(&mut self, reload: &Reload) {
        self.coverage.count("reloads", 1);
        let (now, injector) = (self.clock.clock.now(), self.injector);
        let engine = &mut self.event_loop().shell().engine;
        engine.begin_pass(now);
        let rule = reload.rule;
        let token = match injector.is(Fault::StaleToken) {
            true => engine.config().token.clone(),
            false => rule.token.map(TokenNumber::token),
        };
        engine.set_control(rule.control, token);
        if let Some(limits) = reload
            .limits
            .as_ref()
            .filter(|_| !injector.is(Fault::IgnoredLimits))
        {
            engine.set_limits(limits);
        }
        if let Some(delay) = reload.spectator_delay {
            engine.set_spectator_delay(delay);
            self.has_delay |= delay > RealSpan::ZERO;
        }
        self.access.set(rule);
        self.limits = reload.limits.clone().unwrap_or_else(|| self.limits.clone());
    }

    /// The machine stalled: the next wake-up may be late.
    pub(crate) fn expect_lateness(&mut self) {
        self.is_late_expected = true;
    }

    /// From now on time passes only between passes.
    pub(crate) fn stop_faults(&mut self) {
        self.clock.reading_ns_max.set(0);
        self.storage.stop_faults();
        for conn in &self.network.conns {
            conn.borrow_mut().stop_faults();
        }
    }

    /// When the loop wakes.
    pub(crate) fn wake(&mut self) -> Option<RealTime> {
        let jobs = self.storage.next_job_end();
        let deadline = self.event_loop().wake_at();
        let is_lost = deadline.is_some_and(|at| at > self.ended) && self.injector.injects(Fault::LostWakeUp);
        let deadline = deadline.map(|at| match is_lost {
            true => at + RealSpan::from_millis(3),
            false => at,
        });
        self.network
            .ready_at()
            .into_iter()
            .chain(deadline)
            .chain(jobs)
            .min()
    }

    /// No work is left for another pass at once.
    pub(crate) fn is_idle(&mut self) -> bool {
        let now = self.clock.clock.now();
        self.event_loop().wake_at().is_none_or(|at| at > now)
    }

    /// Wakes the loop for a pass, and checks it; answers why the loop ended, once it has.
    pub(crate) fn pass(&mut self) -> Result<Option<EndReason>, String> {
        let now = self.clock.clock.now();
        self.check_wake(now)?;
        self.storage.run_jobs(now);
        let ready = self.network.take_ready();
        // As if tokens were added later.
        let late = match self.injector.is(Fault::NoTokens) {
            true => RealSpan::from_secs(1),
            false => RealSpan::ZERO,
        };
        let event_loop = self.event_loop.as_mut().expect("the server runs");
        event_loop.note_woken(now + late);
        let end = event_loop.pass_with(ready);
        if let Some(EndReason::Failed(fault)) = end {
            return Err(fault.to_string());
        }
        self.ended = self.clock.clock.now();
        let has_written = self.network.take_written();
        self.storage.after_pass(event_loop, has_written, self.ended)?;
        self.note_tick();
        self.check_turns()?;
        if self.is_idle() {
            self.check_idle()?;
        }
        Ok(end)
    }

    /// The loop wakes in time.
    fn check_wake(&mut self, now: RealTime) -> CheckResult {
        let due = self.event_loop().next_deadline().map(|due| due.max(self.ended));
        let late = due.map_or(RealSpan::ZERO, |due| now.since(due));
        match late > DEFERRED_MAX && !std::mem::take(&mut self.is_late_expected) {
            true => Err(format!("the server woke {} ns late", late.as_nanos())),
            false => {
                self.is_late_expected = false;
                Ok(())
            }
        }
    }

    /// No stage exceeds its budget.
    fn check_turns(&mut self) -> CheckResult {
        let reading = RealSpan::from_nanos(i64::from(self.clock.reading_ns_max.get()));
        let longest_before = self.longest_turn;
        let turns = self.event_loop().stages();
        let longest = turns.iter().map(|turn| turn.time).max().unwrap_or(RealSpan::ZERO);
        // A stage may take half as long as another one, now or in the last pass.
        let floor = RealSpan::from_nanos(longest.max(longest_before).as_nanos() / 2);
        let exceeds = |turn: &&trantor_server::event_loop::StageUse| {
            let late = turn.time - reading * READINGS_LATE;
            late > turn.budget.time_max.max(floor) || (turn.items > turn.budget.items_max && late > floor)
        };
        let exceeded = turns.iter().find(exceeds).copied();
        self.longest_turn = longest;
        match exceeded {
            Some(turn) => Err(format!("a stage exceeded its budget: {turn:?}")),
            None => Ok(()),
        }
    }

    /// Keeps the world of a tick, if nothing else happened after it in its pass.
    fn note_tick(&mut self) {
        let event_loop = self.event_loop();
        let ticks = event_loop.ticks_run();
        let is_alone = event_loop
            .stages()
            .iter()
            .any(|turn| turn.name == "deadlines" && turn.items == 1);
        if is_alone && ticks > self.ticks {
            let engine = self.engine();
            let up_to_date: BTreeSet<ConnId> = engine
                .clients()
                .map(|client| client.conn)
                .filter(|conn| engine.is_up_to_date(*conn))
                .collect();
            let picture = Picture::of_world(engine.game().world());
            self.pictures.insert(ticks - 1, Ticked { picture, up_to_date });
        }
        self.ticks = ticks;
    }

    /// Invariants while the loop sleeps.
    fn check_idle(&self) -> CheckResult {
        let engine = self.engine();
        if engine.has_operator_line() {
            return Err("an operator's line is pending".to_owned());
        }
        let mut open = 0;
        for (index, conn) in self.network.conns.iter().enumerate() {
            let Some(id) = self.id_of(index) else { continue };
            open += 1;
            let conn = conn.borrow();
            if conn.is_over() {
                return Err(format!("connection {index} has ended and is not closed"));
            }
            let unsent = engine.unsent(id).len();
            if unsent > 0 && conn.room() > 0 {
                return Err(format!(
                    "{unsent} bytes for connection {index} are unsent although its window has room"
                ));
            }
        }
        match engine.clients().count() {
            known if known == open => Ok(()),
            known => Err(format!("{open} connections are open, the engine has {known}")),
        }
    }

    /// Power failure and restart: all connections are lost, and the game resumes from the disk.
    pub(crate) fn crash(&mut self, received: &[Received]) -> CheckResult {
        self.network.note(b'!', 0, &[]);
        let event_loop = self.event_loop.take().expect("the server runs");
        let config = event_loop.engine().config().clone();
        let resumed = self.storage.crash(event_loop, received)?;
        self.network.forget_waiting();
        let now = self.clock.clock.now();
        self.start(match resumed {
            Some(game) => Engine::resume(config, game, now),
            None => Engine::new(config, now),
        })
    }

    /// Asks the loop to end in order.
    pub(crate) fn stop(&mut self) {
        self.event_loop().stop_signal().request();
    }

    /// Ends the loop after its last pass, and checks what it leaves on the disk.
    pub(crate) fn finish(&mut self, why: EndReason, received: &[Received]) -> Result<Ended, String> {
        let event_loop = self.event_loop.take().expect("the server runs");
        self.storage.finish(event_loop, why, received)
    }
}
