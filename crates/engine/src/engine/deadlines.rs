//! What is due, of the game or in real time: when, and carried out one by one.

use super::Engine;
use crate::limits;
use crate::shell::ConnId;
use trantor_game::DueKind;
use trantor_model::AgentId;
use trantor_time::{GameSpan, GameTime, RealTime};

/// What may be due in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Limit: a session has not done in time what its phase allows time for: send its first line, play, read its output,
    /// or close the connection.
    SessionLimit(ConnId),
    /// Limit: check whether a peer with a large backlog has read any of it.
    Stall(ConnId),
    /// A throttled peer resumes: it has saved up requests, or read its output.
    Resume(ConnId),
    /// Removes an agent whose peer disconnected while older work was due.
    Leave(AgentId),
    /// Some of many text viewers are sent their updates.
    TextTurns,
    /// All text viewers are sent the next piece of the map, or of the difference after a seek.
    TextPiece,
    /// The next tick; pending only while a frame viewer is connected.
    Tick,
    /// Figures for frame viewers; pending only while one is connected.
    Stats,
    /// The match's time is over.
    MatchEnd,
}

/// A deadline that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// What was due.
    pub kind: FiredKind,
    /// How long after its nominal instant the pass began, in nanoseconds; what the pass itself took comes on
    /// top. While game time is paused, its deadlines are not late.
    pub lateness_ns: u64,
    /// How many were carried out: meals of one instant are together.
    pub count: u32,
}

/// What kind of deadline was carried out; for metrics by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiredKind {
    /// A deadline of the game.
    Game(DueKind),
    /// A mind's own time to decide.
    Mind,
    /// A record of what is played back: an input, or a digest.
    Recorded,
    /// A session ran into the limit of its phase.
    SessionLimit,
    /// A throttled peer resumes.
    Resume,
    /// Some of many text viewers are sent updates.
    TextUpdates,
    /// A tick of frame viewers.
    Tick,
    /// Figures for frame viewers.
    Stats,
    /// The end of a match.
    MatchEnd,
}

impl FiredKind {
    /// A word for logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Game(kind) => kind.name(),
            Self::Mind => "mind",
            Self::Recorded => "playback",
            Self::SessionLimit => "session_limit",
            Self::Resume => "resume",
            Self::TextUpdates => "text_updates",
            Self::Tick => "tick",
            Self::Stats => "viewer_stats",
            Self::MatchEnd => "match_end",
        }
    }
}

impl Engine {
    /// Carries out the earliest deadline that is due, of the game or in real time; on a tie the game goes
    /// first. One a call, so that a shell can time it and stop when its budget is spent.
    pub fn fire_next(&mut self, now: RealTime) -> Option<Fired> {
        if now > self.sessions.now() {
            self.sessions.set_now(now);
            self.take_game_time(now);
        }
        let timer_due = self.timers.next_deadline().filter(|at| *at <= now);
        if self.course.is_lock_step() {
            // Leaps have no instant of their own, and there may be no end of them: what has one goes first.
            self.end_wait_if_due(now);
            let fired = match timer_due {
                Some(_) => self.fire_timer(now),
                None => self.fire_leap(now),
            };
            self.settle();
            return fired;
        }
        let game_due = self.next_due().filter(|at| *at <= self.course.pace.game_now());
        // A game that may lag as far as it likes does not keep timers waiting until it has caught up, which may be never.
        let timer_wait_limit = now - limits::TIMER_WAIT_MAX;
        let is_game_first = match (
            game_due.and_then(|at| self.course.pace.clock().real_at(at)),
            timer_due,
        ) {
            (Some(game), Some(timer)) => game.max(timer_wait_limit) <= timer,
            (game, _) => game.is_some(),
        };
        let fired = if is_game_first {
            self.fire_game(now)
        } else {
            self.fire_timer(now)
        };
        self.settle();
        fired
    }

