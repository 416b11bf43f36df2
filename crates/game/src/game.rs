//! The game: one world, one agenda, and the verbs that move them.
//!
//! `handle` takes in, `fire_next` moves time on, `poll_event` gives out. Time is an argument and real time is
//! unknown here. Whoever drives a game keeps to one rule: an input is stamped no earlier than [`Game::now`]
//! and no later than the earliest deadline. What then happens depends on the inputs, their stamps and the
//! seed alone; neither the cut of passes nor the speed can change it (R-000-50, R-001-41).
//!
//! This file says *when*; what then becomes true is said in [`crate::rules`].

mod operator;
mod turns;

use std::collections::{BTreeMap, VecDeque};

use trantor_model::{AgentId, EggId, TeamId};
use trantor_time::{GameTime, TimerId};

use crate::agenda::{Agenda, Due, Fired, Moment};
use crate::config::GameConfig;
use crate::event::GameEvent;
use crate::input::{GameInput, Handled, LeaveCause, Refusal};
use crate::rules::action::Effect;
use crate::rules::hunger::{Digestion, Fate};
use crate::rules::spawning::next_round;
use crate::rules::{World, hatching, hunger, incantation, spawning, victory};

/// A game from its first egg to its winner.
#[derive(Clone, Debug)]
pub struct Game {
    pub(crate) config: GameConfig,
    pub(crate) world: World,
    pub(crate) agenda: Agenda,
    pub(crate) now: GameTime,
    pub(crate) steps: u64,
    pub(crate) events: VecDeque<GameEvent>,
    /// The deadlines of the eggs that cannot be hatched yet.
    pub(crate) hatch_timers: BTreeMap<EggId, TimerId>,
    /// The deadline of the refill; it exists only while a refill would change something.
    pub(crate) refill_timer: Option<TimerId>,
    /// The last round of the refill's grid that was used.
    pub(crate) refilled_at: Option<GameTime>,
}

impl Game {
    /// A world filled and its eggs laid, at game time 0. No event tells of it: nobody has seen it otherwise.
    ///
    /// # Panics
    /// If [`GameConfig::check`] refuses the configuration.
    pub fn new(config: GameConfig) -> Self {
        config
            .check()
            .expect("a configuration is checked before a game is made of it");
        let mut world = World::empty(&config);
        let mut events = VecDeque::new();
        spawning::refill(&mut world, &mut events);
        hatching::lay_first_eggs(&mut world, config.places_per_team, &mut events);
        events.clear();
        let game = Self {
            config,
            world,
            agenda: Agenda::new(),
            now: GameTime::ZERO,
            steps: 0,
            events,
            hatch_timers: BTreeMap::new(),
            refill_timer: None,
            refilled_at: None,
        };
        game.check_in_debug();
        game
    }

    /// Takes an input in at its stamp, which becomes the time of the game.
    ///
    /// # Panics
    /// If `at` lies before [`Self::now`] or after [`Self::next_deadline`].
    pub fn handle(&mut self, input: GameInput, at: GameTime) -> Handled {
        assert!(
            at >= self.now,
            "an input at {at:?} comes too late: it is {:?}",
            self.now
        );
        let deadline = self.next_deadline();
        assert!(
            deadline.is_none_or(|deadline| at <= deadline),
            "an input at {at:?} comes too early: {deadline:?} is still due"
        );
        self.now = at;
        let handled = match input {
            GameInput::Join { team } => self.join(team),
            GameInput::Leave { agent, cause } => self.leave(agent, cause),
            GameInput::Command { agent, command } => self.command(agent, command),
            GameInput::Pace(_) => Ok(Handled::Done),
            GameInput::Admin(action) => self.operate(action),
        };
        self.check_in_debug();
        handled.unwrap_or_else(Handled::Refused)
    }

    /// When the game must go on at the latest; `None` if nothing will happen by itself. O(1).
    pub fn next_deadline(&self) -> Option<GameTime> {
        self.agenda.next_deadline().map(|moment| moment.at)
    }

    /// Carries out the earliest deadline if it lies no later than `until`; its moment becomes the time of the
    /// game (R-X-5).
    pub fn fire_next(&mut self, until: GameTime) -> Option<Fired> {
        if self.next_deadline()? > until {
            return None;
        }
        let next = self.agenda.next_deadline()?;
        let taken = self.agenda.take_due(next)?;
        self.now = taken.at.at;
        self.steps += 1;
        match taken.item {
            Due::Action(agent) => self.finish_action(agent),
            Due::Ritual(ritual) => self.finish_ritual(ritual),
            Due::Hatch(egg) => self.mature(egg),
            Due::Hunger(agent) => self.hunger(agent),
            Due::Refill => self.refill(),
            Due::Start(agent) => self.start_due(agent),
        }
        self.check_in_debug();
        Some(Fired {
            at: self.now,
            kind: taken.item.kind(),
        })
    }

    /// Moves the time of the game on to `now`, as nothing is due before.
    ///
    /// # Panics
    /// If a deadline before `now` remains, or if `now` is past.
    pub fn advance_to(&mut self, now: GameTime) {
        assert!(now >= self.now, "game time never goes back");
        assert!(
            self.next_deadline().is_none_or(|deadline| deadline >= now),
            "time does not pass a deadline that is still due"
        );
        self.now = now;
    }

    /// The next thing that was seen to happen. Whoever drives the game takes all of them after each input and
    /// each deadline; what is left is kept.
    pub fn poll_event(&mut self) -> Option<GameEvent> {
        self.events.pop_front()
    }

    /// The time of the game: the stamp of the last input or the moment of the last deadline.
    pub fn now(&self) -> GameTime {
        self.now
    }

