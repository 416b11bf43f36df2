//! A match of the real rules, played by brains without a socket or a clock in between.

use std::collections::BTreeMap;

use trantor_engine::minds::percept_of;
use trantor_game::{AdminAction, Game, GameConfig, GameEvent, GameInput, Handled, Rules};
use trantor_model::{AgentId, Command, MapSize, Resource, TeamId, Turn};
use trantor_strategy::{Brain, Percept};
use trantor_time::{GameSpan, GameTime};

/// How a match is set up.
#[derive(Clone)]
pub struct Setup {
    pub size: (u32, u32),
    pub agents_per_team: usize,
    pub seed: u64,
    /// How long a command and its answer are on their way, together, in units.
    pub delay_units: i64,
    /// An agent is struck dead every so many units; 0 for never.
    pub kill_every_units: i64,
    /// Agents of a further team that push each agent they meet and repeat all messages.
    pub rogues: u32,
    /// When the match is broken off.
    pub limit_units: i64,
}

impl Setup {
    /// Two teams of six on a map of 20 by 20, changed.
    pub fn with(change: impl FnOnce(&mut Self)) -> Self {
        let mut setup = Self {
            size: (20, 20),
            agents_per_team: 6,
            seed: 1,
            delay_units: 0,
            kill_every_units: 0,
            rogues: 0,
            limit_units: 40_000,
        };
        change(&mut setup);
        setup
    }
}

/// How a match went.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub winner: Option<TeamId>,
    pub units: i128,
    pub deaths: u32,
    pub joins: u32,
    /// Of the world at the end.
    pub steps: u64,
}

/// Plays a match to its end or its limit.
pub fn play(setup: &Setup) -> Outcome {
    Arena::new(setup.clone()).play()
}

/// A match under way: the game, its brains, and what is on its way between them.
struct Arena {
    game: Game,
    setup: Setup,
    brains: BTreeMap<AgentId, (TeamId, Brain)>,
    rogues: BTreeMap<AgentId, Rogue>,
    /// Commands on their way, in the order they arrive.
    on_the_way: BTreeMap<(GameTime, u64), (AgentId, Command)>,
    sent: u64,
    joins: u32,
    deaths: u32,
    strikes: u32,
}

impl Arena {
    fn new(setup: Setup) -> Self {
        let mut teams = vec!["red".to_owned(), "blue".to_owned()];
        if setup.rogues > 0 {
            teams.push("rogues".to_owned());
        }
        let game = Game::new(GameConfig {
            size: MapSize::new(setup.size.0, setup.size.1).expect("a map"),
            teams,
            places_per_team: setup.rogues.max(setup.agents_per_team as u32),
            seed: setup.seed,
            rules: Rules::default(),
        });
        let mut arena = Self {
            game,
            setup,
            brains: BTreeMap::new(),
            rogues: BTreeMap::new(),
            on_the_way: BTreeMap::new(),
            sent: 0,
            joins: 0,
            deaths: 0,
            strikes: 0,
        };
        for _ in 0..arena.setup.agents_per_team {
            arena.join(TeamId(0));
            arena.join(TeamId(1));
        }
        for _ in 0..arena.setup.rogues {
            arena.join_rogue();
        }
        arena
    }

    fn join(&mut self, team: TeamId) {
        let now = self.game.now();
        if let Handled::Joined(agent) = self.game.handle(GameInput::Join { team }, now) {
            let name = self.game.config().teams[usize::from(team.0)].clone();
            let seed = self.setup.seed * 1_000 + u64::from(self.joins);
            self.joins += 1;
            self.brains
                .insert(agent, (team, Brain::new(name.as_bytes(), seed)));
            self.deliver();
            self.ask(agent);
        }
    }

    fn join_rogue(&mut self) {
        let (team, now) = (TeamId(2), self.game.now());
        if let Handled::Joined(agent) = self.game.handle(GameInput::Join { team }, now) {
            self.rogues.insert(agent, Rogue::default());
            self.deliver();
            self.ask(agent);
        }
    }

