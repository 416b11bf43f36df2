//! Conversations with servers as transcripts on a manual clock: `../text/*.txt` in the text protocol, `../frames/*.txt` in
//! frames.
//!
//! `< LINE` comes from the server ([`crate::frames`] has the words of frames), `<< LINE` is always text. `<< new` is a new
//! client that draws into the scene of the one before; `<< burst` and `<< world` are a whole world. `. MS` passes with a
//! frame at each millisecond, `, MS` with one at the end; in `.. MS LATE` the server's ticks come that late. `! REQUEST` is
//! the user's. `= WHAT: VALUE` is what is then so. `BLESS=1` writes the values.

use std::fmt::{Debug, Write};

use trantor_client::{
    Client, ClientConfig, ClientEvent, EffectKind, Language, LinkState, Scene, SceneAgent, SceneClock,
};
use trantor_model::{AgentId, Control, Refusal, Step};
use trantor_protocol::wire::{FrameCutter, ToClient, ToServer, read_frame, write_frame};
use trantor_time::{GameTime, RealTime};

use crate::frames;

pub const MILLI: i64 = 1_000_000;

/// The interval of the server's ticks in transcripts.
const TICK_MS: i64 = 20;

pub const BURST: &str = "WELCOME\nmsz 3 2\nsgt 100\nbct 0 0 1 0 0 0 0 0 0\nbct 1 0 0 0 0 0 0 0 0\nbct 2 0 0 0 0 0 0 0 0\n\
    bct 0 1 0 0 0 0 0 0 0\nbct 1 1 0 0 0 0 0 0 0\nbct 2 1 0 0 0 0 0 0 0\ntna red\ntna blue\n\
    pnw #0 0 0 2 1 red\npin #0 0 0 9 0 0 0 0 0 0\nplv #0 2\nenw #3 #-1 2 1\nenw #4 #0 1 1\n";

/// A client, and a server that says what a test says.
pub struct Watch {
    language: Language,
    pub client: Client,
    /// In nanoseconds.
    pub now: i64,
    pub scene: Scene,
    /// What follows is what there was since it was looked at last.
    events: Vec<ClientEvent>,
    pub asked: String,
    /// Least and most game time from one frame to the next, in units.
    pace: (f64, f64),
    ground_version: u64,
    /// The next tick, and its number in a row without gaps.
    tick: (u64, i64),
}

impl Watch {
    pub fn new(language: Language) -> Self {
        let config = ClientConfig {
            language,
            program: "test".to_owned(),
            token: None,
        };
        Self {
            language,
            client: Client::new(config, RealTime::ZERO),
            now: 0,
            scene: Scene::default(),
            events: vec![],
            asked: String::new(),
            pace: (f64::MAX, f64::MIN),
            ground_version: 0,
            tick: (0, 0),
        }
    }

    /// A client that received a world of the text protocol and shows it.
    pub fn live() -> Self {
        let mut watch = Self::new(Language::Text);
        watch.receive(BURST.as_bytes());
        watch.wait(200);
        assert_eq!(watch.scene.link, LinkState::Live);
        watch
    }

    /// A client that was greeted and received these frames.
    pub fn in_frames(messages: impl IntoIterator<Item = ToClient>) -> Self {
        let mut watch = Self::new(Language::Frames);
        watch.receive(b"WELCOME\n");
        for message in messages {
            watch.receive_frame(&message);
        }
        watch
    }

    pub fn real(&self) -> RealTime {
        RealTime::from_nanos(self.now)
    }

    pub fn receive(&mut self, bytes: &[u8]) {
        self.client.handle(bytes, self.real());
        self.after();
    }

    pub fn receive_frame(&mut self, message: &ToClient) {
        let mut frame = vec![];
        write_frame(&mut frame, message).unwrap();
        self.receive(&frame);
    }

    /// Lets milliseconds pass, with a frame at each.
    pub fn wait(&mut self, millis: i64) {
        self.wait_with_frames(millis, 1);
    }

    fn wait_with_frames(&mut self, frames: i64, millis: i64) {
        for _ in 0..frames {
            self.now += millis * MILLI;
            self.client.handle_timeout(self.real());
            let (before, now) = (self.scene.clock.game, self.real());
            self.client.scene(now, &mut self.scene);
            let passed = (self.scene.clock.game - before).as_units_f64();
            self.pace = (self.pace.0.min(passed), self.pace.1.max(passed));
        }
        self.after();
    }

