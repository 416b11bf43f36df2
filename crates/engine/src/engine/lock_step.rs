//! Lock-step: game time waits for the agents instead of for the clock.
//!
//! Game time advances only when every idle agent has sent a command, or the cap on the wait ran out. Then time
//! leaps to the next deadline, whatever the frequency.
//!
//! ```text
//! gathering ──(every place of the start is taken, /start, or the cap ran out)──> playing
//!
//! playing    a moment's ends, hunger and refill    at once: all agents concerned can think in parallel
//!            its starts, and the next moment       when no agent is awaited
//! ```
//!
//! A living agent is idle while none of its commands runs or waits and no elevation holds it. So one that sends
//! ahead is never idle; a silent one is awaited once and then given up until it begins something again; one that
//! joins late is idle from its birth on; one that dies or leaves is not.

use std::collections::BTreeSet;
use trantor_play::view::LockStepState;

use trantor_game::{Agent, Game, GameEvent, GameInput, Handled, PaceChange};
use trantor_model::{AgentId, Change, ElevationState, Refusal, TeamId};
use trantor_time::{GameClock, GameTime, RealSpan, RealTime};

use super::{Engine, Fired};
use crate::session::Role;
use crate::shell::{CloseReason, ConnId};
use trantor_play::minds::Minds;

/// The agents and places for which the game waits.
#[derive(Debug)]
pub(crate) struct LockStep {
    /// The longest wait at one moment of the game.
    cap: RealSpan,
    /// The places of the start, until the game begins.
    seats: Option<Seats>,
    /// Idle agents for which the game waits.
    awaited: BTreeSet<AgentId>,
    /// Agents awaited until the cap that have begun nothing since.
    given_up: BTreeSet<AgentId>,
    /// The moment at which the game waits, and the end of the wait.
    wait: Option<(GameTime, RealTime)>,
    /// The last moment at which a wait was given up.
    gave_up_at: Option<GameTime>,
    /// An operator or a viewer holds the game.
    pub(super) is_frozen: bool,
}

#[derive(Debug)]
struct Seats {
    by_team: Vec<Vec<Option<Seat>>>,
    taken: usize,
    /// The most that were taken at one time since all were free: more than that begins the wait anew, so that a peer that
    /// leaves and returns does not.
    taken_max: usize,
}

/// What a place of the start is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat {
    Peer(ConnId),
    /// A mind, by its group.
    Mind(usize),
}

impl LockStep {
    /// A game that is yet to begin, and in which no agent lives, or one that is over; no wait is longer than `cap`.
    pub(crate) fn new(game: &Game, cap: RealSpan) -> Self {
        debug_assert!(
            game.world().agents().len() == 0 || game.winner().is_some(),
            "no agent has joined"
        );
        Self {
            cap,
            seats: Some(Seats {
                by_team: vec![Vec::new(); game.world().teams().len()],
                taken: 0,
                taken_max: 0,
            }),
            awaited: BTreeSet::new(),
            given_up: BTreeSet::new(),
            wait: None,
            gave_up_at: None,
            is_frozen: false,
        }
    }

    fn is_gathering(&self) -> bool {
        self.seats.is_some()
    }

    /// Reserves the lowest free place of the start; returns how many of the team are free then, as a
    /// newborn agent is sent. `None` if all are taken.
    ///
    /// The number names the place: a peer with the same number has the same agent, so that it does not matter in
    /// which order the connections of a start come about.
    fn take_seat(&mut self, game: &Game, team: TeamId, conn: ConnId) -> Option<u32> {
        let places = game.world().team(team)?.places() as usize;
        let seats = self.seats.as_mut()?;
        let of_team = &mut seats.by_team[usize::from(team.0)];
        if of_team.len() < places {
            of_team.resize(places, None);
        }
        let free = of_team.iter().position(Option::is_none)?;
        of_team[free] = Some(Seat::Peer(conn));
        seats.taken += 1;
        if seats.taken > seats.taken_max {
            // Each that comes is given as long as the first.
            seats.taken_max = seats.taken;
            self.wait = None;
        }
        u32::try_from(places.saturating_sub(free + 1)).ok()
    }

