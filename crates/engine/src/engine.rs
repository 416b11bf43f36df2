//! The engine: owns the parts and routes between them, nothing else.

mod apply;
mod closing;
mod control;
mod course;
mod deadlines;
mod flow;
mod lock_step;
mod minds;
mod operators;
mod pace;
mod playback;
mod recording;
mod requests;
mod viewers;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use trantor_game::{Game, Snapshot};
use trantor_model::AgentId;
use trantor_play::minds::Minds;
use trantor_time::{GameClock, GameTime, RealSpan, RealTime, TimerQueue, TokenBucket};

use crate::burst::Answer;
use crate::config::EngineConfig;
use crate::limits;
use crate::replicate::{EncodedLooks, FrameUpdates, TextUpdates};
use crate::session::{Feed, Role, Sessions};
use crate::shell::{CloseReason, ConnId, Input, OperatorLine, Output};
use crate::shown::Board;
use crate::snapshot::Snapshots;
use crate::stats::{Counters, EngineStats, Meters};
use course::Course;
use deadlines::Timer;
pub use deadlines::{Fired, FiredKind};
use lock_step::LockStep;
use pace::Pace;
pub use playback::PlaybackStart;
use recording::Recorder;
pub use recording::{JournalBytes, JournalPressure};
use viewers::{Ticks, Watch};

/// The whole server but sockets, files, threads and the clock.
///
/// The order in which a shell calls it is in the [crate's first page](crate).
#[derive(Debug)]
pub struct Engine {
    pub(crate) config: EngineConfig,
    pub(crate) game: Game,
    /// What moves its time.
    pub(crate) course: Course,
    /// Who plays inside the process.
    pub(crate) players: Players,
    /// What is kept of the game.
    record: Record,
    pub(crate) sessions: Sessions,
    pub(crate) timers: TimerQueue<Timer>,
    rates: Rates,
    /// What viewers are sent, and how agents are written to.
    pub(crate) delivery: Delivery,
    operators: Operators,
    figures: Figures,
    pub(crate) pending: Pending,
}

/// Minds that play.
#[derive(Debug, Default)]
pub(crate) struct Players {
    /// `None` until the first is added, and while they act.
    pub(crate) minds: Option<Box<Minds>>,
    /// They are acting, and have been taken out for that.
    are_acting: bool,
}

/// The journal and saves of the game.
#[derive(Debug, Default)]
struct Record {
    /// The journal, while one is recorded.
    recorder: Option<Recorder>,
    /// Whether saves are made of the game.
    is_saved: bool,
    /// The game as it was when a team won, if saves are made of it.
    victory: Option<Arc<Snapshot>>,
}

/// Rate limits that several peers share.
#[derive(Debug)]
struct Rates {
    /// Lines of operators.
    operators: TokenBucket,
    /// What text viewers share beyond their own rate.
    spare: TokenBucket,
    /// Messages to other agents, by team.
    fan_out: Vec<TokenBucket>,
}

/// What happened, on its way to viewers; and texts that many agents are sent.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) text: TextUpdates,
    pub(crate) frames: FrameUpdates,
    looks: EncodedLooks,
    /// What agents and the server show to frame viewers beside the game.
    board: Board,
    pub(crate) ticks: Ticks,
    /// What is pending in real time while a frame viewer is there.
    pub(crate) watch: Option<Watch>,
    snapshots: Snapshots,
    /// When the latest piece of an answer about the whole map was written, or will be.
    map_answered_at: RealTime,
}

/// Requests of operators on connections, for the shell's console.
#[derive(Debug, Default)]
struct Operators {
    lines: VecDeque<OperatorLine>,
    /// Those one of whose lines is being carried out.
    unanswered: BTreeSet<ConnId>,
}

#[derive(Debug)]
struct Figures {
    counters: Counters,
    meters: Meters,
}

