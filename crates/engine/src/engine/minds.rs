//! Minds in a running server: they join, decide when it is their time, and leave.
//!
//! Their decisions are taken within the step of the game that led to them, or as wake-ups in the one order of deadlines. What
//! they send is stamped with the game's time and not with that of the pass: however late a pass is, the game is the same.

use trantor_game::{EventFilter, Game, GameInput, Handled};
use trantor_model::{AgentId, Control, GameRefusal, Refusal, Show, ShownBy, TeamId};
use trantor_time::{GameTime, RealTime};

use super::{Engine, Fired, FiredKind};
use crate::limits;
use crate::shell::CloseReason;
use trantor_play::minds::{Host, MindGroup, MindGroupState, Minds, OperatorView, ReadLine, Scenario};
use trantor_play::view::{Client, PaceState};

impl Host for Engine {
    fn game(&self) -> &Game {
        &self.game
    }

    fn hand_in(&mut self, input: GameInput) -> Handled {
        let is_command = matches!(input, GameInput::Command { .. });
        let arrived = self.course.arrived.replace(self.game.now());
        let handled = self.apply_quietly(input);
        self.course.arrived = arrived;
        self.figures.counters.commands += u64::from(is_command);
        self.figures.counters.joined += u64::from(matches!(handled, Handled::Joined(_)));
        self.figures.counters.commands_dropped +=
            u64::from(handled == Handled::Refused(GameRefusal::QueueFull));
        handled
    }

    fn show(&mut self, by: ShownBy, show: Show) {
        Engine::show(self, by, show);
    }

    fn pace(&self) -> PaceState {
        let (slips, slipped) = self.course.pace.slips();
        PaceState {
            frequency: Some(self.game_clock().frequency()),
            lock_step: self.lock_step_state(),
            is_started: self.is_started(),
            is_paused: self.game_clock().is_paused(),
            sprint_until: self.sprint_until(),
            now: self.game_now(),
            slipped: (slips > 0).then_some(slipped),
        }
    }

    fn clients(&self) -> Vec<Client> {
        Engine::clients(self).collect()
    }

    fn control(&mut self, request: Control) -> Result<(), Refusal> {
        // Minds that are due are not counted while they act: a stamp of the pass would pass them by.
        let arrived = self.course.arrived.replace(self.game.now());
        let done = self.carry_out_control(request, self.sessions.now());
        self.course.arrived = arrived;
        done
    }
}

impl OperatorView for Engine {
    fn game(&self) -> &Game {
        &self.game
    }

    fn pace(&self) -> PaceState {
        Host::pace(self)
    }

    fn clients(&self) -> Vec<Client> {
        Host::clients(self)
    }

    fn mind_groups(&self) -> &[MindGroupState] {
        self.players.minds.as_ref().map_or(&[], |minds| minds.groups())
    }

    fn mind_of(&self, agent: AgentId) -> Option<&str> {
        Engine::mind_of(self, agent)
    }
}

impl Engine {
    /// Adds minds. Their agents join now, or when the game begins, as far as there are places. Answers how many have joined.
    ///
    /// # Errors
    /// In a recording, once a team has won, or beyond [`limits::MIND_GROUPS_MAX`].
    pub fn add_minds(&mut self, groups: Vec<MindGroup>) -> Result<usize, Refusal> {
        let before = self
            .players
            .minds
            .as_ref()
            .map_or(0, |minds| minds.groups().len());
        if before + groups.len() > limits::MIND_GROUPS_MAX {
            let max = limits::MIND_GROUPS_MAX;
            return Err(Refusal::TooManyMindGroups { max });
        }
        self.make_room_for_minds()?;
        let Some(minds) = &mut self.players.minds else {
            return Ok(0);
        };
        let joined = minds.joined();
        for group in groups {
            minds.add(self.game.config(), group);
        }
        if let Some(lock_step) = self.course.lock_step_mut() {
            lock_step.seat_minds(&self.game, &minds.waiting());
        }
        if self.course.pace.is_started() {
            match self.is_gathering() {
                true => self.begin_if_full(self.sessions.now()),
                false => self.join_minds(),
            }
        }
        self.settle();
        let joined_now = self.players.minds.as_ref().map_or(0, |minds| minds.joined());
        Ok(usize::try_from(joined_now - joined).unwrap_or(usize::MAX))
    }

