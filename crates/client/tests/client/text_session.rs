//! The same picture from any Zappy server, as far as its messages allow.
//!
//! `text/*.txt` are transcripts on a manual clock: `< LINE` from the server (`<< burst` is a whole world), `. MS` with a
//! frame at each millisecond, `! SPEED` from the user, and `= WHAT: VALUE` as it then must be. `BLESS=1` writes the values.

use std::fmt::Write;

use proptest::prelude::*;
use trantor_client::{Client, ClientConfig, ClientEvent, ControlRequest, Language, LinkState, Scene};
use trantor_model::AgentId;
use trantor_time::RealTime;

const MILLI: i64 = 1_000_000;

/// A client, and a server that says what a test says.
struct Watch {
    client: Client,
    now: i64,
    scene: Scene,
    events: Vec<ClientEvent>,
    asked: String,
}

const BURST: &str = "WELCOME\nmsz 3 2\nsgt 100\nbct 0 0 1 0 0 0 0 0 0\nbct 1 0 0 0 0 0 0 0 0\nbct 2 0 0 0 0 0 0 0 0\n\
    bct 0 1 0 0 0 0 0 0 0\nbct 1 1 0 0 0 0 0 0 0\nbct 2 1 0 0 0 0 0 0 0\ntna red\ntna blue\n\
    pnw #0 0 0 2 1 red\npin #0 0 0 9 0 0 0 0 0 0\nplv #0 2\nenw #3 #-1 2 1\nenw #4 #0 1 1\n";

impl Watch {
    fn new() -> Self {
        let config = ClientConfig {
            language: Language::Text,
            program: "test".to_owned(),
            token: None,
        };
        Self {
            client: Client::new(config, RealTime::ZERO),
            now: 0,
            scene: Scene::default(),
            events: vec![],
            asked: String::new(),
        }
    }

    /// A client that received a world and shows it.
    fn live() -> Self {
        let mut watch = Self::new();
        watch.hear(BURST.as_bytes());
        watch.wait(200);
        assert_eq!(watch.scene.link, LinkState::Live);
        watch
    }

    fn real(&self) -> RealTime {
        RealTime::from_nanos(self.now)
    }

    fn hear(&mut self, lines: &[u8]) {
        self.client.handle(lines, self.real());
        self.after();
    }

    /// Lets milliseconds pass, with a frame at each.
    fn wait(&mut self, millis: i64) {
        for _ in 0..millis {
            self.now += MILLI;
            self.client.handle_timeout(self.real());
            let now = self.real();
            self.client.scene(now, &mut self.scene);
        }
        self.after();
    }

    fn after(&mut self) {
        let unsent = self.client.unsent().to_vec();
        self.client.sent(unsent.len());
        self.asked.push_str(std::str::from_utf8(&unsent).unwrap());
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
    }

    /// What a transcript calls `what`. Requests and events are those since they were looked at last.
    fn value(&mut self, what: &str) -> String {
        let scene = &self.scene;
        let stats = self.client.stats(RealTime::from_nanos(self.now));
        let team = |id: usize| scene.teams.get(id).map_or("-", |team| &*team.name);
        match what {
            "link" => format!("{:?}", scene.link),
            "agents" => listed(&scene.agents, |it| it.id.0.to_string()),
            "eggs" => listed(&scene.eggs, |it| {
                format!("{} {}", it.id.0, team(it.team.0.into()))
            }),
            "teams" => listed(&scene.teams, |it| format!("{} {}", it.name, it.agents)),
            "effects" => listed(&scene.effects, |it| format!("{:?}", it.kind)),
            "rituals" => listed(&scene.rituals, |it| {
                format!("{:?} {:.2} {:?}", it.level, it.progress, scene.participants(it))
            }),
            "speed" => format!("{} {}", scene.clock.frequency, scene.clock.unconfirmed),
            "winner" => format!("{:?}", scene.winner),
            "ground" => listed(&scene.ground.as_ref().unwrap().tiles, |it| format!("{:?}", it.0)),
            "left out" => format!("{} strange, {} unknown", stats.ignored, stats.ignored_lines),
            "asked" => std::mem::take(&mut self.asked).trim_end().replace('\n', ", "),
            "events" => listed(&std::mem::take(&mut self.events), |it| format!("{it:?}")),
            "feed" => listed(
                &std::iter::from_fn(|| self.client.poll_feed()).collect::<Vec<_>>(),
                |it| format!("{:?}", it.kind),
            ),
            agent => {
                let id = agent
                    .strip_prefix("agent ")
                    .and_then(|id| id.parse().ok())
                    .expect(agent);
                let Some(agent) = scene.agent(AgentId(id)) else {
                    return "none".to_owned();
                };
                let mut text = format!(
                    "{} {:?} ({:.2}, {:.2}) {:.2} {:?}",
                    team(agent.team.0.into()),
                    agent.level,
                    agent.x,
                    agent.y,
                    agent.heading,
                    agent.inventory.0
                );
                if let Some(action) = agent.action {
                    write!(text, " {:?} {:.2}", action.kind, action.progress).unwrap();
                }
                if agent.held {
                    text.push_str(" held");
                }
                text
            }
        }
    }