/// What is yet to be done once nothing else is in hand.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// For the shell.
    outputs: VecDeque<Output>,
    /// A team has won, and the agents are yet to be disconnected.
    agents_are_over: bool,
    /// Agents of closed connections; they leave once the game has caught up.
    pub(crate) departing: BTreeSet<AgentId>,
}

impl Engine {
    /// An engine whose time begins at `now`, or with [`Control::Start`] if that is configured.
    ///
    /// # Panics
    /// If [`trantor_game::GameConfig::check`] refuses the game.
    pub fn new(mut config: EngineConfig, now: RealTime) -> Self {
        config.game.rules.lock_step |= config.lock_step.is_some();
        let game = Game::new(config.game.clone());
        Self::with_game(config, game, now)
    }

    /// An engine that resumes `game`; `config.game` is ignored.
    ///
    /// Its agents have no connection any more, so they are gone, and each leaves an egg of its team where it stood: a player that
    /// comes back has a place to be born at (docs/decisions/0052). Of a match that is over they stand where they stood at the
    /// victory, for those who watch.
    ///
    /// # Panics
    /// If it is to go on in lock-step and was not begun so: the order of its deadlines is another.
    pub fn resume(config: EngineConfig, mut game: Game, now: RealTime) -> Self {
        assert!(
            config.lock_step.is_none() || game.config().rules.lock_step,
            "only a game begun in lock-step resumes in it"
        );
        game.release_agents();
        let config = EngineConfig {
            game: game.config().clone(),
            ..config
        };
        let mut engine = Self::with_game(config, game, now);
        if engine.game.winner().is_some() {
            engine.delivery.snapshots.end(&engine.game);
        }
        engine
    }

    pub(super) fn with_game(config: EngineConfig, game: Game, now: RealTime) -> Self {
        let teams = config.game.teams.len();
        let pace = Pace::new(
            now,
            game.now(),
            config.frequency,
            config.overload_max,
            config.lock_step.is_some(),
        );
        let mut engine = Self {
            course: Course::new(pace, config.lock_step.map(|cap| LockStep::new(&game, cap))),
            players: Players::default(),
            record: Record::default(),
            sessions: Sessions::new(game.config().size),
            timers: TimerQueue::default(),
            rates: Rates {
                operators: TokenBucket::full(now, limits::OPERATOR_LINE_RATE),
                spare: TokenBucket::full(now, config.limits.spare_request_rate()),
                fan_out: vec![TokenBucket::full(now, config.limits.fan_out_rate_of_team(teams)); teams],
            },
            delivery: Delivery {
                text: TextUpdates::new(&config),
                frames: FrameUpdates::default(),
                looks: EncodedLooks::default(),
                board: Board::default(),
                ticks: Ticks::default(),
                watch: None,
                snapshots: Snapshots::of(&game),
                map_answered_at: now,
            },
            operators: Operators::default(),
            figures: Figures {
                counters: Counters::default(),
                meters: Meters::new(now, game.now()),
            },
            pending: Pending::default(),
            game,
            config,
        };
        if engine.config.auto_start {
            engine
                .start(now)
                .expect("an engine is started once, when it is made");
        }
        engine
    }
}

impl Engine {
    /// Begins a pass: takes the game time that holds for all of it, slower than the clock if the machine
    /// cannot keep up.
    pub fn begin_pass(&mut self, now: RealTime) {
        self.figures.counters.passes += 1;
        self.sessions.set_now(now);
        let has_released = self.sessions.release(now);
        self.end_wait_if_due(now);
        let sprint_ended = self.take_game_time(now);
        if has_released || sprint_ended {
            // Many viewers are notified in turns, and nothing else may be due.
            self.settle();
        }
    }

    /// Takes in one thing that happened to a connection; `now` is a reading of the clock from after it happened. Where older
    /// game deadlines are yet to be carried out, its effect on the game comes after them.
    ///
    /// # Panics
    /// If a connection is opened in a place that is taken.
    pub fn handle(&mut self, input: Input<'_>, now: RealTime) {
        self.sessions.set_now(now);
        self.take_game_time(now);
        match input {
            Input::Opened { conn, peer } => {
                self.figures.counters.opened += 1;
                self.open(conn, peer, now);
            }
            Input::Bytes { conn, bytes } => self.read(conn, bytes, now),
            Input::Closed { conn } => self.closed_by_peer(conn),
        }
        self.settle();
    }

