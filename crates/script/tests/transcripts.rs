//! Transcripts: a script, what it is sent, and what it does, in text files. `BLESS=1` writes what it does into them.
//!
//! ```text
//! | source                  lines of a script, for the next `load`, `reload` or `scenario`
//! load                      a script of agents; `scenario` for the other kind; `reload`, `resume`
//! published red 2, blue 0   the match publishes how many agents each team has
//! born red                  the next agent of the script, 0 first, on tile 4 2 of a map of 10 × 10 and facing east; it decides at once
//! 7 0 ok                    at unit 7 agent 0 perceives this, and decides; `wake` is nothing perceived
//! repeat 3 7 0 ok           the same three times
//!     forward               what happened then, the last time
//! ```

use std::fmt::Write as _;

use trantor_model::{AgentId, Command, Counts, Direction, Level, MapSize, Resource, Show, Sight, Tile, Turn};
use trantor_play::minds::{Act, Mind, MindFactory, Newborn, Percept, Published, Scenario as _, ScenarioAct};
use trantor_script::{Data, Scenario, Script, ScriptError, ScriptNews};
use trantor_time::GameTime;

#[derive(Default)]
struct Stage {
    script: Option<Script>,
    scenario: Option<Scenario>,
    minds: Vec<Box<dyn Mind>>,
    published: Published,
    source: String,
}

/// Units in thousandths, so that fractions can be written.
fn time(units: &str) -> GameTime {
    let units: f64 = units.parse().expect("a number of units");
    GameTime::from_nanounits((units * 1e9).round() as i128)
}

fn counts(words: &str) -> Counts {
    let mut counts = Counts::ZERO;
    for word in words.split_whitespace() {
        if let Some(resource) = Resource::ALL.into_iter().find(|resource| resource.name() == word) {
            counts.add_one(resource);
        }
    }
    counts
}

/// Tiles separated by commas, as on the wire.
fn sights(words: &str) -> Vec<Sight> {
    let count = |tile: &str, name| tile.split_whitespace().filter(|word| *word == name).count() as u32;
    let sight = |tile| Sight {
        agents: count(tile, "player"),
        ground: counts(tile),
        eggs: count(tile, "egg"),
    };
    words.split(',').map(sight).collect()
}

fn perceive(mind: &mut dyn Mind, words: &str) {
    let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
    let number = || {
        rest.split(' ')
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(0u8)
    };
    match word {
        "wake" => {}
        "ok" => mind.perceive(&Percept::Ok),
        "ko" => mind.perceive(&Percept::Ko),
        "look" => mind.perceive(&Percept::Look(sights(rest).into())),
        "inventory" => mind.perceive(&Percept::Inventory {
            inventory: counts(rest),
            life_units: 0,
        }),
        "places" => mind.perceive(&Percept::Places(number().into())),
        "message" => {
            let text = rest.split_once(' ').map_or("", |(_, text)| text).as_bytes();
            let direction = number();
            let text = text.into();
            mind.perceive(&Percept::Message { direction, text });
        }
        "pushed" => mind.perceive(&Percept::Pushed { direction: number() }),
        "underway" => mind.perceive(&Percept::ElevationUnderway),
        "level" => mind.perceive(&Percept::Level(Level::new(number()).expect("a level"))),
        other => panic!("no such percept: {other}"),
    }
}

