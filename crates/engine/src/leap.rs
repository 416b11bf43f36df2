//! Leap: a game played by minds inside the process, without sockets and without a clock.
//!
//! Game time does not pass, it jumps: to the earliest deadline, which is carried out, and every mind that was sent
//! something by it is asked at once. The order is the game's own, so a leap is neither another game nor an
//! approximation of one: a lock-step server whose agents are the same minds plays the same.

use trantor_game::{
    AdminAction, EventFilter, Game, GameConfig, GameEvent, GameInput, Handled, LeaveCause, PieceWriter,
};
use trantor_model::{AgentId, TeamId};
use trantor_strategy::{SignalCodec, agent_seed, agents_at_most};
use trantor_time::GameTime;

use crate::minds::{Mind, MindKind, Percept, percept_of};

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
    game: Game,
    /// The mind for each team, by number.
    kinds: Vec<MindKind>,
    /// By number of the agent; numbers begin near 0 and are given out in turn.
    minds: Vec<Option<Mind>>,
    /// The codec of each team's minds.
    codecs: Vec<Option<SignalCodec>>,
    /// Living agents of each team, in ascending order of number.
    members: Vec<Vec<AgentId>>,
    /// The journal, while one is recorded.
    journal: Option<PieceWriter>,
    /// Room for events while they are handed on. Boxed, since it is taken out and put back for every action: three
    /// words that were just written one by one and are copied as a whole cost a seventh of a leap.
    #[expect(clippy::box_collection, reason = "one word is moved instead of three")]
    happened: Option<Box<Vec<GameEvent>>>,
    /// How many agents the minds of a team have it grow to.
    agents_max: usize,
    has_begun: bool,
    joins: u64,
    joins_by_team: Vec<u64>,
    actions: u64,
}

impl Leap {
    /// A game at time 0. Every place will be taken, in turn by each team, once it is run or operated; `kinds` says how
    /// each team thinks, the last of them also for the teams behind it.
    ///
    /// # Panics
    /// If [`GameConfig::check`] refuses the game, or no kind is given.
    pub fn new(config: GameConfig, kinds: &[MindKind]) -> Self {
        let last = *kinds.last().expect("a leap needs minds");
        let teams = config.teams.len();
        let places = config.places_per_team;
        let mut game = Game::new(config);
        // No mind is sent what it does not listen to.
        game.set_event_filter(EventFilter::AgentsShared);
        let kinds: Vec<MindKind> = (0..teams).map(|team| *kinds.get(team).unwrap_or(&last)).collect();
        let names = game.config().teams.iter();
        let codecs = names.zip(&kinds).map(|(name, kind)| kind.codec(name.as_bytes()));
        Self {
            agents_max: agents_at_most(places as usize),
            has_begun: false,
            codecs: codecs.collect(),
            members: vec![Vec::new(); teams],
            game,
            kinds,
            minds: Vec::new(),
            journal: None,
            happened: None,
            joins: 0,
            joins_by_team: vec![0; teams],
            actions: 0,
        }
    }

    /// Has the minds of a team ask for no more agents than so many, instead of [`agents_at_most`].
    pub fn limit_agents(&mut self, most: usize) {
        self.agents_max = most;
    }

    /// Plays until a team has won, nothing is due any more, or, if given, game time would pass `until`.
    pub fn run(&mut self, until: Option<GameTime>) -> Ended {
        self.begin();
        loop {
            if let Some(team) = self.game.winner() {
                return Ended::Won(team);
            }
            let Some(deadline) = self.game.next_deadline() else {
                return Ended::NothingDue;
            };
            if let Some(until) = until
                && deadline > until
            {
                self.game.advance_to(until);
                return Ended::TimeReached;
            }
            self.game.fire_next(deadline);
            if let Some(journal) = &mut self.journal {
                journal.stepped(&self.game);
            }
            self.attend();
        }
    }

    /// Carries out an operator's action.
    pub fn operate(&mut self, action: AdminAction) -> Handled {
        self.begin();
        let handled = self.hand_in(GameInput::Admin(action));
        self.attend();
        handled
    }

    /// Removes all agents in the order of their numbers, as a server does once a team has won.
    pub fn remove_agents(&mut self) {
        let agents: Vec<AgentId> = self.game.world().agents().map(|agent| agent.id).collect();
        for agent in agents {
            let cause = LeaveCause::Dismissed;
            let left = self.hand_in(GameInput::Leave { agent, cause });
            debug_assert_eq!(left, Handled::Done, "an agent in the world can leave it");
            self.forget(agent);
        }
        self.attend();
    }

    /// Records a journal from now on: the whole game, if the leap has not begun. Take its bytes regularly with [`Self::take_journal`].
    pub fn start_recording(&mut self, program: &str) {
        self.journal = Some(PieceWriter::new(&self.game, program, 0));
    }

    /// The bytes of the journal since the last call; none if nothing is recorded.
    pub fn take_journal(&mut self) -> Vec<u8> {
        self.journal.as_mut().map_or_else(Vec::new, PieceWriter::take)
    }

    /// Ends the journal in order, and answers its last bytes.
    pub fn stop_recording(&mut self) -> Vec<u8> {
        self.journal
            .take()
            .map_or_else(Vec::new, |journal| journal.close(&self.game))
    }

