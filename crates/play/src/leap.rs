//! Leap: a game played by minds inside the process, without sockets and without a clock.
//!
//! Game time does not pass, it jumps: to the earliest deadline, which is carried out, and every mind that was sent
//! something by it is asked at once. The order is the game's own, so a leap is neither another game nor an
//! approximation of one: a lock-step server whose agents are the same minds plays the same.

use trantor_game::{EventFilter, Game, GameConfig, GameEvent, GameInput, Handled, PaceChange, PieceWriter};
use trantor_model::control::frequency_asked;
use trantor_model::{AgentId, Control, LeaveCause, Refusal, Show, ShownBy, TeamId};
use trantor_time::GameTime;

use crate::minds::{
    Act, Host, MindGroup, MindGroupState, MindKind, MindRate, MindSource, Minds, ReadLine, Scenario,
};
use crate::view::{Client, PaceState};

/// Why a leap ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// That team won.
    Won(TeamId),
    /// The time it was to run until was reached.
    TimeReached,
    /// Nothing will ever happen again.
    NothingDue,
}

/// A game and the minds of its agents.
pub struct Leap {
    stage: Stage,
    minds: Minds,
    /// Room for events while they are handed on. Boxed, since it is taken out and put back for every action: three
    /// words that were just written one by one and are copied as a whole cost a seventh of a leap.
    #[expect(clippy::box_collection, reason = "one word is moved instead of three")]
    happened: Option<Box<Vec<GameEvent>>>,
    has_begun: bool,
}

struct Stage {
    game: Game,
    journal: Option<PieceWriter>,
}

impl Host for Stage {
    fn game(&self) -> &Game {
        &self.game
    }

    fn hand_in(&mut self, input: GameInput) -> Handled {
        let now = self.game.now();
        if let Some(journal) = &mut self.journal {
            journal.input(&self.game, &input, now);
        }
        self.game.handle(input, now)
    }

    /// Nobody watches a leap.
    fn show(&mut self, _: ShownBy, _: Show) {}

    fn pace(&self) -> PaceState {
        PaceState {
            frequency: None,
            lock_step: None,
            is_started: true,
            is_paused: false,
            sprint_until: None,
            now: self.game.now(),
            slipped: None,
        }
    }

    /// It has none.
    fn clients(&self) -> Vec<Client> {
        Vec::new()
    }

    /// A leap has no speed; what a live game would have is recorded.
    fn control(&mut self, request: Control) -> Result<(), Refusal> {
        request.check()?;
        let input = match request {
            Control::Act(action) => GameInput::Admin(action),
            Control::SetFrequency(asked) => GameInput::Pace(PaceChange::Frequency(frequency_asked(asked)?)),
            _ => return Ok(()),
        };
        match self.hand_in(input) {
            Handled::Refused(refusal) => Err(refusal.into()),
            Handled::Done | Handled::Joined(_) => Ok(()),
        }
    }
}

impl Leap {
    /// A game at time 0. Every place will be taken, in turn by each team, once it is run or operated; `kinds` says how
    /// each team thinks, the last of them also for the teams behind it.
    ///
    /// # Panics
    /// If [`GameConfig::check`] refuses the game, or no kind is given.
    pub fn new(config: GameConfig, kinds: &[MindKind]) -> Self {
        let last = *kinds.last().expect("a leap needs minds");
        let count = config.places_per_team;
        let teams = (0..config.teams.len()).map(|team| MindGroup {
            team: TeamId(u16::try_from(team).expect("there are at most TEAMS_MAX teams")),
            source: MindSource::BuiltIn(*kinds.get(team).unwrap_or(&last)),
            count,
            rate: MindRate::default(),
        });
        let groups = teams.collect();
        Self::with_groups(config, groups)
    }

