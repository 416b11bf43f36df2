//! One run: server, network and peers on one manual clock.
//!
//! First faults are injected and safety must hold. Then faults stop, and everything must finish.

mod failures;

use trantor_engine::limits::{Limits, TEXT_VIEWERS_AT_ONCE_MAX};
use trantor_engine::{AdminRequest, Engine};
use trantor_game::AdminAction;
use trantor_model::Counts;
use trantor_server::event_loop::EndReason;
use trantor_time::{Clock, ManualClock, RealSpan, RealTime};

use crate::actors::{self, Actor, CheckResult, Context};
use crate::fault::{Fault, FaultInjector};
use crate::network::Item;
use crate::picture::Picture;
use crate::plan::{Plan, Role};
use crate::replayed::Received;
use crate::rng::Rng;
use crate::server::Server;
use crate::{Coverage, Outcome};

/// Time to finish after faults stop; longer than any timeout of a session.
const SETTLE_SPAN: RealSpan = RealSpan::from_secs(20);

/// Longer than every spectator delay and two ticks.
const DELAY_MAX: RealSpan = RealSpan::from_millis(1_200);

/// Steps between two slow checks.
const SLOW_CHECK_STEPS: u64 = 64;

const RECONNECT_DELAY: RealSpan = RealSpan::from_millis(150);

/// Most crashes in a run, so that the game proceeds between them.
const CRASHES_MAX: u64 = 3;

/// Most connections of a peer in a run: enough to rejoin the game, few enough to play.
const CONNECTIONS_MAX: u32 = 4;

/// See the module.
pub(crate) struct Simulation {
    pub(crate) clock: ManualClock,
    pub(crate) server: Server,
    peers: Vec<Peer>,
    injector: FaultInjector,
    plan: Plan,
    rng: Rng,
    admin_wake: Option<RealTime>,
    reload_wake: Option<RealTime>,
    /// Stream for tokens and reloads, which most runs lack.
    control_rng: Rng,
    is_settling: bool,
    /// The playback has been moved by a seek.
    has_seeked: bool,
    step: u64,
    crashes: u64,
    /// Lines that text viewers received since the last crash.
    received: Vec<Received>,
    /// Counts up to the last crash.
    coverage: Coverage,
}

/// An actor and its connection.
struct Peer {
    actor: Box<dyn Actor>,
    rng: Rng,
    /// Index in the network's connections.
    conn: Option<usize>,
    connects_at: Option<RealTime>,
    connections: u32,
}

impl Simulation {
    pub(crate) fn new(seed: u64, fault: Option<Fault>) -> Self {
        let plan = Plan::draw(seed);
        let now = RealTime::from_nanos(1_000_000_000);
        let injector = FaultInjector::new(fault);
        let mut config = plan.config.clone();
        if injector.is(Fault::IgnoredLimits) {
            config.limits = Limits::default();
        }
        let engine = Engine::new(config, now);
        Self::around(engine, plan, injector, seed, now)
    }

    /// A playback with viewers and an operator.
    pub(crate) fn playing(engine: Engine, plan: Plan, rng: &mut Rng, now: RealTime) -> Self {
        let seed = u64::from(rng.below(u32::MAX));
        Self::around(engine, plan, FaultInjector::new(None), seed, now)
    }

