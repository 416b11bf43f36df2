//! The server's machine: the engine, its connections, its passes and its storage.

mod control;
mod operators;
mod spectators;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use trantor_engine::limits::Limits;
use trantor_engine::{AdminRequest, CloseCause, ConnId, Engine, FiredKind, Input, Output};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::Coverage;
use crate::access::{Access, Credentials, Rule, TokenNumber};
use crate::actors::CheckResult;
use crate::fault::{Fault, FaultInjector};
use crate::line::{Item, Line};
use crate::lock_step_check::LockStepCheck;
use crate::operator::{AdminOp, Sprints};
use crate::picture::{Picture, Pictures, Ticked};
use crate::plan::{Plan, Reload};
use crate::replayed::Received;
use crate::rng::Rng;
use crate::storage::Storage;
use crate::trace::Trace;
use crate::world_history::WorldHistory;

/// Tolerance for rounding to whole nanoseconds.
const LATENESS_NS_MAX: u64 = 1_000;

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) id: ConnId,
    pub(crate) up: Line,
    pub(crate) down: Line,
    /// The server's end is open.
    pub(crate) is_served: bool,
    /// The server reads from it; `false` while the engine throttles it.
    is_read: bool,
    pub(crate) credentials: Credentials,
    /// Number of access rules when it connected.
    pub(crate) rules_before: usize,
    /// Spectator delay, fixed when it begins to watch.
    delay: Option<RealSpan>,
}

/// See the module.
pub(crate) struct Host {
    pub(crate) engine: Engine,
    /// Game time at which this server process started.
    pub(crate) begins: GameTime,
    pub(crate) conns: Vec<Conn>,
    pub(crate) pictures: Pictures,
    pub(crate) world_history: WorldHistory,
    pub(crate) trace: Trace,
    served: BTreeMap<ConnId, usize>,
    free_slots: BTreeSet<u32>,
    generations: Vec<u32>,
    pending: Vec<Pending>,
    pub(crate) storage: Storage,
    pub(crate) sprints: Sprints,
    pub(crate) lock_step: LockStepCheck,
    pub(crate) access: Access,
    pub(crate) limits: Limits,
    pub(crate) coverage: Coverage,
    rng: Rng,
    window_bytes: usize,
    piece_bytes_max: u32,
    pass_budget: Option<u32>,
    input_ns_max: u32,
    /// A stall or a change of speed explains late deadlines in this pass.
    is_late_expected: bool,
}

/// Inputs of the next pass.
enum Pending {
    Opened(usize),
    Gone(usize),
    AdminOp(AdminOp),
    Reload(Reload),
}

impl Host {
    pub(crate) fn new(seed: u64, plan: &Plan, injector: &FaultInjector, now: RealTime) -> Self {
        let mut config = plan.config.clone();
        if injector.is(Fault::IgnoredLimits) {
            config.limits = Limits::default();
        }
        let mut engine = Engine::new(config, now);
        let mut storage = Storage::new(seed, plan.storage, *injector);
        storage
            .start(&mut engine, now)
            .expect("a new disk fails no write before the chaos phase");
        Self::around(engine, storage, seed, plan)
    }

    /// A server around this engine.
    pub(crate) fn around(engine: Engine, storage: Storage, seed: u64, plan: &Plan) -> Self {
        Self {
            storage,
            begins: engine.game().now(),
            engine,
            conns: Vec::new(),
            pictures: Pictures::new(),
            world_history: WorldHistory::new(plan.config.spectator_delay),
            trace: Trace::new(),
            served: BTreeMap::new(),
            free_slots: BTreeSet::new(),
            generations: Vec::new(),
            pending: Vec::new(),
            sprints: Sprints::default(),
            lock_step: LockStepCheck::new(plan.config.lock_step),
            access: Access::new(Rule::first(plan.config.control)),
            limits: plan.config.limits.clone(),
            coverage: Coverage::default(),
            rng: Rng::new(seed, 2),
            window_bytes: plan.network_faults.window_bytes,
            piece_bytes_max: plan.network_faults.piece_bytes_max,
            pass_budget: plan.machine.pass_budget,
            input_ns_max: plan.machine.input_ns_max,
            is_late_expected: false,
        }
    }

