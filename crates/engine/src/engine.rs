//! The engine: owns the parts and routes between them, nothing else.

mod admin;
mod closing;
mod flow;
mod lock_step;
mod operators;
mod playing;
mod requests;
mod sprint;
mod viewers;
mod watching;

use std::collections::VecDeque;

use trantor_game::{
    AdminAction, DueKind, Game, GameEvent, GameInput, Handled, LeaveCause, PaceChange, Refusal,
};
use trantor_model::AgentId;
use trantor_time::{GameClock, GameTime, RealSpan, RealTime, TimerId};

use crate::config::EngineConfig;
use crate::housekeeping::{Chore, Housekeeping};
use crate::input::{ConnId, Input};
use crate::limits;
use crate::lock_step::{LeapRate, LockStep};
use crate::output::{CloseReason, OperatorLine, Output};
use crate::pace::Pace;
use crate::playback::Playback;
use crate::recorder::{JournalBytes, JournalFull, JournalPressure, Recorder};
use crate::replicate::{News, SnapshotFrames, TextNews, tell_agent};
use crate::session::{Feed, Sessions};
use crate::stats::{Counters, EngineStats, Logged, SpanRecorder, Speedometer};
use crate::ticks::Ticks;
pub use operators::{Client, ClientKind};
use sprint::Sprint;

/// The whole server but sockets, files, threads and the clock.
///
/// The order in which a shell calls it is in the [crate's first page](crate).
#[derive(Debug)]
pub struct Engine {
    pub(crate) config: EngineConfig,
    pub(crate) game: Game,
    /// What moves the game, if that is a recording.
    pub(crate) playback: Option<Box<Playback>>,
    pub(crate) pace: Pace,
    pub(crate) sessions: Sessions,
    pub(crate) housekeeping: Housekeeping,
    pub(crate) text_news: TextNews,
    pub(crate) news: News,
    pub(crate) ticks: Ticks,
    /// For whom game time waits, if it does.
    pub(crate) lock_step: Option<LockStep>,
    /// What is pending in real time while a viewer of ours is there.
    pub(crate) watch: Option<Watch>,
    outputs: VecDeque<Output>,
    /// A stretch at full speed, while one lasts.
    sprint: Option<Sprint>,
    /// What operators said, for the shell's console.
    operator_lines: VecDeque<OperatorLine>,
    counters: Counters,
    lateness: SpanRecorder,
    outbox_waits: SpanRecorder,
    speedometer: Speedometer,
    /// Writes down what reaches the game, while somebody wants it.
    recorder: Option<Recorder>,
    slips_logged: Logged,
    skips_logged: Logged,
    tokens_logged: Logged,
    began: RealTime,
    /// The world as it is, encoded for viewers of ours, if anybody needed it since it last changed.
    snapshot: Option<SnapshotFrames>,
    /// The next of many text viewers are to be told, at some time.
    pub(crate) is_text_news_due: bool,
    /// A team has won, and the agents are yet to be let go.
    is_over_for_agents: bool,
}

/// The deadlines that exist only while a viewer of ours is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    tick: TimerId,
    stats: TimerId,
    /// The game clock slipped since the last tick, and the viewers are yet to be told.
    has_slipped: bool,
    /// How fast a game in lock-step goes at present.
    leaps: LeapRate,
}

/// A deadline that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// What was due.
    pub kind: FiredKind,
    /// How long after its nominal instant the pass began, in nanoseconds; what the pass itself took comes on
    /// top. While game time is paused, its deadlines are not late.
    pub lateness_ns: u64,
}

/// What kind of deadline was carried out; for metrics by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiredKind {
    /// One of the game's.
    Game(DueKind),
    /// A record of what is played back: an input, or a digest.
    Recorded,
    /// A session ran into the limit of its phase.
    SessionLimit,
    /// A peer that was held up goes on.
    GoOn,
    /// Some of many text viewers are told the news.
    TextNews,
    /// A tick.
    Tick,
    /// Figures for viewers of ours.
    Stats,
    /// The end of a match.
    MatchEnd,
}

