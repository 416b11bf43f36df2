//! Frames as transcripts write them: a word for the message, and its fields in order. Those left out are 0.
//!
//! Moments are in units of game time; instants are milliseconds after the hello. The map has 10 x 8 tiles; agents
//! stand on (3, 2) and face east. A tick takes 20 ms unless `hello DELAY_MS TICK_US` says otherwise, so the picture is 30 ms late.

use std::num::NonZeroU64;
use std::str::{FromStr, SplitWhitespace};

use trantor_client::{FeedEntry, FeedKind, Who};
use trantor_model::{
    ActionState, AgentId, AgentState, AgentView, Change, CommandKind, Counts, Direction, ElevationId,
    ElevationState, GroundChange, InventoryChange, LeaveCause, Level, MapSize, Mark, MarkKind, MoveKind,
    Shown, ShownBy, TeamId, Tile, TileMark, lag,
};
use trantor_protocol::wire::{
    ClockAnchor, History, LagState, LinkState, LinkTotals, RecordingInfo, ScorePoint, ServerHello,
    SnapshotPart, ToClient, WIRE_VERSION,
};
use trantor_time::link::{Delivery, LinkCounts, LinkSettings, Loss};
use trantor_time::{Frequency, GameSpan, GameTime};

/// A whole world: what `<< world` stands for.
pub const WORLD: [&str; 5] = ["hello", "clock 0 0 100", "ground 80", "agents 0 2", "end 0"];

