//! What happens in the stages of a pass: bytes between sockets and the engine, its deadlines, its requests.
//!
//! Every stage has a count and a time budget and takes at least one item, so that a storm of due work does not
//! starve the sockets, nor a flood of input the due work (R-000-29). What is left over comes first in the next
//! pass, which then does not wait. When the loop sleeps and ends is [`crate::event_loop`]'s to say.

use std::io;

use mio::Registry;
use trantor_engine::{CloseCause, ConnId, Engine, EngineConfig, Input, Output};
use trantor_runtime::RealClock;
use trantor_runtime::stages::{Budget, LONG_PASS, StageSpec, Stages, Turn};
use trantor_time::{Clock, RealSpan, RealTime};

use crate::conn::{Conns, READ_BYTES_MAX, ReadOutcome, Shown, WriteOutcome};
use crate::listener::Listener;
use crate::loop_stats::LoopStats;
use crate::mio_wait::{Ready, WaitStats};

/// The stages of a pass, by their place in the declared order.
pub mod stage {
    /// Connections are accepted.
    pub const ACCEPT: usize = 0;
    /// What is ready is read.
    pub const READ: usize = 1;
    /// What other threads posted is run.
    pub const POSTS: usize = 2;
    /// What is due is run.
    pub const DUE: usize = 3;
    /// What the engine asks for is carried out.
    pub const OUTPUTS: usize = 4;
    /// What is owed is written.
    pub const FLUSH: usize = 5;
    /// Interest in writing is brought up to date.
    pub const WATCH: usize = 6;
}

/// Time that a stage may take in one pass: a twentieth of the longest pause that a player would notice.
const STAGE_SPAN: RealSpan = RealSpan::from_millis(5);

/// The declared order, and what each stage may spend in one pass.
const STAGES: [StageSpec; 7] = [
    StageSpec::new("accept", Budget::new(64, STAGE_SPAN)),
    StageSpec::new("read", Budget::new(128, STAGE_SPAN)),
    StageSpec::new("posts", Budget::new(100, STAGE_SPAN)),
    // Small, because deadlines bunch, and the last reply of a bunch waits for all others: after a stall with
    // 4,000 agents, cutting and flushing every 64 took the p99 of lateness from 3 ms to 1 ms.
    StageSpec::new("due work", Budget::new(64, STAGE_SPAN)),
    StageSpec::new("outputs", Budget::UNLIMITED),
    StageSpec::new("flush", Budget::new(1_024, STAGE_SPAN)),
    // What changed is bounded by what was flushed, and a socket not watched would wait for ever.
    StageSpec::new("watch", Budget::UNLIMITED),
];

/// The engine and all that it is connected to.
pub struct Shell {
    /// The server itself; posted actions may use it.
    pub engine: Engine,
    registry: Registry,
    clock: RealClock,
    /// The instant of this pass.
    now: RealTime,
    /// `None` once the loop is ending.
    listener: Option<Listener>,
    conns: Conns,
    stages: Stages,
    stats: LoopStats,
    read_buffer: Box<[u8]>,
    /// Told by the engine to have bytes, but the budget was spent: first in the next flush.
    unflushed: Option<ConnId>,
}

impl Shell {
    /// A shell around a new engine, whose sockets are watched by `registry`.
    ///
    /// # Errors
    /// If the registry cannot be shared.
    pub fn new(
        config: EngineConfig,
        listener: Listener,
        registry: &Registry,
        clock: RealClock,
    ) -> io::Result<Self> {
        let now = clock.now();
        Ok(Self {
            engine: Engine::new(config, now),
            registry: registry.try_clone()?,
            clock,
            now,
            listener: Some(listener),
            conns: Conns::default(),
            stages: Stages::declare("server", STAGES, LONG_PASS),
            stats: LoopStats::new(now),
            read_buffer: vec![0; READ_BYTES_MAX].into(),
            unflushed: None,
        })
    }

    /// The instant of this pass, for actions that tell the engine something.
    pub fn now(&self) -> RealTime {
        self.now
    }

    /// When the next pass must begin; an instant that is past if this one left work over.
    pub fn next_wake(&self) -> Option<RealTime> {
        let has_pending = self
            .listener
            .as_ref()
            .is_some_and(|listener| listener.has_pending(self.now));
        if self.stages.work_is_left() || self.conns.has_to_read() || has_pending {
            return Some(RealTime::ZERO);
        }
        let accept = self.listener.as_ref().and_then(Listener::next_try);
        let due = self.engine.poll_timeout();
        accept.into_iter().chain(due).min()
    }

    /// Begins a pass at `now`.
    pub fn begin_pass(&mut self, now: RealTime) {
        self.now = now;
        self.stages.begin_pass(now);
        self.engine.begin_pass(now);
    }

    /// Somebody has connected.
    pub fn note_new_connections(&mut self) {
        if let Some(listener) = &mut self.listener {
            listener.note_ready();
        }
    }

    /// A connection can be read or written.
    pub fn note_ready(&mut self, ready: Ready) {
        self.conns.note_ready(ready);
    }

    /// Enters a stage whose work is done by the loop itself.
    pub fn enter(&mut self, stage: usize) -> Turn {
        self.stages.enter(stage, self.clock.now())
    }

    /// Leaves it.
    pub fn leave(&mut self, turn: Turn) {
        self.stages.leave(turn, self.clock.now());
    }

