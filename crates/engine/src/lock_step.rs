//! Lock-step: game time waits for the agents instead of for the clock.
//!
//! A moment of the game is passed only when every living agent that owes a command has sent one, or the cap on
//! the wait ran out. Then time leaps to the next deadline, whatever the frequency. What this module keeps is who
//! is waited for, who was given up, and since when the game waits; the engine fires and reads
//! (`engine/lock_step.rs`).
//!
//! ```text
//! gathering ──(every place of the start is taken, /start, or the cap ran out)──> playing
//!
//! playing    a moment's ends, hunger and refill    at once: all whom they concern can think at the same time
//!            its starts, and the next moment       when no agent is awaited
//! ```
//!
//! An agent owes a command while it lives, nothing of its own is under way or waits, and no elevation holds it.
//! So one that sends ahead owes nothing; one that is silent is waited for once and then given up until it begins
//! something again; one that comes late owes from its birth on; one that dies or leaves owes nothing.

use std::collections::BTreeSet;

use trantor_game::{Game, GameEvent};
use trantor_model::{AgentId, TeamId};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::input::ConnId;

/// For whom the game waits.
#[derive(Debug)]
pub(crate) struct LockStep {
    /// The longest wait at one moment of the game.
    cap: RealSpan,
    /// The places of the start, until the game begins.
    seats: Option<Seats>,
    /// Who owes a command and is waited for.
    awaited: BTreeSet<AgentId>,
    /// Who was waited for in vain and has begun nothing since.
    given_up: BTreeSet<AgentId>,
    /// Those given up who owe a command.
    passed_over: BTreeSet<AgentId>,
    /// The moment at which the game waits, and until when it will.
    wait: Option<(GameTime, RealTime)>,
    /// The last moment at which a wait was given up.
    gave_up_at: Option<GameTime>,
    is_held: bool,
}

/// Who was promised which place, by team and number, counted from the first.
#[derive(Debug)]
struct Seats {
    by_team: Vec<Vec<Option<ConnId>>>,
    taken: usize,
    /// The most that were taken at one time since all were free: more than that begins the wait anew, so that a peer that
    /// leaves and returns does not.
    taken_max: usize,
}

/// How a game in lock-step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStepState {
    /// It is yet to begin.
    Gathering {
        /// Free places of the start.
        free: usize,
    },
    /// An operator or viewer holds it, whether it has begun or not.
    Held,
    /// It goes on when those it waits for have spoken.
    Playing {
        /// How many those are.
        awaited: usize,
    },
}