    /// Deadlines carried out since the world began. With the game time it says where in the one order of
    /// events an input came.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The world, to be looked at.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What the game was made from.
    pub fn config(&self) -> &GameConfig {
        &self.config
    }

    /// The team that has won. From then on nothing is due, and only leaving is not refused.
    pub fn winner(&self) -> Option<TeamId> {
        self.world.winner
    }

    fn join(&mut self, team: TeamId) -> Result<Handled, Refusal> {
        self.refuse_if_over()?;
        self.world.team(team).ok_or(Refusal::UnknownTeam)?;
        let agent = hatching::hatch(&mut self.world, team, self.now, &mut self.events);
        let agent = agent.ok_or(Refusal::NoPlace)?;
        self.schedule_hunger(agent);
        Ok(Handled::Joined(agent))
    }

    fn leave(&mut self, agent: AgentId, cause: LeaveCause) -> Result<Handled, Refusal> {
        self.remove(agent, GameEvent::Left { agent, cause })?;
        Ok(Handled::Done)
    }

    fn refuse_if_over(&self) -> Result<(), Refusal> {
        match self.world.winner {
            Some(_) => Err(Refusal::GameOver),
            None => Ok(()),
        }
    }

    /// Takes an agent out of the world and all that was pending for it out of the agenda (R-000-49).
    fn remove(&mut self, id: AgentId, told: GameEvent) -> Result<(), Refusal> {
        let agent = self.world.remove_agent(id).ok_or(Refusal::UnknownAgent)?;
        for timer in [agent.desk.timer, agent.desk.hunger_timer].into_iter().flatten() {
            self.agenda.cancel(timer);
        }
        self.events.push_back(told);
        if self.world.rules.respawn_places && self.world.winner.is_none() {
            self.give_place_back(agent.team);
        }
        Ok(())
    }

    /// A new egg for the place of an agent that is gone. Unlike a laid one it can be hatched at once.
    fn give_place_back(&mut self, team: TeamId) {
        let egg = hatching::lay_anywhere(&mut self.world, team, &mut self.events);
        if let Some(egg) = egg
            && self.world.rules.egg_hatch_units > 0
        {
            self.events.push_back(GameEvent::EggMatured { egg });
        }
    }

    fn hunger(&mut self, id: AgentId) {
        self.world.agents[id].desk.hunger_timer = None;
        match hunger::digest(&mut self.world, id, self.now, &mut self.events) {
            Fate::Fed => self.schedule_hunger(id),
            Fate::Starved => self.kill(id).expect("the starving agent lives until now"),
        }
    }

    fn kill(&mut self, agent: AgentId) -> Result<(), Refusal> {
        self.remove(agent, GameEvent::Died { agent })
    }

    /// Sets the deadline of the food that an agent digests.
    fn schedule_hunger(&mut self, id: AgentId) {
        if let Digestion::Until(end) = self.world.agents[id].digestion {
            let timer = self.schedule(end, Due::Hunger(id));
            self.world.agents[id].desk.hunger_timer = Some(timer);
        }
    }

    fn mature(&mut self, egg: EggId) {
        self.hatch_timers.remove(&egg);
        hatching::mature(&mut self.world, egg, &mut self.events);
    }

    fn refill(&mut self) {
        self.refill_timer = None;
        self.refilled_at = Some(self.now);
        spawning::refill(&mut self.world, &mut self.events);
    }

    /// Sets the deadline of the next refill if there will be something to refill.
    fn arm_refill(&mut self) {
        if self.refill_timer.is_none() && self.world.refill_enabled && spawning::is_short(&self.world) {
            let round = next_round(self.now, self.refilled_at);
            self.refill_timer = Some(self.schedule(round, Due::Refill));
        }
    }

    /// Sees to what an action left to be seen to.
    fn follow_up(&mut self, effect: Effect) {
        match effect {
            Effect::Done => {}
            Effect::GroundTaken => self.arm_refill(),
            Effect::Unripe(egg, matures) => {
                let timer = self.schedule(matures, Due::Hatch(egg));
                self.hatch_timers.insert(egg, timer);
            }
            Effect::Broken(eggs) => {
                for egg in eggs {
                    if let Some(timer) = self.hatch_timers.remove(&egg) {
                        self.agenda.cancel(timer);
                    }
                }
            }
        }
    }

    /// Checks for a winner after somebody has reached the last level.
    fn check_victory(&mut self) {
        if victory::check(&mut self.world, &mut self.events) {
            self.end();
        }
    }

    /// Nothing more will happen by itself: forgets every deadline and every command.
    fn end(&mut self) {
        self.agenda.clear();
        self.hatch_timers.clear();
        self.refill_timer = None;
        incantation::break_off_all(&mut self.world, &mut self.events);
        for agent in self.world.agents.iter_mut() {
            agent.ritual = None;
            agent.desk.clear();
        }
    }

    pub(crate) fn schedule(&mut self, at: GameTime, due: Due) -> TimerId {
        let tie = if self.world.rules.lock_step {
            self.tie(due)
        } else {
            0
        };
        self.agenda.schedule(
            Moment {
                at,
                rank: due.rank(),
                tie,
            },
            due,
        )
    }

    /// The agent a deadline belongs to, as a number that breaks ties in lock-step; a ritual is its asker's.
    fn tie(&self, due: Due) -> u32 {
        match due {
            Due::Action(agent) | Due::Hunger(agent) | Due::Start(agent) => agent.0,
            Due::Ritual(ritual) => self.world.ritual(ritual).map_or(0, |ritual| ritual.asker.0),
            Due::Hatch(_) | Due::Refill => 0,
        }
    }

    /// Whether something else is due at this very instant.
    fn more_is_due_now(&self) -> bool {
        self.next_deadline() == Some(self.now)
    }
}
