//! One run: host, network and peers on one manual clock.
//!
//! First faults are injected and safety must hold. Then faults stop, and everything must finish.

mod failures;

use trantor_engine::limits::TEXT_VIEWERS_AT_ONCE_MAX;
use trantor_engine::{AdminRequest, Engine};
use trantor_game::AdminAction;
use trantor_model::Counts;
use trantor_time::{Clock, ManualClock, RealSpan, RealTime};

use crate::actors::{self, Actor, CheckResult, Context};
use crate::fault::{Fault, FaultInjector};
use crate::host::Host;
use crate::line::{Item, Line};
use crate::oracle::Oracle;
use crate::plan::{Plan, Role};
use crate::replayed::Received;
use crate::rng::Rng;
use crate::storage::Storage;
use crate::{Coverage, Outcome};

/// Time to finish after faults stop; longer than any timeout of a session.
const SETTLE_SPAN: RealSpan = RealSpan::from_secs(20);

const RECONNECT_DELAY: RealSpan = RealSpan::from_millis(150);

/// Most crashes in a run, so that the game proceeds between them.
const CRASHES_MAX: u64 = 3;

/// Most connections of a peer in a run: enough to rejoin the game, few enough to play.
const CONNECTIONS_MAX: u32 = 4;

/// See the module.
pub(crate) struct Simulation {
    pub(crate) clock: ManualClock,
    pub(crate) host: Host,
    peers: Vec<Peer>,
    oracle: Oracle,
    injector: FaultInjector,
    plan: Plan,
    seed: u64,
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
    /// Index in [`Host::conns`].
    conn: Option<usize>,
    connects_at: Option<RealTime>,
    connections: u32,
}

impl Simulation {
    pub(crate) fn new(seed: u64, fault: Option<Fault>) -> Self {
        let plan = Plan::draw(seed);
        let now = RealTime::from_nanos(1_000_000_000);
        let injector = FaultInjector::new(fault);
        let host = Host::new(seed, &plan, &injector, now);
        Self::around(host, plan, injector, seed, now)
    }

    /// A playback with viewers and an operator.
    pub(crate) fn playing(engine: Engine, plan: Plan, rng: &mut Rng, now: RealTime) -> Self {
        let seed = u64::from(rng.below(u32::MAX));
        let injector = FaultInjector::new(None);
        let storage = Storage::new(seed, plan.storage, injector);
        let host = Host::around(engine, storage, seed, &plan);
        Self::around(host, plan, injector, seed, now)
    }