    /// The game, read-only.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// Commands taken in so far that were not dropped.
    pub fn actions(&self) -> u64 {
        self.actions
    }

    /// Agents born so far.
    pub fn joins(&self) -> u64 {
        self.joins
    }

    /// Has every place taken, the first time.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let config = self.game.config();
        let (places, teams) = (config.places_per_team, config.teams.len());
        for _ in 0..places {
            for team in 0..teams {
                self.join(TeamId(
                    u16::try_from(team).expect("there are at most TEAMS_MAX teams"),
                ));
            }
        }
        self.attend();
    }

    fn hand_in(&mut self, input: GameInput) -> Handled {
        hand_in(&mut self.game, &mut self.journal, input)
    }

    /// Tells the minds what happened, one thing at a time as lines are read, and takes their commands.
    fn attend(&mut self) {
        while self.game.has_events() {
            let mut happened = self.happened.take().unwrap_or_default();
            self.game.swap_events(&mut happened);
            for event in happened.iter() {
                if let GameEvent::Said { agent, text } = event {
                    self.spread(*agent, text);
                } else if let Some(agent) = self.perceive(event) {
                    self.ask(agent);
                }
            }
            happened.clear();
            self.happened = Some(happened);
        }
    }

    /// Passes an event to the mind of its agent; returns the agent.
    fn perceive(&mut self, event: &GameEvent) -> Option<AgentId> {
        let (agent, percept) = match event {
            GameEvent::Reply { agent, reply } => (*agent, percept_of(reply)),
            GameEvent::Heard {
                agent,
                direction,
                text,
            } => {
                let direction = *direction;
                (*agent, Percept::Message { direction, text })
            }
            GameEvent::PushedFrom { agent, direction } => {
                let direction = *direction;
                (*agent, Percept::Pushed { direction })
            }
            GameEvent::Died { agent } => {
                self.forget(*agent);
                return None;
            }
            _ => return None,
        };
        let mind = self.minds[agent.0 as usize].as_mut()?;
        mind.perceive(percept);
        Some(agent)
    }

    /// Sends a message to the minds of the sender's team, decoded once. All other minds ignore it.
    fn spread(&mut self, speaker: AgentId, text: &[u8]) {
        let Some(agent) = self.game.world().agent(speaker) else {
            return;
        };
        let team = usize::from(agent.team.0);
        let Some(signal) = self.codecs[team].as_ref().and_then(|codec| codec.read(text)) else {
            return;
        };
        // Agents that are born meanwhile are appended, and do not receive it.
        for place in 0..self.members[team].len() {
            let hearer = self.members[team][place];
            let Some(mind) = &mut self.minds[hearer.0 as usize] else {
                continue;
            };
            if signal.is_notice() {
                mind.receive(&signal, 0);
            } else if let Some(direction) = self.game.world().direction_of_sound(hearer, speaker)
                && hearer != speaker
            {
                mind.receive(&signal, direction);
                self.ask(hearer);
            }
        }
    }

    fn forget(&mut self, agent: AgentId) {
        self.minds[agent.0 as usize] = None;
        for members in &mut self.members {
            if let Ok(place) = members.binary_search(&agent) {
                members.remove(place);
            }
        }
    }

    fn ask(&mut self, agent: AgentId) {
        let Some(mind) = &mut self.minds[agent.0 as usize] else {
            return;
        };
        while let Some(command) = mind.next_command() {
            let input = GameInput::Command { agent, command };
            let handled = hand_in(&mut self.game, &mut self.journal, input);
            self.actions += u64::from(handled == Handled::Done);
        }
        if mind.take_free_place()
            && let Some(team) = self.game.world().agent(agent).map(|agent| agent.team)
        {
            self.replace(team);
        }
    }

    /// A team that may still grow wants an agent.
    fn replace(&mut self, team: TeamId) {
        let living = self.game.world().team(team).map_or(0, |team| team.living);
        if (living as usize) < self.agents_max {
            self.join(team);
        }
    }

    /// Takes a place if there is one, and gives the newborn a mind.
    fn join(&mut self, team: TeamId) {
        let Handled::Joined(agent) = self.hand_in(GameInput::Join { team }) else {
            return;
        };
        let place = agent.0 as usize;
        if self.minds.len() <= place {
            self.minds.resize_with(place + 1, || None);
        }
        self.minds[place] = Some(self.awaken(team));
        self.members[usize::from(team.0)].push(agent);
        self.joins += 1;
        self.joins_by_team[usize::from(team.0)] += 1;
        self.ask(agent);
    }

    fn awaken(&self, team: TeamId) -> Mind {
        let config = self.game.config();
        let name = config.teams[usize::from(team.0)].as_bytes();
        let joined = self.joins_by_team[usize::from(team.0)];
        let replacement = (joined + 1).saturating_sub(u64::from(config.places_per_team));
        let places = self.game.world().team(team).map_or(0, |team| team.places());
        let seed = agent_seed(config.seed, name, places, replacement);
        self.kinds[usize::from(team.0)].awaken(name, seed)
    }
}

/// Hands an input to the game, now, and writes it down if there is a journal.
fn hand_in(game: &mut Game, journal: &mut Option<PieceWriter>, input: GameInput) -> Handled {
    let now = game.now();
    if let Some(journal) = journal {
        journal.input(game, &input, now);
    }
    game.handle(input, now)
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