    /// A game at time 0, played by these minds. Their agents join, in turn by each team, once it is run or operated.
    ///
    /// # Panics
    /// If [`GameConfig::check`] refuses the game, or a team is none of its.
    pub fn with_groups(config: GameConfig, groups: Vec<MindGroup>) -> Self {
        let mut game = Game::new(config);
        // No mind is sent what it does not listen to.
        game.set_event_filter(EventFilter::AgentsShared);
        let mut minds = Minds::new(&game);
        for group in groups {
            minds.add(game.config(), group);
        }
        Self {
            stage: Stage { game, journal: None },
            minds,
            happened: None,
            has_begun: false,
        }
    }

    /// Has a scenario run beside the game; `read_line` reads its lines.
    pub fn direct(&mut self, scenario: Box<dyn Scenario>, read_line: ReadLine) {
        self.stage.game.set_event_filter(EventFilter::AllShared);
        self.minds.direct(scenario, read_line);
    }

    /// Has the minds of a team ask for no more agents than so many, instead of as many as its places allow.
    pub fn limit_agents(&mut self, most: usize) {
        self.minds.limit_agents(most);
    }

    /// Plays until a team has won, nothing is due any more, or, if given, game time would pass `until`.
    pub fn run(&mut self, until: Option<GameTime>) -> Ended {
        loop {
            if let Some(ended) = self.step(until) {
                return ended;
            }
        }
    }

    /// Carries out one deadline, or answers why there is none to carry out.
    pub fn step(&mut self, until: Option<GameTime>) -> Option<Ended> {
        self.begin();
        let game = &mut self.stage.game;
        if let Some(team) = game.winner() {
            return Some(Ended::Won(team));
        }
        let deadline = game.next_deadline();
        // What is due in the game comes first.
        let is_first = |wake: &GameTime| deadline.is_none_or(|deadline| *wake < deadline);
        let wake = self.minds.next_wake().filter(is_first);
        let Some(next) = wake.or(deadline) else {
            return Some(Ended::NothingDue);
        };
        if let Some(until) = until
            && next > until
        {
            game.advance_to(until);
            return Some(Ended::TimeReached);
        }
        if wake.is_some() {
            game.advance_to(next);
            self.minds.wake(&mut self.stage);
        } else {
            game.fire_next(next);
            if let Some(journal) = &mut self.stage.journal {
                journal.stepped(&self.stage.game);
            }
        }
        self.attend();
        None
    }

    /// Whether a server in lock-step would now wait for its agents: all that is due at this instant is done, but for starts of
    /// commands.
    pub fn awaits_commands(&self) -> bool {
        let game = self.game();
        game.next_deadline() != Some(game.now()) || game.is_start_next()
    }

    /// Carries out what is asked of the match, as the engine does. A leap has no speed, no pause and no viewers: what is about
    /// those changes nothing, and a speed is recorded.
    ///
    /// # Errors
    /// It is refused, and nothing has changed.
    pub fn control(&mut self, request: Control) -> Result<(), Refusal> {
        self.begin();
        let done = self.stage.control(request);
        self.attend();
        done
    }