    /// Has a scenario run beside the game, from its beginning or from now on; `read_line` reads its lines.
    ///
    /// # Errors
    /// In a recording, or once a team has won.
    pub fn direct(&mut self, scenario: Box<dyn Scenario>, read_line: ReadLine) -> Result<(), Refusal> {
        self.make_room_for_minds()?;
        if let Some(minds) = &mut self.players.minds {
            minds.direct(scenario, read_line);
        }
        if self.course.pace.is_started() && !self.is_gathering() {
            self.join_minds();
        }
        self.settle();
        Ok(())
    }

    /// Asks minds and the scenario anew when they want to be woken: what they are made from has changed.
    pub fn reschedule_minds(&mut self) {
        if let Some(minds) = &mut self.players.minds {
            minds.reschedule(&self.game);
        }
        self.settle();
    }

    fn make_room_for_minds(&mut self) -> Result<(), Refusal> {
        if self.is_playback() {
            return Err(Refusal::Recorded);
        }
        if self.game.winner().is_some() {
            return Err(Refusal::MatchOver);
        }
        self.game.set_event_filter(EventFilter::AllShared);
        self.players
            .minds
            .get_or_insert_with(|| Box::new(Minds::new(&self.game)));
        Ok(())
    }

    /// Removes the youngest minds of a team, at most `count` of them or all, with their agents. Answers how many.
    pub fn remove_minds(&mut self, team: TeamId, count: Option<u32>) -> usize {
        let Some(minds) = &mut self.players.minds else {
            return 0;
        };
        let count = count.map_or(usize::MAX, |count| count as usize);
        let (unborn, agents) = minds.take_youngest(team, count);
        if let Some(lock_step) = self.course.lock_step_mut() {
            lock_step.seat_minds(&self.game, &minds.waiting());
        }
        for agent in &agents {
            self.remove_agent(*agent, CloseReason::Kicked);
        }
        self.settle();
        unborn + agents.len()
    }

    /// The groups of minds, in the order in which they were added.
    pub fn mind_groups(&self) -> impl Iterator<Item = &MindGroupState> {
        self.players.minds.iter().flat_map(|minds| minds.groups())
    }

    /// Minds whose decision is overdue by a whole period of their rate.
    pub fn minds_starved(&self) -> usize {
        let minds = self.players.minds.as_ref();
        minds.map_or(0, |minds| minds.starved(self.course.pace.game_now()))
    }

    /// What the mind of an agent is called, if it has one.
    pub fn mind_of(&self, agent: AgentId) -> Option<&str> {
        self.players.minds.as_ref()?.name_of(agent)
    }

    /// Lets minds act on the engine. What comes of it is to be published.
    fn let_minds(&mut self, act: impl FnOnce(&mut Minds, &mut Self)) {
        if let Some(mut minds) = self.players.minds.take() {
            self.players.are_acting = true;
            act(&mut minds, self);
            self.players.are_acting = false;
            self.players.minds = Some(minds);
        }
    }

    pub(super) fn join_minds(&mut self) {
        // Before the first pass that is the beginning of the game.
        let now = self.course.pace.game_now();
        let now = self.next_due().map_or(now, |due| due.min(now));
        if self.players.minds.is_some() && now > self.game.now() {
            self.game.advance_to(now);
        }
        self.let_minds(Minds::join_all);
        self.minds_joined();
        self.publish_events(None);
    }

    pub(super) fn join_mind(&mut self, group: usize) {
        self.let_minds(|minds, engine| minds.join(engine, group));
    }

    pub(super) fn minds_joined(&mut self) {
        if let Some(minds) = &mut self.players.minds {
            minds.all_joined();
            minds.begin_scenario(&self.game);
        }
    }

    /// Passes to the minds what happened to their agents.
    pub(super) fn attend_minds(&mut self) {
        if self.players.minds.as_ref().is_some_and(|minds| minds.has_noted()) {
            self.let_minds(Minds::attend_noted);
        }
    }

    /// The earliest wake-up of a mind, if it comes before all that the game has due.
    pub(super) fn wake_due(&self) -> Option<GameTime> {
        let wake = self.next_mind_wake()?;
        self.game
            .next_deadline()
            .is_none_or(|due| wake < due)
            .then_some(wake)
    }

    pub(super) fn next_mind_wake(&self) -> Option<GameTime> {
        self.players.minds.as_ref()?.next_wake()
    }

    pub(super) fn wake_mind(&mut self, wake: GameTime, now: RealTime) -> Fired {
        self.game.advance_to(wake);
        let mut count = 0;
        self.let_minds(|minds, engine| count = minds.wake(engine));
        self.publish_events(None);
        Fired {
            kind: FiredKind::Mind,
            lateness_ns: self.course.pace.lateness_ns(now, wake),
            count,
        }
    }
}
