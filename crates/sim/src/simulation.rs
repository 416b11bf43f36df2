//! One run: server, network and peers on one manual clock.
//!
//! First faults are injected and safety must hold. Then faults stop, and everything must finish.

use std::cell::RefMut;
use std::hash::Hasher;

use anyhow::{Context as _, anyhow, bail, ensure};
use trantor_engine::Engine;
use trantor_engine::limits::{Limits, TEXT_VIEWERS_AT_ONCE_MAX};
use trantor_model::{AdminAction, Control, Counts};
use trantor_server::event_loop::EndReason;
use trantor_time::{Clock, ManualClock, RealSpan, RealTime};

use crate::actors::{self, Actor, Birth, CheckResult, Context};
use crate::fault::{Fault, FaultInjector};
use crate::network::{Conn, Item};
use crate::picture::Picture;
use crate::plan::{Plan, Role};
use crate::playback::Received;
use crate::rng::Rng;
use crate::server::Server;
use crate::{Coverage, Outcome};

/// The clock at the start.
pub(crate) const START: RealTime = RealTime::from_nanos(1_000_000_000);

/// Time to finish after faults stop; longer than any timeout of a session.
const SETTLE_SPAN: RealSpan = RealSpan::from_secs(20);

/// Time between two checks whether everything has finished.
const SETTLE_STEP: RealSpan = RealSpan::from_millis(250);

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
    plan: Plan,
    rng: Rng,
    admin_wake: Option<RealTime>,
    reload_wake: Option<RealTime>,
    /// Stream for tokens and reloads, which most runs lack.
    control_rng: Rng,
    is_settling: bool,
    /// The playback has been moved by a seek.
    has_seeked: bool,
    pub(crate) step: u64,
    crashes: u64,
    /// Lines that text viewers received since the last crash.
    received: Vec<Received>,
    /// Comparisons of worlds by viewers that have disconnected: in frames, and in text.
    pub(crate) worlds_compared: [u64; 2],
    /// Counts up to the last crash.
    coverage: Coverage,
}

struct Peer {
    role: Role,
    /// See [`Birth::is_rotated`].
    is_rotated: bool,
    rng: Rng,
    connection: Option<Connection>,
    connects_at: Option<RealTime>,
    connections: u32,
}

/// A connection of a peer.
struct Connection {
    /// In the network's connections.
    index: usize,
    actor: Box<dyn Actor>,
}

impl Simulation {
    pub(crate) fn new(seed: u64, fault: Option<Fault>) -> Self {
        let plan = Plan::draw(seed, FaultInjector::new(fault));
        let mut config = plan.config.clone();
        if plan.injector.is(Fault::IgnoredLimits) {
            config.limits = Limits::default();
        }
        Self::around(Engine::new(config, START), plan)
    }

    /// Around an engine, which may play a recording.
    pub(crate) fn around(engine: Engine, plan: Plan) -> Self {
        let clock = ManualClock::starting_at(START);
        let seed = plan.seed;
        let mut server = Server::new(engine, &plan, clock.clone());
        let mut rng = Rng::new(seed, 3);
        let mut peers = Vec::new();
        let mut text_viewers = 0;
        for (number, role) in plan.roles.iter().enumerate() {
            text_viewers += usize::from(*role == Role::TextViewer);
            peers.push(Peer {
                role: *role,
                is_rotated: text_viewers > TEXT_VIEWERS_AT_ONCE_MAX,
                rng: Rng::new(seed, 100 + number as u64),
                connection: None,
                connects_at: Some(START + rng.millis(0, 199)),
                connections: 0,
            });
        }
        if plan.is_rich {
            let size = plan.config.game.size;
            for index in 0..size.area() {
                let tile = size.tile_at(index);
                let ground = Counts([6; 7]);
                server.ask(Control::Act(AdminAction::SetGround { tile, ground }));
            }
        }
        Self {
            clock,
            server,
            peers,
            admin_wake: (plan.admin_ms > 0).then_some(START),
            reload_wake: (plan.reload_ms > 0).then_some(START),
            control_rng: Rng::new(seed, 9),
            plan,
            rng,
            is_settling: false,
            has_seeked: false,
            step: 0,
            crashes: 0,
            received: Vec::new(),
            worlds_compared: [0; 2],
            coverage: Coverage::default(),
        }
    }

