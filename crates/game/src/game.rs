//! The game: one world, one agenda, and the verbs that move them.
//!
//! `handle` takes input, `fire_next` advances time, `poll_event` returns events. Time is an argument and real time is
//! unknown here. The driver of a game keeps to one rule: an input is stamped no earlier than [`Game::now`]
//! and no later than the earliest deadline. What then happens depends on the inputs, their stamps and the
//! seed alone; neither the cut of passes nor the speed can change it.
//!
//! This file decides *when*; [`crate::rules`] what then becomes true.
//!
//! An agent carries out one command at a time. The next one starts at the nominal end of the one before, so a
//! queue leaves no gap; one that comes to an idle agent starts at its stamp.
//!
//! All starts of an instant come after everything else due at it. A start is therefore put on the agenda
//! wherever something else is due at the same instant, and carried out on the spot where nothing is: the order
//! is the same, and the common case does without a deadline. In lock-step every start goes over the agenda,
//! since there two starts of one instant go by the agents' numbers and not by arrival.

mod operator;

use std::collections::BTreeMap;

use trantor_model::{
    ActionState, AgentId, Change, Command, EggId, ElevationId, GameRefusal, LeaveCause, Level, MatchTotals,
    Resource, TeamId,
};
use trantor_time::{GameSpan, GameTime};

use crate::agenda::{Agenda, Due, Fired, Ticket};
use crate::config::GameConfig;
use crate::event::{EventFilter, Events, GameEvent};
use crate::input::{GameInput, Handled};
use crate::lag::MessageId;
use crate::rules::action::{self, Effect};
use crate::rules::hunger::{self, Digestion, StarvationBound, overdue_meals_span};
use crate::rules::{
    Agent, CommandQueue, Running, World, broadcast, hatching, incantation, spawning, victory,
};
use crate::totals::Ledger;

/// A game from its first egg to its winner.
#[derive(Clone, Debug)]
pub struct Game {
    pub(crate) config: GameConfig,
    pub(crate) world: World,
    pub(crate) agenda: Agenda,
    pub(crate) now: GameTime,
    pub(crate) steps: u64,
    /// Not polled yet.
    pub(crate) events: Events,
    /// The deadlines of the eggs that cannot be hatched yet.
    pub(crate) hatch_timers: BTreeMap<EggId, Ticket>,
    /// The deadlines of the messages in flight.
    pub(crate) delivery_timers: BTreeMap<MessageId, Ticket>,
    /// The deadline of the refill; it exists only while a refill would change something.
    pub(crate) refill_timer: Option<Ticket>,
    /// The last round of the refill's grid that was used; the first ground was one.
    pub(crate) refilled_at: GameTime,
    /// Follows from the world.
    pub(crate) starvation: StarvationBound,
    /// What it comes to, counted beside it.
    pub(crate) ledger: Ledger,
}

impl Game {
    /// A world filled and its eggs laid, at game time 0. There are no events of that.
    ///
    /// # Panics
    /// If [`GameConfig::check`] refuses the configuration.
    pub fn new(config: GameConfig) -> Self {
        config
            .check()
            .expect("a configuration is checked before a game is made of it");
        let mut world = World::empty(&config);
        // Not even put together: that would be as much memory as the map itself.
        let mut unseen = Events::default();
        unseen.filter = EventFilter::Agents;
        spawning::refill(&mut world, &mut unseen);
        hatching::lay_first_eggs(&mut world, config.places_per_team, &mut unseen);
        let lock_step = config.rules.lock_step;
        let game = Self {
            ledger: Ledger::new(config.teams.len()),
            config,
            world,
            agenda: Agenda::new(lock_step),
            now: GameTime::ZERO,
            steps: 0,
            events: Events::default(),
            hatch_timers: BTreeMap::new(),
            delivery_timers: BTreeMap::new(),
            refill_timer: None,
            refilled_at: GameTime::ZERO,
            starvation: StarvationBound::default(),
        };
        game.check_in_debug();
        game
    }