/// Where all agents are at first.
const TILE: Tile = Tile { x: 3, y: 2 };

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

    fn level(&mut self) -> Level {
        Level::new(self.number::<u8>().max(1)).unwrap()
    }

    /// All agents up to the end of the line.
    fn agents(&mut self) -> Vec<AgentId> {
        self.0
            .by_ref()
            .map(|word| AgentId(word.parse().unwrap()))
            .collect()
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
            let ids = words.number()..words.number();
            let (team, level) = (TeamId(words.number()), words.level());
            let agents = ids.map(|id| agent(AgentId(id), team, level)).collect();
            ToClient::Snapshot(SnapshotPart::Agents(agents))
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
            recorded: None,
            marks: words.moments().into_iter().map(death).collect(),
        }),
        "waiting" => ToClient::Waiting {
            agent: words.agent(),
            commands: vec![None; words.number()],
        },
        "shown" => ToClient::Shown {
            anew: rest == "anew",
            owners: shown(rest).into_iter().collect(),
        },
        "announced" => ToClient::Announced {
            text: rest.to_owned(),
        },
        "lag" => ToClient::Lag(LagState {
            totals: totals(words.number()),
            settings: lag::read(rest.split_once(' ').map_or("off", |(_, settings)| settings)).unwrap(),
            teams: Vec::new(),
        }),
        "links" => ToClient::Links {
            agent: words.agent(),
            links: vec![LinkState {
                other: words.agent(),
                to: totals(words.number()),
                from: totals(words.number()),
            }],
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

/// `note AGENT TEXT`, `mark X` of the server; nothing else.
fn shown(line: &str) -> Option<(ShownBy, Shown)> {
    let mut shown = Shown::default();
    let (what, rest) = line.split_once(' ')?;
    let (number, note) = rest.split_once(' ').unwrap_or((rest, ""));
    if what == "note" {
        shown.note = note.into();
        return Some((ShownBy::Agent(AgentId(number.parse().unwrap())), shown));
    }
    let (x, y) = (number.parse().unwrap(), 2);
    let (tiles, colour, text) = (vec![Tile { x, y }], [255, 0, 0], "here".into());
    shown.marks.push(("key".into(), TileMark { tiles, colour, text }));
    Some((ShownBy::Server, shown))
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

/// So many messages sent, one less delivered.
fn totals(sent: u64) -> LinkTotals {
    LinkTotals {
        counts: LinkCounts {
            sent,
            delivered: sent.saturating_sub(1),
            ..LinkCounts::default()
        },
        delay_p50: GameSpan::from_units(1),
        delay_p99: GameSpan::from_units(2),
    }
}

/// Messages of 2 tiles a unit after 5 units, heard up to a range in tiles: `2@9` is heard by 2 at 9, `3!` is lost on its way
/// to 3, and `4>` is too far from 4.
fn sent(words: &mut Words<'_>) -> Change {
    let (agent, range) = (words.agent(), words.number::<u64>());
    let deliveries = words.0.by_ref().map(|word| {
        let place = word.find(['@', '!', '>']).expect(word);
        let (to, how) = (AgentId(word[..place].parse().unwrap()), &word[place..]);
        let delivery = match how {
            "!" => Delivery::Lost(Loss::Chance),
            ">" => Delivery::Lost(Loss::OutOfRange),
            at => Delivery::Arrives {
                at: units(at[1..].parse().unwrap()),
                again_at: None,
            },
        };
        (to, delivery)
    });
    Change::Sent {
        agent,
        tile: TILE,
        settings: Box::new(LinkSettings {
            speed: NonZeroU64::new(2_000),
            latency: GameSpan::from_units(5),
            range: Some(range * 1_000),
            ..LinkSettings::PERFECT
        }),
        deliveries: deliveries.collect(),
        left_out: 0,
    }
}

/// An agent that does nothing.
fn agent(id: AgentId, team: TeamId, level: Level) -> AgentState {
    AgentState {
        view: AgentView {
            id,
            team,
            tile: TILE,
            facing: Direction::East,
            level,
            inventory: Counts::ZERO,
        },
        action: None,
        food_ends: Some(units(100.0)),
    }
}

/// Elevations are numbered downwards by their first participant: later ones of a transcript have lower agents.
fn elevation_of(participants: &[AgentId]) -> ElevationId {
    ElevationId(u64::from(u32::MAX - participants[0].0))
}

fn change(words: &mut Words<'_>) -> Change {
    match words.0.next().expect("a change has a word") {
        "step" => {
            let (agent, start) = (words.agent(), words.units());
            let action = ActionState {
                kind: CommandKind::Forward,
                start,
                end: start + GameSpan::from_units(7),
                refused: words.is("refused"),
            };
            Change::ActionStarted { agent, action }
        }
        "moved" => Change::Moved {
            agent: words.agent(),
            tile: Tile {
                x: words.number(),
                y: 2,
            },
            facing: Direction::East,
            how: match words.is("forced") {
                true => MoveKind::Pushed,
                false => MoveKind::Walked,
            },
        },
        "said" => Change::Said {
            agent: words.agent(),
            text: vec![b'x'; words.number()].into(),
        },
        "sent" => sent(words),
        "ejected" => Change::Ejected { agent: words.agent() },
        "ate" => Change::Inventory {
            agent: words.agent(),
            tile: TILE,
            inventory: Counts([words.number(), 0, 0, 0, 0, 0, 0]),
            food_ends: Some(words.units()),
            why: InventoryChange::Ate,
        },
        "ground" => Change::Ground {
            tile: Tile { x: 2, y: 1 },
            ground: Counts([words.number(), 0, 0, 0, 0, 0, 0]),
            why: GroundChange::Refill,
        },
        "elevation" => {
            let (level, start, end) = (words.level(), words.units(), words.units());
            let participants = words.agents();
            Change::ElevationStarted(ElevationState {
                elevation: elevation_of(&participants),
                tile: TILE,
                level,
                participants: participants.into(),
                start,
                end,
            })
        }
        "ended" => {
            let (level, success) = (words.level(), words.is("success"));
            let participants = words.agents();
            Change::ElevationEnded {
                elevation: elevation_of(&participants),
                tile: TILE,
                level,
                success,
                participants: participants.into(),
            }
        }
        "rose" => Change::LevelChanged {
            agent: words.agent(),
            level: words.level(),
        },
        "left" => Change::Left {
            agent: words.agent(),
            cause: LeaveCause::Disconnected,
        },
        "won" => Change::Won {
            team: TeamId(words.number()),
            totals: None,
        },
        word => panic!("{word:?} is no change"),
    }
}
