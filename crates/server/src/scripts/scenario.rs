//! A script as the scenario of a game: events of the game in its words, and its lines as an operator's.

use std::collections::{BTreeMap, VecDeque};

use trantor_engine::minds::{OperatorView, Published, Scenario, ScenarioAct};
use trantor_game::Game;
use trantor_model::{AgentId, Change, TeamId, Tile};
use trantor_script::{Data, ScenarioAct as Deed};
use trantor_time::GameTime;

use super::link::RemoteScenario;
use super::{ReadLine, ScenarioLine};

/// A scenario in the thread of the match, or on one of its own.
pub(super) enum Director {
    Here(Box<trantor_script::Scenario>),
    OnThread(RemoteScenario),
}

impl Director {
    fn publish(&mut self, published: &Published) {
        match self {
            Self::Here(scenario) => scenario.publish(published),
            Self::OnThread(scenario) => scenario.publish(published),
        }
    }

    fn perceive(&mut self, event: &str, data: Data) {
        match self {
            Self::Here(scenario) => scenario.perceive(event, data),
            Self::OnThread(scenario) => scenario.perceive(event, data),
        }
    }

    fn answer(&mut self, id: u64, is_done: bool, said: &str) {
        match self {
            Self::Here(scenario) => scenario.answer(id, is_done, said),
            Self::OnThread(scenario) => scenario.answer(id, is_done, said),
        }
    }

    fn decide(&mut self, now: GameTime, acts: &mut Vec<Deed>) {
        match self {
            Self::Here(scenario) => scenario.decide(now, acts),
            Self::OnThread(scenario) => scenario.decide(now, acts),
        }
    }

    fn wake_at(&self) -> Option<GameTime> {
        match self {
            Self::Here(scenario) => scenario.wake_at(),
            Self::OnThread(scenario) => scenario.wake_at(),
        }
    }
}

pub(super) struct ScriptScenario {
    script: Director,
    read_line: ReadLine,
    /// What it has decided and what is yet to be carried out.
    deeds: VecDeque<Deed>,
    /// The agents that it was sent as born: events name their teams, also once they are gone.
    agents: BTreeMap<AgentId, (TeamId, Tile)>,
    published: Published,
}

impl ScriptScenario {
    pub(super) fn new(script: Director, read_line: ReadLine) -> Self {
        Self {
            script,
            read_line,
            deeds: VecDeque::new(),
            agents: BTreeMap::new(),
            published: Published::default(),
        }
    }

    fn born(&mut self, game: &Game, agent: AgentId, team: TeamId, tile: Tile) {
        if self.agents.insert(agent, (team, tile)).is_none() {
            let placed = [self.of(game, agent), place(tile)].concat();
            self.script
                .perceive("join", Data::Map(placed.into_iter().collect()));
        }
    }

    /// The number of an agent and the name of its team.
    fn of(&self, game: &Game, agent: AgentId) -> Vec<(String, Data)> {
        let team = self
            .agents
            .get(&agent)
            .map(|(team, _)| game.config().team_name(*team));
        named([
            ("agent", number(agent.0)),
            ("team", team.map_or(Data::Nil, Data::from)),
        ])
    }
}

impl Scenario for ScriptScenario {
    /// Sends it the event of the beginning, and the agents that live already.
    fn begin(&mut self, game: &Game) {
        let size = game.world().size();
        let teams = game.config().teams.iter().map(|team| Data::from(&**team));
        let world = [
            ("width", number(size.width().into())),
            ("height", number(size.height().into())),
            ("teams", Data::List(teams.collect())),
        ];
        self.script.perceive("start", Data::map(world));
        for agent in game.world().agents() {
            self.born(game, agent.id, agent.team, agent.tile);
        }
    }

    fn perceive(&mut self, game: &Game, change: &Change) {
        let (name, data) = match change {
            Change::Joined { agent, .. } => return self.born(game, agent.id, agent.team, agent.tile),
            Change::Died { agent } | Change::Left { agent, .. } => {
                let data = self.of(game, *agent);
                self.agents.remove(agent);
                ("death", data)
            }
            Change::LevelChanged { agent, level } => {
                let level = named([("level", number(level.get().into()))]);
                ("level", [self.of(game, *agent), level].concat())
            }
            Change::Moved { agent, tile, .. } => {
                match self.agents.get_mut(agent) {
                    // A turn.
                    Some((_, at)) if at == tile => return,
                    Some((_, at)) => *at = *tile,
                    None => return,
                }
                ("move", [self.of(game, *agent), place(*tile)].concat())
            }
            Change::Carried {
                agent,
                resource,
                taken: true,
                ..
            } => {
                let resource = named([("resource", Data::from(resource.name()))]);
                ("take", [self.of(game, *agent), resource].concat())
            }
            Change::Said { agent, text } => {
                let text = named([("text", Data::Text(text[..].into()))]);
                ("message", [self.of(game, *agent), text].concat())
            }
            Change::EggLaid { egg, .. } => {
                let team = named([("team", Data::from(game.config().team_name(egg.team)))]);
                ("egg", [team, place(egg.tile)].concat())
            }
            Change::Won { team, .. } => {
                let team = Some(*team).filter(|team| *team != TeamId::DRAW);
                let team = team.map_or(Data::Nil, |team| Data::from(game.config().team_name(team)));
                ("win", named([("team", team)]))
            }
            _ => return,
        };
        self.script.perceive(name, Data::Map(data.into_iter().collect()));
    }

    fn decide(&mut self, game: &Game) {
        let mut deeds = Vec::new();
        self.published.update_from(game);
        self.script.publish(&self.published);
        self.script.decide(game.now(), &mut deeds);
        self.deeds.extend(deeds);
    }

    fn next_act(&mut self, seen: &dyn OperatorView) -> Option<ScenarioAct> {
        Some(match self.deeds.pop_front()? {
            Deed::Show(show) => ScenarioAct::Show(show),
            Deed::Console { id, line } => match (self.read_line)(seen, &line) {
                ScenarioLine::Requests(requests) => ScenarioAct::Request { id, requests },
                ScenarioLine::Answered(answer) => {
                    let (is_done, said) = match answer {
                        Ok(said) => (true, said),
                        Err(reason) => (false, reason),
                    };
                    self.script.answer(id, is_done, said.trim_end());
                    ScenarioAct::Answered
                }
            },
        })
    }

    fn answered(&mut self, request: u64, answer: Result<(), String>) {
        let reason = answer.as_ref().err().map_or("", String::as_str);
        self.script.answer(request, answer.is_ok(), reason);
    }

    fn wake_at(&self) -> Option<GameTime> {
        self.script.wake_at()
    }
}

fn named<const N: usize>(entries: [(&str, Data); N]) -> Vec<(String, Data)> {
    entries.map(|(name, value)| (name.to_owned(), value)).into()
}

fn place(tile: Tile) -> Vec<(String, Data)> {
    named([("x", number(tile.x.into())), ("y", number(tile.y.into()))])
}

fn number(number: u32) -> Data {
    Data::Number(number.into())
}
