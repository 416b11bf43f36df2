//! One run: everybody at their ends of the lines, on one manual clock.
//!
//! First anything may go wrong, and nothing may be false. Then faults stop, and everything must finish.

mod failures;

use trantor_engine::limits::TEXT_VIEWERS_AT_ONCE_MAX;
use trantor_engine::{AdminRequest, Engine};
use trantor_game::AdminAction;
use trantor_model::Counts;
use trantor_time::{Clock, ManualClock, RealSpan, RealTime};

use crate::actors::{self, Actor, CheckResult, Moment};
use crate::fault::{Fault, Sabotage};
use crate::host::Host;
use crate::line::{Item, Line};
use crate::oracle::Oracle;
use crate::plan::{Plan, Role};
use crate::replayed::Received;
use crate::rng::Rng;
use crate::storage::Storage;
use crate::{Outcome, Reached};

/// How long everything may take to finish once nothing goes wrong any more: longer than any limit of a session.
const CALM: RealSpan = RealSpan::from_secs(20);

/// How long a peer stays away before it connects again.
const AWAY: RealSpan = RealSpan::from_millis(150);

/// Crashes of the server's machine in a run, at most: something must happen between them.
const CRASHES_MAX: u64 = 3;

/// Connections a peer opens in a run, at most: enough to take places again, too few to do nothing else.
const CONNECTIONS_MAX: u32 = 4;

/// See the module.
pub(crate) struct Universe {
    pub(crate) clock: ManualClock,
    pub(crate) host: Host,
    peers: Vec<Peer>,
    oracle: Oracle,
    sabotage: Sabotage,
    plan: Plan,
    seed: u64,
    rng: Rng,
    admin_wake: Option<RealTime>,
    reload_wake: Option<RealTime>,
    /// For tokens and reloads, of which there are none in most runs.
    control_rng: Rng,
    is_calm: bool,
    /// A recording was moved.
    has_moved: bool,
    step: u64,
    crashes: u64,
    /// What text viewers received since the last crash.
    received: Vec<Received>,
    /// What was reached before the last crash.
    reached: Reached,
}

/// Somebody, somewhere else.
struct Peer {
    actor: Box<dyn Actor>,
    rng: Rng,
    /// The place of its connection in the host's list.
    conn: Option<usize>,
    connects_at: Option<RealTime>,
    connections: u32,
}

impl Universe {
    pub(crate) fn new(seed: u64, fault: Option<Fault>) -> Self {
        let plan = Plan::draw(seed);
        let now = RealTime::from_nanos(1_000_000_000);
        let sabotage = Sabotage::new(fault);
        let host = Host::new(seed, &plan, &sabotage, now);
        Self::around(host, plan, sabotage, seed, now)
    }

    /// Viewers and an operator of an engine that shows a recording.
    pub(crate) fn playing(engine: Engine, plan: Plan, rng: &mut Rng, now: RealTime) -> Self {
        let seed = u64::from(rng.below(u32::MAX));
        let sabotage = Sabotage::new(None);
        let storage = Storage::new(seed, plan.storage, sabotage);
        let host = Host::around(engine, storage, seed, &plan);
        Self::around(host, plan, sabotage, seed, now)
    }