    /// Hands out what happened, and takes the commands that follow from it.
    fn deliver(&mut self) {
        while let Some(event) = self.game.poll_event() {
            let (agent, percept) = match &event {
                GameEvent::Reply { agent, reply } => (*agent, percept_of(reply)),
                GameEvent::Heard {
                    agent,
                    direction,
                    text,
                } => (
                    *agent,
                    Percept::Message {
                        direction: *direction,
                        text,
                    },
                ),
                GameEvent::PushedFrom { agent, direction } => (
                    *agent,
                    Percept::Pushed {
                        direction: *direction,
                    },
                ),
                GameEvent::Died { agent } => {
                    self.brains.remove(agent);
                    self.deaths += 1;
                    continue;
                }
                _ => continue,
            };
            if let Some((_, brain)) = self.brains.get_mut(&agent) {
                brain.perceive(percept);
            }
            if let Some(rogue) = self.rogues.get_mut(&agent) {
                rogue.perceive(percept);
            }
            self.ask(agent);
        }
    }

    fn ask(&mut self, agent: AgentId) {
        let arrival = self.game.now() + GameSpan::from_units(self.setup.delay_units);
        let mut next = || match (self.brains.get_mut(&agent), self.rogues.get_mut(&agent)) {
            (Some((_, brain)), _) => brain.next_command(),
            (_, Some(rogue)) => rogue.next_command(),
            _ => None,
        };
        while let Some(command) = next() {
            self.on_the_way.insert((arrival, self.sent), (agent, command));
            self.sent += 1;
        }
    }

    /// New agents for the places that brains know of.
    fn replace(&mut self) {
        let asking: Vec<TeamId> = self
            .brains
            .values_mut()
            .filter_map(|(team, brain)| brain.take_free_place().then_some(*team))
            .collect();
        for team in asking {
            let alive = self.brains.values().filter(|(of, _)| *of == team).count();
            if alive < 2 * self.setup.agents_per_team {
                self.join(team);
            }
        }
    }

    /// Kills an agent if it is time: one after the other, not at random.
    fn strike(&mut self) {
        let every = self.setup.kill_every_units;
        if every == 0 || self.game.now() < GameTime::from_units(every * i64::from(self.strikes + 1)) {
            return;
        }
        self.strikes += 1;
        let nth = self.strikes as usize * 5 % self.brains.len().max(1);
        if let Some(&agent) = self.brains.keys().nth(nth) {
            let now = self.game.now();
            let _ = self
                .game
                .handle(GameInput::Admin(AdminAction::Kill { agent }), now);
            self.deliver();
        }
    }

    fn play(mut self) -> Outcome {
        let limit = GameTime::from_units(self.setup.limit_units);
        while self.game.winner().is_none() && self.game.now() < limit {
            let arriving = self.on_the_way.first_key_value().map(|(&(at, _), _)| at);
            let due = self.game.next_deadline();
            match (arriving, due) {
                (Some(at), due) if due.is_none_or(|due| at <= due) => {
                    let (_, (agent, command)) = self.on_the_way.pop_first().expect("it was just seen");
                    let _ = self.game.handle(GameInput::Command { agent, command }, at);
                }
                (_, Some(due)) => {
                    self.game.fire_next(due);
                }
                (_, None) => break,
            }
            self.deliver();
            self.replace();
            self.strike();
        }
        Outcome {
            winner: self.game.winner(),
            units: self.game.now().whole_units(),
            deaths: self.deaths,
            joins: self.joins,
            steps: self.game.steps(),
        }
    }
}

/// Walks about, ejects, and repeats messages of others, as a disturbance. It needs no food.
#[derive(Default)]
struct Rogue {
    received: Option<Box<[u8]>>,
    turn: u32,
    is_waiting: bool,
}

impl Rogue {
    fn perceive(&mut self, percept: Percept<'_>) {
        match percept {
            Percept::Message { text, .. } => self.received = Some(text.into()),
            Percept::Ok | Percept::Ko => self.is_waiting = false,
            _ => {}
        }
    }

    fn next_command(&mut self) -> Option<Command> {
        if std::mem::replace(&mut self.is_waiting, true) {
            return None;
        }
        self.turn += 1;
        Some(match (self.turn % 11, self.received.take()) {
            (0, _) => Command::Turn(Turn::Left),
            (3 | 7, Some(text)) => Command::Broadcast(text),
            (1 | 5 | 9, _) => Command::Eject,
            (2 | 6, _) => Command::Take(Resource::Food),
            _ => Command::Forward,
        })
    }
}