    /// Lets milliseconds pass; ticks of the server come `late`.
    fn wait_with_ticks(&mut self, millis: i64, late: i64) {
        for _ in 0..millis {
            let slot = (self.now / MILLI - late).div_euclid(TICK_MS);
            if (self.now / MILLI - late) % TICK_MS == 0 && slot >= self.tick.1 {
                let (number, skipped) = (self.tick.0, (slot - self.tick.1) as u64);
                self.receive_frame(&ToClient::TickBegin { number, skipped });
                self.receive_frame(&ToClient::TickEnd { number });
                self.tick = (number + 1, slot + 1);
            }
            self.wait(1);
        }
    }

    fn after(&mut self) {
        let unsent = self.client.unsent().to_vec();
        self.client.sent(unsent.len());
        match self.language {
            Language::Text => self.asked.push_str(std::str::from_utf8(&unsent).unwrap()),
            Language::Frames => {
                let mut frames = unsent.strip_prefix(b"TRANTOR\n").unwrap_or(&unsent);
                let mut cutter = FrameCutter::new::<ToServer>();
                while let Some(frame) = cutter.next(&mut frames).unwrap() {
                    writeln!(self.asked, "{:?}", read_frame::<ToServer>(frame).unwrap()).unwrap();
                }
            }
        }
        self.events
            .extend(std::iter::from_fn(|| self.client.poll_event()));
    }

    fn request(&mut self, request: &str) -> Result<(), Refusal> {
        let (word, value) = request.split_once(' ').unwrap_or((request, ""));
        let number = || value.parse().expect(request);
        self.client.request(match word {
            "speed" => Control::SetFrequency(number()),
            "pause" => Control::Pause,
            "resume" => Control::Resume,
            "step" => Control::Step(Step::Units(1)),
            "seek" => Control::Seek(GameTime::from_units(value.parse().expect(request))),
            "watch" => return self.client.watch(Some(AgentId(number()))),
            _ => panic!("{request:?} is no request"),
        })
    }

    /// What a transcript calls `what`.
    fn value(&mut self, what: &str) -> String {
        let scene = &self.scene;
        let stats = self.client.stats(self.real());
        let team = |id: usize| scene.teams.get(id).map_or("-", |team| &*team.name);
        match what {
            "link" => format!("{:?}", scene.link),
            "agents" => listed(&scene.agents, |it| it.id.0.to_string()),
            "eggs" => listed(&scene.eggs, |it| {
                format!("{} {}", it.egg.0, team(it.team.0.into()))
            }),
            "teams" => listed(&scene.teams, |it| format!("{} {}", it.name, it.agents)),
            "of level 8" => listed(&scene.teams, |it| it.by_level[7].to_string()),
            "effects" => listed(&scene.effects, |it| match it.kind {
                EffectKind::Broadcast { text, spread } => {
                    let text = scene.text(text).escape_ascii();
                    let ring = spread.map_or_else(String::new, |spread| {
                        let way = if spread.faded(it.age_units) > 0.0 {
                            "at the edge"
                        } else {
                            "on its way"
                        };
                        format!(" {:.2} tiles, {way}", spread.radius(it.age_units))
                    });
                    format!("Broadcast {text}{ring}")
                }
                kind @ (EffectKind::Heard { .. } | EffectKind::Lost) => {
                    format!("{kind:?} by {} at {:.2}", it.agent.unwrap().0.0, it.x)
                }
                kind => format!("{kind:?}"),
            }),
            "ages" => listed(&scene.effects, |it| {
                format!("{:.2} {:.2}", it.age_units, it.progress)
            }),
            "elevations" => listed(&scene.elevations, |it| {
                format!("{:?} {:.2} {:?}", it.level, it.progress, scene.participants(it))
            }),
            "speed" => {
                let clock = &scene.clock;
                let paused = if clock.paused { " paused" } else { "" };
                let unconfirmed = if clock.unconfirmed { " unconfirmed" } else { "" };
                format!("{}{paused}{unconfirmed}", clock.frequency)
            }
            "game" => format!("{:.2}", scene.clock.game.as_units_f64()),
            "pace" => {
                let (least, most) = std::mem::replace(&mut self.pace, (f64::MAX, f64::MIN));
                format!("{least:.2} to {most:.2}")
            }
            "delay" => format!("{} ms", stats.display_delay_ns / MILLI),
            "target" => optional(self.client.recording().map(|it| it.target())),
            "food" => listed(&scene.agents, |it| {
                format!("{:.0}", it.food_left_units.unwrap_or(-1.0))
            }),
            "lag" => optional(scene.lag.as_deref()),
            "messages" => optional(stats.messages),
            "links" => optional(self.client.links()),
            "waiting" => optional(self.client.waiting()),
            "scores" => optional(self.client.take_scores().map(|it| it.len())),
            "winner" => format!("{:?}", scene.winner),
            "ground" => listed(&scene.ground.as_ref().unwrap().tiles, |it| format!("{:?}", it.0)),
            "changed tiles" => {
                let ground = scene.ground.as_ref().unwrap();
                let before = std::mem::replace(&mut self.ground_version, ground.version);
                match ground.changes_since(before) {
                    Some(places) => listed(places, |&it| format!("{it} {:?}", ground.tiles[it as usize].0)),
                    None => "all".to_owned(),
                }
            }
            "left out" => format!("{} strange, {} unknown", stats.ignored, stats.ignored_lines),
            "shown" => format!("{:?}", scene.shown),
            "asked" => std::mem::take(&mut self.asked).trim_end().replace('\n', ", "),
            "events" => listed(&std::mem::take(&mut self.events), |it| format!("{it:?}")),
            "feed" => {
                let feed: Vec<_> = std::iter::from_fn(|| self.client.poll_feed()).collect();
                listed(&feed, |it| format!("{:?}", it.kind))
            }
            agent => {
                let id = agent.strip_prefix("agent ").expect(agent).parse().expect(agent);
                let agent = scene.agent(AgentId(id));
                agent.map_or("none".to_owned(), |it| described(it, team(it.team.0.into())))
            }
        }
    }