    /// Opens a connection of a peer that presents `token`; returns its index in [`Self::conns`].
    pub(crate) fn connect(&mut self, lines: [Line; 2], token: Option<TokenNumber>) -> usize {
        let slot = self.free_slots.pop_first().unwrap_or_else(|| {
            self.generations.push(0);
            u32::try_from(self.generations.len() - 1).expect("few connections")
        });
        let id = ConnId {
            slot,
            generation: self.generations[slot as usize],
        };
        let [up, down] = lines;
        let is_local = !self.conns.len().is_multiple_of(3);
        self.conns.push(Conn {
            id,
            up,
            down,
            is_served: true,
            is_read: true,
            credentials: Credentials { is_local, token },
            rules_before: self.access.count(),
            delay: None,
        });
        let conn = self.conns.len() - 1;
        self.served.insert(id, conn);
        self.pending.push(Pending::Opened(conn));
        conn
    }

    /// The network reports a broken connection to the server.
    pub(crate) fn reset(&mut self, conn: usize) {
        self.pending.push(Pending::Gone(conn));
    }

    /// All peers are gone: bytes that still arrive make their machines reset the connection.
    pub(crate) fn reset_unread(&mut self) {
        let unread = self
            .served
            .values()
            .filter(|conn| self.conns[**conn].down.bytes() > 0);
        self.pending.extend(unread.map(|conn| Pending::Gone(*conn)));
    }

    pub(crate) fn ask(&mut self, request: AdminRequest) {
        self.operate(AdminOp::Engine(request));
    }

    /// Queues a command from the server's console.
    pub(crate) fn operate(&mut self, op: AdminOp) {
        self.pending.push(Pending::AdminOp(op));
    }

    /// Queues a reload of the options.
    pub(crate) fn reload(&mut self, reload: Reload) {
        self.pending.push(Pending::Reload(reload));
    }

    /// The machine stalled: late deadlines in the next pass are no finding.
    pub(crate) fn expect_lateness(&mut self) {
        self.is_late_expected = true;
    }

    /// Instant of the next pass.
    pub(crate) fn wake(&self, now: RealTime) -> Option<RealTime> {
        if !self.pending.is_empty() {
            return Some(now);
        }
        let arrivals = self
            .served
            .values()
            .filter(|conn| self.conns[**conn].is_read)
            .filter_map(|conn| self.conns[*conn].up.ready_at());
        arrivals
            .chain(self.engine.poll_timeout())
            .chain(self.storage.wake())
            .min()
    }

    /// Runs passes until all work is done. The first starts at `began`; returns the end of the last, since handling inputs
    /// takes time.
    pub(crate) fn run(&mut self, began: RealTime, injector: &mut FaultInjector) -> Result<RealTime, String> {
        self.sprints.begin_pass(&mut self.engine, began)?;
        let speed = self.engine.game_clock().frequency();
        let now = self.handle_inputs(began, injector)?;
        let lateness_ns_max = LATENESS_NS_MAX + (now - began).as_nanos().unsigned_abs();
        // Lateness is computed at the current speed, and the deadlines became due at another.
        self.is_late_expected |= now > began && self.engine.game_clock().frequency() != speed;
        loop {
            let mut budget = self.pass_budget.unwrap_or(u32::MAX);
            let mut is_done = false;
            while budget > 0 && !is_done {
                is_done = !self.fire(now, lateness_ns_max)?;
                // A recording changes the speed between two deadlines.
                self.is_late_expected |=
                    self.engine.is_playback() && self.engine.game_clock().frequency() != speed;
                budget -= 1;
            }
            self.process_outputs(now);
            self.answer_operators(now)?;
            self.storage.pass(&mut self.engine, now)?;
            self.write_all(now);
            // Writing may resume a peer that was throttled for unread answers.
            let has_more = self.engine.poll_timeout().is_some_and(|wake| wake <= now);
            if is_done && !has_more {
                break;
            }
            self.sprints.begin_pass(&mut self.engine, now)?;
        }
        self.is_late_expected = false;
        self.record_delays();
        self.world_history.note(began, now, self.engine.game().world());
        self.check_idle(now)?;
        Ok(now)
    }