/// How many were no longer waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenUp {
    /// Agents that owe a command.
    pub(crate) agents: usize,
    /// Free places of the start.
    pub(crate) places: usize,
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
            passed_over: BTreeSet::new(),
            wait: None,
            gave_up_at: None,
            is_held: false,
        }
    }

    /// Whether the game is yet to begin.
    pub(crate) fn is_gathering(&self) -> bool {
        self.seats.is_some()
    }

    /// Promises a place of the start, the lowest that is free; answers how many of the team are free then, as a
    /// newborn agent is sent. `None` if all are taken.
    ///
    /// The number names the place: a peer with the same number has the same agent, so that it does not matter in
    /// which order the connections of a start come about.
    pub(crate) fn take_seat(&mut self, game: &Game, team: TeamId, conn: ConnId) -> Option<u32> {
        let places = game.world().team(team)?.places() as usize;
        let seats = self.seats.as_mut()?;
        let of_team = &mut seats.by_team[usize::from(team.0)];
        if of_team.len() < places {
            of_team.resize(places, None);
        }
        let free = of_team.iter().position(Option::is_none)?;
        of_team[free] = Some(conn);
        seats.taken += 1;
        if seats.taken > seats.taken_max {
            // Each that comes is given as long as the first.
            seats.taken_max = seats.taken;
            self.wait = None;
        }
        u32::try_from(places.saturating_sub(free + 1)).ok()
    }

    /// A peer is gone; if it was promised a place, that is free again.
    pub(crate) fn leave_seat(&mut self, conn: ConnId) {
        let Some(seats) = &mut self.seats else { return };
        for seat in seats.by_team.iter_mut().flatten() {
            seats.taken -= usize::from(seat.take_if(|taken| *taken == conn).is_some());
        }
        if seats.taken == 0 {
            seats.taken_max = 0;
            self.wait = None;
        }
    }

    /// Who was promised a place and is not born yet.
    pub(crate) fn seated(&self) -> Vec<ConnId> {
        let seats = self.seats.iter().flat_map(|seats| seats.by_team.iter().flatten());
        seats.copied().flatten().collect()
    }

    /// Free places of the start.
    pub(crate) fn free_seats(&self, game: &Game) -> usize {
        let Some(seats) = &self.seats else { return 0 };
        let teams = game.world().teams().iter().zip(&seats.by_team);
        teams
            .map(|(team, seats)| (team.places() as usize).saturating_sub(seats.iter().flatten().count()))
            .sum()
    }

    /// The game begins: who is born in which team, in this order. It goes by places and then by teams, whichever
    /// came first.
    pub(crate) fn begin(&mut self) -> Vec<(TeamId, ConnId)> {
        self.wait = None;
        let seats = self.seats.take().map_or_else(Vec::new, |seats| seats.by_team);
        let most = seats.iter().map(Vec::len).max().unwrap_or(0);
        let of_place = |place: usize| {
            seats.iter().enumerate().filter_map(move |(team, seats)| {
                let conn = seats.get(place).copied().flatten()?;
                let team = u16::try_from(team).expect("teams are numbered with 16 bits");
                Some((TeamId(team), conn))
            })
        };
        (0..most).flat_map(of_place).collect()
    }

    /// Whether time may not go on to what starts, or to the next moment.
    pub(crate) fn must_wait(&self, game: &Game) -> bool {
        self.is_held || self.is_gathering() || self.is_waiting(game)
    }

    /// How the game stands.
    pub(crate) fn state(&self, game: &Game) -> LockStepState {
        if self.is_held {
            LockStepState::Held
        } else if self.is_gathering() {
            LockStepState::Gathering {
                free: self.free_seats(game),
            }
        } else {
            let awaited = match self.is_waiting(game) && self.awaited.is_empty() {
                true => self.passed_over.len(),
                false => self.awaited.len(),
            };
            LockStepState::Playing { awaited }
        }
    }

    /// Whether an operator or a viewer holds the game.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held
    }

    /// Holds or resumes the game; a wait begins anew then.
    pub(crate) fn set_held(&mut self, is_held: bool) {
        self.is_held = is_held;
        self.wait = None;
    }

    /// Until when the game waits at most, if it does.
    pub(crate) fn wait_ends(&self, game: &Game) -> Option<RealTime> {
        self.wait.filter(|_| self.is_waiting(game)).map(|(_, ends)| ends)
    }

    /// Something happened in the game that may have changed who owes.
    pub(crate) fn note(&mut self, game: &Game, event: &GameEvent) {
        match event {
            GameEvent::Joined { agent, .. } => self.look_at(game, agent.id),
            GameEvent::ActionStarted { agent, .. } => {
                // Only what takes time brings an agent back: else one that asks for nothing else could hold the
                // game at one moment for ever.
                self.given_up.remove(agent);
                self.look_at(game, *agent);
            }
            GameEvent::Reply { agent, .. } | GameEvent::Died { agent } | GameEvent::Left { agent, .. } => {
                self.look_at(game, *agent);
            }
            GameEvent::RitualStarted { participants, .. } | GameEvent::RitualEnded { participants, .. } => {
                for agent in participants.iter() {
                    self.look_at(game, *agent);
                }
            }
            GameEvent::Won { .. } => {
                self.awaited.clear();
                self.given_up.clear();
                self.passed_over.clear();
            }
            _ => {}
        }
    }

    /// An agent may owe something now, or no longer.
    pub(crate) fn look_at(&mut self, game: &Game, id: AgentId) {
        let Some(agent) = game.world().agent(id) else {
            self.awaited.remove(&id);
            self.given_up.remove(&id);
            self.passed_over.remove(&id);
            return;
        };
        let owes = agent.owes_command() && game.winner().is_none();
        let is_given_up = self.given_up.contains(&id);
        put(&mut self.awaited, id, owes && !is_given_up);
        put(&mut self.passed_over, id, owes && is_given_up);
    }

    /// Begins a wait if one is due. Its time counts for all of one moment of the game, so that an agent which asks
    /// only for what takes no time does not begin it anew.
    pub(crate) fn settle(&mut self, game: &Game, now: RealTime) {
        let moment = game.now();
        self.wait.take_if(|(at, _)| *at != moment);
        if self.wait.is_none() && !self.is_held && self.is_waiting(game) {
            self.wait = Some((moment, now.saturating_add(self.cap)));
        }
    }

    /// The wait has been long enough: goes on without those who are waited for.
    pub(crate) fn give_up(&mut self, game: &Game) -> GivenUp {
        self.wait = None;
        self.gave_up_at = Some(game.now());
        let awaited = std::mem::take(&mut self.awaited);
        self.given_up.extend(&awaited);
        self.passed_over.extend(&awaited);
        GivenUp {
            // Where all alive were given up before, they were waited for once more.
            agents: self.passed_over.len(),
            places: self.free_seats(game),
        }
    }

    /// Before the beginning, the game waits once a place is taken. Later it waits for those who owe, and at each
    /// moment once more if all alive are given up: else time would rush on to their death.
    fn is_waiting(&self, game: &Game) -> bool {
        if let Some(seats) = &self.seats {
            return seats.taken > 0;
        }
        let all_given_up =
            !self.passed_over.is_empty() && self.passed_over.len() == game.world().agents().len();
        !self.awaited.is_empty() || (all_given_up && self.gave_up_at != Some(game.now()))
    }

    /// Compares with the game, and with who is there and waits for a place that was promised.
    ///
    /// # Panics
    /// If an agent is awaited that owes nothing, or owes and is not awaited; or if a place is kept for another peer.
    pub(crate) fn check(&self, game: &Game, seated: &BTreeSet<ConnId>) {
        let taken: BTreeSet<ConnId> = self.seated().into_iter().collect();
        assert_eq!(taken, *seated, "a place is kept for who waits for it");
        if let Some(seats) = &self.seats {
            assert!(
                seats.taken == taken.len() && seats.taken <= seats.taken_max,
                "taken places are counted"
            );
        }
        let owing: BTreeSet<AgentId> = game.owing().collect();
        let known: BTreeSet<AgentId> = self.awaited.union(&self.passed_over).copied().collect();
        assert_eq!(known, owing, "who owes is waited for, or was given up");
        assert!(
            self.passed_over.is_subset(&self.given_up) && self.awaited.is_disjoint(&self.given_up),
            "no agent is awaited that was given up"
        );
        assert!(
            self.given_up.iter().all(|id| game.world().agent(*id).is_some()),
            "no dead agent is awaited"
        );
    }
}

fn put(set: &mut BTreeSet<AgentId>, id: AgentId, belongs: bool) {
    if belongs {
        set.insert(id);
    } else {
        set.remove(&id);
    }
}