    fn around(engine: Engine, plan: Plan, injector: FaultInjector, seed: u64, now: RealTime) -> Self {
        let clock = ManualClock::starting_at(now);
        let mut server = Server::new(engine, seed, &plan, injector, clock.clone());
        let mut rng = Rng::new(seed, 3);
        let mut peers = Vec::new();
        let mut text_viewers = 0;
        for (number, role) in plan.roles.iter().enumerate() {
            text_viewers += usize::from(*role == Role::TextViewer);
            let is_rotated = text_viewers > TEXT_VIEWERS_AT_ONCE_MAX;
            let mut own = Rng::new(seed, 100 + number as u64);
            peers.push(Peer {
                actor: actors::create(*role, &plan.config, is_rotated, &mut own),
                rng: own,
                conn: None,
                connects_at: Some(now + RealSpan::from_millis(i64::from(rng.below(200)))),
                connections: 0,
            });
        }
        if plan.is_rich {
            let size = plan.config.game.size;
            for index in 0..size.area() {
                let tile = size.tile_at(index);
                let ground = Counts([6; 7]);
                server.ask(AdminRequest::Act(AdminAction::SetGround { tile, ground }));
            }
        }
        Self {
            clock,
            server,
            peers,
            injector,
            admin_wake: (plan.admin_ms > 0).then_some(now),
            reload_wake: (plan.reload_ms > 0).then_some(now),
            control_rng: Rng::new(seed, 9),
            plan,
            rng,
            is_settling: false,
            has_seeked: false,
            step: 0,
            crashes: 0,
            received: Vec::new(),
            coverage: Coverage::default(),
        }
    }

    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    pub(crate) fn run(&mut self) -> Result<Outcome, String> {
        self.run_until_settled()?;
        self.disconnect_all()?;
        self.note_reached();
        let end = self.stop_server()?;
        let ended = self.server.finish(end, &self.received)?;
        self.server.network.note(b'.', 0, &ended.digest.to_le_bytes());
        let mut coverage = std::mem::take(&mut self.coverage);
        coverage.add(&self.server.coverage);
        coverage.add(&self.server.storage.coverage);
        coverage.count("steps", self.step);
        coverage.count("crashes", self.crashes);
        for (role, kind) in [
            (Role::Viewer, "worlds in frames compared"),
            (Role::TextViewer, "worlds in text compared"),
        ] {
            coverage.count(kind, self.worlds_compared(role));
        }
        Ok(Outcome {
            digest: self.server.network.digest(),
            coverage,
        })
    }

    /// Passes until the server has ended in order.
    fn stop_server(&mut self) -> Result<EndReason, String> {
        self.server.stop();
        loop {
            if let Some(why) = self.server.pass()? {
                return Ok(why);
            }
            let next = self.server.wake().ok_or("the server never ends")?;
            self.clock.advance_to(next);
        }
    }

    /// Runs the phase with faults, then without until everything is done.
    pub(crate) fn run_until_settled(&mut self) -> CheckResult {
        let chaos_ends = self.clock.now() + self.plan.chaos;
        self.run_until(chaos_ends)?;
        self.stop_faults();
        let calm_ends = self.clock.now() + SETTLE_SPAN;
        // Time for answers to ten commands and bytes in flight on the slowest line.
        while self.clock.now() < calm_ends {
            self.speed_up();
            self.run_until((self.clock.now() + RealSpan::from_millis(250)).min(calm_ends))?;
            if self.check_done().is_ok() {
                break;
            }
        }
        self.check_done()?;
        self.check_last_worlds()
    }

    /// The game stands still: in the end each viewer has its world, delayed ones too.
    fn check_last_worlds(&mut self) -> CheckResult {
        self.server.ask(AdminRequest::Pause);
        self.run_until(self.clock.now() + DELAY_MAX)?;
        let calm_ends = self.clock.now() + SETTLE_SPAN;
        loop {
            self.run_until(self.clock.now() + RealSpan::from_millis(250))?;
            match self.compare_worlds() {
                Err(_) if self.clock.now() < calm_ends => {}
                result => return result.map_err(|reason| format!("at the end, {reason}")),
            }
        }
    }

    fn compare_worlds(&mut self) -> CheckResult {
        let truth = Picture::of_world(self.server.engine().game().world());
        for peer in 0..self.peers.len() {
            if self.is_watching(peer) {
                let compared = match self.is_quiet(peer) {
                    true => self.peers[peer].actor.check_world(&truth, None),
                    false => Err("it was never sent all of the world".to_owned()),
                };
                compared.map_err(|reason| format!("peer {peer}: {reason}"))?;
            }
        }
        Ok(())
    }

    fn is_watching(&self, peer: usize) -> bool {
        self.peers[peer].conn.is_some() && self.peers[peer].actor.knows_world()
    }