    /// Power failure and restart: all connections are lost, and the game resumes from the disk.
    pub(crate) fn crash(&mut self, now: RealTime, received: &[Received]) -> CheckResult {
        self.trace.note(now, b'!', 0, &[]);
        for conn in std::mem::take(&mut self.served).into_values() {
            self.conns[conn].is_served = false;
        }
        self.free_slots.clear();
        self.generations.clear();
        self.pending.clear();
        self.pictures.clear();
        let config = self.engine.config().clone();
        self.world_history = WorldHistory::new(config.spectator_delay);
        self.engine = match self.storage.crash(&self.engine, received)? {
            Some(game) => Engine::resume(config, game, now),
            None => Engine::new(config, now),
        };
        self.begins = self.engine.game().now();
        self.storage.start(&mut self.engine, now)?;
        self.sprints.forget();
        self.lock_step.forget();
        self.is_late_expected = false;
        Ok(())
    }

    /// Handles all inputs that arrived before the pass; returns the instant at which that was done.
    fn handle_inputs(&mut self, began: RealTime, injector: &mut FaultInjector) -> Result<RealTime, String> {
        let mut now = began;
        let mut late_reload = None;
        for pending in std::mem::take(&mut self.pending) {
            match pending {
                Pending::Opened(conn) => {
                    let Conn {
                        id: conn,
                        credentials,
                        ..
                    } = self.conns[conn];
                    let network = if credentials.is_local { 127 } else { 10 };
                    let peer = IpAddr::V4(Ipv4Addr::new(network, 0, 0, 1));
                    self.engine.handle(Input::Opened { conn, peer }, now);
                }
                Pending::Gone(conn) => self.handle_disconnect(conn, CloseCause::Failed, now, injector),
                Pending::AdminOp(op) => {
                    // A refusal is a valid answer.
                    let _refusal = self.execute(op, now)?;
                }
                // A reload may also come between an operator's line and its execution.
                Pending::Reload(reload) if self.rng.one_in(2) => late_reload = Some(reload),
                Pending::Reload(reload) => self.apply_reload(&reload, injector),
            }
            now += self.draw_input_cost();
        }
        for conn in self.served.values().copied().collect::<Vec<_>>() {
            while self.conns[conn].is_served
                && self.conns[conn].is_read
                && let Some(item) = self.conns[conn].up.take(began)
            {
                now += self.draw_input_cost();
                match item {
                    Item::Bytes(bytes) => {
                        self.trace.note(now, b'<', conn, &bytes);
                        self.handle_bytes(conn, &bytes, now)?;
                    }
                    Item::End => self.handle_disconnect(conn, CloseCause::EndOfStream, now, injector),
                }
                self.process_outputs(now);
            }
        }
        if let Some(reload) = late_reload {
            self.apply_reload(&reload, injector);
        }
        Ok(now)
    }

    fn draw_input_cost(&mut self) -> RealSpan {
        let takes_ns = match self.input_ns_max {
            0 => 0,
            most => self.rng.between(0, most),
        };
        RealSpan::from_nanos(i64::from(takes_ns))
    }

    fn fire(&mut self, now: RealTime, lateness_ns_max: u64) -> Result<bool, String> {
        // As the server's loop does: fire only what is due.
        let is_due = self.engine.poll_timeout().is_some_and(|at| at <= now);
        let before = self.lock_step.before_fire(&self.engine, now);
        let Some(fired) = is_due.then(|| self.engine.fire_next(now)).flatten() else {
            return Ok(false);
        };
        if let (Some(before), FiredKind::Game(_)) = (before, fired.kind) {
            self.lock_step.check_fired(&before, &self.engine, now)?;
        }
        if fired.lateness_ns > lateness_ns_max && !self.is_late_expected {
            return Err(format!("{} was {} ns late", fired.kind.name(), fired.lateness_ns));
        }
        if fired.kind == FiredKind::Tick {
            let ticks = self.engine.stats(now).ticks_run;
            let up_to_date = self.served.keys().copied();
            let up_to_date = up_to_date
                .filter(|conn| self.engine.is_up_to_date(*conn))
                .collect();
            let picture = Picture::of_world(self.engine.game().world());
            let ticked = Ticked {
                at: now,
                picture,
                up_to_date,
            };
            self.pictures.insert(ticks - 1, ticked);
        }
        Ok(true)
    }

