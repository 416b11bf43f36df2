//! The server's machine: the shipped loop on a manual clock, over the simulated network and disk.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

use anyhow::{bail, ensure};
use trantor_engine::limits::Limits;
use trantor_engine::{ConnId, ControlAccess, Engine, Token};
use trantor_model::Control;
use trantor_server::console;
use trantor_server::event_loop::{Budget, EndReason, Ended, EventLoop, StageUse};
use trantor_time::{Clock, GameTime, ManualClock, RealSpan, RealTime};

use crate::Coverage;
use crate::actors::CheckResult;
use crate::fault::{Fault, FaultInjector};
use crate::network::Network;
use crate::picture::{Picture, Pictures, Ticked};
use crate::plan::{self, Plan};
use crate::playback::Received;
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
    /// Reloads so far, and the number of the token in force.
    reloads: u32,
    token: Option<u32>,
    pub(crate) coverage: Coverage,
    /// By index of the connection: reloads before it, and the token that its peer presents.
    peers: Vec<(u32, Option<u32>)>,
    /// The limits before and after the last reload, and connections at the last pass.
    limits: [Limits; 2],
    connections: BTreeMap<Option<IpAddr>, u32>,
    /// Game time at which this server process started.
    pub(crate) begins: GameTime,
    /// Some viewers see the game with a delay.
    pub(crate) has_delay: bool,
    ticks: u64,
    /// Connections closed until the last pass.
    closed: u64,
    /// When the last pass ended.
    ended: RealTime,
    /// What stages may spend, and the longest turn of one in the last pass.
    budgets: Vec<Budget>,
    longest_turn: RealSpan,
    /// A stall explains a late wake-up.
    is_late_expected: bool,
    injector: FaultInjector,
}

/// The loop's clock: each reading takes some time, which is how time passes within a pass.
#[derive(Clone, Debug)]
struct LoopClock {
    clock: ManualClock,
    reading: Rc<Cell<RealSpan>>,
}

impl Clock for LoopClock {
    fn now(&self) -> RealTime {
        self.clock.advance(self.reading.get());
        self.clock.now()
    }
}