    /// Plays a transcript; answers it with the values that there were.
    fn play(&mut self, transcript: &str) -> String {
        let (mut played, mut heard) = (String::new(), vec![]);
        for line in transcript.lines() {
            let said = line.strip_prefix("< ");
            if let Some(said) = said {
                heard.extend(unescaped(said));
                heard.push(b'\n');
            } else if !heard.is_empty() {
                // Lines of one piece.
                self.hear(&std::mem::take(&mut heard));
            }
            if line == "<< burst" {
                self.hear(BURST.as_bytes());
            } else if let Some(millis) = line.strip_prefix(". ") {
                self.wait(millis.parse().unwrap());
            } else if let Some(speed) = line.strip_prefix("! ") {
                let request = ControlRequest::SetFrequency(speed.parse().unwrap());
                self.client.request(request).unwrap();
                self.after();
            }
            match line.strip_prefix("= ").and_then(|line| line.split_once(':')) {
                Some((what, _)) => {
                    writeln!(played, "{}", format!("= {what}: {}", self.value(what)).trim_end())
                }
                None => writeln!(played, "{line}"),
            }
            .unwrap();
        }
        played
    }
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
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/text");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let transcript = std::fs::read_to_string(&path).unwrap();
        let played = Watch::new().play(&transcript);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, played).unwrap();
        } else {
            for (number, (is, should)) in played.lines().zip(transcript.lines()).enumerate() {
                assert_eq!(is, should, "{}:{}", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn agents_and_teams_without_end_are_bounded_and_counted() {
    let mut watch = Watch::live();
    let agents = (10..20_000).map(|id| format!("pnw #{id} 1 1 1 1 red\n"));
    watch.hear(agents.collect::<String>().as_bytes());
    watch.wait(1);
    let stats = watch.client.stats(watch.real());
    assert_eq!(stats.ignored, 20_000 - 10 + 1 - 10_000);
    let names = (0..3_000).map(|name| format!("tna team-{name}\n"));
    watch.hear(names.collect::<String>().as_bytes());
    watch.wait(1);
    assert_eq!(watch.scene.teams.len(), 1_024);
    watch.hear(format!("smg {}\n", "x".repeat(20_000)).as_bytes());
    assert_eq!(watch.client.stats(watch.real()).ignored_lines, 1);
}

/// Some servers send only tiles that change, and the whole map on request. A large map takes its time on a slow line,
/// and a tile that is never sent does not keep the world from being shown, whatever else is sent meanwhile.
#[test]
fn a_map_is_asked_for_if_it_is_not_being_sent_and_awaited_for_a_while() {
    for (size, rows_sent, asked) in [
        ("100 100", 100, "GRAPHIC\nmsz\nmsz\n"),
        ("100 100", 99, "GRAPHIC\nmsz\nmsz\nmsz\nmct\n"),
        ("100 1", 0, "GRAPHIC\nmsz\nmct\nmct\n"),
    ] {
        let mut watch = Watch::new();
        watch.hear(format!("WELCOME\nmsz {size}\nsgt 50\ntna red\npnw #0 0 0 1 1 red\n").as_bytes());
        for y in 0..rows_sent {
            assert!(watch.scene.link != LinkState::Live, "{size}");
            let row = (0..100).map(|x| format!("bct {x} {y} 0 0 0 0 0 0 0\n"));
            watch.hear(row.collect::<String>().as_bytes());
            watch.wait(100);
        }
        for step in 0..51 {
            watch.hear(format!("ppo #0 {} 0 1\n", step % 2).as_bytes());
            watch.wait(100);
        }
        assert_eq!(watch.scene.link, LinkState::Live, "{size}, {rows_sent} rows");
        assert!(
            watch.asked.starts_with(asked),
            "{size}, {rows_sent} rows: {}",
            watch.asked
        );
    }
}

/// As some servers answer a request for the map.
#[test]
fn a_map_on_one_line_or_in_bare_lines_is_understood() {
    let tiles: Vec<_> = (0..1_600)
        .map(|at| format!("{} {} 0 0 0 0 0 0 7", at % 40, at / 40))
        .collect();
    for (word, between) in [("bct", " "), ("mct", " "), ("bct", "\n")] {
        let mut watch = Watch::new();
        watch.hear(b"WELCOME\nmsz 40 40\nsgt 50\ntna red\n");
        watch.hear(format!("{word} {}\n", tiles.join(between)).as_bytes());
        watch.wait(200);
        assert_eq!(watch.scene.link, LinkState::Live, "{word}{between:?}");
        assert_eq!(watch.client.stats(watch.real()).ignored_lines, 0);
        let ground = watch.scene.ground.as_ref().unwrap();
        assert!(ground.tiles.iter().all(|tile| tile.0[6] == 7));
    }
}

fn line() -> impl Strategy<Value = String> {
    let number = || prop_oneof![8 => (0i64..5).prop_map(|n| n.to_string()), 1 => any::<i64>().prop_map(|n| n.to_string()), 1 => ".{0,3}"];
    let words = prop::sample::select(vec![
        "msz", "bct", "tna", "pnw", "ppo", "plv", "pin", "pex", "pbc", "pic", "pie", "pfk", "pdr", "pgt",
        "pdi", "enw", "eht", "ebo", "edi", "sgt", "sst", "seg", "smg", "suc", "sbp",
    ]);
    prop_oneof![
        5 => (words, prop::collection::vec(number(), 0..10)).prop_map(|(word, rest)| format!("{word} {}\n", rest.join(" "))),
        3 => (0u32..5, 0u16..3, 0u16..2, 1u8..5).prop_map(|(id, x, y, o)| format!("ppo #{id} {x} {y} {o}\n")),
        2 => (0u32..5, 0u16..3, 0u16..2).prop_map(|(id, x, y)| format!("pnw #{id} {x} {y} 1 1 red\n")),
        1 => (0u32..5, 0u32..5).prop_map(|(a, b)| format!("pic 1 1 1 #{a} #{b}\n")),
        1 => Just("pie 1 1 1\n".to_owned()),
        1 => (0u32..5, 0u32..5).prop_map(|(e, id)| format!("enw #{e} #{id} 1 1\nebo #{e}\n")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_lines_make_the_client_panic(lines in prop::collection::vec((line(), 0i64..40), 0..100), joined in any::<bool>()) {
        let mut watch = Watch::new();
        watch.hear(if joined { BURST.as_bytes() } else { b"WELCOME\n" });
        for (line, later) in lines {
            watch.hear(line.as_bytes());
            watch.wait(later.min(3));
            watch.now += later * MILLI;
            let _ = watch.client.request(ControlRequest::SetFrequency(1 + later as u32));
            let scene = &watch.scene;
            prop_assert!(scene.agents.windows(2).all(|pair| pair[0].id < pair[1].id));
            for agent in &scene.agents {
                prop_assert!(agent.x.is_finite() && agent.y.is_finite());
            }
        }
    }

    #[test]
    fn no_text_bytes_make_the_client_panic(bytes in prop::collection::vec(any::<u8>(), 0..500), size in 1usize..40) {
        let mut watch = Watch::new();
        for piece in bytes.chunks(size) {
            watch.client.handle(piece, watch.real());
            watch.wait(1);
        }
    }
}
