//! The engine: owns the parts and routes between them, nothing else.

mod accessors;
mod admin;
mod apply;
mod build;
mod closing;
mod deadlines;
mod fan_out;
mod flow;
mod lock_step;
mod operators;
mod playing;
mod recording;
mod requests;
mod sprint;
mod viewers;
mod watching;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use trantor_game::{Game, History, Snapshot};
use trantor_model::AgentId;
use trantor_time::{GameTime, RealTime, TimerId, TimerQueue};

use crate::config::EngineConfig;
use crate::input::{ConnId, Input};
use crate::lock_step::{LeapRate, LockStep};
use crate::output::{CloseReason, OperatorLine, Output};
use crate::pace::Pace;
use crate::playback::Playback;
use crate::recorder::Recorder;
use crate::replicate::{News, TextUpdates};
use crate::session::{Sessions, TokenBucket};
use crate::snapshot::{EggPieces, Population};
use crate::stats::{Counters, Logged, SpanRecorder, Speedometer};
use crate::ticks::Ticks;
use crate::timers::Timer;
pub use deadlines::{Fired, FiredKind};
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
    pub(crate) timers: TimerQueue<Timer>,
    /// What text viewers share, who ask for more than their own rate.
    spare_requests: TokenBucket,
    /// Token buckets for messages to other agents, one for each team.
    fan_out: Vec<TokenBucket>,
    pub(crate) text_updates: TextUpdates,
    pub(crate) news: News,
    pub(crate) ticks: Ticks,
    /// For whom game time waits, if it does.
    pub(crate) lock_step: Option<LockStep>,
    /// What is pending in real time while a frame viewer is there.
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
    operators_logged: Logged,
    refusals_logged: Logged,
    began: RealTime,
    /// All agents and eggs, encoded for frame viewers; `None` if no viewer has needed it since they changed.
    population: Option<Arc<Population>>,
    /// Its eggs, kept from one snapshot to the next.
    egg_pieces: EggPieces,
    /// What happened until now, for frame viewers that come late.
    history: History,
    /// Who was in the world when a team won, for frame viewers that get the world after that.
    ending: Option<Arc<Population>>,
    /// Whether saves are made of the game.
    is_saved: bool,
    /// The game as it was when a team won, if saves are made of it.
    victory: Option<Arc<Snapshot>>,
    /// When the latest piece of an answer about the whole map was written, or will be.
    answered_at: RealTime,
    /// The next of many text viewers are to be told, at some time.
    pub(crate) is_text_news_due: bool,
    /// The next piece of the whole map is to be told to all text viewers, at some time.
    pub(crate) is_map_news_due: bool,
    /// A team has won, and the agents are yet to be disconnected.
    is_over_for_agents: bool,
    /// The game time at which a throttled input arrived, while it is carried out.
    arrived: Option<GameTime>,
    /// Agents whose peers are gone, and who leave once the game has come to that instant.
    pub(crate) departing: BTreeSet<AgentId>,
}

/// The deadlines that exist only while a frame viewer is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    tick: TimerId,
    stats: TimerId,
    /// The game clock slipped since the last tick, and the viewers are yet to be told.
    has_slipped: bool,
    /// How fast a game in lock-step goes at present.
    leaps: LeapRate,
}

impl Engine {
    /// Begins a pass: takes the game time that holds for all of it, slower than the clock if the machine
    /// cannot keep up.
    pub fn begin_pass(&mut self, now: RealTime) {
        self.counters.passes += 1;
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
                self.counters.opened += 1;
                self.open(conn, peer, now);
            }
            Input::Bytes { conn, bytes } => self.read(conn, bytes, now),
            Input::Closed { conn, cause: _ } => self.closed_by_peer(conn),
        }
        self.settle();
    }

    /// The next thing for the shell to do. Whoever takes them after each input, as the shells do, finds a few at most: a word about
    /// reading where the peer is held up or goes on, and the end of a connection once.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The next session with bytes to write that the shell has not been told of since they came; those with answers first.
    pub fn next_dirty(&mut self) -> Option<ConnId> {
        self.sessions.take_dirty()
    }

    /// The same, those with answers only.
    pub fn next_dirty_answer(&mut self) -> Option<ConnId> {
        self.sessions.take_dirty_answer()
    }

    /// The same, the others only: viewers, and agents that are sent something because of others. For shells that write that
    /// within a budget of its own.
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
        self.counters.bytes_out += count as u64;
        self.outbox_waits
            .note(now, u64::try_from(waited.as_nanos()).unwrap_or(0));
        self.finish_writing(conn);
        // More of a long answer may have been encoded than was sent.
        self.watch_backlogs();
    }

    /// Takes the game time of `now`: what is due at it is due. It is slower than the clock if the machine cannot keep up.
    /// Answers whether a sprint ended on the way.
    pub(crate) fn take_game_time(&mut self, now: RealTime) -> bool {
        let sprint_ended = self.end_sprint(now);
        if self.pace.take(now, self.next_awaited_deadline()) {
            // Under overload that is every time; viewers are told with the next tick.
            if let Some(watch) = &mut self.watch {
                watch.has_slipped = true;
            }
            if let Some(slips) = self.slips_logged.note(now, self.pace.slips().0) {
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
        self.lock_step.is_none()
            && self.playback.is_none()
            && self
                .game
                .next_deadline()
                .is_some_and(|at| at < self.pace.game_now())
    }

    /// Does what was put off until nothing else is in hand, and checks the result.
    fn settle(&mut self) {
        loop {
            if std::mem::take(&mut self.is_over_for_agents) {
                self.remove_agents();
            } else if let Some((conn, reason)) = self.sessions.take_closing() {
                self.close_now(conn, reason);
            } else if self.sessions.outbox_bytes() > self.config.limits.output_bytes_max
                && let Some(conn) = self.sessions.largest_backlog()
            {
                // Whoever has let most wait makes room for the others.
                self.sessions.schedule_close(conn, CloseReason::MemoryFull);
            } else {
                break;
            }
        }
        self.watch_backlogs();
        self.schedule_text_turns();
        self.schedule_map();
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