impl FiredKind {
    /// A word for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Game(kind) => kind.name(),
            Self::Recorded => "recorded",
            Self::SessionLimit => "session_limit",
            Self::GoOn => "go_on",
            Self::TextNews => "text_news",
            Self::Tick => "tick",
            Self::Stats => "stats",
            Self::MatchEnd => "match_end",
        }
    }
}

impl Engine {
    /// An engine whose time begins at `now`, or with [`crate::AdminRequest::Start`] if it is told to wait.
    ///
    /// # Panics
    /// If [`trantor_game::GameConfig::check`] refuses the game.
    pub fn new(mut config: EngineConfig, now: RealTime) -> Self {
        config.game.rules.lock_step |= config.lock_step.is_some();
        let game = Game::new(config.game.clone());
        Self::with_game(config, game, now)
    }

    /// An engine that goes on with `game` from where it is; `config.game` is of no account.
    ///
    /// Nobody plays its agents any more, so they are gone, and each leaves an egg of its team where it stood: whoever
    /// comes back has a place to be born at (docs/decisions/0052).
    ///
    /// # Panics
    /// If it is to go on in lock-step and was not begun so: the order of its deadlines is another.
    pub fn resume(config: EngineConfig, mut game: Game, now: RealTime) -> Self {
        assert!(
            config.lock_step.is_none() || game.config().rules.lock_step,
            "only a game begun in lock-step goes on in it"
        );
        release_agents(&mut game);
        let config = EngineConfig {
            game: game.config().clone(),
            ..config
        };
        Self::with_game(config, game, now)
    }

    fn with_game(config: EngineConfig, game: Game, now: RealTime) -> Self {
        let mut engine = Self {
            pace: Pace::new(
                now,
                game.now(),
                config.frequency,
                config.lag_max,
                config.lock_step.is_some(),
            ),
            lock_step: config.lock_step.map(|cap| LockStep::new(&game, cap)),
            game,
            playback: None,
            sessions: Sessions::default(),
            housekeeping: Housekeeping::default(),
            text_news: TextNews::new(&config),
            news: News::default(),
            ticks: Ticks::default(),
            watch: None,
            outputs: VecDeque::new(),
            sprint: None,
            operator_lines: VecDeque::new(),
            counters: Counters::default(),
            lateness: SpanRecorder::new(now),
            outbox_waits: SpanRecorder::new(now),
            speedometer: Speedometer::new(now),
            recorder: None,
            slips_logged: Logged::default(),
            skips_logged: Logged::default(),
            tokens_logged: Logged::default(),
            began: now,
            snapshot: None,
            is_text_news_due: false,
            is_over_for_agents: false,
            config,
        };
        if engine.config.auto_start {
            engine
                .start(now)
                .expect("an engine is started once, when it is made");
        }
        engine
    }

    /// Begins a pass: takes the game time that holds for all of it, slower than the clock if the machine
    /// cannot keep up (R-X-9).
    pub fn begin_pass(&mut self, now: RealTime) {
        self.counters.passes += 1;
        self.sessions.set_now(now);
        self.sessions.release(now);
        let sprint_ended = self.end_sprint(now);
        self.end_wait_if_due(now);
        if self.pace.begin_pass(now, self.next_game_deadline()) {
            // Under overload that is every pass; viewers are told with the next tick.
            if let Some(watch) = &mut self.watch {
                watch.has_slipped = true;
            }
            if let Some(slips) = self.slips_logged.note(now, self.pace.slips().0) {
                log::warn!("the machine cannot keep up: the game slipped in {slips} passes");
            }
        }
        if let Some(frequency) = sprint_ended {
            self.sprint_ended(frequency, now);
        }
    }

    /// Takes one thing in that happened to a connection.
    ///
    /// # Panics
    /// If a connection is opened in a place that is taken.
    pub fn handle(&mut self, input: Input<'_>, now: RealTime) {
        self.sessions.set_now(now);
        match input {
            Input::Opened { conn, peer } => {
                self.counters.opened += 1;
                self.open(conn, peer, now);
            }
            Input::Bytes { conn, bytes } => self.read(conn, bytes, now),
            Input::Closed { conn, cause: _ } => self.closed_by_peer(conn),
        }
        self.settle();
    }

