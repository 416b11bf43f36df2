//! Events of a game in the words of scenario scripts.

use std::collections::BTreeMap;

use trantor_game::Game;
use trantor_model::{AgentId, Change, TeamId, Tile};

use crate::data::Data;

/// Translates the events of a game for one scenario.
#[derive(Default)]
pub struct ScenarioEvents {
    /// The agents that it was sent as born: events name their teams, also once they are gone.
    agents: BTreeMap<AgentId, (TeamId, Tile)>,
}

/// The name of an event, and its data.
type Event = (&'static str, Data);

impl ScenarioEvents {
    /// The event of the beginning, and the agents that live already.
    pub fn begin(&mut self, game: &Game) -> Vec<Event> {
        let size = game.world().size();
        let teams = game.config().teams.iter().map(|team| Data::from(&**team));
        let world = [
            ("width", number(size.width().into())),
            ("height", number(size.height().into())),
            ("teams", Data::List(teams.collect())),
        ];
        let agents = game.world().agents();
        let born = agents.filter_map(|agent| self.born(game, agent.id, agent.team, agent.tile));
        std::iter::once(("start", Data::map(world))).chain(born).collect()
    }

    /// A change in words; `None` if there are none for it.
    pub fn read(&mut self, game: &Game, change: &Change) -> Option<Event> {
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
                    Some((_, at)) if at == tile => return None,
                    Some((_, at)) => *at = *tile,
                    None => return None,
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
            _ => return None,
        };
        Some((name, Data::Map(data.into_iter().collect())))
    }

    fn born(&mut self, game: &Game, agent: AgentId, team: TeamId, tile: Tile) -> Option<Event> {
        if self.agents.insert(agent, (team, tile)).is_some() {
            return None;
        }
        let placed = [self.of(game, agent), place(tile)].concat();
        Some(("join", Data::Map(placed.into_iter().collect())))
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

fn named<const N: usize>(entries: [(&str, Data); N]) -> Vec<(String, Data)> {
    entries.map(|(name, value)| (name.to_owned(), value)).into()
}

fn place(tile: Tile) -> Vec<(String, Data)> {
    named([("x", number(tile.x.into())), ("y", number(tile.y.into()))])
}

fn number(number: u32) -> Data {
    Data::Number(number.into())
}
