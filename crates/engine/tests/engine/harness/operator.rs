//! The words of operators and frame viewers in transcripts: `admin tp 0 5 5 N`, `V> step unit`.

use std::str::FromStr;

use trantor_model::{
    AdminAction, AgentId, Control, Counts, Direction, Level, Resource, Step, TeamId, Tile, lag,
};
use trantor_protocol::wire::ToServer;
use trantor_time::GameTime;

use super::script::unescape;

/// Reads what stands behind `admin`.
///
/// # Panics
/// If it is not understood: a transcript is part of the program.
pub fn read_request(request: &str) -> Control {
    let words: Vec<&str> = request.split_whitespace().collect();
    match words[..] {
        ["start"] => Control::Start,
        ["frequency", hertz] => Control::SetFrequency(number(hertz)),
        ["pause"] => Control::Pause,
        ["resume"] => Control::Resume,
        ["step", "unit"] => Control::Step(Step::Units(1)),
        ["step", "units", units] => Control::Step(Step::Units(number(units))),
        ["step", "action"] => Control::Step(Step::Action),
        ["step", "event"] => Control::Step(Step::Event),
        ["say", ..] => Control::Say(unescape(request.trim_start().trim_start_matches("say "))),
        ["kick", agent] => Control::Kick(AgentId(number(agent))),
        ["seek", unit] => Control::Seek(GameTime::from_units(number(unit))),
        ["sprint", units] => Control::Sprint(number(units)),
        _ => Control::Act(read_action(&words)),
    }
}

/// Reads a message of a frame viewer.
///
/// # Panics
/// If it is not understood.
pub fn read_message(message: &str) -> ToServer {
    let words: Vec<&str> = message.split_whitespace().collect();
    match words[..] {
        ["probe", token] => ToServer::Probe { token: number(token) },
        ["credit", items] => ToServer::Credit { items: number(items) },
        ["watch", "none"] => ToServer::Watch { agent: None },
        ["watch", agent] => {
            let agent = Some(AgentId(number(agent)));
            ToServer::Watch { agent }
        }
        ["goodbye"] => ToServer::Goodbye,
        _ => ToServer::Control(read_request(message)),
    }
}

fn read_action(words: &[&str]) -> AdminAction {
    match *words {
        ["tp", agent, x, y] => AdminAction::Teleport {
            agent: AgentId(number(agent)),
            tile: tile(x, y),
            facing: None,
        },
        ["tp", agent, x, y, facing] => AdminAction::Teleport {
            agent: AgentId(number(agent)),
            tile: tile(x, y),
            facing: Some(direction(facing)),
        },
        ["level", agent, level] => AdminAction::SetLevel {
            agent: AgentId(number(agent)),
            level: Level::new(number(level)).expect("a level"),
        },
        ["carry", agent, resource, count] => AdminAction::SetInventory {
            agent: AgentId(number(agent)),
            resource: Resource::ALL
                .into_iter()
                .find(|one| one.name() == resource)
                .expect("a resource"),
            count: number(count),
        },
        ["ground", x, y, ref counts @ ..] => {
            let mut ground = Counts::ZERO;
            for (count, word) in ground.0.iter_mut().zip(counts) {
                *count = number(word);
            }
            AdminAction::SetGround {
                tile: tile(x, y),
                ground,
            }
        }
        ["kill", agent] => AdminAction::Kill {
            agent: AgentId(number(agent)),
        },
        ["egg", team, x, y] => AdminAction::LayEgg {
            team: TeamId(number(team)),
            tile: tile(x, y),
        },
        ["hunger", state] => AdminAction::SetHunger {
            enabled: is_on(state),
        },
        ["refill", state] => AdminAction::SetRefill {
            enabled: is_on(state),
        },
        ["team-lag", team, ref settings @ ..] => AdminAction::SetTeamLag {
            team: TeamId(number(team)),
            lag: (settings != ["same"]).then(|| lag::read(&settings.join(" ")).expect("settings")),
        },
        ["lag", ref settings @ ..] => AdminAction::SetLag {
            lag: lag::read(&settings.join(" ")).expect("settings"),
        },
        ["end-match"] => AdminAction::EndMatch,
        ["end-match", winner] => AdminAction::EndMatchWith {
            winner: (winner != "draw").then(|| TeamId(number(winner))),
        },
        ["open-team", team] => AdminAction::OpenTeam {
            team: TeamId(number(team)),
        },
        ["close-team", team] => AdminAction::CloseTeam {
            team: TeamId(number(team)),
        },
        _ => panic!("operators cannot {words:?}"),
    }
}

fn number<T: FromStr>(word: &str) -> T {
    word.parse()
        .unwrap_or_else(|_| panic!("{word:?} is no number of its kind"))
}

fn tile(x: &str, y: &str) -> Tile {
    Tile {
        x: number(x),
        y: number(y),
    }
}

fn direction(word: &str) -> Direction {
    match word {
        "N" => Direction::North,
        "E" => Direction::East,
        "S" => Direction::South,
        "W" => Direction::West,
        _ => panic!("{word:?} is none of N, E, S, W"),
    }
}

fn is_on(word: &str) -> bool {
    match word {
        "on" => true,
        "off" => false,
        _ => panic!("{word:?} is neither on nor off"),
    }
}