    /// Writes all outboxes as far as windows allow, and handles the engine's outputs.
    fn write_all(&mut self, now: RealTime) {
        while let Some(id) = self.engine.next_dirty() {
            if let Some(conn) = self.served.get(&id).copied() {
                self.write(conn, now);
            }
        }
        for conn in self.served.values().copied().collect::<Vec<_>>() {
            self.write(conn, now);
        }
        self.process_outputs(now);
    }

    fn write(&mut self, index: usize, now: RealTime) {
        let conn = &mut self.conns[index];
        loop {
            let room = self.window_bytes.saturating_sub(conn.down.bytes());
            let unsent = self.engine.unsent(conn.id);
            let most = room.min(unsent.len());
            if most == 0 {
                return;
            }
            self.storage.write_ahead(&mut self.engine, now);
            let unsent = self.engine.unsent(conn.id);
            let piece = self.rng.between(1, self.piece_bytes_max.min(1_024) * 64) as usize;
            let bytes = unsent[..piece.min(most)].to_vec();
            self.engine.sent(conn.id, bytes.len());
            self.trace.note(now, b'>', index, &bytes);
            conn.down.send(now, Item::Bytes(bytes));
        }
    }

    fn process_outputs(&mut self, now: RealTime) {
        while let Some(output) = self.engine.poll_output() {
            match output {
                Output::ShutdownWrite { conn } => {
                    if let Some(conn) = self.served.get(&conn) {
                        self.conns[*conn].down.send(now, Item::End);
                    }
                }
                Output::Close { conn, reason } => {
                    if let Some(conn) = self.served.get(&conn).copied() {
                        self.trace.note(now, b'x', conn, reason.name().as_bytes());
                        self.conns[conn].down.send(now, Item::End);
                        self.forget(conn);
                    }
                }
                Output::Reading { conn, is_wanted } => {
                    if let Some(conn) = self.served.get(&conn) {
                        self.conns[*conn].is_read = is_wanted;
                    }
                }
                Output::Won { team } => {
                    self.storage.save_soon();
                    self.trace.note(now, b'w', usize::from(team.0), &[]);
                }
            }
        }
    }

    fn handle_disconnect(
        &mut self,
        conn: usize,
        cause: CloseCause,
        now: RealTime,
        injector: &mut FaultInjector,
    ) {
        if self.conns[conn].is_served {
            self.trace.note(now, b'c', conn, &[]);
            let id = self.conns[conn].id;
            self.forget(conn);
            if !injector.injects(Fault::LostDisconnect) {
                self.engine.handle(Input::Closed { conn: id, cause }, now);
            }
        }
    }

    fn forget(&mut self, conn: usize) {
        let conn = &mut self.conns[conn];
        conn.is_served = false;
        self.served.remove(&conn.id);
        self.generations[conn.id.slot as usize] += 1;
        self.free_slots.insert(conn.id.slot);
    }

    /// Invariants between two passes: no work is left.
    fn check_idle(&self, now: RealTime) -> CheckResult {
        if let Some(wake) = self.engine.poll_timeout().filter(|wake| *wake <= now) {
            return Err(format!("work is pending since {wake:?}"));
        }
        if self.engine.has_operator_line() {
            return Err("an operator's line is pending".to_owned());
        }
        self.lock_step.check_idle(&self.engine)?;
        let known = self.engine.clients().count();
        if known != self.served.len() {
            return Err(format!(
                "{} connections are open, the engine has {known}",
                self.served.len()
            ));
        }
        for (id, conn) in &self.served {
            let waiting = self.engine.unsent(*id).len();
            if waiting > 0 && self.conns[*conn].down.bytes() < self.window_bytes {
                return Err(format!(
                    "{waiting} bytes for connection {conn} are unsent although its window has room"
                ));
            }
        }
        Ok(())
    }
}