    /// Reserves places of the start for minds, `waiting` by team, in place of those reserved for minds before: the lowest
    /// that no peer has.
    pub(crate) fn seat_minds(&mut self, game: &Game, waiting: &[Vec<usize>]) {
        let Some(seats) = &mut self.seats else { return };
        let teams = game.world().teams().iter().zip(&mut seats.by_team);
        for ((team, of_team), groups) in teams.zip(waiting) {
            of_team.resize(of_team.len().max(team.places() as usize), None);
            let mut groups = groups.iter();
            for seat in of_team
                .iter_mut()
                .filter(|seat| !matches!(seat, Some(Seat::Peer(_))))
            {
                *seat = groups.next().map(|group| Seat::Mind(*group));
            }
        }
        seats.taken = seats.by_team.iter().flatten().flatten().count();
        seats.taken_max = seats.taken_max.max(seats.taken);
        if seats.taken == 0 {
            seats.taken_max = 0;
            self.wait = None;
        }
    }

    /// A peer is gone; if it was promised a place, that is free again.
    fn leave_seat(&mut self, conn: ConnId) {
        let Some(seats) = &mut self.seats else { return };
        for seat in seats.by_team.iter_mut().flatten() {
            seats.taken -= usize::from(seat.take_if(|taken| *taken == Seat::Peer(conn)).is_some());
        }
        if seats.taken == 0 {
            seats.taken_max = 0;
            self.wait = None;
        }
    }

    pub(crate) fn seated(&self) -> Vec<ConnId> {
        let seats = self.seats.iter().flat_map(|seats| seats.by_team.iter().flatten());
        let peer = |seat: &Seat| match seat {
            Seat::Peer(conn) => Some(*conn),
            Seat::Mind(_) => None,
        };
        seats.flatten().filter_map(peer).collect()
    }

    fn free_seats(&self, game: &Game) -> usize {
        let Some(seats) = &self.seats else { return 0 };
        let teams = game.world().teams().iter().zip(&seats.by_team);
        teams
            .map(|(team, seats)| (team.places() as usize).saturating_sub(seats.iter().flatten().count()))
            .sum()
    }

    /// The game begins: who is born in which team, in this order. It goes by places and then by teams, whichever
    /// came first.
    fn begin(&mut self) -> Vec<(TeamId, Seat)> {
        self.wait = None;
        let seats = self.seats.take().map_or_else(Vec::new, |seats| seats.by_team);
        let most = seats.iter().map(Vec::len).max().unwrap_or(0);
        let of_place = |place: usize| {
            seats.iter().enumerate().filter_map(move |(team, seats)| {
                let seat = seats.get(place).copied().flatten()?;
                let team = u16::try_from(team).expect("teams are numbered with 16 bits");
                Some((TeamId(team), seat))
            })
        };
        (0..most).flat_map(of_place).collect()
    }

    fn state(&self, game: &Game) -> LockStepState {
        if self.is_frozen {
            LockStepState::Frozen
        } else if self.is_gathering() {
            LockStepState::Gathering {
                free: self.free_seats(game),
            }
        } else {
            let awaited = match self.is_waiting(game) && self.awaited.is_empty() {
                true => self.given_up.len(),
                false => self.awaited.len(),
            };
            LockStepState::Playing { awaited }
        }
    }

    pub(crate) fn wait_ends(&self, game: &Game) -> Option<RealTime> {
        self.wait.filter(|_| self.is_waiting(game)).map(|(_, ends)| ends)
    }

    pub(crate) fn note(&mut self, game: &Game, minds: Option<&Minds>, event: &GameEvent) {
        let change = match event {
            GameEvent::To { agent, .. } => return self.look_at(game, minds, *agent),
            GameEvent::Seen(change) => change,
            _ => return,
        };
        match change {
            Change::Joined { agent, .. } => self.look_at(game, minds, agent.id),
            Change::ActionStarted { agent, .. } => {
                // Only what takes time brings an agent back: else one that asks for nothing else could hold the
                // game at one moment for ever.
                self.given_up.remove(agent);
                self.look_at(game, minds, *agent);
            }
            Change::Died { agent } | Change::Left { agent, .. } => {
                self.look_at(game, minds, *agent);
            }
            Change::ElevationStarted(ElevationState { participants, .. })
            | Change::ElevationEnded { participants, .. } => {
                for agent in participants.iter() {
                    self.look_at(game, minds, *agent);
                }
            }
            Change::Won { .. } => {
                self.awaited.clear();
                self.given_up.clear();
            }
            _ => {}
        }
    }