    /// Plays a transcript; answers it with the values that there were.
    fn play(&mut self, transcript: &str) -> String {
        let (mut played, mut received) = (String::new(), vec![]);
        for line in transcript.lines() {
            match (line.strip_prefix("< "), self.language) {
                (Some(line), Language::Frames) => self.receive_frame(&frames::message(line)),
                (Some(line), Language::Text) => {
                    received.extend(unescaped(line));
                    received.push(b'\n');
                }
                // Lines of one piece.
                (None, _) if !received.is_empty() => self.receive(&std::mem::take(&mut received)),
                (None, _) => {}
            }
            if line == "<< burst" {
                self.receive(BURST.as_bytes());
            } else if line == "<< new" || line == "<< world" {
                let mut scene = std::mem::take(&mut self.scene);
                scene.clock = SceneClock::default();
                *self = match line {
                    "<< new" => Self::new(self.language),
                    _ => Self::in_frames(frames::WORLD.map(frames::message)),
                };
                self.scene = scene;
            } else if let Some(text) = line.strip_prefix("<< ") {
                self.receive(format!("{text}\n").as_bytes());
            } else if let Some((millis, late)) =
                line.strip_prefix(".. ").and_then(|line| line.split_once(' '))
            {
                self.wait_with_ticks(millis.parse().unwrap(), late.parse().unwrap());
            } else if let Some(millis) = line.strip_prefix(", ") {
                self.wait_with_frames(1, millis.parse().unwrap());
            } else if let Some(millis) = line.strip_prefix(". ") {
                self.wait(millis.parse().unwrap());
            }
            if let Some((request, _)) = line
                .strip_prefix("! ")
                .map(|it| it.split_once(" -> ").unwrap_or((it, "")))
            {
                match self.request(request) {
                    Ok(()) => writeln!(played, "! {request}"),
                    Err(error) => writeln!(played, "! {request} -> {error}"),
                }
                .unwrap();
                self.after();
            } else if let Some((what, _)) = line.strip_prefix("= ").and_then(|line| line.split_once(':')) {
                writeln!(played, "{}", format!("= {what}: {}", self.value(what)).trim_end()).unwrap();
            } else {
                writeln!(played, "{line}").unwrap();
            }
        }
        played
    }
}

/// An agent as it is shown.
fn described(agent: &SceneAgent, team: &str) -> String {
    let mut text = format!(
        "{team} {:?} ({:.2}, {:.2}) {:.2} {:?}",
        agent.level, agent.x, agent.y, agent.heading, agent.inventory.0
    );
    if let Some(action) = agent.action {
        write!(text, " {:?} {:.2}", action.kind, action.progress).unwrap();
    }
    if agent.held {
        text.push_str(" held");
    }
    text
}

fn optional(value: Option<impl Debug>) -> String {
    value.map_or("none".to_owned(), |it| format!("{it:?}"))
}

fn listed<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let byte = u8::from_str_radix(&part[1..3], 16).expect("an escape is \\xHH");
        bytes.push(byte);
        bytes.extend_from_slice(&part.as_bytes()[3..]);
    }
    bytes
}

#[test]
fn transcripts() {
    for (folder, language) in [("tests/text", Language::Text), ("tests/frames", Language::Frames)] {
        let play = |transcript: &str| Watch::new(language).play(transcript);
        trantor_transcript::check_folder(env!("CARGO_MANIFEST_DIR"), folder, play);
    }
}