    /// Nothing is in flight to or from a peer, and viewers were sent all.
    fn is_quiet(&self, peer: usize) -> bool {
        let Some(conn) = self.peers[peer].conn else {
            return false;
        };
        let engine = self.server.engine();
        self.server.network.conns[conn].borrow().is_idle()
            && self.server.id_of(conn).is_some_and(|id| {
                engine.unsent(id).is_empty() && (!self.is_watching(peer) || engine.is_up_to_date(id))
            })
    }

    /// Comparisons of worlds by the viewers of one language.
    pub(crate) fn worlds_compared(&self, language: Role) -> u64 {
        let peers = self.peers.iter().zip(&self.plan.roles);
        let viewers = peers.filter(|(_, role)| **role == language);
        viewers.map(|(peer, _)| peer.actor.worlds_compared()).sum()
    }

    /// Adds the counters of the current server process.
    fn note_reached(&mut self) {
        let stats = self.server.stats();
        self.coverage.count_life(&stats);
    }

    pub(crate) fn run_until(&mut self, until: RealTime) -> CheckResult {
        while let Some(next) = self.next_instant().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.run_step()?;
        }
        self.clock.advance_to(until);
        self.run_step()
    }

    fn next_instant(&mut self) -> Option<RealTime> {
        let server = self.server.wake();
        let peers = self.peers.iter().filter_map(|peer| {
            let arrival = peer
                .conn
                .and_then(|conn| self.server.network.conns[conn].borrow().down.ready_at());
            let wake = peer.conn.and_then(|_| peer.actor.wake());
            arrival.into_iter().chain(wake).chain(peer.connects_at).min()
        });
        peers
            .chain(server)
            .chain(self.admin_wake)
            .chain(self.reload_wake)
            .min()
    }

    fn run_step(&mut self) -> CheckResult {
        self.step += 1;
        if !self.is_settling {
            self.inject_machine_stall();
            self.inject_power_failure()?;
            self.inject_network_faults();
            self.run_operator();
            self.reload_options();
        }
        let now = self.clock.now();
        for peer in 0..self.peers.len() {
            self.connect(peer, now);
        }
        if let Some(why) = self.server.pass()? {
            return Err(format!("the server ended: {why:?}"));
        }
        self.wait_for_disk();
        let game = self.server.engine().game();
        if self.step.is_multiple_of(SLOW_CHECK_STEPS) {
            game.check();
        }
        let is_playback = self.server.engine().is_playback();
        // `stats` is slow: ask only where seeks are possible.
        self.has_seeked = is_playback && self.server.stats().counters.seeks > 0;
        let is_idle = self.server.is_idle();
        for peer in 0..self.peers.len() {
            self.peer_turn(peer, is_idle)
                .map_err(|reason| format!("peer {peer} ({:?}): {reason}", self.plan.roles[peer]))?;
        }
        Ok(())
    }

    fn connect(&mut self, peer: usize, now: RealTime) {
        let Peer { connects_at, .. } = &self.peers[peer];
        if connects_at.is_none_or(|at| at > now) {
            return;
        }
        let (conn, token) = self.server.connect(&mut self.rng, &mut self.control_rng);
        if self.is_settling {
            self.server.network.conns[conn].borrow_mut().stop_faults();
        }
        let peer = &mut self.peers[peer];
        peer.connects_at = None;
        peer.connections += 1;
        peer.conn = Some(conn);
        peer.actor.connected(token, now);
    }

    /// One peer handles its received bytes and acts. `is_idle`: the server has no work left.
    fn peer_turn(&mut self, index: usize, is_idle: bool) -> CheckResult {
        let Some(conn_index) = self.peers[index].conn else {
            return Ok(());
        };
        let now = self.clock.now();
        let context = Context {
            now,
            pictures: &self.server.pictures,
            has_seeked: self.has_seeked,
            conn: self.server.id_of(conn_index),
            has_right_token: self.server.has_right_token(conn_index),
        };
        let conn = &self.server.network.conns[conn_index];
        let peer = &mut self.peers[index];
        let mut is_over = false;
        while !is_over && let Some(item) = { conn.borrow_mut().down.take(now) } {
            match item {
                Item::Bytes(bytes) => peer.actor.receive(&bytes, &context, &mut self.injector)?,
                Item::End => is_over = true,
            }
            let pause = peer.actor.reading_pause();
            if pause > RealSpan::ZERO {
                conn.borrow_mut().down.hold_until(now + pause);
            }
        }
        let mut out = Vec::new();
        let stays = peer.actor.act(&context, &mut peer.rng, &mut out);
        for piece in out.chunks(self.plan.network_faults.piece_bytes_max.max(1) as usize) {
            conn.borrow_mut().up.send(now, Item::Bytes(piece.to_vec()));
        }
        if is_over || !stays {
            conn.borrow_mut().up.send(now, Item::End);
            self.disconnect(index, now);
            return Ok(());
        }
        if is_idle && self.is_quiet(index) {
            self.check_quiet(index, now)?;
        }
        Ok(())
    }

    /// Nothing is in flight to or from a peer: it has all answers, and a viewer without delay the world.
    fn check_quiet(&mut self, index: usize, now: RealTime) -> CheckResult {
        let actor = &mut self.peers[index].actor;
        actor.check_quiet(now)?;
        if self.plan.roles[index] != Role::TextViewer || self.server.has_delay || !actor.knows_world() {
            return Ok(());
        }
        let engine = self.server.engine();
        let game = engine.game();
        // A replay starts after its first instant and cannot be compared while an elevation runs.
        let is_replayed = !engine.is_playback()
            && game.world().rituals().len() == 0
            && game.winner().is_none()
            && game.now() > self.server.begins;
        let steps = is_replayed.then_some(game.steps());
        actor.check_world(&Picture::of_world(game.world()), steps)
    }

    /// A peer lost its connection; it may reconnect.
    fn disconnect(&mut self, peer: usize, now: RealTime) {
        let peer = &mut self.peers[peer];
        peer.conn = None;
        peer.actor.disconnected(now);
        self.received.extend(peer.actor.take_received());
        if !self.is_settling && peer.connections < CONNECTIONS_MAX {
            peer.connects_at = Some(now + RECONNECT_DELAY);
        }
    }

    /// Ends the phase with faults; actors start nothing new.
    fn stop_faults(&mut self) {
        self.is_settling = true;
        self.server.stop_faults();
        self.admin_wake = None;
        self.reload_wake = None;
        for peer in &mut self.peers {
            peer.actor.wind_down();
        }
        self.server.ask(AdminRequest::Start);
    }

    /// Keeps game time running, whatever delayed requests did to it.
    fn speed_up(&mut self) {
        self.server.ask(AdminRequest::Resume);
        self.server.ask(AdminRequest::SetFrequency(500));
    }

    pub(crate) fn check_done(&self) -> CheckResult {
        let now = self.clock.now();
        for (index, peer) in self.peers.iter().enumerate() {
            if peer.conn.is_some() {
                peer.actor
                    .check_done(now)
                    .map_err(|reason| format!("peer {index} ({:?}): {reason}", self.plan.roles[index]))?;
            }
        }
        Ok(())
    }

    /// Disconnects all peers; the server must keep nothing of them.
    fn disconnect_all(&mut self) -> CheckResult {
        let now = self.clock.now();
        for index in 0..self.peers.len() {
            self.peers[index].connects_at = None;
            if let Some(conn) = self.peers[index].conn {
                self.server.network.conns[conn]
                    .borrow_mut()
                    .up
                    .send(now, Item::End);
                self.disconnect(index, now);
            }
        }
        // Their last bytes are still in flight.
        while self.clock.now() < now + SETTLE_SPAN && self.server.stats().connections > 0 {
            self.run_until(self.clock.now() + RealSpan::from_millis(250))?;
            self.server.network.reset_unread();
        }
        let stats = self.server.stats();
        if stats.connections == 0 && stats.outbox_bytes == 0 && stats.timers_pending == 0 {
            return Ok(());
        }
        Err(format!(
            "all peers left, and the server keeps {} connections, {} bytes and {} deadlines",
            stats.connections, stats.outbox_bytes, stats.timers_pending
        ))
    }
}