    fn around(mut host: Host, plan: Plan, injector: FaultInjector, seed: u64, now: RealTime) -> Self {
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
                host.ask(AdminRequest::Act(AdminAction::SetGround { tile, ground }));
            }
        }
        if injector.is(Fault::NoHunger) {
            host.ask(AdminRequest::Act(AdminAction::SetHunger { enabled: false }));
        }
        Self {
            clock: ManualClock::starting_at(now),
            host,
            peers,
            oracle: Oracle::new(plan.config.limits.clone()),
            injector,
            admin_wake: (plan.admin_ms > 0).then_some(now),
            reload_wake: (plan.reload_ms > 0).then_some(now),
            control_rng: Rng::new(seed, 9),
            plan,
            seed,
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
        let host = &mut self.host;
        host.storage
            .finish(&mut host.engine, &self.received, self.clock.now())?;
        let digest = self.host.engine.game().digest();
        self.host
            .trace
            .note(self.clock.now(), b'.', 0, &digest.to_le_bytes());
        self.note_reached();
        let mut coverage = self.coverage;
        self.check_refusals(&coverage)?;
        coverage.add(&self.host.coverage);
        coverage.add(&self.host.storage.coverage);
        let of_peers =
            |count: fn(&dyn Actor) -> u64| self.peers.iter().map(|peer| count(peer.actor.as_ref())).sum();
        for (kind, count) in [
            ("steps", self.step),
            ("crashes", self.crashes),
            ("sprints ended", self.host.sprints.ended),
            ("lock-step instants passed", self.host.lock_step.advances),
            ("lock-step instants passed at the cap", self.host.lock_step.waited),
            (
                "worlds in frames compared",
                of_peers(|actor| actor.mirrors_compared()),
            ),
            (
                "worlds in text compared",
                of_peers(|actor| actor.worlds_compared()),
            ),
        ] {
            coverage.count(kind, count);
        }
        Ok(Outcome {
            digest: self.host.trace.digest(),
            coverage,
        })
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
        self.check_done()
    }

    /// Comparisons of viewers' worlds with the server's.
    pub(crate) fn worlds_compared(&self) -> u64 {
        let actors = self.peers.iter().map(|peer| &peer.actor);
        actors
            .map(|actor| actor.mirrors_compared() + actor.worlds_compared())
            .sum()
    }

    /// The server counted every refused token.
    fn check_refusals(&self, counted: &Coverage) -> CheckResult {
        let refused: u64 = self.peers.iter().map(|peer| peer.actor.tokens_refused()).sum();
        let counted = counted.get("wrong tokens");
        match refused <= counted {
            true => Ok(()),
            false => Err(format!(
                "{refused} wrong tokens were refused, {counted} were counted"
            )),
        }
    }

    /// Adds the counters of the current server process.
    fn note_reached(&mut self) {
        let stats = self.host.engine.stats(self.clock.now());
        self.coverage.count_life(&stats);
        self.coverage.count("agents elevated", self.oracle.elevated());
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
        let now = self.clock.now();
        let mut host = self.host.wake(now);
        // Delay a wake-up that only the engine asks for.
        let is_engines = host == self.host.engine.poll_timeout();
        if is_engines && host.is_some_and(|host| host > now) && self.injector.injects(Fault::LostWakeUp) {
            host = host.map(|host| host + RealSpan::from_millis(3));
        }
        let peers = self.peers.iter().filter_map(|peer| {
            let arrival = peer.conn.and_then(|conn| self.host.conns[conn].down.ready_at());
            let wake = peer.conn.and_then(|_| peer.actor.wake());
            arrival.into_iter().chain(wake).chain(peer.connects_at).min()
        });
        peers
            .chain(host)
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
        let now = self.host.run(now, &mut self.injector)?;
        self.clock.advance_to(now);
        self.wait_for_disk();
        if !self.host.engine.is_playback() {
            self.oracle
                .check(&self.host.engine, &self.host.limits, self.step)?;
        }
        // `stats` is slow: ask only where seeks are possible.
        let is_playback = self.host.engine.is_playback();
        self.has_seeked = is_playback && self.host.engine.stats(now).counters.seeks > 0;
        for peer in 0..self.peers.len() {
            self.peer_turn(peer, now)
                .map_err(|reason| format!("peer {peer} ({:?}): {reason}", self.plan.roles[peer]))?;
        }
        Ok(())
    }

    fn connect(&mut self, peer: usize, now: RealTime) {
        let Peer { connects_at, .. } = &self.peers[peer];
        if connects_at.is_none_or(|at| at > now) {
            return;
        }
        let number = self.host.conns.len() as u64;
        let lines = [2 * number, 2 * number + 1].map(|stream| {
            let settings = self.plan.network_faults.draw_line(&mut self.rng);
            let mut line = Line::new(settings, self.seed, 1_000 + stream);
            if self.is_settling {
                line.stop_faults();
            }
            line
        });
        let token = match self.plan.roles[peer] {
            Role::Operator | Role::Viewer | Role::TextViewer => {
                self.host.access.draw_presented(&mut self.control_rng)
            }
            _ => None,
        };
        let conn = self.host.connect(lines, token);
        let peer = &mut self.peers[peer];
        peer.connects_at = None;
        peer.connections += 1;
        peer.conn = Some(conn);
        peer.actor.connected(token, now);
    }

    /// One peer handles its received bytes and acts.
    fn peer_turn(&mut self, index: usize, now: RealTime) -> CheckResult {
        let Some(conn_index) = self.peers[index].conn else {
            return Ok(());
        };
        let delay = self.host.delay_of(conn_index);
        let peer = &mut self.peers[index];
        let conn = &mut self.host.conns[conn_index];
        let context = Context {
            now,
            game_earliest: self.host.engine.game().now(),
            game_latest: self.host.engine.game_now(),
            pictures: &self.host.pictures,
            has_seeked: self.has_seeked,
            conn: conn.id,
            delay,
            allowed: self
                .host
                .access
                .allowed_since(conn.rules_before, conn.credentials),
        };
        let mut is_over = false;
        while !is_over && let Some(item) = conn.down.take(now) {
            match item {
                Item::Bytes(bytes) => peer.actor.receive(&bytes, &context, &mut self.injector)?,
                Item::End => is_over = true,
            }
            let pause = peer.actor.reading_pause();
            if pause > RealSpan::ZERO {
                conn.down.hold_until(now + pause);
            }
        }
        let mut out = Vec::new();
        let stays = peer.actor.act(&context, &mut peer.rng, &mut out);
        for piece in out.chunks(self.plan.network_faults.piece_bytes_max.max(1) as usize) {
            conn.up.send(now, Item::Bytes(piece.to_vec()));
        }
        if is_over || !stays {
            conn.up.send(now, Item::End);
            self.disconnect(index, now);
            return Ok(());
        }
        let is_quiet = conn.is_served
            && conn.up.is_idle()
            && conn.down.is_idle()
            && self.host.engine.unsent(conn.id).is_empty();
        if is_quiet {
            let actor = &mut self.peers[index].actor;
            actor.check_quiet(now)?;
            let world_history = &self.host.world_history;
            let has_picture =
                delay == RealSpan::ZERO || (world_history.is_certain() && !world_history.is_within_pass(now));
            if has_picture && actor.knows_world() && self.host.engine.is_up_to_date(conn.id) {
                let truth = self.host.expected_world(conn_index, now);
                let game = self.host.engine.game();
                // A replay starts after its first instant and cannot be compared while an elevation runs.
                let is_replayed = delay == RealSpan::ZERO
                    && !self.host.engine.is_playback()
                    && game.world().rituals().len() == 0
                    && game.winner().is_none()
                    && game.now() > self.host.begins;
                let steps = is_replayed.then_some(game.steps());
                actor.check_world(
                    &truth.ok_or("it has a world earlier than the delay allows")?,
                    steps,
                )?;
                let is_past = delay > RealSpan::ZERO;
                self.coverage
                    .count("past worlds in text compared", u64::from(is_past));
            }
        }
        Ok(())
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
        self.host.storage.stop_faults();
        self.admin_wake = None;
        self.reload_wake = None;
        for conn in 0..self.host.conns.len() {
            let lines = &mut self.host.conns[conn];
            lines.up.stop_faults();
            lines.down.stop_faults();
            if lines.up.is_dead() {
                // The network reports half-open connections now.
                self.host.reset(conn);
            }
        }
        for peer in &mut self.peers {
            peer.actor.wind_down();
        }
        self.host.ask(AdminRequest::Start);
    }

    /// Keeps game time running, whatever delayed requests did to it.
    fn speed_up(&mut self) {
        self.host.ask(AdminRequest::Resume);
        self.host.ask(AdminRequest::SetFrequency(500));
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
                self.host.conns[conn].up.send(now, Item::End);
                self.disconnect(index, now);
            }
        }
        // Their last bytes are still in flight.
        while self.clock.now() < now + SETTLE_SPAN && self.host.engine.stats(self.clock.now()).connections > 0
        {
            self.run_until(self.clock.now() + RealSpan::from_millis(250))?;
            self.host.reset_unread();
        }
        let stats = self.host.engine.stats(self.clock.now());
        if stats.connections == 0 && stats.outbox_bytes == 0 && stats.timers_pending == 0 {
            return Ok(());
        }
        Err(format!(
            "all peers left, and the server keeps {} connections, {} bytes and {} deadlines",
            stats.connections, stats.outbox_bytes, stats.timers_pending
        ))
    }
}