    /// The next thing for the shell to do. Taken after each input, they are few: a change of
    /// reading where a peer is throttled or resumed, and the end of a connection once.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.pending.outputs.pop_front()
    }

    /// The next session with bytes to write that the shell has not been asked to write; those with answers first.
    pub fn next_dirty(&mut self) -> Option<ConnId> {
        self.sessions.take_dirty()
    }

    /// As `next_dirty`, those with answers only.
    pub fn next_dirty_answer(&mut self) -> Option<ConnId> {
        self.sessions.take_dirty_answer()
    }

    /// As `next_dirty`, the others only: viewers, and agents that are sent something because of others. For shells that
    /// write that within a budget of its own.
    pub fn next_dirty_message(&mut self) -> Option<ConnId> {
        self.sessions.take_dirty_message()
    }

    /// A connection takes bytes again: it is among the dirty ones of its kind, if any wait for it.
    pub fn write_soon(&mut self, conn: ConnId) {
        self.sessions.mark_dirty(conn);
    }

    /// The shell stopped writing to a connection before all was written, and may go on when it likes: it is the next dirty
    /// one of its kind again, if bytes wait for it.
    pub fn write_later(&mut self, conn: ConnId) {
        self.sessions.mark_dirty_first(conn);
    }

    /// What to write next to a connection, in one write: to an agent one line, to a viewer all there is.
    /// Empty if there is nothing, or no such session.
    pub fn unsent(&self, conn: ConnId) -> &[u8] {
        self.sessions
            .get(conn)
            .map_or(&[], |session| session.outbox.unsent())
    }

    /// Notes that the first `count` bytes of [`Self::unsent`] were written.
    ///
    /// # Panics
    /// If that is more than there were.
    pub fn sent(&mut self, conn: ConnId, count: usize) {
        let now = self.sessions.now();
        let Some(waited) = self.sessions.sent(conn, count) else {
            return;
        };
        self.room_was_made(conn);
        self.figures.counters.bytes_out += count as u64;
        self.figures
            .meters
            .outbox_waits
            .note(now, u64::try_from(waited.as_nanos()).unwrap_or(0), 1);
        self.finish_writing(conn);
        // More of a long answer may have been encoded than was sent.
        self.watch_backlogs();
    }

    /// Takes the game time of `now`: what is due at it is due. It is slower than the clock if the machine cannot keep up.
    /// Answers whether a sprint ended on the way.
    pub(crate) fn take_game_time(&mut self, now: RealTime) -> bool {
        let sprint_ended = self.end_sprint(now);
        if self.course.pace.take(now, self.next_awaited_deadline()) {
            // Under overload that is every time; viewers are notified with the next tick.
            if let Some(watch) = &mut self.delivery.watch {
                watch.has_slipped = true;
            }
            if let Some(slips) = self
                .figures
                .meters
                .slips_logged
                .note(now, self.course.pace.slips().0)
            {
                log::warn!("the machine cannot keep up: the game slipped {slips} times");
            }
        }
        self.fire_unobserved_meals(now);
        if let Some(frequency) = sprint_ended {
            self.sprint_ended(frequency, now);
        }
        sprint_ended.is_some()
    }

    /// Whether game deadlines from before this instant are yet to be carried out: an input of this instant comes after them.
    /// In lock-step and in a recording, inputs have no instant.
    pub(crate) fn is_behind(&self) -> bool {
        self.course.is_by_clock() && self.next_due().is_some_and(|at| at < self.course.pace.game_now())
    }

    /// Does what was put off until nothing else is in hand, and checks the result.
    fn settle(&mut self) {
        loop {
            if std::mem::take(&mut self.pending.agents_are_over) {
                self.remove_agents();
            } else if let Some((conn, reason)) = self.sessions.closing.pop_front() {
                self.close_now(conn, reason);
            } else if self.sessions.outbox_bytes > self.config.limits.output_bytes_max
                && let Some(conn) = self.sessions.largest_backlog()
            {
                // The largest backlog makes room for the others.
                self.sessions.schedule_close(conn, CloseReason::MemoryFull);
            } else {
                break;
            }
        }
        self.watch_backlogs();
        self.schedule_text();
        if self.course.pace.is_started()
            && let Some(lock_step) = self.course.lock_step_mut()
        {
            lock_step.settle(&self.game, self.sessions.now());
        }
        if cfg!(debug_assertions) {
            self.check();
        }
    }
}