    /// Has the agents of the start join, if they have not.
    pub fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.minds.join_all(&mut self.stage);
            self.attend();
            self.minds.begin_scenario(&self.stage.game);
        }
    }

    /// An agent with a mind acts now, as if its mind had decided so.
    pub fn act(&mut self, agent: AgentId, act: Act) {
        self.minds.carry_out(&mut self.stage, agent, act);
        self.attend();
    }

    /// An agent leaves, as if its connection had closed.
    ///
    /// # Panics
    /// In debug builds, if it is not in the world.
    pub fn leave(&mut self, agent: AgentId) {
        self.remove(agent, LeaveCause::Disconnected);
        self.attend();
    }

    /// Removes all agents in the order of their numbers, as a server does once a team has won.
    pub fn remove_agents(&mut self) {
        let agents: Vec<AgentId> = self.game().world().agents().map(|agent| agent.id).collect();
        for agent in agents {
            self.remove(agent, LeaveCause::Dismissed);
        }
        self.attend();
    }

    fn remove(&mut self, agent: AgentId, cause: LeaveCause) {
        let left = self.stage.hand_in(GameInput::Leave { agent, cause });
        debug_assert_eq!(left, Handled::Done, "an agent in the world can leave it");
    }

    /// Records a journal from now on: the whole game, if the leap has not begun. Take its bytes regularly with [`Self::take_journal`].
    pub fn start_recording(&mut self, program: &str) {
        self.stage.journal = Some(PieceWriter::new(&self.stage.game, program, 0));
    }

    /// Notes in the journal how far game time has come, for a replay that is to reach it before anything else happens.
    pub fn record_time(&mut self) {
        if let Some(journal) = &mut self.stage.journal {
            journal.reached(&self.stage.game);
        }
    }

    /// The bytes of the journal since the last call; none if nothing is recorded.
    pub fn take_journal(&mut self) -> Vec<u8> {
        self.stage
            .journal
            .as_mut()
            .map_or_else(Vec::new, PieceWriter::take)
    }

    /// The bytes of the journal since the last call of [`Self::take_journal`], as if it ended now; it goes on.
    pub fn journal_so_far(&self) -> Vec<u8> {
        let journal = self.stage.journal.clone();
        journal.map_or_else(Vec::new, |journal| journal.close(&self.stage.game))
    }

    /// Ends the journal in order, and answers its last bytes.
    pub fn stop_recording(&mut self) -> Vec<u8> {
        let journal = self.stage.journal.take();
        journal.map_or_else(Vec::new, |journal| journal.close(&self.stage.game))
    }

    /// The game, read-only.
    pub fn game(&self) -> &Game {
        &self.stage.game
    }

    /// The highest level in each team, 0 if none is left.
    pub fn highest_levels(&self) -> Vec<u8> {
        let world = self.game().world();
        let mut levels = vec![0; world.teams().len()];
        for agent in world.agents() {
            let highest = &mut levels[usize::from(agent.team.0)];
            *highest = agent.level.get().max(*highest);
        }
        levels
    }

    /// Commands taken in so far that were not dropped.
    pub fn actions(&self) -> u64 {
        self.minds.commands()
    }

    /// Agents born so far.
    pub fn joins(&self) -> u64 {
        self.minds.joined()
    }

    /// The groups of minds, in the order in which they were added.
    pub fn mind_groups(&self) -> impl Iterator<Item = &MindGroupState> {
        self.minds.groups().iter()
    }

    fn attend(&mut self) {
        while self.stage.game.has_events() {
            let mut happened = self.happened.take().unwrap_or_default();
            self.stage.game.swap_events(&mut happened);
            for event in happened.iter() {
                self.minds.attend(&mut self.stage, event);
            }
            happened.clear();
            self.happened = Some(happened);
        }
    }
}

#[cfg(test)]
mod tests {
    use trantor_game::Rules;
    use trantor_model::MapSize;

    use super::*;

    fn config(side: u32, places: u32, seed: u64) -> GameConfig {
        GameConfig {
            size: MapSize::new(side, side).unwrap(),
            teams: vec!["red".to_owned(), "blue".to_owned()],
            places_per_team: places,
            seed,
            rules: Rules {
                lock_step: true,
                ..Rules::default()
            },
        }
    }

    fn played(seed: u64, until: i64) -> (u64, u64, u64) {
        let kinds = [MindKind::Team, MindKind::Random];
        let mut leap = Leap::new(config(10, 6, seed), &kinds);
        leap.run(Some(GameTime::from_units(until)));
        (leap.game().digest(), leap.actions(), leap.joins())
    }

    /// Where a leap is broken off changes nothing.
    #[test]
    fn a_leap_in_pieces_is_the_same_leap() {
        let whole = played(6, 700);
        let mut leap = Leap::new(config(10, 6, 6), &[MindKind::Team, MindKind::Random]);
        for until in [0, 1, 7, 8, 8, 400, 699, 700] {
            leap.run(Some(GameTime::from_units(until)));
        }
        assert_eq!((leap.game().digest(), leap.actions(), leap.joins()), whole);
    }
}