    pub(crate) fn run(&mut self) -> anyhow::Result<Outcome> {
        self.run_until_settled()?;
        self.disconnect_all()?;
        self.note_reached();
        let end = self.stop_server()?;
        let ended = self.server.finish(end, &self.received)?;
        let host = &self.server.network.host;
        host.note(b'.', 0, &ended.digest.to_le_bytes());
        let digest = host.digest.borrow().finish();
        let mut coverage = std::mem::take(&mut self.coverage);
        coverage.add(&self.server.coverage);
        coverage.add(&self.server.storage.coverage);
        coverage.count("steps", self.step);
        coverage.count("crashes", self.crashes);
        let [frames, text] = self.worlds_compared;
        coverage.count("worlds in frames compared", frames);
        coverage.count("worlds in text compared", text);
        Ok(Outcome { digest, coverage })
    }

    /// Passes until the server has ended in order.
    fn stop_server(&mut self) -> anyhow::Result<EndReason> {
        self.server.stop();
        loop {
            if let Some(why) = self.server.pass()? {
                return Ok(why);
            }
            let next = self.server.wake().context("the server never ends")?;
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
            self.run_until((self.clock.now() + SETTLE_STEP).min(calm_ends))?;
            if self.check_done().is_ok() {
                break;
            }
        }
        self.check_done()?;
        self.check_last_worlds()
    }

    /// The game stands still: in the end each viewer has its world, delayed ones too.
    fn check_last_worlds(&mut self) -> CheckResult {
        self.server.ask(Control::Pause);
        self.run_until(self.clock.now() + DELAY_MAX)?;
        let calm_ends = self.clock.now() + SETTLE_SPAN;
        loop {
            self.run_until(self.clock.now() + SETTLE_STEP)?;
            match self.compare_worlds() {
                Err(_) if self.clock.now() < calm_ends => {}
                result => return result.context("at the end"),
            }
        }
    }

