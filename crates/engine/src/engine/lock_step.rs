//! Lock-step in the engine: how a game begins, when time leaps, and what ends a wait.

use trantor_game::{GameInput, Handled, PaceChange};
use trantor_model::TeamId;
use trantor_time::{GameClock, GameTime, RealTime};

use super::admin::AdminRefusal;
use super::{Engine, Fired};
use crate::input::ConnId;
use crate::lock_step::LockStepState;
use crate::output::CloseReason;
use crate::session::Role;

impl Engine {
    /// How the game stands if it is played in lock-step.
    pub fn lock_step_state(&self) -> Option<LockStepState> {
        Some(self.lock_step.as_ref()?.state(&self.game))
    }

    /// Whether a game in lock-step is yet to begin.
    pub(crate) fn is_gathering(&self) -> bool {
        self.lock_step
            .as_ref()
            .is_some_and(|lock_step| lock_step.is_gathering())
    }

    /// Reserves a place of the start. The peer is answered at once, since many programs start their next agent only
    /// then; it is born when the game begins, and its input until then is kept.
    pub(super) fn take_seat(&mut self, conn: ConnId, team: Option<TeamId>, now: RealTime) {
        let seat = match (&mut self.lock_step, team) {
            // A match can end before the first birth.
            (Some(lock_step), Some(team)) if self.game.winner().is_none() => {
                lock_step.take_seat(&self.game, team, conn)
            }
            _ => None,
        };
        let Some(places) = seat else {
            return self.greeting_failed(conn);
        };
        self.sessions.set_role(conn, Role::Seated(Vec::new()));
        self.set_limit(conn, None);
        self.send_accepted(conn, places);
        self.begin_if_full(now);
    }

    /// Frees the place reserved for a peer, if it has one.
    pub(super) fn leave_seat(&mut self, conn: ConnId) {
        if let Some(lock_step) = &mut self.lock_step {
            lock_step.leave_seat(conn);
        }
    }

    /// Begins the game if every place is taken.
    pub(super) fn begin_if_full(&mut self, now: RealTime) {
        if let Some(lock_step) = &self.lock_step
            && lock_step.is_gathering()
            && lock_step.free_seats(&self.game) == 0
        {
            self.begin_lock_step(now);
        }
    }

    /// Begins the game with the seated peers: all are born, and then their early input is processed.
    pub(super) fn begin_lock_step(&mut self, now: RealTime) {
        let Some(lock_step) = &mut self.lock_step else {
            return;
        };
        let born = lock_step.begin();
        log::info!("lock-step: the game begins with {} agents", born.len());
        let mut early_input = Vec::with_capacity(born.len());
        for (team, conn) in born {
            let said = match self.sessions.get_mut(conn).map(|session| &mut session.role) {
                Some(Role::Seated(said)) => std::mem::take(said),
                _ => unreachable!("a place is kept for a session that waits for it"),
            };
            match self.apply_quietly(GameInput::Join { team }) {
                Handled::Joined(agent) => {
                    self.counters.joined += 1;
                    self.sessions.set_role(conn, Role::Agent(agent));
                    self.set_limit(conn, self.config.limits.idle_span);
                    self.note_idle(agent);
                    early_input.push((conn, said));
                }
                // An operator has ended the match meanwhile.
                _ => self.close_after_flush(conn, CloseReason::GameOver),
            }
            self.publish_events(None);
        }
        for (conn, said) in early_input {
            self.process_bytes(conn, &said, now);
        }
    }

    /// The deadline that may be carried out now, if no agent is awaited. What is due at a moment is carried out
    /// at once, so that all agents concerned can think in parallel; the starts of a moment come only when
    /// no agent is idle.
    pub(super) fn leap_due(&self) -> Option<GameTime> {
        let lock_step = self.lock_step.as_ref()?;
        let due = self.game.next_deadline().filter(|_| self.pace.is_started())?;
        let belongs_to_moment = due == self.game.now()
            && !self.game.is_start_next()
            && !lock_step.is_frozen()
            && !lock_step.is_gathering();
        (belongs_to_moment || !lock_step.must_wait(&self.game)).then_some(due)
    }

    /// Moves to the next deadline and carries it out, if no agent is awaited.
    pub(super) fn fire_leap(&mut self, now: RealTime) -> Option<Fired> {
        let due = self.leap_due()?;
        self.pace.leap_to(due);
        self.fire_game(now)
    }

    /// Gives up the awaited agents once the wait has reached its cap. The journal records it, since a replay
    /// depends on it.
    pub(super) fn end_wait_if_due(&mut self, now: RealTime) {
        let Some(lock_step) = &mut self.lock_step else {
            return;
        };
        if lock_step.wait_ends(&self.game).is_none_or(|ends| ends > now) {
            return;
        }
        let given_up = lock_step.give_up(&self.game);
        log::info!(
            "lock-step: no longer waiting for {} agents and {} places",
            given_up.agents,
            given_up.places
        );
        self.note_pace(PaceChange::WaitEnded);
        if self.is_gathering() {
            self.begin_lock_step(now);
        }
        self.settle();
    }

    /// Freezes or resumes the game for an operator or a viewer.
    pub(super) fn hold_leaps(&mut self, is_frozen: bool) -> Result<(), AdminRefusal> {
        if !self.pace.is_started() {
            return Err(AdminRefusal::NotStarted);
        }
        let lock_step = self.lock_step.as_mut().expect("asked for in lock-step only");
        match (lock_step.is_frozen(), is_frozen) {
            (true, true) => Err(AdminRefusal::AlreadyPaused),
            (false, false) => Err(AdminRefusal::NotPaused),
            _ => {
                lock_step.set_frozen(is_frozen);
                Ok(())
            }
        }
    }

    /// The game clock as frame viewers see it. In lock-step it stands still between leaps, which is hard
    /// to watch; so it shows the speed of the game since the last tick.
    pub(super) fn shown_clock(&self, now: RealTime) -> GameClock {
        let Some(lock_step) = &self.lock_step else {
            return *self.pace.clock();
        };
        let rate = self.watch.as_ref().and_then(|watch| watch.leap_frequency);
        let frequency = rate.unwrap_or_else(|| self.pace.clock().frequency());
        let mut clock = GameClock::new(now, self.pace.game_now(), frequency);
        if rate.is_none() || lock_step.is_frozen() {
            clock.pause(now);
        }
        clock
    }

    /// Records a change of pace; it changes nothing in the game.
    pub(super) fn note_pace(&mut self, change: PaceChange) {
        let handled = self.apply(GameInput::Pace(change));
        debug_assert_eq!(
            handled,
            Handled::Done,
            "a change of pace changes nothing in the game"
        );
    }
}