    fn around(mut host: Host, plan: Plan, sabotage: Sabotage, seed: u64, now: RealTime) -> Self {
        let mut rng = Rng::new(seed, 3);
        let mut peers = Vec::new();
        let mut text_viewers = 0;
        for (number, role) in plan.roles.iter().enumerate() {
            text_viewers += usize::from(*role == Role::TextViewer);
            let takes_turns = text_viewers > TEXT_VIEWERS_AT_ONCE_MAX;
            let mut own = Rng::new(seed, 100 + number as u64);
            peers.push(Peer {
                actor: actors::cast(*role, &plan.config, takes_turns, &mut own),
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
        if sabotage.is(Fault::NoHunger) {
            host.ask(AdminRequest::Act(AdminAction::SetHunger { enabled: false }));
        }
        Self {
            clock: ManualClock::starting_at(now),
            host,
            peers,
            oracle: Oracle::new(plan.config.limits.clone()),
            sabotage,
            admin_wake: (plan.admin_ms > 0).then_some(now),
            reload_wake: (plan.reload_ms > 0).then_some(now),
            control_rng: Rng::new(seed, 9),
            plan,
            seed,
            rng,
            is_calm: false,
            has_moved: false,
            step: 0,
            crashes: 0,
            received: Vec::new(),
            reached: Reached::default(),
        }
    }

    /// Steps done.
    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    /// All of it.
    pub(crate) fn run(&mut self) -> Result<Outcome, String> {
        self.run_to_calm()?;
        self.leave()?;
        let host = &mut self.host;
        host.storage
            .finish(&mut host.engine, &self.received, self.clock.now())?;
        let digest = self.host.engine.game().digest();
        self.host
            .trace
            .note(self.clock.now(), b'.', 0, &digest.to_le_bytes());
        self.note_reached();
        let mut reached = self.reached;
        self.check_refusals(&reached)?;
        reached.add(&self.host.reached);
        reached.add(&self.host.storage.reached);
        let of_peers =
            |count: fn(&dyn Actor) -> u64| self.peers.iter().map(|peer| count(peer.actor.as_ref())).sum();
        for (kind, count) in [
            ("steps", self.step),
            ("crashes", self.crashes),
            ("sprints ended", self.host.sprints.ended),
            ("lock-step moments passed", self.host.lock_step.leaps),
            (
                "lock-step moments passed after the longest wait",
                self.host.lock_step.waited,
            ),
            (
                "worlds in frames compared",
                of_peers(|actor| actor.mirrors_compared()),
            ),
            (
                "worlds in text compared",
                of_peers(|actor| actor.worlds_compared()),
            ),
        ] {
            reached.count(kind, count);
        }
        Ok(Outcome {
            digest: self.host.trace.digest(),
            reached,
        })
    }

    /// Lets things go wrong for as long as planned, and then everything finish.
    pub(crate) fn run_to_calm(&mut self) -> CheckResult {
        let chaos_ends = self.clock.now() + self.plan.chaos;
        self.run_until(chaos_ends)?;
        self.calm();
        let calm_ends = self.clock.now() + CALM;
        // Answers to ten commands, and whatever the slowest line still holds.
        while self.clock.now() < calm_ends {
            self.hurry();
            self.run_until((self.clock.now() + RealSpan::from_millis(250)).min(calm_ends))?;
            if self.check_done().is_ok() {
                break;
            }
        }
        self.check_done()
    }

    /// How often a viewer's world was compared with the world.
    pub(crate) fn worlds_compared(&self) -> u64 {
        let actors = self.peers.iter().map(|peer| &peer.actor);
        actors
            .map(|actor| actor.mirrors_compared() + actor.worlds_compared())
            .sum()
    }

    /// Who was refused was counted.
    fn check_refusals(&self, counted: &Reached) -> CheckResult {
        let heard: u64 = self.peers.iter().map(|peer| peer.actor.tokens_refused()).sum();
        let counted = counted.get("wrong tokens");
        match heard <= counted {
            true => Ok(()),
            false => Err(format!(
                "{heard} wrong tokens were refused, {counted} were counted"
            )),
        }
    }

    /// Adds what this life of the server has reached.
    fn note_reached(&mut self) {
        let stats = self.host.engine.stats(self.clock.now());
        self.reached.count_life(&stats);
        self.reached.count("agents rose", self.oracle.elevated());
    }

    pub(crate) fn run_until(&mut self, until: RealTime) -> CheckResult {
        while let Some(next) = self.next_instant().filter(|next| *next <= until) {
            self.clock.advance_to(next);
            self.one_step()?;
        }
        self.clock.advance_to(until);
        self.one_step()
    }

    fn next_instant(&mut self) -> Option<RealTime> {
        let now = self.clock.now();
        let mut host = self.host.wake(now);
        // A wake-up is lost where nothing else wakes the server at the same time.
        let is_engines = host == self.host.engine.poll_timeout();
        if is_engines && host.is_some_and(|host| host > now) && self.sabotage.strikes(Fault::LostWakeUp) {
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

    fn one_step(&mut self) -> CheckResult {
        self.step += 1;
        if !self.is_calm {
            self.machine_stalls();
            self.power_fails()?;
            self.network_fails();
            self.operator_acts();
            self.options_change();
        }
        let now = self.clock.now();
        for peer in 0..self.peers.len() {
            self.connect(peer, now);
        }
        let now = self.host.run(now, &mut self.sabotage)?;
        self.clock.advance_to(now);
        self.disk_is_slow();
        if !self.host.engine.is_playback() {
            self.oracle
                .check(&self.host.engine, &self.host.limits, self.step)?;
        }
        // Asking for figures takes long.
        let is_playback = self.host.engine.is_playback();
        self.has_moved = is_playback && self.host.engine.stats(now).counters.seeks > 0;
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
            if self.is_calm {
                line.calm();
            }
            line
        });
        let token = match self.plan.roles[peer] {
            Role::Operator | Role::Viewer | Role::TextViewer => {
                self.host.access.draw_shown(&mut self.control_rng)
            }
            _ => None,
        };
        let conn = self.host.connect(lines, token);
        let peer = &mut self.peers[peer];
        peer.connects_at = None;
        peer.connections += 1;
        peer.conn = Some(conn);
        peer.actor.opened(token, now);
    }

    /// One peer reads what has arrived and does what it wants to.
    fn peer_turn(&mut self, index: usize, now: RealTime) -> CheckResult {
        let Some(conn_index) = self.peers[index].conn else {
            return Ok(());
        };
        let delay = self.host.delay_of(conn_index);
        let peer = &mut self.peers[index];
        let conn = &mut self.host.conns[conn_index];
        let moment = Moment {
            now,
            game_least: self.host.engine.game().now(),
            game_most: self.host.engine.game_now(),
            pictures: &self.host.pictures,
            has_moved: self.has_moved,
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
                Item::Bytes(bytes) => peer.actor.hear(&bytes, &moment, &mut self.sabotage)?,
                Item::End => is_over = true,
            }
            let pause = peer.actor.reading_pause();
            if pause > RealSpan::ZERO {
                conn.down.hold_until(now + pause);
            }
        }
        let mut out = Vec::new();
        let stays = peer.actor.act(&moment, &mut peer.rng, &mut out);
        for piece in out.chunks(self.plan.network_faults.piece_bytes_max.max(1) as usize) {
            conn.up.send(now, Item::Bytes(piece.to_vec()));
        }
        if is_over || !stays {
            conn.up.send(now, Item::End);
            self.lose(index, now);
            return Ok(());
        }
        let is_quiet = conn.is_served
            && conn.up.is_idle()
            && conn.down.is_idle()
            && self.host.engine.unsent(conn.id).is_empty();
        if is_quiet {
            let actor = &mut self.peers[index].actor;
            actor.check_quiet(now)?;
            let past = &self.host.past;
            let has_picture = delay == RealSpan::ZERO || (past.is_certain() && !past.is_within_pass(now));
            if has_picture && actor.knows_world() && self.host.engine.is_up_to_date(conn.id) {
                let truth = self.host.world_told(conn_index, now);
                let game = self.host.engine.game();
                // Of an elevation that began before nothing is sent to it; a replay passes over its first moment.
                let is_replayed = delay == RealSpan::ZERO
                    && !self.host.engine.is_playback()
                    && game.world().rituals().len() == 0
                    && game.winner().is_none()
                    && game.now() > self.host.begins;
                let steps = is_replayed.then_some(game.steps());
                actor.check_world(&truth.ok_or("it knows a world sooner than it should")?, steps)?;
                let is_past = delay > RealSpan::ZERO;
                self.reached
                    .count("past worlds in text compared", u64::from(is_past));
            }
        }
        Ok(())
    }

    /// A peer is without a connection, and may come again.
    fn lose(&mut self, peer: usize, now: RealTime) {
        let peer = &mut self.peers[peer];
        peer.conn = None;
        peer.actor.gone(now);
        self.received.extend(peer.actor.take_received());
        if !self.is_calm && peer.connections < CONNECTIONS_MAX {
            peer.connects_at = Some(now + AWAY);
        }
    }

    /// From now on nothing goes wrong and nobody begins anything.
    fn calm(&mut self) {
        self.is_calm = true;
        self.host.storage.calm();
        self.admin_wake = None;
        self.reload_wake = None;
        for conn in 0..self.host.conns.len() {
            let lines = &mut self.host.conns[conn];
            lines.up.calm();
            lines.down.calm();
            if lines.up.is_dead() {
                // The network says at last that nobody is there.
                self.host.reset(conn);
            }
        }
        for peer in &mut self.peers {
            peer.actor.rest();
        }
        self.host.ask(AdminRequest::Start);
    }

    /// Time goes on, whatever was asked for before and arrived only now.
    fn hurry(&mut self) {
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

    /// Everybody goes, and nothing of them is left.
    fn leave(&mut self) -> CheckResult {
        let now = self.clock.now();
        for index in 0..self.peers.len() {
            self.peers[index].connects_at = None;
            if let Some(conn) = self.peers[index].conn {
                self.host.conns[conn].up.send(now, Item::End);
                self.lose(index, now);
            }
        }
        // What they said before is still under way, and on a slow line that takes a while.
        while self.clock.now() < now + CALM && self.host.engine.stats(self.clock.now()).connections > 0 {
            self.run_until(self.clock.now() + RealSpan::from_millis(250))?;
            self.host.reset_unread();
        }
        let stats = self.host.engine.stats(self.clock.now());
        if stats.connections == 0 && stats.outbox_bytes == 0 && stats.timers_pending == 0 {
            return Ok(());
        }
        Err(format!(
            "everybody left, and the server keeps {} connections, {} bytes and {} deadlines",
            stats.connections, stats.outbox_bytes, stats.timers_pending
        ))
    }
}
