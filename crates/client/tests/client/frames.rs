//! Frames as transcripts write them: a word for the message, and its fields in order. Those left out are 0.
//!
//! Moments are in units of game time; instants are milliseconds after the hello. The map has 10 x 8 tiles; agents of team
//! 0 stand on (3, 2) and face east. A tick takes 20 ms unless `hello DELAY_MS TICK_US` says otherwise, so the picture is 30 ms late.

use std::str::{FromStr, SplitWhitespace};

use trantor_client::{FeedEntry, FeedKind, Who};
use trantor_model::{AgentId, Counts, Direction, MapSize, TeamId, Tile};
use trantor_protocol::wire::{
    Change, ClockAnchor, History, Mark, MarkKind, RecordingInfo, ScorePoint, ServerHello, SnapshotPart,
    ToClient, WIRE_VERSION,
};
use trantor_time::{Frequency, GameTime};

use crate::support::{agent, forward};

/// A whole world: what `<< world` stands for.
pub const WORLD: [&str; 5] = ["hello", "clock 0 0 100", "ground 80", "agents 0 2", "end 0"];

struct Words<'a>(SplitWhitespace<'a>);

impl Words<'_> {
    fn number<T: FromStr + Default>(&mut self) -> T {
        self.0
            .next()
            .map_or_else(T::default, |word| word.parse().ok().expect(word))
    }

    fn units(&mut self) -> GameTime {
        units(self.number())
    }

    fn agent(&mut self) -> AgentId {
        AgentId(self.number())
    }

    fn is(&mut self, word: &str) -> bool {
        self.0.next() == Some(word)
    }

    /// Moments up to a word that is none.
    fn moments(&mut self) -> Vec<GameTime> {
        let moments = self.0.by_ref().map_while(|word| word.parse().ok());
        moments.map(units).collect()
    }
}

fn units(units: f64) -> GameTime {
    GameTime::from_nanounits((units * 1e9) as i128)
}

pub fn message(line: &str) -> ToClient {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let mut words = Words(rest.split_whitespace());
    match word {
        "hello" => ToClient::Hello(ServerHello {
            version: WIRE_VERSION,
            program: "server".to_owned(),
            since_reference_us: 0,
            delay_ms: words.number(),
            tick_period_us: words.0.next().map_or(20_000, |us| us.parse().unwrap()),
            last_tick: None,
            next_tick_us: 0,
            size: MapSize::new(10, 8).unwrap(),
            teams: vec!["red".to_owned(), "blue".to_owned()],
            may_control: !words.is("readonly"),
        }),
        "clock" => ToClient::Clock(anchor(&mut words)),
        "sought" => ToClient::Sought(anchor(&mut words)),
        "ground" => {
            let tiles = vec![Counts::ZERO; words.number()];
            ToClient::Snapshot(SnapshotPart::Ground { first: 0, tiles })
        }
        "agents" => {
            let agents = (words.number()..words.number()).map(|id| {
                let mut agent = agent(id, Tile { x: 3, y: 2 });
                agent.view.facing = Direction::East;
                agent.food_ends = Some(units(100.0));
                agent
            });
            ToClient::Snapshot(SnapshotPart::Agents(agents.collect()))
        }
        "end" => ToClient::SnapshotEnd { at: words.units() },
        "tick" => ToClient::TickEnd {
            number: words.number(),
        },
        "begin" => ToClient::TickBegin {
            number: words.number(),
            skipped: words.number(),
        },
        "stream" => ToClient::StreamTime {
            instant_us: 1_000 * words.number::<i64>(),
        },
        "reply" => ToClient::ProbeReply {
            token: words.number(),
            server_us: 1_000 * words.number::<i64>(),
        },
        "ack" => ToClient::Ack {
            number: words.number(),
        },
        "recording" => ToClient::Recording(RecordingInfo {
            begin: GameTime::ZERO,
            end: words.units(),
            marks: words.moments().into_iter().map(death).collect(),
        }),
        "waiting" => ToClient::Waiting {
            agent: words.agent(),
            commands: vec![None; words.number()],
        },
        "history" => {
            let (events, scores) = (words.moments(), words.moments());
            let teams = words.number();
            ToClient::History(History {
                events: events.into_iter().map(pushed).collect(),
                scores: scores.into_iter().map(|at| score(at, teams)).collect(),
            })
        }
        "refused" | "goodbye" => {
            let reason = rest.replace("\\n", "\n").replace("\\e", "\x1b");
            match word {
                "refused" => ToClient::Refused { number: 1, reason },
                _ => ToClient::Goodbye { reason },
            }
        }
        "at" => ToClient::Changes {
            at: words.units(),
            changes: vec![change(&mut words)],
        },
        _ => panic!("{line:?} is no message"),
    }
}

fn anchor(words: &mut Words<'_>) -> ClockAnchor {
    ClockAnchor {
        real_us: 1_000 * words.number::<i64>(),
        game: words.units(),
        frequency: Frequency::new(words.number()).unwrap(),
        paused: words.is("paused"),
    }
}

fn death(at: GameTime) -> Mark {
    let kind = MarkKind::Died { team: TeamId(0) };
    Mark { at, count: 1, kind }
}

fn pushed(at: GameTime) -> FeedEntry {
    let (agent, team) = (AgentId(0), TeamId(0));
    let kind = FeedKind::Pushed(Who { agent, team });
    FeedEntry { at, kind }
}

fn score(at: GameTime, teams: usize) -> ScorePoint {
    let scores = vec![7; teams];
    ScorePoint { at, scores }
}

fn change(words: &mut Words<'_>) -> Change {
    let word = words.0.next().expect("a change has a word");
    let agent = words.agent();
    match word {
        "step" => forward(agent, words.units(), words.is("refused")),
        "moved" => Change::Moved {
            agent,
            tile: Tile {
                x: words.number(),
                y: 2,
            },
            facing: Direction::East,
            forced: words.is("forced"),
        },
        "said" => Change::Said {
            agent,
            text: vec![b'x'; words.number()],
        },
        "ejected" => Change::Ejected { agent },
        "ate" => Change::Inventory {
            agent,
            inventory: Counts([words.number(), 0, 0, 0, 0, 0, 0]),
            food_ends: Some(words.units()),
        },
        "ground" => Change::Ground {
            tile: Tile { x: 2, y: 1 },
            ground: Counts([words.number(), 0, 0, 0, 0, 0, 0]),
        },
        _ => panic!("{word:?} is no change"),
    }
}
