//! The server's machine: the real engine, the lines to its peers, its passes, and the journal it keeps.

mod control;
mod knowing;
mod operators;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use trantor_engine::limits::Limits;
use trantor_engine::{AdminRequest, CloseCause, ConnId, Engine, FiredKind, Input, Output};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::Reached;
use crate::access::{Access, Credentials, Rule, TokenNumber};
use crate::actors::CheckResult;
use crate::fault::{Fault, Sabotage};
use crate::line::{Item, Line};
use crate::lock_step_check::LockStepCheck;
use crate::operator::{AdminOp, Sprints};
use crate::past::Past;
use crate::picture::{Picture, Pictures, Ticked};
use crate::plan::{Plan, Reload};
use crate::replayed::Received;
use crate::rng::Rng;
use crate::storage::Storage;
use crate::trace::Trace;

/// Lateness that rounding to whole nanoseconds explains, with room.
const LATENESS_NS_MAX: u64 = 1_000;

/// A connection, from both ends.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) id: ConnId,
    pub(crate) up: Line,
    pub(crate) down: Line,
    /// Whether the server's end is open.
    pub(crate) is_served: bool,
    /// Whether the server reads what comes.
    is_read: bool,
    pub(crate) credentials: Credentials,
    /// Rules of control that there had been when it connected.
    pub(crate) rules_before: usize,
    /// How much later than it happens it is told of the game, since it watches.
    delay: Option<RealSpan>,
}

/// See the module.
pub(crate) struct Host {
    pub(crate) engine: Engine,
    /// When the game was as this life of the server found it.
    pub(crate) begins: GameTime,
    pub(crate) conns: Vec<Conn>,
    pub(crate) pictures: Pictures,
    pub(crate) past: Past,
    pub(crate) trace: Trace,
    served: BTreeMap<ConnId, usize>,
    free_slots: BTreeSet<u32>,
    generations: Vec<u32>,
    waiting: Vec<Waiting>,
    pub(crate) storage: Storage,
    pub(crate) sprints: Sprints,
    pub(crate) lock_step: LockStepCheck,
    pub(crate) access: Access,
    /// What the limits are now.
    pub(crate) limits: Limits,
    pub(crate) reached: Reached,
    rng: Rng,
    window_bytes: usize,
    piece_bytes_max: u32,
    pass_budget: Option<u32>,
    input_ns_max: u32,
    /// The machine stood still: what is late now is not the server's doing.
    is_excused: bool,
}

/// What the next pass begins with.
enum Waiting {
    Opened(usize),
    Gone(usize),
    AdminOp(AdminOp),
    Reload(Reload),
}

impl Host {
    pub(crate) fn new(seed: u64, plan: &Plan, sabotage: &Sabotage, now: RealTime) -> Self {
        let mut config = plan.config.clone();
        if sabotage.is(Fault::IgnoredLimits) {
            config.limits = Limits::default();
        }
        let mut engine = Engine::new(config, now);
        let mut storage = Storage::new(seed, plan.storage, *sabotage);
        storage
            .start(&mut engine, now)
            .expect("a new disk takes everything");
        Self::around(engine, storage, seed, plan)
    }

    /// A server whose engine exists.
    pub(crate) fn around(engine: Engine, storage: Storage, seed: u64, plan: &Plan) -> Self {
        Self {
            storage,
            begins: engine.game().now(),
            engine,
            conns: Vec::new(),
            pictures: Pictures::new(),
            past: Past::new(plan.config.spectator_delay),
            trace: Trace::new(),
            served: BTreeMap::new(),
            free_slots: BTreeSet::new(),
            generations: Vec::new(),
            waiting: Vec::new(),
            sprints: Sprints::default(),
            lock_step: LockStepCheck::new(plan.config.lock_step),
            access: Access::new(Rule::first(plan.config.control)),
            limits: plan.config.limits.clone(),
            reached: Reached::default(),
            rng: Rng::new(seed, 2),
            window_bytes: plan.network_faults.window_bytes,
            piece_bytes_max: plan.network_faults.piece_bytes_max,
            pass_budget: plan.machine.pass_budget,
            input_ns_max: plan.machine.input_ns_max,
            is_excused: false,
        }
    }