    fn compare_worlds(&mut self) -> CheckResult {
        let truth = Picture::of_world(self.server.engine().game().world());
        for (number, peer) in self.peers.iter_mut().enumerate() {
            let Some(Connection { index, actor }) = &mut peer.connection else {
                continue;
            };
            if actor.knows_world() {
                let compared = match self.server.is_quiet(*index) && self.server.is_up_to_date(*index) {
                    true => actor.check_world(&truth, None),
                    false => Err(anyhow!("it was never sent all of the world")),
                };
                compared.with_context(|| format!("peer {number}"))?;
            }
        }
        Ok(())
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
        let peers = self.peers.iter().flat_map(|peer| {
            let connection = peer.connection.as_ref().map(|Connection { index, actor }| {
                let arrival = self.server.network.conn(*index).down.ready_at();
                arrival.into_iter().chain(actor.wake())
            });
            connection.into_iter().flatten().chain(peer.connects_at)
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
            self.stall_machine();
            self.fail_power()?;
            self.disturb_network();
            self.operate();
            self.reload_options();
        }
        for peer in 0..self.peers.len() {
            self.connect(peer);
        }
        if let Some(why) = self.server.pass()? {
            bail!("the server ended: {why:?}");
        }
        // The server's loop waited for the disk.
        self.stand_still(self.server.storage.disk.take_write_wait());
        let engine = self.server.engine();
        if self.step.is_multiple_of(SLOW_CHECK_STEPS) {
            engine.game().check();
        }
        // `stats` is slow: ask only where seeks are possible.
        self.has_seeked = engine.is_playback() && self.server.stats().counters.seeks > 0;
        let is_idle = self.server.is_idle();
        for peer in 0..self.peers.len() {
            self.peer_turn(peer, is_idle)
                .with_context(|| format!("peer {peer} ({:?})", self.peers[peer].role))?;
        }
        Ok(())
    }

    fn connect(&mut self, peer: usize) {
        let (peer, now) = (&mut self.peers[peer], self.clock.now());
        if peer.connects_at.is_none_or(|at| at > now) {
            return;
        }
        let (index, token) = self.server.connect(&mut self.rng, &mut self.control_rng);
        if self.is_settling {
            self.server.network.conn(index).stop_faults();
        }
        let birth = Birth {
            now,
            config: &self.plan.config,
            token,
            is_rotated: peer.is_rotated,
        };
        let actor = actors::create(peer.role, birth, &mut peer.rng);
        peer.connection = Some(Connection { index, actor });
        peer.connects_at = None;
        peer.connections += 1;
    }

    /// One peer handles its received bytes and acts. `is_idle`: the server has no work left.
    fn peer_turn(&mut self, number: usize, is_idle: bool) -> CheckResult {
        let peer = &mut self.peers[number];
        let Some(Connection { index, actor }) = &mut peer.connection else {
            return Ok(());
        };
        let now = self.clock.now();
        let context = Context {
            now,
            injector: &self.plan.injector,
            is_settling: self.is_settling,
            pictures: &self.server.pictures,
            has_seeked: self.has_seeked,
            conn: self.server.id_of(*index),
            has_right_token: self.server.has_right_token(*index),
        };
        let conn = || self.server.network.conn(*index);
        let mut is_over = false;
        while !is_over && let Some(item) = { conn().down.take(now) } {
            match item {
                Item::Bytes(bytes) => actor.receive(&bytes, &context)?,
                Item::End => is_over = true,
            }
            if !self.is_settling {
                conn().down.hold_until(now + actor.reading_pause());
            }
        }
        let mut out = Vec::new();
        let stays = actor.act(&context, &mut peer.rng, &mut out);
        for piece in out.chunks(self.plan.network_faults.piece_bytes_max.max(1) as usize) {
            conn().up.send(now, Item::Bytes(piece.to_vec()));
        }
        if is_over || !stays {
            self.leave(number);
            return Ok(());
        }
        let is_quiet = is_idle && self.server.is_quiet(*index);
        if !is_quiet || (actor.knows_world() && !self.server.is_up_to_date(*index)) {
            return Ok(());
        }
        // Nothing is in flight to or from it: it has all answers, and a viewer without delay the world.
        actor.check_quiet(now)?;
        if peer.role != Role::TextViewer || self.server.has_delay || !actor.knows_world() {
            return Ok(());
        }
        let engine = self.server.engine();
        let game = engine.game();
        // A replay starts after its first instant and cannot be compared while an elevation runs.
        let is_replayed = !engine.is_playback()
            && game.world().elevations().len() == 0
            && game.winner().is_none()
            && game.now() > self.server.begins;
        let steps = is_replayed.then_some(game.steps());
        actor.check_world(&Picture::of_world(game.world()), steps)
    }

    /// A peer ends its connection.
    fn leave(&mut self, peer: usize) {
        if let Some(mut conn) = self.conn_of(peer) {
            conn.up.send(self.clock.now(), Item::End);
        }
        self.disconnect(peer);
    }

    fn conn_of(&self, peer: usize) -> Option<RefMut<'_, Conn>> {
        let connection = self.peers[peer].connection.as_ref()?;
        Some(self.server.network.conn(connection.index))
    }

    /// A peer lost its connection, if it had one; it may reconnect.
    fn disconnect(&mut self, peer: usize) {
        let (peer, now) = (&mut self.peers[peer], self.clock.now());
        let Some(Connection { mut actor, .. }) = peer.connection.take() else {
            return;
        };
        self.worlds_compared[usize::from(peer.role == Role::TextViewer)] += actor.worlds_compared();
        self.received.extend(actor.disconnected(now));
        if !self.is_settling && peer.connections < CONNECTIONS_MAX {
            peer.connects_at = Some(now + RECONNECT_DELAY);
        }
    }

    fn stall_machine(&mut self) {
        if self.rng.one_in(self.plan.stall_one_in) {
            let span = self.rng.millis(1, 600);
            self.stand_still(span);
        }
    }