    /// Updates the sets for an agent that may have become idle or busy. Agents with minds are in none of them.
    pub(crate) fn look_at(&mut self, game: &Game, minds: Option<&Minds>, id: AgentId) {
        if minds.is_some_and(|minds| minds.name_of(id).is_some()) {
            return;
        }
        let agent = game.world().agent(id);
        if agent.is_none() {
            self.given_up.remove(&id);
        }
        let is_idle = agent.is_some_and(Agent::is_idle) && game.winner().is_none();
        match is_idle && !self.given_up.contains(&id) {
            true => self.awaited.insert(id),
            false => self.awaited.remove(&id),
        };
    }

    /// Begins a wait if one is due. Its time counts for all of one moment of the game, so that an agent which asks
    /// only for what takes no time does not begin it anew.
    pub(crate) fn settle(&mut self, game: &Game, now: RealTime) {
        let moment = game.now();
        self.wait.take_if(|(at, _)| *at != moment);
        if self.wait.is_none() && !self.is_frozen && self.is_waiting(game) {
            self.wait = Some((moment, now.saturating_add(self.cap)));
        }
    }

    /// Ends the wait: the game continues without the awaited agents.
    fn give_up(&mut self, game: &Game) {
        self.wait = None;
        self.gave_up_at = Some(game.now());
        self.given_up.append(&mut self.awaited);
        // If all living agents were given up before, the wait was for them again.
        let (agents, places) = (self.skipped(game).count(), self.free_seats(game));
        log::info!("lock-step: no longer waiting for {agents} agents and {places} places");
    }

    /// Idle agents that were given up.
    fn skipped(&self, game: &Game) -> impl Iterator<Item = AgentId> {
        let is_idle = move |id: &AgentId| game.world().agent(*id).is_some_and(Agent::is_idle);
        self.given_up.iter().copied().filter(is_idle)
    }

    /// Before the beginning, the game waits once a place is taken. Later it waits for idle agents, and at each
    /// moment again if all living agents are given up: else time would leap to their death.
    fn is_waiting(&self, game: &Game) -> bool {
        if let Some(seats) = &self.seats {
            return seats.taken > 0;
        }
        if !self.awaited.is_empty() {
            return true;
        }
        let living = game.world().agents().len();
        let may_wait_again = living > 0 && self.gave_up_at != Some(game.now());
        may_wait_again && self.given_up.len() == living && self.skipped(game).count() == living
    }

    /// Compares with the game and the seated peers.
    ///
    /// # Panics
    /// If the awaited and skipped agents are not the idle ones; or if a place is reserved for another peer.
    pub(crate) fn check(&self, game: &Game, minds: Option<&Minds>, seated: &BTreeSet<ConnId>) {
        let taken: BTreeSet<ConnId> = self.seated().into_iter().collect();
        assert_eq!(taken, *seated, "each seated peer has its place");
        if let Some(seats) = &self.seats {
            assert!(
                seats.taken == seats.by_team.iter().flatten().flatten().count()
                    && seats.taken <= seats.taken_max,
                "taken places are counted"
            );
        }
        let is_peer = |id: &AgentId| minds.is_none_or(|minds| minds.name_of(*id).is_none());
        let idle: BTreeSet<AgentId> = game.idle_agents().filter(is_peer).collect();
        let known: BTreeSet<AgentId> = self.skipped(game).chain(self.awaited.iter().copied()).collect();
        assert_eq!(known, idle, "idle agents are awaited, or were given up");
        assert!(
            self.awaited.is_disjoint(&self.given_up),
            "no agent is awaited that was given up"
        );
        assert!(
            self.given_up.iter().all(|id| game.world().agent(*id).is_some()),
            "no dead agent is awaited"
        );
    }
}

impl Engine {
    /// How the game stands if it is played in lock-step.
    pub fn lock_step_state(&self) -> Option<LockStepState> {
        Some(self.course.lock_step()?.state(&self.game))
    }

    pub(crate) fn is_gathering(&self) -> bool {
        self.course
            .lock_step()
            .is_some_and(|lock_step| lock_step.is_gathering())
    }

    /// Reserves a place of the start. The peer is answered at once, since many programs start their next agent only
    /// then; it is born when the game begins, and its input until then is kept.
    pub(super) fn take_seat(&mut self, conn: ConnId, team: Option<TeamId>, now: RealTime) {
        let seat = match (self.course.lock_step_mut(), team) {
            // A match can end before the first birth.
            (Some(lock_step), Some(team)) if self.game.winner().is_none() => {
                lock_step.take_seat(&self.game, team, conn)
            }
            _ => None,
        };
        let Some(places) = seat else {
            return self.greeting_failed(conn);
        };
        self.sessions.set_role(conn, Role::Seated);
        self.set_limit(conn, None);
        self.send_accepted(conn, places);
        self.begin_if_full(now);
    }