impl Server {
    /// A server of `plan` around an engine, which records and saves unless it plays a recording.
    pub(crate) fn new(engine: Engine, plan: &Plan, clock: ManualClock) -> Self {
        let mut server = Self {
            event_loop: None,
            network: Network::new(clock.clone(), plan),
            storage: Storage::new(plan),
            pictures: Pictures::new(),
            reloads: 0,
            token: plan.config.token.is_some().then_some(0),
            limits: [plan.config.limits.clone(), plan.config.limits.clone()],
            connections: BTreeMap::new(),
            coverage: Coverage::default(),
            peers: Vec::new(),
            begins: GameTime::ZERO,
            has_delay: false,
            ticks: 0,
            closed: 0,
            ended: clock.now(),
            budgets: Vec::new(),
            longest_turn: RealSpan::ZERO,
            is_late_expected: false,
            injector: plan.injector.clone(),
            clock: LoopClock {
                clock,
                reading: Rc::new(Cell::new(plan.reading)),
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
        let mut event_loop = EventLoop::simulated(engine, self.network.acceptor(), clock)?;
        self.budgets = event_loop.stages().iter().map(|stage| stage.budget).collect();
        #[cfg(feature = "faults")]
        if self.injector.is(Fault::IgnoredBudgets) {
            event_loop.ignore_budgets();
        }
        if !event_loop.engine().is_playback() {
            self.storage.start(&mut event_loop)?;
        }
        self.event_loop = Some(event_loop);
        self.pictures.clear();
        self.connections.clear();
        (self.ticks, self.closed) = (0, 0);
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

    /// Opens a connection; returns its index, and a token that its peer presents: mostly the one in force, else an earlier
    /// one, a wrong one or none.
    pub(crate) fn connect(&mut self, rng: &mut Rng, token_rng: &mut Rng) -> (usize, Option<String>) {
        let token = match token_rng.below(6) {
            0 => None,
            1 => Some(u32::MAX),
            2 => self.token.and_then(|token| token.checked_sub(1)),
            _ => self.token,
        };
        self.peers.push((self.reloads, token));
        let is_local = !self.network.conns.len().is_multiple_of(3);
        (self.network.connect(is_local, rng), token.map(plan::token))
    }

    /// Whether the peer of a connection presents the token that was in force all the time.
    pub(crate) fn has_right_token(&self, conn: usize) -> bool {
        self.token.is_some() && self.peers[conn] == (self.reloads, self.token)
    }

    /// Nothing is in flight to or from a connection, nor unsent.
    pub(crate) fn is_quiet(&self, conn: usize) -> bool {
        let id = self.id_of(conn);
        self.network.conns[conn].borrow().is_idle()
            && id.is_some_and(|id| self.engine().unsent(id).is_empty())
    }

    /// A viewer was sent all of the world.
    pub(crate) fn is_up_to_date(&self, conn: usize) -> bool {
        self.id_of(conn).is_some_and(|id| self.engine().is_up_to_date(id))
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
    pub(crate) fn ask(&mut self, request: Control) {
        self.send(move |shell| {
            let now = shell.now();
            // A refusal is a valid answer.
            let _refusal = shell.engine.control(request, now);
        });
    }

    /// Queues a line of the server's console.
    pub(crate) fn say(&mut self, line: String) {
        self.send(move |shell| {
            console::carry_out(shell, None, &line, Box::new(|_, _| {}));
        });
    }

    fn send(&mut self, task: impl FnOnce(&mut trantor_server::shell::Shell) + Send + 'static) {
        let sent = self.event_loop().tasks().send("simulation", task);
        sent.expect("few tasks wait");
    }

    /// Changes options, as a reload does.
    pub(crate) fn reload(&mut self, rng: &mut Rng) {
        self.coverage.count("reloads", 1);
        self.reloads += 1;
        let control = *rng.pick(&[
            ControlAccess::Token,
            ControlAccess::Token,
            ControlAccess::User,
            ControlAccess::User,
            ControlAccess::Everyone,
            ControlAccess::Loopback,
            ControlAccess::Off,
        ]);
        let kept = self.token.filter(|_| rng.one_in(2));
        self.token = plan::needs_token(control).then(|| kept.unwrap_or(self.reloads));
        let limits = rng.one_in(3).then(|| plan::draw_limits(rng));
        let delay = rng
            .one_in(4)
            .then(|| RealSpan::from_millis(*rng.pick(&[0, 60, 500])));
        let (now, token) = (self.clock.clock.now(), self.token);
        let is_stale = self.injector.is(Fault::StaleToken);
        let ignores_limits = self.injector.is(Fault::IgnoredLimits);
        let engine = &mut self.event_loop().shell().engine;
        engine.begin_pass(now);
        let token = match is_stale {
            true => engine.config().token.clone(),
            false => token.and_then(|token| Token::read(&plan::token(token)).ok()),
        };
        engine.set_control(control, token);
        if let Some(limits) = limits.as_ref().filter(|_| !ignores_limits) {
            engine.set_limits(limits);
        }
        if let Some(delay) = delay {
            engine.set_spectator_delay(delay);
            self.has_delay |= delay > RealSpan::ZERO;
        }
        let [_, before] = &self.limits;
        self.limits = [before.clone(), limits.unwrap_or_else(|| before.clone())];
    }

    /// The machine stalled: the next wake-up may be late.
    pub(crate) fn expect_lateness(&mut self) {
        self.is_late_expected = true;
    }

    /// From now on time passes only between passes.
    pub(crate) fn stop_faults(&mut self) {
        self.clock.reading.set(RealSpan::ZERO);
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
    pub(crate) fn pass(&mut self) -> anyhow::Result<Option<EndReason>> {
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
            bail!("{fault}");
        }
        ensure!(event_loop.timer_panics() == 0, "a timer panicked");
        self.ended = self.clock.clock.now();
        let has_written = self.network.host.has_written.take();
        self.storage.after_pass(event_loop, has_written, self.ended)?;
        self.note_tick();
        self.check_turns()?;
        self.check_connections()?;
        self.engine().check();
        if self.is_idle() {
            self.check_idle()?;
        }
        Ok(end)
    }

    /// The loop wakes in time.
    fn check_wake(&mut self, now: RealTime) -> CheckResult {
        let due = self.event_loop().next_wake().map(|due| due.max(self.ended));
        let late = due.map_or(RealSpan::ZERO, |due| now.since(due));
        let is_expected = std::mem::take(&mut self.is_late_expected);
        ensure!(
            late <= DEFERRED_MAX || is_expected,
            "the server woke {} ns late",
            late.as_nanos()
        );
        Ok(())
    }

    /// No stage exceeds its budget.
    fn check_turns(&mut self) -> CheckResult {
        let reading = self.clock.reading.get();
        let (longest_before, budgets) = (self.longest_turn, std::mem::take(&mut self.budgets));
        let turns = self.event_loop().stages();
        let longest = turns.iter().map(|turn| turn.time).max().unwrap_or(RealSpan::ZERO);
        // A stage may take half as long as another one, now or in the last pass.
        let floor = RealSpan::from_nanos(longest.max(longest_before).as_nanos() / 2);
        let exceeds = |(turn, budget): &(&StageUse, &Budget)| {
            let time = turn.time - reading * READINGS_LATE;
            time > budget.time_max.max(floor) || (turn.items > budget.items_max && time > floor)
        };
        let exceeded = turns.iter().zip(&budgets).find(exceeds);
        ensure!(exceeded.is_none(), "a stage exceeded its budget: {exceeded:?}");
        self.budgets = budgets;
        self.longest_turn = longest;
        Ok(())
    }

    /// Connections stay within the limits, in all and by address; above a lowered limit their number does not grow.
    fn check_connections(&mut self) -> CheckResult {
        let mut counts = BTreeMap::new();
        for client in self.engine().clients() {
            *counts.entry(None).or_insert(0) += 1;
            *counts.entry(Some(client.peer)).or_insert(0) += 1;
        }
        let most = |limits: &Limits, peer: Option<IpAddr>| {
            peer.map_or(limits.connections_max, |peer| limits.connections_of(peer))
        };
        let is_within = |(peer, count): (&Option<IpAddr>, &u32)| {
            self.limits.iter().any(|limits| most(limits, *peer) >= *count)
                || self.connections.get(peer) >= Some(count)
        };
        ensure!(
            counts.iter().all(is_within),
            "the limit of connections is exceeded: {counts:?}"
        );
        self.connections = counts;
        Ok(())
    }

    /// Keeps the world of a tick, if nothing else happened after it in its pass: no other deadline, and no connection was found
    /// closed when it was written to.
    fn note_tick(&mut self) {
        let event_loop = self.event_loop.as_mut().expect("the server runs");
        let counters = event_loop.shell().engine.stats(self.ended).counters;
        let closed = counters.closed_by_peer + counters.closed.iter().sum::<u64>();
        let event_loop = self.event_loop();
        let ticks = event_loop.ticks_run();
        let is_alone = event_loop
            .stages()
            .iter()
            .any(|turn| turn.name == "deadlines" && turn.items == 1);
        if is_alone && ticks > self.ticks && closed == self.closed {
            let engine = self.engine();
            let up_to_date: BTreeSet<ConnId> = engine
                .clients()
                .map(|client| client.conn)
                .filter(|conn| engine.is_up_to_date(*conn))
                .collect();
            let picture = Picture::of_world(engine.game().world());
            self.pictures.insert(ticks - 1, Ticked { picture, up_to_date });
        }
        (self.ticks, self.closed) = (ticks, closed);
    }

    /// Invariants while the loop sleeps.
    fn check_idle(&self) -> CheckResult {
        let engine = self.engine();
        let now = self.clock.clock.now();
        ensure!(
            engine.operator_line_at(now) != Some(now),
            "an operator's line is pending"
        );
        let mut open = 0;
        for (index, conn) in self.network.conns.iter().enumerate() {
            let Some(id) = self.id_of(index) else { continue };
            open += 1;
            let conn = conn.borrow();
            ensure!(!conn.is_over(), "connection {index} has ended and is not closed");
            let unsent = engine.unsent(id).len();
            ensure!(
                unsent == 0 || conn.room() == 0,
                "{unsent} bytes for connection {index} are unsent although its window has room"
            );
        }
        let known = engine.clients().count();
        ensure!(
            known == open,
            "{open} connections are open, the engine has {known}"
        );
        Ok(())
    }

    /// Power failure and restart: all connections are lost, and the game resumes from the disk.
    pub(crate) fn crash(&mut self, received: &[Received]) -> CheckResult {
        self.network.host.note(b'!', 0, &[]);
        let event_loop = self.event_loop.take().expect("the server runs");
        let config = event_loop.engine().config().clone();
        let resumed = self.storage.crash(event_loop, received)?;
        drop(self.network.host.waiting.take());
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
    pub(crate) fn finish(&mut self, why: EndReason, received: &[Received]) -> anyhow::Result<Ended> {
        let event_loop = self.event_loop.take().expect("the server runs");
        self.storage.finish(event_loop, why, received)
    }
}