    /// The server cannot run for a while.
    fn stand_still(&mut self, span: RealSpan) {
        if span > RealSpan::ZERO {
            self.clock.advance(span);
            self.server.expect_lateness();
        }
    }

    /// All connections break, and the server restarts from its disk.
    fn fail_power(&mut self) -> CheckResult {
        if self.crashes == CRASHES_MAX || !self.rng.one_in(self.plan.crash_one_in) {
            return Ok(());
        }
        self.crashes += 1;
        self.note_reached();
        for peer in 0..self.peers.len() {
            self.disconnect(peer);
        }
        self.server
            .crash(&std::mem::take(&mut self.received))
            .with_context(|| format!("after crash {}", self.crashes))
    }

    /// A line stalls, or a connection is reset or left half open.
    fn disturb_network(&mut self) {
        let open: Vec<usize> = (0..self.peers.len())
            .filter(|peer| self.peers[*peer].connection.is_some())
            .collect();
        if open.is_empty() {
            return;
        }
        let (faults, peer) = (self.plan.network_faults, *self.rng.pick(&open));
        if self.rng.one_in(faults.stall_one_in) {
            let until = self.clock.now() + self.rng.millis(1, 800);
            let is_up = self.rng.one_in(2);
            let mut conn = self.conn_of(peer).expect("it is open");
            let line = if is_up { &mut conn.up } else { &mut conn.down };
            line.hold_until(until);
        }
        let is_reset = self.rng.one_in(faults.reset_one_in);
        if is_reset || self.rng.one_in(faults.half_open_one_in) {
            let mut conn = self.conn_of(peer).expect("it is open");
            match is_reset {
                true => conn.reset(),
                false => conn.die(),
            }
            drop(conn);
            self.disconnect(peer);
        }
    }

    /// An operator types a line at the server's console.
    fn operate(&mut self) {
        let now = self.clock.now();
        if self.admin_wake.is_some_and(|wake| wake <= now) {
            self.admin_wake = Some(now + self.rng.millis(1, 2 * self.plan.admin_ms));
            self.server
                .say(actors::draw_line(&self.plan.config.game, &mut self.rng));
        }
    }

    fn reload_options(&mut self) {
        let now = self.clock.now();
        if self.reload_wake.is_some_and(|wake| wake <= now) {
            self.reload_wake = Some(now + self.control_rng.millis(1, 2 * self.plan.reload_ms));
            self.server.reload(&mut self.control_rng);
        }
    }

    /// Ends the phase with faults; actors start nothing new.
    fn stop_faults(&mut self) {
        self.is_settling = true;
        self.server.stop_faults();
        (self.admin_wake, self.reload_wake) = (None, None);
        self.server.ask(Control::Start);
    }

    /// Keeps game time running, whatever delayed requests did to it.
    fn speed_up(&mut self) {
        self.server.ask(Control::Resume);
        self.server.ask(Control::SetFrequency(500));
    }

    fn check_done(&self) -> CheckResult {
        for (number, peer) in self.peers.iter().enumerate() {
            if let Some(Connection { actor, .. }) = &peer.connection {
                let done = actor.check_done();
                done.with_context(|| format!("peer {number} ({:?})", peer.role))?;
            }
        }
        Ok(())
    }

    pub(crate) fn leave_all(&mut self) {
        for peer in 0..self.peers.len() {
            self.peers[peer].connects_at = None;
            self.leave(peer);
        }
    }

    /// Disconnects all peers; the server must keep nothing of them.
    fn disconnect_all(&mut self) -> CheckResult {
        self.leave_all();
        // Their last bytes are still in flight.
        let until = self.clock.now() + SETTLE_SPAN;
        while self.clock.now() < until && self.server.stats().connections > 0 {
            self.run_until(self.clock.now() + SETTLE_STEP)?;
            self.server.network.reset_unread();
        }
        let stats = self.server.stats();
        let kept = [
            stats.connections as u64,
            stats.outbox_bytes as u64,
            stats.timers_pending as u64,
        ];
        ensure!(
            kept == [0; 3],
            "all peers left, and the server keeps {kept:?} connections, bytes and deadlines"
        );
        Ok(())
    }
}