    /// Takes new connections in.
    pub fn accept(&mut self) {
        let mut turn = self.enter(stage::ACCEPT);
        while let Some(listener) = &mut self.listener
            && listener.has_pending(self.now)
            && turn.admits(self.clock.now())
        {
            let Some((socket, peer)) = listener.accept(self.now) else {
                break;
            };
            match self.conns.open(socket, &self.registry) {
                Ok(conn) => {
                    log::debug!("{} from {peer}", Shown(conn));
                    self.engine.handle(Input::Opened { conn, peer }, self.now);
                }
                Err(error) => log::warn!("a connection from {peer} cannot be watched and is closed: {error}"),
            }
        }
        self.leave(turn);
    }

    /// Reads what is ready, once from each connection before any is read twice.
    pub fn read(&mut self) {
        let mut turn = self.enter(stage::READ);
        while self.conns.has_to_read() && turn.admits(self.clock.now()) {
            let Some((conn, outcome)) = self.conns.read_next(&mut self.read_buffer) else {
                continue;
            };
            match outcome {
                ReadOutcome::Bytes(bytes) => self.engine.handle(Input::Bytes { conn, bytes }, self.now),
                ReadOutcome::Ended(cause) => self.close_lost(conn, cause),
            }
        }
        self.leave(turn);
    }

    /// Runs what is due, one deadline after another.
    pub fn run_due_work(&mut self) {
        let mut turn = self.enter(stage::DUE);
        let mut began = self.clock.now();
        while self.engine.poll_timeout().is_some_and(|at| at <= self.now) && turn.admits(began) {
            let Some(fired) = self.engine.fire_next(self.now) else {
                break;
            };
            let ended = self.clock.now();
            let took = ended.since(began);
            self.stages.note_item(fired.kind.name(), took);
            self.stats.note_due(fired, took);
            began = ended;
        }
        self.stages.leave(turn, began);
    }

    /// Does what the engine asks for.
    pub fn carry_out_outputs(&mut self) {
        let turn = self.enter(stage::OUTPUTS);
        self.carry_out_all();
        self.leave(turn);
    }

    /// Writes what is owed, as far as the peers take it.
    pub fn flush(&mut self) {
        let mut turn = self.enter(stage::FLUSH);
        while let Some(conn) = self.next_to_flush() {
            if !self.flush_one(conn, &mut turn) {
                self.unflushed = Some(conn);
                break;
            }
        }
        // A connection that was owed nothing more may be closed now, without waiting for another pass.
        self.carry_out_all();
        self.leave(turn);
    }

    /// Has the system report writing for those connections only that have bytes waiting.
    pub fn update_watch(&mut self) {
        let turn = self.enter(stage::WATCH);
        self.conns.update_watch(&self.registry);
        self.leave(turn);
    }

    /// Ends the pass: counts it, and logs it if it was long.
    pub fn end_pass(&mut self, posts: usize, wait: WaitStats) {
        let ended = self.clock.now();
        let items = self.stages.items_taken();
        let report = self.stages.end_pass(ended);
        report.log_if_long(&[("posts", posts), ("connections", self.conns.len())]);
        self.stats.note_pass(report.duration(), items, wait);
    }

    /// Accepts no connection and takes no input from now on: the loop is ending.
    pub fn refuse_input(&mut self) {
        // Dropping it closes the port; whoever connects now is refused by the system.
        self.listener = None;
        self.conns.stop_reading();
    }

    /// Whether bytes wait that peers may yet take.
    pub fn owes_anything(&self) -> bool {
        self.unflushed.is_some() || self.stages.work_is_left() || self.conns.blocked() > 0
    }

    /// Lets everybody go.
    pub fn close_all(&mut self) {
        self.conns.close_all(&mut self.read_buffer);
    }

    /// What the loop did so far.
    pub fn stats(&self) -> &LoopStats {
        &self.stats
    }

    /// The connections.
    pub fn conns(&self) -> &Conns {
        &self.conns
    }

    /// The listening socket, until the loop is ending.
    pub fn listener(&self) -> Option<&Listener> {
        self.listener.as_ref()
    }

    fn next_to_flush(&mut self) -> Option<ConnId> {
        let left_over = self.unflushed.take();
        left_over
            .or_else(|| self.conns.next_to_write())
            .or_else(|| self.engine.next_dirty())
    }

    /// Writes what one connection is owed, a piece a write. `false`: the budget is spent and bytes are left.
    fn flush_one(&mut self, conn: ConnId, turn: &mut Turn) -> bool {
        loop {
            let bytes = self.engine.unsent(conn);
            if bytes.is_empty() {
                self.conns.all_written(conn);
                return true;
            }
            if !turn.admits(self.clock.now()) {
                return false;
            }
            match self.conns.write(conn, bytes) {
                WriteOutcome::Taken(count) => self.engine.sent(conn, count),
                WriteOutcome::Blocked => return true,
                WriteOutcome::Failed => {
                    self.close_lost(conn, CloseCause::Failed);
                    return true;
                }
            }
        }
    }

    /// At most two requests for each connection and one for the game can wait, so no budget is needed.
    fn carry_out_all(&mut self) {
        while let Some(output) = self.engine.poll_output() {
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::ShutdownWrite { conn } => self.conns.shut_down_write(conn),
            Output::Close { conn, reason } => {
                log::debug!("{} is let go: {}", Shown(conn), reason.name());
                self.close(conn);
            }
            Output::Won { team } => {
                let name = &self.engine.config().game.teams[usize::from(team.0)];
                log::info!("team {name} has won");
            }
        }
    }

    /// The peer is gone: the engine is told.
    fn close_lost(&mut self, conn: ConnId, cause: CloseCause) {
        log::debug!("{} is gone", Shown(conn));
        self.engine.handle(Input::Closed { conn, cause }, self.now);
        self.close(conn);
    }

    fn close(&mut self, conn: ConnId) {
        self.conns.close(conn, &self.registry);
        if let Some(listener) = &mut self.listener {
            listener.room_was_made();
        }
    }
}