    /// When to begin a pass at the latest; an instant that is past if work is left over. `None`: only when
    /// something is read or written.
    pub fn poll_timeout(&self) -> Option<RealTime> {
        [
            self.game_due(),
            self.timers.next_deadline(),
            self.course.sprint_ends_at(),
            self.sessions.next_release(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// When the game's own next deadline is that the server wakes up for, at the present speed. `None`: it has none, or it
    /// is paused.
    pub fn game_due(&self) -> Option<RealTime> {
        match self.course.lock_step() {
            Some(lock_step) => match self.leap_due() {
                Some(_) => Some(self.sessions.now()),
                None => lock_step.wait_ends(&self.game),
            },
            None => self
                .next_awaited_deadline()
                .and_then(|at| self.course.pace.clock().real_at(at)),
        }
    }

    /// The game deadline that the server wakes up for. Without viewers, and unless it is due already, that is not a meal that an
    /// agent survives: [`Self::fire_unobserved_meals`] carries those out with the next wake-up.
    pub(super) fn next_awaited_deadline(&self) -> Option<GameTime> {
        let next = self.next_game_deadline();
        let awaited =
            match next.is_none_or(|at| at <= self.course.pace.game_now()) || self.are_meals_observed() {
                true => next,
                false => self.game.next_unwatched_deadline(),
            };
        awaited.into_iter().chain(self.next_mind_wake()).min()
    }

    /// When the first of what the game has due and of what minds want to be woken for is.
    pub(super) fn next_due(&self) -> Option<GameTime> {
        let wake = self.next_mind_wake();
        self.next_game_deadline().into_iter().chain(wake).min()
    }

    /// Whether meals are to be carried out at their instants: viewers are sent them; in lock-step time goes from one deadline
    /// to the next; and a recording is played as it is.
    fn are_meals_observed(&self) -> bool {
        self.is_watched() || self.course.is_lock_step() || self.course.is_recorded()
    }

    /// Carries out the meals before the game time of the pass that the server did not wake up for. Input that comes in now then
    /// finds the game as if it had. They do not count as late. Meals behind another deadline or timer that is due stay in the
    /// one order, and are due work.
    pub(super) fn fire_unobserved_meals(&mut self, now: RealTime) {
        if self.are_meals_observed() {
            return;
        }
        let timer_at = self.timers.next_deadline().filter(|at| *at <= now);
        let before = timer_at.map_or(self.course.pace.game_now(), |at| self.course.pace.game_at(at));
        let before = self.next_mind_wake().map_or(before, |wake| before.min(wake));
        while self.fire_meals(before, limits::MEALS_AT_ONCE) > 0 {}
    }

    pub(super) fn fire_game(&mut self, now: RealTime) -> Option<Fired> {
        if self.course.is_recorded() {
            return self.fire_recorded(now);
        }
        if let Some(wake) = self.wake_due() {
            return Some(self.wake_mind(wake, now));
        }
        let fired = self.game.fire_next(self.course.pace.game_now())?;
        let lateness_ns = self.course.pace.lateness_ns(now, fired.at);
        self.note_fired(fired);
        let mut count = 1;
        if fired.kind == DueKind::Hunger {
            let after = fired.at + GameSpan::from_nanounits(1);
            count += self.fire_meals(after, limits::MEALS_AT_ONCE - 1);
        }
        self.figures.meters.lateness.note(now, lateness_ns, count);
        Some(Fired {
            kind: FiredKind::Game(fired.kind),
            lateness_ns,
            count,
        })
    }

    /// Carries out the next meals of one instant before `before`; answers how many.
    fn fire_meals(&mut self, before: GameTime, most: u32) -> u32 {
        let meals = self.game.meals_before(before, most as usize);
        let mut count = 0;
        // A scenario may change what comes next.
        while (count as usize) < meals
            && self.game.meals_before(before, 1) == 1
            && let Some(fired) = self.game.fire_next(before)
        {
            self.note_fired(fired);
            count += 1;
        }
        count
    }

    fn note_fired(&mut self, fired: trantor_game::Fired) {
        self.delivery.snapshots.world_changed();
        if let Some(recorder) = &mut self.record.recorder {
            recorder.writer.stepped(&self.game);
        }
        self.figures.counters.fired[fired.kind as usize] += 1;
        self.publish_events(fired.agent);
    }

    fn fire_timer(&mut self, now: RealTime) -> Option<Fired> {
        let (at, item) = self.timers.take_due(now)?;
        self.figures.counters.timers += 1;
        let kind = match item {
            Timer::SessionLimit(conn) => {
                self.session_limit_passed(conn);
                FiredKind::SessionLimit
            }
            Timer::Resume(conn) => {
                self.course.arrived = Some(self.course.pace.game_at(at));
                self.resume_peer(conn, now);
                self.course.arrived = None;
                FiredKind::Resume
            }
            Timer::Leave(agent) => {
                self.course.arrived = Some(self.course.pace.game_at(at));
                self.leave_late(agent);
                self.course.arrived = None;
                FiredKind::Resume
            }
            Timer::TextTurns => {
                self.sessions.text_viewers.is_turn_scheduled = false;
                self.sessions.serve_turns(limits::TEXT_VIEWERS_PER_TURN);
                FiredKind::TextUpdates
            }
            Timer::TextPiece => {
                self.sessions.text_viewers.is_piece_scheduled = false;
                self.publish_text_piece(match self.sessions.text_viewers.is_seeking() {
                    true => limits::ANSWER_BYTES_PER_TURN,
                    false => limits::ANSWER_BYTES_AT_ONCE,
                });
                FiredKind::TextUpdates
            }
            Timer::Stall(conn) => {
                self.look_for_stall(conn, now);
                FiredKind::SessionLimit
            }
            Timer::Tick => {
                self.tick(now);
                FiredKind::Tick
            }
            Timer::Stats => {
                self.send_stats(at, now);
                FiredKind::Stats
            }
            Timer::MatchEnd => {
                self.end_match();
                FiredKind::MatchEnd
            }
        };
        let lateness_ns = u64::try_from(now.since(at).as_nanos()).unwrap_or(0);
        Some(Fired {
            kind,
            lateness_ns,
            count: 1,
        })
    }
}