    /// A peer connects that has this token to show; answers the connection's place in [`Self::conns`].
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
        self.waiting.push(Waiting::Opened(conn));
        conn
    }

    /// The network tells the server that a connection broke.
    pub(crate) fn reset(&mut self, conn: usize) {
        self.waiting.push(Waiting::Gone(conn));
    }

    /// Everybody has gone: where bytes arrive all the same, the peer's machine resets the connection.
    pub(crate) fn reset_unread(&mut self) {
        let unread = self
            .served
            .values()
            .filter(|conn| self.conns[**conn].down.bytes() > 0);
        self.waiting.extend(unread.map(|conn| Waiting::Gone(*conn)));
    }

    pub(crate) fn ask(&mut self, request: AdminRequest) {
        self.operate(AdminOp::Engine(request));
    }

    /// The operator at the server's own console enters a command.
    pub(crate) fn operate(&mut self, op: AdminOp) {
        self.waiting.push(Waiting::AdminOp(op));
    }

    /// The options are read again.
    pub(crate) fn reload(&mut self, reload: Reload) {
        self.waiting.push(Waiting::Reload(reload));
    }

    /// The machine stood still.
    pub(crate) fn excuse(&mut self) {
        self.is_excused = true;
    }

    /// When there is something to do.
    pub(crate) fn wake(&self, now: RealTime) -> Option<RealTime> {
        if !self.waiting.is_empty() {
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

    /// Passes until nothing is left to be done. The first begins at `began`; answers when the last one ended, since reading
    /// takes time.
    pub(crate) fn run(&mut self, began: RealTime, sabotage: &mut Sabotage) -> Result<RealTime, String> {
        self.sprints.begin_pass(&mut self.engine, began)?;
        let speed = self.engine.game_clock().frequency();
        let now = self.take_in(began, sabotage)?;
        let lateness_ns_max = LATENESS_NS_MAX + (now - began).as_nanos().unsigned_abs();
        // Lateness is counted at the present speed, which was another when those became due.
        self.is_excused |= now > began && self.engine.game_clock().frequency() != speed;
        loop {
            let mut budget = self.pass_budget.unwrap_or(u32::MAX);
            let mut is_done = false;
            while budget > 0 && !is_done {
                is_done = !self.fire(now, lateness_ns_max)?;
                // A recording changes the speed between two deadlines.
                self.is_excused |= self.engine.is_playback() && self.engine.game_clock().frequency() != speed;
                budget -= 1;
            }
            self.carry_out(now);
            self.answer_operators(now)?;
            self.storage.pass(&mut self.engine, now)?;
            self.write_all(now);
            // What was written may let a peer go on that had not read its answers.
            let has_more = self.engine.poll_timeout().is_some_and(|wake| wake <= now);
            if is_done && !has_more {
                break;
            }
            self.sprints.begin_pass(&mut self.engine, now)?;
        }
        self.is_excused = false;
        self.note_spectators();
        self.past.note(began, now, self.engine.game().world());
        self.check_rest(now)?;
        Ok(now)
    }

    /// The power of the server's machine fails, and comes back at once: everybody is gone, and the game goes on from what
    /// was on the disk.
    pub(crate) fn crash(&mut self, now: RealTime, received: &[Received]) -> CheckResult {
        self.trace.note(now, b'!', 0, &[]);
        for conn in std::mem::take(&mut self.served).into_values() {
            self.conns[conn].is_served = false;
        }
        self.free_slots.clear();
        self.generations.clear();
        self.waiting.clear();
        self.pictures.clear();
        let config = self.engine.config().clone();
        self.past = Past::new(config.spectator_delay);
        self.engine = match self.storage.crash(&self.engine, received)? {
            Some(game) => Engine::resume(config, game, now),
            None => Engine::new(config, now),
        };
        self.begins = self.engine.game().now();
        self.storage.start(&mut self.engine, now)?;
        self.sprints.forget();
        self.lock_step.forget();
        self.is_excused = false;
        Ok(())
    }

    /// Takes in what has come by the beginning of a pass, one thing after another; answers when it was done.
    fn take_in(&mut self, began: RealTime, sabotage: &mut Sabotage) -> Result<RealTime, String> {
        let mut now = began;
        let mut reload_at_last = None;
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Opened(conn) => {
                    let Conn {
                        id: conn,
                        credentials,
                        ..
                    } = self.conns[conn];
                    let network = if credentials.is_local { 127 } else { 10 };
                    let peer = IpAddr::V4(Ipv4Addr::new(network, 0, 0, 1));
                    self.engine.handle(Input::Opened { conn, peer }, now);
                }
                Waiting::Gone(conn) => self.hang_up(conn, CloseCause::Failed, now, sabotage),
                Waiting::AdminOp(op) => {
                    // What makes no sense at the moment is refused, as it is to an operator.
                    let _refusal = self.fulfil(op, now)?;
                }
                // Also between what an operator says and when it is carried out.
                Waiting::Reload(reload) if self.rng.one_in(2) => reload_at_last = Some(reload),
                Waiting::Reload(reload) => self.carry_out_reload(&reload, sabotage),
            }
            now += self.input_takes();
        }
        for conn in self.served.values().copied().collect::<Vec<_>>() {
            while self.conns[conn].is_served
                && self.conns[conn].is_read
                && let Some(item) = self.conns[conn].up.take(began)
            {
                now += self.input_takes();
                match item {
                    Item::Bytes(bytes) => {
                        self.trace.note(now, b'<', conn, &bytes);
                        self.hear(conn, &bytes, now)?;
                    }
                    Item::End => self.hang_up(conn, CloseCause::EndOfStream, now, sabotage),
                }
                self.carry_out(now);
            }
        }
        if let Some(reload) = reload_at_last {
            self.carry_out_reload(&reload, sabotage);
        }
        Ok(now)
    }

    fn input_takes(&mut self) -> RealSpan {
        let takes_ns = match self.input_ns_max {
            0 => 0,
            most => self.rng.between(0, most),
        };
        RealSpan::from_nanos(i64::from(takes_ns))
    }

    fn fire(&mut self, now: RealTime, lateness_ns_max: u64) -> Result<bool, String> {
        // As a shell does: nothing is asked for where nothing is due.
        let is_due = self.engine.poll_timeout().is_some_and(|at| at <= now);
        let before = self.lock_step.look(&self.engine, now);
        let Some(fired) = is_due.then(|| self.engine.fire_next(now)).flatten() else {
            return Ok(false);
        };
        if let (Some(before), FiredKind::Game(_)) = (before, fired.kind) {
            self.lock_step.judge(&before, &self.engine, now)?;
        }
        if fired.lateness_ns > lateness_ns_max && !self.is_excused {
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

    /// Writes what waits wherever there is room, and carries out what the engine asks for.
    fn write_all(&mut self, now: RealTime) {
        while let Some(id) = self.engine.next_dirty() {
            if let Some(conn) = self.served.get(&id).copied() {
                self.write(conn, now);
            }
        }
        for conn in self.served.values().copied().collect::<Vec<_>>() {
            self.write(conn, now);
        }
        self.carry_out(now);
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

    fn carry_out(&mut self, now: RealTime) {
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

    fn hang_up(&mut self, conn: usize, cause: CloseCause, now: RealTime, sabotage: &mut Sabotage) {
        if self.conns[conn].is_served {
            self.trace.note(now, b'c', conn, &[]);
            let id = self.conns[conn].id;
            self.forget(conn);
            if !sabotage.strikes(Fault::LostHangUp) {
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

    /// Between two passes nothing is left that could have been done.
    fn check_rest(&self, now: RealTime) -> CheckResult {
        if let Some(wake) = self.engine.poll_timeout().filter(|wake| *wake <= now) {
            return Err(format!("work is left over since {wake:?}"));
        }
        if self.engine.has_operator_line() {
            return Err("what an operator said is left over".to_owned());
        }
        self.lock_step.check_rest(&self.engine)?;
        let known = self.engine.clients().count();
        if known != self.served.len() {
            return Err(format!(
                "{} connections are open, the server has {known}",
                self.served.len()
            ));
        }
        for (id, conn) in &self.served {
            let waiting = self.engine.unsent(*id).len();
            if waiting > 0 && self.conns[*conn].down.bytes() < self.window_bytes {
                return Err(format!(
                    "{waiting} bytes for connection {conn} wait although there is room"
                ));
            }
        }
        Ok(())
    }
}