    /// Takes an input in at its stamp, which becomes the time of the game. One that is refused changes nothing.
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
        let before = std::mem::replace(&mut self.now, at);
        let handled = match input {
            GameInput::Join { team } => self.join(team),
            GameInput::Leave { agent, cause } => self.leave(agent, cause),
            GameInput::Command { agent, command } => self.command(agent, command),
            GameInput::Pace(_) => Ok(Handled::Done),
            GameInput::Admin(action) => self.operate(action),
        };
        let handled = handled.unwrap_or_else(|refusal| {
            self.now = before;
            Handled::Refused(refusal)
        });
        self.check_in_debug();
        handled
    }

    /// When the game must go on at the latest; `None` if nothing will happen by itself. O(1).
    pub fn next_deadline(&self) -> Option<GameTime> {
        self.agenda.next_deadline()
    }

    /// As `next_deadline`, for a game without viewers: a meal that its agent survives does not count, until too many such
    /// meals are overdue. It is a lower bound, so nothing else may be due then. O(1).
    pub fn next_unwatched_deadline(&self) -> Option<GameTime> {
        let other = self.agenda.next_other();
        let Some(meal) = self.agenda.next_meal() else {
            return other;
        };
        let starvation = self.starvation.get().unwrap_or(meal);
        let latest = meal + overdue_meals_span(self.world.agents().len());
        let awaited = starvation.clamp(meal, latest);
        Some(other.map_or(awaited, |other| other.min(awaited)))
    }

    /// How many of the earliest deadlines are meals of one instant before `before` that their agents survive, at most `most`.
    /// Thousands of agents may eat at one instant. Looking at several before the first of them eats fetches them from memory together.
    pub fn meals_before(&self, before: GameTime, most: usize) -> usize {
        let has_food = |agent: &AgentId| self.world.agents[*agent].inventory[Resource::Food] > 0;
        let meals = self.agenda.next_meals(before).take(most);
        meals.take_while(has_food).count()
    }

    /// Whether the earliest deadline is the start of a command: all else due at its instant is done then. O(1).
    pub fn is_start_next(&self) -> bool {
        matches!(self.agenda.first(), Some(Due::Start(_)))
    }

    /// Carries out the earliest deadline if it lies no later than `until`; its moment becomes the time of the
    /// game.
    pub fn fire_next(&mut self, until: GameTime) -> Option<Fired> {
        if self.next_deadline()? > until {
            return None;
        }
        let (at, due) = self.agenda.take_first()?;
        self.now = at;
        self.steps += 1;
        match due {
            Due::Action(agent) => self.finish_action(agent),
            Due::Elevation { elevation, .. } => self.finish_elevation(elevation),
            Due::Hatch(egg) => self.mature(egg),
            Due::Hunger(agent) => self.hunger(agent),
            Due::Refill => self.refill(),
            Due::Start(agent) => {
                self.start_next(agent);
                self.note_idle(agent);
            }
            Due::Delivery { message, .. } => self.deliver(message),
        }
        self.check_in_debug();
        Some(Fired {
            at: self.now,
            kind: due.kind(),
            agent: due.actor(),
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

    /// The next event. The driver takes all of them after each input and each deadline; what is left is kept.
    pub fn poll_event(&mut self) -> Option<GameEvent> {
        self.events.poll()
    }

    /// Whether there are events that were not polled yet.
    pub fn has_events(&self) -> bool {
        self.events.has_some()
    }

    /// Exchanges all events for `buffer`: the quick way for a driver that reads events in place, and hands the buffer back
    /// emptied.
    ///
    /// # Panics
    /// If `buffer` is not empty, or some of the events were polled and others not.
    pub fn swap_events(&mut self, buffer: &mut Vec<GameEvent>) {
        assert!(buffer.is_empty(), "events handed in would come again");
        self.events.swap(buffer);
    }

    /// Which events are made from now on; at first all.
    pub fn set_event_filter(&mut self, filter: EventFilter) {
        self.events.filter = filter;
    }

    /// The time of the game: the stamp of the last input that was taken or the moment of the last deadline.
    pub fn now(&self) -> GameTime {
        self.now
    }

    /// Deadlines carried out since the world began. With the game time it says where in the one order of
    /// events an input came.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The world, read-only.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What the game was made from.
    pub fn config(&self) -> &GameConfig {
        &self.config
    }

    /// The team that has won, or [`TeamId::DRAW`]. From then on nothing is due, and only leaving is not refused.
    pub fn winner(&self) -> Option<TeamId> {
        self.world.winner
    }

    /// What the match came to so far; once it is over, until its end. It is no part of the state.
    pub fn totals(&self) -> MatchTotals {
        self.ledger.totals(self.now)
    }

    /// The idle agents ([`Agent::is_idle`]), in ascending order of number; none after the end. In lock-step, game
    /// time advances when there are none, or when the driver has waited long enough.
    pub fn idle_agents(&self) -> impl Iterator<Item = AgentId> {
        let is_over = self.winner().is_some();
        let idle = self
            .world
            .agents()
            .filter(move |agent| !is_over && agent.is_idle());
        idle.map(|agent| agent.id)
    }

    /// Removes all agents, whose peers are gone: each leaves an egg where it stood, which can be hatched at
    /// once, whatever the rules say of other eggs (docs/decisions/0052). There are no events of it. Once a team has won they
    /// stay, so that viewers see the victory.
    pub fn release_agents(&mut self) {
        if self.winner().is_some() {
            return;
        }
        for id in self.world.agents.ids().to_vec() {
            let agent = self.take_out(id, false).expect("it is in the world");
            let (team, tile) = (agent.team, agent.tile);
            // Without room for another egg it has no place.
            let _egg = hatching::lay(&mut self.world, team, tile, None, None, &mut self.events);
        }
        while self.poll_event().is_some() {}
    }

    fn join(&mut self, team: TeamId) -> Result<Handled, GameRefusal> {
        self.refuse_if_over()?;
        self.world.team(team).ok_or(GameRefusal::UnknownTeam)?;
        let agent = hatching::hatch(&mut self.world, team, self.now, &mut self.events);
        let agent = agent.ok_or(GameRefusal::NoPlace)?;
        self.ledger.joined(&mut self.world, agent, self.now);
        self.schedule_hunger(agent);
        Ok(Handled::Joined(agent))
    }

    fn leave(&mut self, agent: AgentId, cause: LeaveCause) -> Result<Handled, GameRefusal> {
        self.remove(agent, Change::Left { agent, cause })?;
        Ok(Handled::Done)
    }

    fn refuse_if_over(&self) -> Result<(), GameRefusal> {
        match self.world.winner {
            Some(_) => Err(GameRefusal::GameOver),
            None => Ok(()),
        }
    }

    /// Takes an agent out of the world; its place may come back.
    fn remove(&mut self, id: AgentId, change: Change) -> Result<(), GameRefusal> {
        let agent = self.take_out(id, matches!(change, Change::Died { .. }))?;
        self.events.push(GameEvent::Seen(change));
        if self.world.rules.respawn_places && self.world.winner.is_none() {
            self.give_place_back(agent.team);
        }
        Ok(())
    }

    /// Takes an agent out of the world and all that was pending for it out of the agenda.
    fn take_out(&mut self, id: AgentId, has_died: bool) -> Result<Agent, GameRefusal> {
        let agent = self.world.remove_agent(id).ok_or(GameRefusal::UnknownAgent)?;
        self.ledger.gone(&self.world, &agent, has_died, self.now);
        for timer in [agent.commands.timer, agent.hunger_timer].into_iter().flatten() {
            self.agenda.cancel(timer);
        }
        for message in self.world.in_flight.forget(id, self.world.agents.ids()) {
            if let Some(timer) = self.delivery_timers.remove(&message) {
                self.agenda.cancel(timer);
            }
        }
        Ok(agent)
    }

    /// A new egg for the place of an agent that is gone. Unlike a laid one it can be hatched at once.
    fn give_place_back(&mut self, team: TeamId) {
        let egg = hatching::lay_anywhere(&mut self.world, team, &mut self.events);
        if let Some(egg) = egg
            && self.world.rules.egg_hatch_units > 0
        {
            self.events.push_for_viewers(|| Change::EggMatured { egg });
        }
    }

    fn kill(&mut self, agent: AgentId) -> Result<(), GameRefusal> {
        self.remove(agent, Change::Died { agent })
    }

    /// Checks for a winner after an agent has reached the last level.
    fn check_victory(&mut self) {
        if let Some(winner) = victory::by_level(&self.world) {
            self.end(winner);
        }
    }

    /// A team has won, or it is a draw. Nothing more will happen by itself: forgets every deadline and every command.
    fn end(&mut self, winner: TeamId) {
        self.world.winner = Some(winner);
        self.ledger.end(winner, self.now);
        let totals = self.events.are_for_viewers().then(|| Box::new(self.totals()));
        let team = winner;
        self.events.push(GameEvent::Seen(Change::Won { team, totals }));
        self.agenda.clear();
        self.hatch_timers.clear();
        self.delivery_timers.clear();
        self.world.in_flight.clear();
        self.refill_timer = None;
        incantation::break_off_all(&mut self.world, &mut self.events);
        for id in self.world.agents.ids().to_vec() {
            let agent = &mut self.world.agents[id];
            agent.elevation = None;
            agent.hunger_timer = None;
            agent.commands = CommandQueue::default();
        }
    }

    /// Whether something else is due at this very instant.
    fn more_is_due_now(&self) -> bool {
        self.next_deadline() == Some(self.now)
    }

    /// Takes in an agent's command; it starts at once if the agent is free.
    fn command(&mut self, id: AgentId, command: Command) -> Result<Handled, GameRefusal> {
        self.refuse_if_over()?;
        let agent = self.world.agents.get_mut(id).ok_or(GameRefusal::UnknownAgent)?;
        if agent.commands.is_full() {
            return Err(GameRefusal::QueueFull);
        }
        agent.commands.waiting.push_back(command);
        self.start_when_free(id);
        self.note_idle(id);
        Ok(Handled::Done)
    }

    fn note_idle(&mut self, id: AgentId) {
        self.ledger.note_idle(&mut self.world.agents[id], self.now);
    }

    /// Starts an agent's next command at this instant, if it has one and nothing keeps it.
    fn start_when_free(&mut self, id: AgentId) {
        let waits_its_turn = self.world.rules.lock_step || self.more_is_due_now();
        let agent = &mut self.world.agents[id];
        if !agent.commands.can_start() || agent.elevation.is_some() {
            return;
        }
        if waits_its_turn {
            agent.commands.timer = Some(self.agenda.schedule(self.now, Due::Start(id)));
        } else {
            self.start_next(id);
        }
    }

    /// Starts commands in their order until one takes time or none is left. Those that take none are answered
    /// on the way; there are at most [`crate::OUTSTANDING_MAX`].
    fn start_next(&mut self, id: AgentId) {
        loop {
            let commands = &mut self.world.agents[id].commands;
            commands.timer = None;
            let Some(command) = commands.waiting.pop_front() else {
                return;
            };
            let end = self.now + GameSpan::from_units(i64::from(command.duration_units()));
            if command == Command::Incantation {
                if self.start_elevation(id, end) {
                    return self.note_running(id, command, end);
                }
            } else if end == self.now {
                self.take_effect(id, &command);
            } else {
                commands.timer = Some(self.agenda.schedule(end, Due::Action(id)));
                return self.note_running(id, command, end);
            }
            if self.world.rules.lock_step {
                // The next one may still be on its way, and is then a start of its own; so it is when it is here.
                return self.start_when_free(id);
            }
        }
    }

    fn note_running(&mut self, id: AgentId, command: Command, end: GameTime) {
        let kind = command.kind().expect("what takes time has a kind");
        let action = ActionState {
            kind,
            start: self.now,
            end,
            refused: command.is_refused(),
        };
        self.events
            .push_for_viewers(|| Change::ActionStarted { agent: id, action });
        self.world.agents[id].commands.running = Some(Running {
            command,
            start: self.now,
            end,
            withheld: false,
        });
    }

    /// Begins an elevation; returns whether it did. Participants lose a start still due at
    /// this instant; their running actions continue.
    fn start_elevation(&mut self, asker: AgentId, end: GameTime) -> bool {
        let Some(elevation) = incantation::begin(&mut self.world, asker, end, &mut self.events) else {
            return false;
        };
        let elevation = self.world.elevations.get(elevation).expect("it has just begun");
        self.agenda.schedule(end, elevation.due());
        for &participant in &elevation.participants {
            let commands = &mut self.world.agents[participant].commands;
            if commands.running.is_none()
                && let Some(start) = commands.timer.take()
            {
                self.agenda.cancel(start);
            }
        }
        let participants = elevation.participants.clone();
        for participant in participants {
            self.note_idle(participant);
        }
        let agent = &self.world.agents[asker];
        let stones = (&agent.inventory, &agent.inventory);
        self.ledger
            .stones_changed(&self.world, agent.team, stones, Some(agent.tile), self.now);
        true
    }

    /// An action is over: it takes effect, or is withheld as long as an elevation holds the agent.
    fn finish_action(&mut self, id: AgentId) {
        let agent = &mut self.world.agents[id];
        agent.commands.timer = None;
        if let Some(elevation) = agent.elevation {
            let running = agent.commands.running.as_mut();
            running.expect("a deadline ends a running action").withheld = true;
            self.world.elevations.withhold(elevation, id);
        } else {
            let running = agent.commands.running.take();
            let command = running.expect("a deadline ends a running action").command;
            self.take_effect(id, &command);
            self.start_when_free(id);
            self.note_idle(id);
        }
    }

    fn take_effect(&mut self, id: AgentId, command: &Command) {
        let before = self.world.agents[id].inventory;
        let effect = action::apply(&mut self.world, id, command, self.now, &mut self.events);
        self.follow_up(effect);
        if *command == Command::Set(Resource::Food) {
            self.starvation.note_food(&self.world.agents[id]);
        }
        if let Command::Take(resource) | Command::Set(resource) = *command
            && resource != Resource::Food
        {
            let agent = &self.world.agents[id];
            let camp = matches!(command, Command::Set(_)).then_some(agent.tile);
            let stones = (&before, &agent.inventory);
            self.ledger
                .stones_changed(&self.world, agent.team, stones, camp, self.now);
        }
    }

    /// Ends an elevation: it releases its participants, withheld effects apply in the order they fell due, and
    /// then waiting commands start.
    fn finish_elevation(&mut self, id: ElevationId) {
        let elevation = self
            .world
            .elevations
            .get(id)
            .expect("an elevation's deadline ends it once");
        let level = |agent: &AgentId| (*agent, self.world.agents[*agent].level);
        let levels: Vec<(AgentId, Level)> = elevation.participants.iter().map(level).collect();
        let elevation = incantation::end(&mut self.world, id, &mut self.events);
        let has_risen = |(agent, before): &(AgentId, Level)| self.world.agents[*agent].level > *before;
        match levels.iter().any(has_risen) {
            true => levels.into_iter().for_each(|(agent, before)| {
                self.ledger.level_changed(&self.world, agent, before, self.now);
            }),
            false => {
                let of = (elevation.tile, elevation.level);
                self.ledger
                    .elevation_broke(&self.world, of, &elevation.participants, self.now);
            }
        }
        // The asker's command was the elevation itself; whatever another one runs is a command of its own.
        if let Some(asker) = self.world.agents.get_mut(elevation.asker) {
            asker.commands.running = None;
        }
        if elevation.level.next() == Some(Level::LAST) {
            self.check_victory();
            if self.winner().is_some() {
                return;
            }
        }
        self.arm_refill();
        for &participant in &elevation.withheld {
            let running = self.world.agents[participant].commands.running.take();
            let command = running.expect("what is withheld was running").command;
            self.take_effect(participant, &command);
        }
        for &participant in &elevation.participants {
            self.start_when_free(participant);
            self.note_idle(participant);
        }
    }

    fn hunger(&mut self, id: AgentId) {
        self.world.agents[id].hunger_timer = None;
        match hunger::digest(&mut self.world, id, self.now, &mut self.events) {
            true => self.schedule_hunger(id),
            false => self.kill(id).expect("the starving agent lives until now"),
        }
        self.starvation.note_meal(&self.world, self.now);
    }

    /// Sets the deadline of the food that an agent digests.
    fn schedule_hunger(&mut self, id: AgentId) {
        if let Digestion::Until(end) = self.world.agents[id].digestion {
            let timer = self.agenda.schedule(end, Due::Hunger(id));
            self.world.agents[id].hunger_timer = Some(timer);
        }
        self.starvation.note_food(&self.world.agents[id]);
    }

    fn mature(&mut self, egg: EggId) {
        self.hatch_timers.remove(&egg);
        hatching::mature(&mut self.world, egg, &mut self.events);
    }

    fn deliver(&mut self, message: MessageId) {
        self.delivery_timers.remove(&message);
        broadcast::deliver(&mut self.world, message, &mut self.events);
    }

    fn refill(&mut self) {
        self.refill_timer = None;
        self.refilled_at = self.now;
        spawning::refill(&mut self.world, &mut self.events);
    }

    /// Sets the deadline of the next refill if there will be something to refill.
    fn arm_refill(&mut self) {
        if self.refill_timer.is_none() && self.world.refill_enabled && spawning::is_short(&self.world) {
            let round = spawning::next_round(self.now, self.refilled_at);
            self.refill_timer = Some(self.agenda.schedule(round, Due::Refill));
        }
    }

    /// Sets and cancels the deadlines that follow from an action.
    fn follow_up(&mut self, effect: Effect) {
        match effect {
            Effect::Done => {}
            Effect::GroundTaken => self.arm_refill(),
            Effect::Unripe(egg, matures) => {
                let timer = self.agenda.schedule(matures, Due::Hatch(egg));
                self.hatch_timers.insert(egg, timer);
            }
            Effect::Sent(messages) => self.schedule_deliveries(messages),
            Effect::Broken(eggs) => {
                for egg in eggs {
                    if let Some(timer) = self.hatch_timers.remove(&egg) {
                        self.agenda.cancel(timer);
                    }
                }
            }
        }
    }

    fn schedule_deliveries(&mut self, messages: Vec<(MessageId, GameTime)>) {
        for (message, at) in messages {
            let due = self.world.in_flight.message(message).due();
            let timer = self.agenda.schedule(at, due);
            self.delivery_timers.insert(message, timer);
        }
    }
}