fn said(command: &Command) -> String {
    match command {
        Command::Turn(Turn::Left) => "left".to_owned(),
        Command::Turn(Turn::Right) => "right".to_owned(),
        Command::Broadcast(text) => format!("broadcast {}", String::from_utf8_lossy(text)),
        Command::Take(resource) => format!("take {}", resource.name()),
        Command::Set(resource) => format!("set {}", resource.name()),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn shown(show: &Show) -> String {
    match show {
        Show::Note(text) => format!("note {text}"),
        Show::Mark { key, mark } => {
            let tiles = mark.tiles.iter().map(|tile| format!("{},{}", tile.x, tile.y));
            let tiles = tiles.collect::<Vec<_>>().join(" ");
            let [red, green, blue] = mark.colour;
            format!("mark {key} {tiles} #{red:02x}{green:02x}{blue:02x} {}", mark.text)
        }
        Show::Unmark { key } => format!("unmark {key}"),
        Show::Card { name, value } => format!("card {name} = {value}"),
        Show::Announce(text) => format!("announce {text}"),
        Show::Clear => "clear".to_owned(),
    }
}

/// `name=value` pairs; numbers where they parse as such.
fn data(words: &str) -> Data {
    let pairs = words.split_whitespace().filter_map(|word| word.split_once('='));
    let value = |value: &str| {
        value
            .parse::<f64>()
            .map_or_else(|_| Data::from(value), Data::from)
    };
    Data::Map(pairs.map(|(name, text)| (name.to_owned(), value(text))).collect())
}

impl Stage {
    fn script(&self) -> &Script {
        let scenario = self.scenario.as_ref().map(Scenario::script);
        self.script.as_ref().or(scenario).expect("a script was loaded")
    }

    fn decide(&mut self, agent: usize, now: GameTime, out: &mut Vec<String>) {
        let mut acts = Vec::new();
        self.minds[agent].publish(&self.published);
        self.minds[agent].decide(now, &mut acts);
        for act in acts {
            out.push(match act {
                Act::Command(command) => said(&command),
                Act::Join => "join".to_owned(),
                Act::Show(show) => shown(&show),
            });
        }
        let wake_at = self.minds[agent].wake_at();
        self.report(wake_at, out);
    }

    fn report(&self, wake_at: Option<GameTime>, out: &mut Vec<String>) {
        while let Some(event) = self.script().next_event() {
            out.push(match event.news {
                ScriptNews::Log(line) => format!("log: {line}"),
                ScriptNews::Failed(error) => format!("error: {error}"),
                ScriptNews::NoAgents => "no agents".to_owned(),
                ScriptNews::Suspended => "suspended".to_owned(),
            });
        }
        if let Some(at) = wake_at {
            out.push(format!("wakes at {}", at.as_units_f64()));
        }
    }

    /// Carries out one line; answers what happened.
    fn step(&mut self, line: &str) -> Vec<String> {
        let mut out = Vec::new();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let source = match word {
            "load" | "reload" | "scenario" => std::mem::take(&mut self.source),
            _ => String::new(),
        };
        let file = "test.luau";
        let mut complain = |result: Result<(), ScriptError>| {
            if let Err(error) = result {
                out.push(format!("refused: {error}"));
            }
        };
        match word {
            "load" => {
                self.minds.clear();
                let loaded = Script::load(file, source.as_bytes());
                complain(loaded.map(|script| self.script = Some(script)));
            }
            "scenario" => {
                let loaded = Scenario::load(file, source.as_bytes(), 1);
                complain(loaded.map(|scenario| self.scenario = Some(scenario)));
            }
            "reload" => complain(self.script().reload(source.as_bytes())),
            "resume" => self.script().resume(),
            "published" => {
                let teams = rest.split(", ").filter_map(|team| team.split_once(' '));
                let living = teams.map(|(team, living)| (team, living.parse().expect("a number")));
                self.published.update(living);
            }
            "born" => {
                let agent = self.minds.len();
                let born = Newborn {
                    agent: AgentId(agent as u32),
                    index: agent as u64,
                    seed: agent as u64,
                    tile: Tile { x: 4, y: 2 },
                    direction: Direction::East,
                    ..Newborn::first(rest, MapSize::new(10, 10).expect("a size"))
                };
                self.minds
                    .push(self.script.as_mut().expect("a script was loaded").awaken(&born));
                self.decide(agent, GameTime::ZERO, &mut out);
            }
            _ => {
                let now = time(word);
                let (who, words) = rest.split_once(' ').expect("who, and what");
                let (word, rest) = words.split_once(' ').unwrap_or((words, ""));
                if who == "s" {
                    let scenario = self.scenario.as_mut().expect("a scenario was loaded");
                    match word {
                        "answer" => {
                            let (id, said) = rest.split_once(' ').expect("a number and a text");
                            let id = id.parse().expect("a number");
                            scenario.answer(id, &Ok(said.to_owned()));
                        }
                        "wake" => {}
                        event => scenario.event(event, data(rest)),
                    }
                    let mut acts = Vec::new();
                    scenario.resume_due(now, &mut acts);
                    for act in acts {
                        out.push(match act {
                            ScenarioAct::Line { id, line } => format!("console {id}: {line}"),
                            ScenarioAct::Show(show) => shown(&show),
                            ScenarioAct::Control { .. } => unreachable!("a script has lines for it"),
                        });
                    }
                    let wake_at = scenario.wake_at();
                    self.report(wake_at, &mut out);
                } else if word == "dies" {
                    let agent: usize = who.parse().expect("a number");
                    let mut acts = Vec::new();
                    self.minds[agent].died(now, &mut acts);
                    assert!(
                        acts.iter()
                            .all(|act| matches!(act, Act::Show(_) | Act::Command(_)))
                    );
                    self.report(None, &mut out);
                } else {
                    let agent: usize = who.parse().expect("a number");
                    perceive(&mut *self.minds[agent], words);
                    self.decide(agent, now, &mut out);
                }
            }
        }
        out
    }
}

/// The transcript as it happens.
fn played(transcript: &str) -> String {
    let mut stage = Stage::default();
    let mut text = String::new();
    for line in transcript.lines().filter(|line| !line.starts_with("    ")) {
        let _ = writeln!(text, "{line}");
        if let Some(source) = line.strip_prefix('|') {
            stage.source += source.strip_prefix(' ').unwrap_or(source);
            stage.source.push('\n');
        } else if !line.is_empty() && !line.starts_with('#') {
            let repeated = line.strip_prefix("repeat ").and_then(|rest| rest.split_once(' '));
            let (times, line) = repeated.unwrap_or(("1", line));
            let times: usize = times.parse().expect("a number");
            let happened = (0..times).map(|_| stage.step(line)).last();
            for same in happened.unwrap_or_default().chunk_by(String::eq) {
                let times = if same.len() > 1 {
                    format!(", {} times", same.len())
                } else {
                    String::new()
                };
                let _ = writeln!(text, "    {}{times}", same[0]);
            }
        }
    }
    text
}

#[test]
fn scripts_do_what_the_transcripts_say() {
    trantor_transcript::check_folder(env!("CARGO_MANIFEST_DIR"), "tests/transcripts", played);
}