    /// Carries out the earliest deadline that is due, of the game or in real time; on a tie the game goes
    /// first. One a call, so that a shell can time it and stop when its budget is spent.
    pub fn fire_next(&mut self, now: RealTime) -> Option<Fired> {
        self.sessions.set_now(now);
        let chore_due = self.housekeeping.next_deadline().filter(|at| *at <= now);
        if self.lock_step.is_some() {
            // Leaps have no instant of their own, and there may be no end of them: what has one goes first.
            self.end_wait_if_due(now);
            let fired = match chore_due {
                Some(_) => self.fire_chore(now),
                None => self.fire_leap(now),
            };
            self.settle();
            return fired;
        }
        let game_due = self.next_game_deadline().filter(|at| *at <= self.pace.game_now());
        let is_game_first = match (game_due.and_then(|at| self.pace.clock().real_at(at)), chore_due) {
            (Some(game), Some(chore)) => game <= chore,
            (game, _) => game.is_some(),
        };
        let fired = if is_game_first {
            self.fire_game(now)
        } else {
            self.fire_chore(now)
        };
        self.settle();
        fired
    }

    /// The next thing for the shell to do. There is at most one of each kind for each connection, and one for
    /// the game, so the queue is bounded by the connections.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to begin a pass at the latest; an instant that is past if work is left over. `None`: only when
    /// something is read or written (R-000-19, R-000-20).
    pub fn poll_timeout(&self) -> Option<RealTime> {
        let game = match &self.lock_step {
            Some(lock_step) => match self.leap_due() {
                Some(_) => Some(self.sessions.now()),
                None => lock_step.wait_ends(&self.game),
            },
            None => self
                .next_game_deadline()
                .and_then(|at| self.pace.clock().real_at(at)),
        };
        let chore = self.housekeeping.next_deadline();
        let others = [self.sprint_ends_at(), self.sessions.next_release()];
        [game, chore].into_iter().chain(others).flatten().min()
    }

    /// The next session with bytes to write that the shell has not been told of since they came; viewers last.
    pub fn next_dirty(&mut self) -> Option<ConnId> {
        self.sessions.take_announced()
    }

    /// The same without viewers, for shells that write to those within a budget of their own.
    pub fn next_dirty_player(&mut self) -> Option<ConnId> {
        self.sessions.take_announced_player()
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
        self.counters.bytes_out += count as u64;
        self.outbox_waits
            .note(now, u64::try_from(waited.as_nanos()).unwrap_or(0));
        self.finish_writing(conn);
    }

    /// Records from now on: the journal begins with the game as it is. Right after [`Self::new`] nothing is
    /// missed. The bytes are to be taken by [`Self::poll_journal`] when [`Self::journal_pressure`] says so.
    pub fn start_recording(&mut self) {
        self.recorder = Some(Recorder::new(&self.game, &self.config.program));
        self.record_speed();
    }

    /// Every piece says at which speed it was played, so that it can be shown at that.
    fn record_speed(&mut self) {
        let change = PaceChange::Frequency(self.pace.clock().frequency());
        let handled = self.apply(GameInput::Pace(change));
        debug_assert_eq!(handled, Handled::Done, "a speed changes nothing in the game");
    }

    /// The bytes of the journal since the last call; `None` if there are none, or nothing is recorded. If
    /// nobody asks for too long, recording ends.
    pub fn poll_journal(&mut self) -> Option<JournalBytes> {
        self.recorder.as_mut()?.take()
    }

    /// Whether the journal has to be taken in this pass, before anybody is told what happened in it. Whoever takes it only
    /// then takes many passes' worth at once, and no agent is answered what is not taken.
    pub fn journal_pressure(&self) -> JournalPressure {
        let now = self.pace.game_now();
        let recorder = self.recorder.as_ref();
        recorder.map_or(JournalPressure::None, |recorder| recorder.pressure(now))
    }