impl Engine {
    /// The game, read-only.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// What the engine was made from.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// How game time follows real time at present.
    pub fn game_clock(&self) -> &GameClock {
        self.course.pace.clock()
    }

    /// Whether the game was started: peers are greeted, and time passes.
    pub fn is_started(&self) -> bool {
        self.course.pace.is_started()
    }

    /// Whether a viewer is connected.
    pub fn is_watched(&self) -> bool {
        self.delivery.watch.is_some() || !self.sessions.text_viewers.is_empty()
    }

    /// Whether a viewer is up to date: a frame viewer until the last tick, unless it is too slow or receives a snapshot;
    /// a text viewer unless it receives the world, or a turn of text viewers is pending.
    pub fn is_up_to_date(&self, conn: ConnId) -> bool {
        let Some(session) = self.sessions.get(conn) else {
            return false;
        };
        match &session.role {
            Role::Viewer(observer) => matches!(observer.feed, Feed::Updates),
            Role::TextViewer => {
                let gets_world = session.flow.answer.as_ref().is_some_and(Answer::is_world);
                let viewers = &self.sessions.text_viewers;
                let is_served = viewers.broadcast.is_none() && viewers.turns_left == 0;
                !gets_world && is_served && !session.is_behind_log
            }
            _ => false,
        }
    }

    /// Game time of this pass.
    pub fn game_now(&self) -> GameTime {
        self.course.pace.game_now()
    }

    /// Everything that is counted.
    pub fn stats(&mut self, now: RealTime) -> EngineStats {
        let (slips, slipped) = self.course.pace.slips();
        let (ticks_run, ticks_skipped) = self.delivery.ticks.counts();
        let mut counters = self.figures.counters.clone();
        counters.encode_failures = self.delivery.frames.encode_failures;
        counters.shows_dropped = self.delivery.board.dropped;
        counters.undeliverable = self.sessions.undeliverable;
        EngineStats {
            uptime_ms: u64::try_from(now.since(self.figures.meters.began).as_nanos() / 1_000_000)
                .unwrap_or(0),
            counters,
            lateness: self.figures.meters.lateness.all(),
            lateness_last_second: self.figures.meters.lateness.last_second(now),
            outbox_waits: self.figures.meters.outbox_waits.all(),
            outbox_age: self
                .sessions
                .iter()
                .map(|session| session.outbox.age(now))
                .max()
                .unwrap_or(RealSpan::ZERO),
            slips,
            slipped,
            ticks_run,
            ticks_skipped,
            connections: self.sessions.len(),
            agents: self.sessions.agents() + self.players.minds.as_ref().map_or(0, |minds| minds.living()),
            text_viewers: self.sessions.text_viewers.len(),
            viewers: self.sessions.viewers.len(),
            outbox_bytes: self.sessions.outbox_bytes,
            messages_waiting: self.sessions.messages_waiting,
            messages_queued: self.sessions.messages_queued,
            timers_pending: self.timers.len(),
            eggs_refused: self.game.world().eggs_refused(),
        }
    }

    /// Whether some agent has nothing to do and could do something. While there is none, nothing that a player sends
    /// can count before the next deadline: a command waits for the end of the one before it.
    pub fn awaits_command(&self) -> bool {
        self.sessions.idle_agents > 0
    }
}