    pub(super) fn leave_seat(&mut self, conn: ConnId) {
        if let Some(lock_step) = self.course.lock_step_mut() {
            lock_step.leave_seat(conn);
        }
    }

    pub(super) fn begin_if_full(&mut self, now: RealTime) {
        if let Some(lock_step) = self.course.lock_step()
            && lock_step.is_gathering()
            && lock_step.free_seats(&self.game) == 0
        {
            self.begin_lock_step(now);
        }
    }

    /// Begins the game with the seated peers: all are born, and then their early input is processed.
    pub(super) fn begin_lock_step(&mut self, now: RealTime) {
        let Some(lock_step) = self.course.lock_step_mut() else {
            return;
        };
        let born = lock_step.begin();
        log::info!("lock-step: the game begins with {} agents", born.len());
        let mut early_input = Vec::with_capacity(born.len());
        for (team, seat) in born {
            let conn = match seat {
                Seat::Peer(conn) => conn,
                Seat::Mind(group) => {
                    self.join_mind(group);
                    self.publish_events(None);
                    continue;
                }
            };
            let session = self.sessions.get_mut(conn);
            let session = session.expect("a place is kept for a session that waits for it");
            let said = std::mem::take(&mut session.flow.unread);
            match self.apply_quietly(GameInput::Join { team }) {
                Handled::Joined(agent) => {
                    self.figures.counters.joined += 1;
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
        self.minds_joined();
        for (conn, said) in early_input {
            self.process_bytes(conn, &said, now);
        }
    }

    /// The deadline that may be carried out now, if no agent is awaited. What is due at a moment is carried out
    /// at once, so that all agents concerned can think in parallel; the starts of a moment come only when
    /// no agent is idle.
    pub(super) fn leap_due(&self) -> Option<GameTime> {
        let lock_step = self.course.lock_step()?;
        let due = self.next_due().filter(|_| self.course.pace.is_started())?;
        if lock_step.is_frozen || lock_step.is_gathering() {
            return None;
        }
        let belongs_to_moment =
            due == self.game.now() && self.wake_due().is_none() && !self.game.is_start_next();
        (belongs_to_moment || !lock_step.is_waiting(&self.game)).then_some(due)
    }

    pub(super) fn fire_leap(&mut self, now: RealTime) -> Option<Fired> {
        let due = self.leap_due()?;
        self.course.pace.leap_to(due);
        self.fire_game(now)
    }

    /// Gives up the awaited agents once the wait has reached its cap. The journal records it, since a replay
    /// depends on it.
    pub(super) fn end_wait_if_due(&mut self, now: RealTime) {
        let Some(lock_step) = self.course.lock_step_mut() else {
            return;
        };
        if lock_step.wait_ends(&self.game).is_none_or(|ends| ends > now) {
            return;
        }
        lock_step.give_up(&self.game);
        self.note_pace(PaceChange::WaitEnded);
        if self.is_gathering() {
            self.begin_lock_step(now);
        }
        self.settle();
    }

    /// Freezes or resumes the game for an operator or a viewer.
    pub(super) fn hold_leaps(&mut self, is_frozen: bool) -> Result<(), Refusal> {
        if !self.course.pace.is_started() {
            return Err(Refusal::NotStarted);
        }
        let lock_step = self.course.lock_step_mut().expect("asked for in lock-step only");
        match (lock_step.is_frozen, is_frozen) {
            (true, true) => Err(Refusal::AlreadyPaused),
            (false, false) => Err(Refusal::NotPaused),
            _ => {
                // A wait begins anew.
                (lock_step.is_frozen, lock_step.wait) = (is_frozen, None);
                Ok(())
            }
        }
    }

    /// The game clock as frame viewers see it. In lock-step it stands still between leaps, which is hard
    /// to watch; so it shows the speed of the game since the last tick.
    pub(super) fn shown_clock(&self, now: RealTime) -> GameClock {
        let Some(lock_step) = self.course.lock_step() else {
            return *self.course.pace.clock();
        };
        let rate = self
            .delivery
            .watch
            .as_ref()
            .and_then(|watch| watch.leap_frequency);
        let frequency = rate.unwrap_or_else(|| self.course.pace.clock().frequency());
        let mut clock = GameClock::new(now, self.course.pace.game_now(), frequency);
        if rate.is_none() || lock_step.is_frozen {
            clock.pause(now);
        }
        clock
    }
}