    /// Ends the piece of the journal and begins another, so that a replay can begin here.
    pub fn begin_journal_piece(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_piece(&self.game);
            self.record_speed();
        }
    }

    /// Ends the journal in order; answers its last bytes, none if nothing was recorded.
    pub fn stop_recording(&mut self) -> Vec<JournalBytes> {
        self.recorder
            .take()
            .map_or_else(Vec::new, |recorder| recorder.end(&self.game))
    }

    /// Whether what happens is being recorded.
    pub fn is_recording(&self) -> bool {
        self.recorder.is_some()
    }

    /// Whether some agent has nothing to do and could do something. While there is none, nothing that a player sends
    /// can count before the next deadline: a command waits for the end of the one before it.
    pub fn awaits_command(&self) -> bool {
        self.sessions.owing() > 0
    }

    /// The game, to be looked at.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// What the engine was made from.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// How game time follows real time at present.
    pub fn game_clock(&self) -> &GameClock {
        self.pace.clock()
    }

    /// Whether the game was started: peers are greeted, and time passes.
    pub fn is_started(&self) -> bool {
        self.pace.is_started()
    }

    /// Whether a viewer of ours has been sent all that happened until the last tick. One that is too slow, or gets the
    /// world just now, has not.
    pub fn is_up_to_date(&self, conn: ConnId) -> bool {
        let observer = self.sessions.observer(conn);
        observer.is_some_and(|observer| matches!(observer.feed, Feed::News))
    }

    /// Game time of this pass.
    pub fn game_now(&self) -> GameTime {
        self.pace.game_now()
    }

    /// Everything that is counted.
    pub fn stats(&mut self, now: RealTime) -> EngineStats {
        let (slips, slipped) = self.pace.slips();
        let (ticks_run, ticks_skipped) = self.ticks.counts();
        let mut counters = self.counters.clone();
        counters.encode_failures = self.news.encode_failures;
        counters.undeliverable = self.sessions.undeliverable();
        EngineStats {
            uptime_ms: u64::try_from(now.since(self.began).as_nanos() / 1_000_000).unwrap_or(0),
            counters,
            lateness: self.lateness.all(),
            lateness_last_second: self.lateness.last_second(now),
            outbox_waits: self.outbox_waits.all(),
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
            agents: self.sessions.agents(),
            text_viewers: self.sessions.text_viewers().len(),
            viewers: self.sessions.viewers().len(),
            outbox_bytes: self.sessions.owed_bytes(),
            chores_pending: self.housekeeping.len(),
            wheel_steps: self.housekeeping.wheel_steps(),
        }
    }

    fn fire_game(&mut self, now: RealTime) -> Option<Fired> {
        if self.playback.is_some() {
            return self.fire_recorded(now);
        }
        let fired = self.game.fire_next(self.pace.game_now())?;
        self.snapshot = None;
        let lateness_ns = self.pace.lateness_ns(now, fired.at);
        if let Some(recorder) = &mut self.recorder {
            recorder.stepped(&self.game);
        }
        self.counters.fired[fired.kind as usize] += 1;
        self.lateness.note(now, lateness_ns);
        self.publish_events();
        Some(Fired {
            kind: FiredKind::Game(fired.kind),
            lateness_ns,
        })
    }

    fn fire_chore(&mut self, now: RealTime) -> Option<Fired> {
        let (at, chore) = self.housekeeping.take_due(now)?;
        self.counters.chores += 1;
        let kind = match chore {
            Chore::SessionLimit(conn) => {
                self.session_limit_passed(conn);
                FiredKind::SessionLimit
            }
            Chore::GoOn(conn) => {
                self.go_on(conn, now);
                FiredKind::GoOn
            }
            Chore::TellTextViewers => {
                self.is_text_news_due = false;
                self.sessions.announce_late(limits::TEXT_VIEWERS_PER_TURN);
                FiredKind::TextNews
            }
            Chore::Stall(conn) => {
                self.look_for_stall(conn, now);
                FiredKind::SessionLimit
            }
            Chore::Tick => {
                self.tick(now);
                FiredKind::Tick
            }
            Chore::Stats => {
                self.tell_stats(at, now);
                FiredKind::Stats
            }
            Chore::MatchEnd => {
                self.end_match();
                FiredKind::MatchEnd
            }
        };
        let lateness_ns = u64::try_from(now.since(at).as_nanos()).unwrap_or(0);
        Some(Fired { kind, lateness_ns })
    }

    /// Hands an input to the game. Its stamp is the pass's game time, but no later than the earliest work
    /// still due: what was read while older work is due comes before that work, in one total order.
    pub(crate) fn apply(&mut self, input: GameInput) -> Handled {
        let handled = self.apply_quietly(input);
        self.publish_events();
        handled
    }

    /// The same, leaving the events to be published by the caller.
    pub(crate) fn apply_quietly(&mut self, input: GameInput) -> Handled {
        if self.playback.is_some() {
            // Nothing more happens in it than was recorded; who asks for a place is told that there is none.
            return Handled::Refused(Refusal::GameOver);
        }
        let at = self.pace.game_now();
        let at = self
            .game
            .next_deadline()
            .map_or(at, |due| at.min(due))
            .max(self.game.now());
        if let Some(recorder) = &mut self.recorder
            && recorder.input(&self.game, &input, at) == Err(JournalFull)
        {
            log::error!("the journal is not taken and grows beyond its bound: recording ends");
            self.recorder = None;
        }
        self.snapshot = None;
        self.game.handle(input, at)
    }

    /// Tells everybody what happened.
    pub(crate) fn publish_events(&mut self) {
        while let Some(event) = self.game.poll_event() {
            if let Some(lock_step) = &mut self.lock_step {
                lock_step.note(&self.game, &event);
            }
            tell_agent(&mut self.sessions, self.config.dialect, &event);
            self.text_news.tell(&mut self.sessions, &self.game, &event);
            if self.watch.is_some() && self.news.note(&self.game, &event).is_err() {
                self.drop_news();
            }
            match event {
                GameEvent::Reply { agent, .. } => self.note_owing(agent),
                GameEvent::Died { agent } => self.agent_died(agent),
                GameEvent::Won { team } => {
                    log::info!("team {:?} has won", self.config.game.teams[usize::from(team.0)]);
                    // The end of a game that was recorded ends nothing here.
                    if self.playback.is_none() {
                        self.outputs.push_back(Output::Won { team });
                        self.is_over_for_agents = true;
                    }
                }
                _ => {}
            }
        }
        self.text_news.tell_held_back(&mut self.sessions);
    }

    /// Looks whether an agent has something to do.
    pub(crate) fn note_owing(&mut self, agent: AgentId) {
        if let Some(conn) = self.sessions.of_agent(agent) {
            let owes_command = self
                .game
                .world()
                .agent(agent)
                .is_some_and(|agent| agent.owes_command());
            self.sessions.set_owing(conn, owes_command);
        }
    }

    /// Does what was put off until nothing else is in hand, and checks the result.
    fn settle(&mut self) {
        loop {
            if std::mem::take(&mut self.is_over_for_agents) {
                self.dismiss_agents();
            } else if let Some((conn, reason)) = self.sessions.take_doomed() {
                self.close_now(conn, reason);
            } else if self.sessions.owed_bytes() > self.config.limits.output_bytes_max
                && let Some(conn) = self.sessions.most_owed()
            {
                // Whoever has let most wait makes room for the others.
                self.sessions.doom(conn, CloseReason::MemoryFull);
            } else {
                break;
            }
        }
        self.watch_filling();
        self.tell_late_viewers();
        if let Some(lock_step) = &mut self.lock_step
            && self.pace.is_started()
        {
            lock_step.settle(&self.game, self.sessions.now());
        }
        if cfg!(debug_assertions) {
            self.check();
        }
    }
}

/// Lets all agents of a game go that was saved, and gives their places back as eggs.
fn release_agents(game: &mut Game) {
    let gives_back = game.config().rules.respawn_places;
    let agents: Vec<_> = game
        .world()
        .agents()
        .map(|agent| (agent.id(), agent.team(), agent.tile()))
        .collect();
    for (agent, team, tile) in agents {
        let left = game.handle(
            GameInput::Leave {
                agent,
                cause: LeaveCause::Disconnected,
            },
            game.now(),
        );
        debug_assert_eq!(left, Handled::Done, "whoever is in the world can leave it");
        if !gives_back {
            let egg = AdminAction::LayEgg { team, tile };
            // Refused once a team has won, when nobody can be born any more.
            let _laid = game.handle(GameInput::Admin(egg), game.now());
        }
    }
    while game.poll_event().is_some() {}
}
