//! The same picture from any Zappy server, as far as its messages allow.

#![allow(clippy::unwrap_used, reason = "a test that is wrong should stop")]

use proptest::prelude::*;
use trantor_client::scene::TEAM_UNKNOWN;
use trantor_client::{
    Client, ClientConfig, ClientEvent, ControlError, ControlRequest, EffectKind, Language, LinkState, Scene,
};
use trantor_model::{AgentId, CommandKind, Counts, Level, TeamId, Tile};
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

const BURST: &str = "msz 3 2\nsgt 100\nbct 0 0 1 0 0 0 0 0 0\nbct 1 0 0 0 0 0 0 0 0\nbct 2 0 0 0 0 0 0 0 0\n\
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

    /// Joined, told of a world, and showing it.
    fn live() -> Self {
        let mut watch = Self::new();
        watch.hear("WELCOME\n");
        watch.hear(BURST);
        watch.wait(200);
        assert_eq!(watch.scene.link, LinkState::Live);
        watch
    }

    fn real(&self) -> RealTime {
        RealTime::from_nanos(self.now)
    }

    fn hear(&mut self, lines: &str) {
        self.client.handle(lines.as_bytes(), self.real());
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

    fn agent(&self, id: u32) -> &trantor_client::SceneAgent {
        self.scene.agent(AgentId(id)).unwrap()
    }

    fn effects(&self) -> Vec<EffectKind> {
        self.scene.effects.iter().map(|effect| effect.kind).collect()
    }
}

#[test]
fn what_there_is_is_no_news() {
    let mut watch = Watch::live();
    assert_eq!(watch.asked, "GRAPHIC\n");
    assert!(watch.effects().is_empty(), "nobody was born just now");
    assert!(watch.client.poll_feed().is_none());
    let agent = watch.agent(0);
    assert_eq!(
        (agent.x, agent.y, agent.level.get(), agent.team),
        (0.0, 0.0, 2, TeamId(0))
    );
    assert_eq!(agent.inventory, Counts([9, 0, 0, 0, 0, 0, 0]));
    assert_eq!(agent.food_left_units, None, "text does not tell it");
    let ground = watch.scene.ground.as_ref().unwrap();
    assert_eq!(ground.tiles[0], Counts([1, 0, 0, 0, 0, 0, 0]));
    let eggs: Vec<_> = watch.scene.eggs.iter().map(|egg| (egg.id.0, egg.team)).collect();
    assert_eq!(eggs, [(3, TEAM_UNKNOWN), (4, TeamId(0))]);
    let teams: Vec<_> = watch.scene.teams.iter().map(|team| &*team.name).collect();
    assert_eq!(teams, ["red", "blue"]);
    assert_eq!(watch.scene.clock.frequency, 100);
}

#[test]
fn a_step_is_shown_one_action_late_and_smooth() {
    let mut watch = Watch::live();
    // Three steps to the east, the last across the seam, as fast as an agent can: every 70 ms, give or take.
    let mut way = vec![];
    for (x, jitter) in [(1, 3), (2, -4), (0, 2)] {
        for _ in 0..70 + jitter {
            watch.wait(1);
            way.push(watch.agent(0).x);
        }
        watch.hear(&format!("ppo #0 {x} 0 2\n"));
    }
    for _ in 0..150 {
        watch.wait(1);
        way.push(watch.agent(0).x);
    }
    let moved: Vec<f32> = way
        .windows(2)
        .map(|pair| (pair[1] - pair[0] + 1.5).rem_euclid(3.0) - 1.5)
        .collect();
    assert!(moved.iter().all(|step| (-1e-4..0.03).contains(step)), "{moved:?}");
    let first = moved.iter().position(|step| *step > 0.0).unwrap();
    assert!(
        (95..110).contains(&first),
        "a step is shown when it is over, less a delay: {first}"
    );
    let moving = moved.iter().filter(|step| **step > 0.0).count();
    assert!(
        (200..=220).contains(&moving),
        "three steps of 70 ms without a rest: {moving}"
    );
    assert_eq!(watch.agent(0).tile, Tile { x: 0, y: 0 });
    assert_eq!(watch.client.stats(watch.real()).late, 0);
}

#[test]
fn turns_and_actions_take_their_time() {
    let mut watch = Watch::live();
    watch.wait(100);
    watch.hear("ppo #0 0 0 3\n");
    watch.wait(65);
    let agent = watch.agent(0);
    let action = agent.action.unwrap();
    assert_eq!(action.kind, CommandKind::Right);
    assert!((0.3..0.7).contains(&action.progress));
    assert!(agent.heading > 1.7 && agent.heading < 3.0);
    watch.hear("pgt #0 0\npin #0 0 0 10 0 0 0 0 0 0\nbct 0 0 0 0 0 0 0 0 0\n");
    watch.wait(80);
    assert_eq!(watch.agent(0).action.unwrap().kind, CommandKind::Take);
    assert_eq!(watch.agent(0).inventory.0[0], 9, "not yet");
    watch.wait(60);
    assert_eq!(watch.agent(0).inventory.0[0], 10);
    assert!(matches!(watch.effects()[..], [EffectKind::Took { .. }]));
    watch.hear("pfk #0\n");
    watch.wait(200);
    assert_eq!(watch.agent(0).action.unwrap().kind, CommandKind::Fork);
}

#[test]
fn a_push_slides_and_a_ritual_builds_up() {
    let mut watch = Watch::live();
    watch.hear("pnw #1 0 0 1 2 blue\npin #1 0 0 9 0 0 0 0 0 0\nplv #1 2\nebo #4\n");
    watch.wait(150);
    assert_eq!(watch.effects(), [EffectKind::Birth], "the egg did not break");
    assert_eq!(watch.scene.eggs.len(), 1);
    assert_eq!(watch.agent(1).level.get(), 2);
    // To the west, over the seam: from 3, which is 0, to 2.
    watch.hear("ppo #0 2 0 2\npex #1\n");
    watch.wait(110);
    let x = watch.agent(0).x;
    assert!(x > 2.0 && x < 3.0, "on its way: {x}");
    assert_eq!(watch.agent(1).action.map(|action| action.kind), None);
    watch.hear("pic 0 0 2 #1\n");
    watch.wait(100 + 1_500);
    let ritual = watch.scene.rituals[0];
    assert!((0.45..0.55).contains(&ritual.progress), "{ritual:?}");
    assert_eq!(watch.scene.participants(&ritual), [AgentId(1)]);
    assert!(watch.agent(1).held);
    watch.hear("plv #1 3\npie 0 0 1\nbct 0 0 0 0 0 0 0 0 0\n");
    watch.wait(110);
    assert!(watch.scene.rituals.is_empty() && !watch.agent(1).held);
    let level = Level::new(2).unwrap();
    assert!(
        watch
            .effects()
            .contains(&EffectKind::RitualEnded { level, success: true })
    );
    watch.hear("pdi #1\nseg blue\nsmg good game\n");
    watch.wait(110);
    assert_eq!(watch.scene.agents.len(), 1);
    assert_eq!(watch.scene.winner, Some(TeamId(1)));
    let text = "good game".to_owned();
    assert!(watch.events.contains(&ClientEvent::Message { text }));
}

#[test]
fn a_ritual_told_once_for_each_who_takes_part_is_one() {
    for end in ["pie 0 0 success\n", "pie 0 0 3\n", "pie 0 0 1\npie 0 0 1\n"] {
        let mut watch = Watch::live();
        watch.hear("pnw #1 0 0 1 1 blue\n");
        for pic in ["pic 0 0 2 #0\npic 0 0 2 #0\n", "pic 0 0 2 #0\npic 0 0 2 #1\n"] {
            let told = watch.client.stats(watch.real()).ignored;
            watch.hear(pic);
            watch.wait(200);
            assert!(watch.agent(0).held);
            watch.wait(2_800);
            watch.hear(end);
            watch.wait(150);
            assert!(watch.scene.rituals.is_empty(), "{pic:?} {end:?}");
            assert!(!watch.agent(0).held && !watch.agent(1).held);
            let extra = watch.client.stats(watch.real()).ignored - told;
            assert_eq!(extra, end.lines().count() as u64 - 1, "a second end is counted");
        }
    }
    // Who comes later may begin one of its own.
    let mut watch = Watch::live();
    watch.hear("pnw #1 0 0 1 1 blue\npic 0 0 2 #0\n");
    watch.wait(1_000);
    watch.hear("pic 0 0 2 #1\n");
    watch.wait(2_000);
    watch.hear("pie 0 0 1\n");
    watch.wait(150);
    assert!(watch.agent(1).held && !watch.agent(0).held);
}

#[test]
fn habits_of_other_servers_are_taken() {
    let mut watch = Watch::live();
    // The egg before the agent, plain numbers, an agent told twice, a team that was never told.
    watch.hear("ebo 3\npnw 7 2 1 4 1 green team\npnw 7 2 1 4 1 green team\npin 7 2 1 9 0 0 0 0 0 0\n");
    // Nonsense: none of it exists, or it is off the map, or it is of another protocol.
    watch.hear("ppo #9 0 0 1\nbct 7 7 1 1 1 1 1 1 1\npie 1 1 1\nedi #99\npgt #9 0\npsb 4\n\u{0}\n");
    watch.wait(150);
    assert_eq!(watch.scene.link, LinkState::Live);
    assert_eq!(watch.agent(7).team, TeamId(2));
    assert_eq!(&*watch.scene.teams[2].name, "green team");
    assert_eq!(watch.scene.teams[2].agents, 1);
    assert_eq!(watch.scene.eggs.len(), 1);
    let stats = watch.client.stats(watch.real());
    assert_eq!((stats.ignored, stats.ignored_lines), (5, 2));
}

/// Each line is one that some public server writes.
#[test]
fn lines_as_other_servers_write_them_are_shown_and_none_is_lost_in_silence() {
    let mut watch = Watch::live();
    // CRLF, tabs, several spaces, a team behind two of them or none at all, numbers that were used before, a lower
    // one than the last, names that are no Unicode, an egg whose layer nobody knows, a broadcast of several words, an
    // inventory without a tile.
    watch.hear("pnw\t#8  1 1\t2 1  red \r\nplv #8 3\r\n");
    watch.hear("pnw #6 1 1 2 1\n");
    watch.hear("pdi #6\npnw #6 2 0 1 1 blue\n");
    watch
        .client
        .handle(b"tna caf\xe9\npnw 9 0 1 1 1 caf\xe9\ntna caf\xe8\n", watch.real());
    watch.hear("pin #8 1 0 0 0 0 0 5\n");
    watch.hear("enw #30 #77 1 1\npbc #8 attack   the\tnorth, now\n");
    watch.wait(300);
    assert_eq!((watch.agent(8).team, watch.agent(8).level.get()), (TeamId(0), 3));
    assert_eq!(watch.agent(8).inventory, Counts([1, 0, 0, 0, 0, 0, 5]));
    assert_eq!(
        watch.agent(6).team,
        TeamId(1),
        "its number was somebody else's before"
    );
    let teams: Vec<_> = watch.scene.teams.iter().map(|team| &*team.name).collect();
    assert_eq!(teams, ["red", "blue", "?", "café", "cafè"]);
    let egg = watch.scene.eggs.iter().find(|egg| egg.id.0 == 30).unwrap();
    assert_eq!(egg.team, TEAM_UNKNOWN);
    let stats = watch.client.stats(watch.real());
    assert_eq!((stats.ignored, stats.ignored_lines), (0, 0));

    // What cannot be shown is counted: as strange if it contradicts the world, as unknown if it is no line of it.
    let strange = [
        "ppo #99 0 0 1",
        "pin #99 0 0 1 1 1 1 1 1 1",
        "plv #99 2",
        "bct 9 9 1 1 1 1 1 1 1",
        "msz 30 20",
        "pie 2 1 1",
        "edi #99",
        "pdi #99",
        "pgt #99 1",
        "pbc #99 hello",
        "pex #99",
    ];
    let unknown = [
        "ko",
        "suc",
        "sbp",
        "bct 0.5 0 1 1 1 1 1 1 1",
        "sgt 12.5",
        "sgt -3",
        "ppo #8 1 1 north",
        "plv #8 nine",
        "pin #8 1 1 -1 0 0 0 0 0 0",
        "pmv 8 1 1",
        "enw #31 1 1",
        "pie 1 1",
        "bct 1 1 1 2 3",
    ];
    for line in strange.iter().chain(&unknown) {
        watch.hear(&format!("{line}\n"));
    }
    watch.hear(&format!("smg {}\n", "x".repeat(20_000)));
    watch.wait(300);
    assert_eq!(watch.scene.link, LinkState::Live);
    let stats = watch.client.stats(watch.real());
    assert_eq!(
        (stats.ignored, stats.ignored_lines),
        (strange.len() as u64, unknown.len() as u64 + 1)
    );
}

/// What a server may say without end is bounded by what a world may hold.
#[test]
fn agents_without_end_are_bounded_and_counted() {
    let mut watch = Watch::live();
    let mut lines = String::new();
    for id in 10..20_000 {
        lines.push_str(&format!("pnw #{id} 1 1 1 1 red\n"));
    }
    watch.hear(&lines);
    watch.wait(1);
    let stats = watch.client.stats(watch.real());
    assert_eq!(stats.ignored, 20_000 - 10 + 1 - 10_000);
    let mut names = String::new();
    for name in 0..3_000 {
        names.push_str(&format!("tna team-{name}\n"));
    }
    watch.hear(&names);
    watch.wait(1);
    assert_eq!(watch.scene.teams.len(), 1_024);
}

#[test]
fn a_server_that_tells_nothing_by_itself_is_asked() {
    let mut watch = Watch::new();
    watch.hear("BIENVENUE\n");
    watch.wait(2_100);
    assert_eq!(watch.asked, "GRAPHIC\nmsz\nsgt\ntna\nmct\n");
    watch.hear("msz 2 1\nsgt 50\ntna red\nbct 0 0 1 0 0 0 0 0 0\nbct 1 0 2 0 0 0 0 0 0\n");
    watch.wait(200);
    assert_eq!(watch.scene.link, LinkState::Live);
    assert_eq!(watch.scene.ground.as_ref().unwrap().tiles[1].0[0], 2);
}

/// Servers in C easily send the one that ends a string.
#[test]
fn nuls_behind_line_feeds_hide_no_line() {
    let mut watch = Watch::new();
    watch.hear("WELCOME\n\0");
    watch.hear(&BURST.replace('\n', "\n\0"));
    watch.wait(200);
    assert_eq!(watch.scene.link, LinkState::Live);
    assert_eq!(watch.scene.agents.len(), 1);
    assert_eq!(watch.client.stats(watch.real()).ignored_lines, 0);
}

/// However much else is told meanwhile.
#[test]
fn a_tile_that_is_never_told_does_not_keep_the_world_from_being_shown() {
    let mut watch = Watch::new();
    watch.hear("WELCOME\nmsz 2 1\nsgt 50\ntna red\npnw #0 0 0 1 1 red\nbct 1 0 -1 0 0 0 0 0 0\n");
    for step in 0..60 {
        assert!(matches!(
            watch.scene.link,
            LinkState::Loading { .. } | LinkState::Connecting
        ));
        watch.wait(100);
        watch.hear(&format!("ppo #0 {} 0 1\nmsz 2 1\n", step % 2));
        if step == 9 {
            watch.hear("bct 0 0 1 0 0 0 0 0 0\n");
        }
    }
    watch.wait(100);
    assert_eq!(
        watch.scene.link,
        LinkState::Live,
        "five seconds after the last tile"
    );
    assert!(watch.asked.ends_with("mct\n"), "{}", watch.asked);
}

/// Some servers tell only tiles that change, and the whole map to who asks.
#[test]
fn a_map_of_which_single_tiles_are_told_is_asked_for() {
    let mut watch = Watch::new();
    watch.hear("WELCOME\nmsz 40 1\nsgt 50\ntna red\n");
    for x in 0..20 {
        assert!(!watch.asked.contains("mct\n"), "not before two seconds: {x}");
        watch.hear(&format!("bct {x} 0 0 0 0 0 0 0 0\n"));
        watch.wait(100);
    }
    assert_eq!(watch.asked, "GRAPHIC\nmsz\nmct\n");
    for x in 0..40 {
        watch.hear(&format!("bct {x} 0 1 0 0 0 0 0 0\n"));
    }
    watch.wait(200);
    assert_eq!(watch.scene.link, LinkState::Live);
}

/// As some servers answer who asks for the map.
#[test]
fn a_map_on_one_line_or_in_bare_lines_is_understood() {
    let tiles: Vec<_> = (0..1_600)
        .map(|at| format!("{} {} 0 0 0 0 0 0 7", at % 40, at / 40))
        .collect();
    for answer in [
        format!("bct {}\n", tiles.join(" ")),
        format!("mct {}\n", tiles.join(" ")),
        format!("bct {}\n", tiles.join("\n")),
    ] {
        let mut watch = Watch::new();
        watch.hear("WELCOME\nmsz 40 40\nsgt 50\ntna red\n");
        watch.hear(&answer);
        watch.wait(200);
        assert_eq!(watch.scene.link, LinkState::Live, "{}", &answer[..60]);
        assert_eq!(watch.client.stats(watch.real()).ignored_lines, 0);
        let ground = watch.scene.ground.as_ref().unwrap();
        assert!(ground.tiles.iter().all(|tile| tile.0[6] == 7));
    }
}

/// A large map takes its time on a slow line.
#[test]
fn a_map_that_is_being_told_is_not_asked_for() {
    let mut watch = Watch::new();
    watch.hear("WELCOME\nmsz 100 100\nsgt 50\ntna red\n");
    for y in 0..100 {
        for x in 0..100 {
            watch.hear(&format!("bct {x} {y} 0 0 0 0 0 0 0\n"));
        }
        watch.wait(100);
    }
    assert_eq!(watch.scene.link, LinkState::Live);
    assert!(!watch.asked.contains("mct\n"), "{}", watch.asked);
}

#[test]
fn a_server_that_never_pauses_is_shown_once_all_tiles_were_told() {
    let mut watch = Watch::new();
    watch.hear("WELCOME\n");
    watch.hear(BURST);
    for _ in 0..102 {
        watch.wait(50);
        watch.hear("bct 0 0 1 0 0 0 0 0 0\n");
    }
    assert_eq!(watch.scene.link, LinkState::Live);
}

#[test]
fn resources_that_grow_unsaid_are_asked_for_and_silence_is_noticed() {
    let mut watch = Watch::live();
    watch.wait(2_500);
    assert!(watch.asked.contains("mct\n"));
    watch.wait(8_000);
    assert!(watch.asked.contains("msz\n"), "somebody there?");
    assert!(matches!(watch.scene.link, LinkState::Silent { for_ms: 10_000.. }));
    watch.hear("msz 3 2\n");
    watch.wait(1);
    assert_eq!(watch.scene.link, LinkState::Live);
    watch.wait(30_100);
    assert!(matches!(watch.scene.link, LinkState::Ended { .. }));
}

#[test]
fn the_slider_works_with_any_server() {
    let mut watch = Watch::live();
    watch.client.request(ControlRequest::SetFrequency(200)).unwrap();
    watch.client.request(ControlRequest::SetFrequency(300)).unwrap();
    watch.client.request(ControlRequest::SetFrequency(400)).unwrap();
    watch.wait(1);
    assert!(
        watch.asked.ends_with("GRAPHIC\nsst 200\nsst 300\n"),
        "{}",
        watch.asked
    );
    assert_eq!(
        (watch.scene.clock.frequency, watch.scene.clock.unconfirmed),
        (400, true)
    );
    watch.hear("sgt 200\n");
    watch.wait(1);
    assert!(watch.asked.ends_with("sst 400\n"), "{}", watch.asked);
    assert_eq!(watch.scene.clock.frequency, 400);
    watch.hear("sgt 300\nsbp\n");
    watch.wait(1);
    assert_eq!(
        (watch.scene.clock.frequency, watch.scene.clock.unconfirmed),
        (300, false)
    );
    assert!(matches!(watch.events.last(), Some(ClientEvent::Refused { .. })));
    assert_eq!(
        watch.client.request(ControlRequest::Pause),
        Err(ControlError::NotInText)
    );
}

#[test]
fn a_server_without_text_viewers_is_told_apart() {
    let mut watch = Watch::new();
    watch.hear("WELCOME\nko\n");
    assert!(
        matches!(&watch.events[..], [ClientEvent::Ended { reason, .. }] if reason.contains("text viewers"))
    );
}

fn line() -> impl Strategy<Value = String> {
    let number = || prop_oneof![8 => (0i64..5).prop_map(|n| n.to_string()), 1 => any::<i64>().prop_map(|n| n.to_string()), 1 => ".{0,3}"];
    let id = || {
        prop_oneof![
            (0u32..5).prop_map(|n| format!("#{n}")),
            (0u32..5).prop_map(|n| n.to_string())
        ]
    };
    let words = prop::sample::select(vec![
        "msz", "bct", "tna", "pnw", "ppo", "plv", "pin", "pex", "pbc", "pic", "pie", "pfk", "pdr", "pgt",
        "pdi", "enw", "eht", "ebo", "edi", "sgt", "sst", "seg", "smg", "suc", "sbp",
    ]);
    prop_oneof![
        5 => (words, id(), prop::collection::vec(number(), 0..9)).prop_map(|(word, id, rest)| format!("{word} {id} {}\n", rest.join(" "))),
        3 => (0u32..5, 0u16..3, 0u16..2, 1u8..5).prop_map(|(id, x, y, o)| format!("ppo #{id} {x} {y} {o}\n")),
        2 => (0u32..5, 0u16..3, 0u16..2).prop_map(|(id, x, y)| format!("pnw #{id} {x} {y} 1 1 red\n")),
        1 => (0u32..5).prop_map(|id| format!("pdi #{id}\n")),
        1 => (0u32..5, 0u32..5).prop_map(|(a, b)| format!("pic 1 1 1 #{a} #{b}\n")),
        1 => Just("pie 1 1 1\n".to_owned()),
        1 => (0u32..5, 0u32..7).prop_map(|(id, i)| format!("pgt #{id} {i}\n")),
        1 => (0u32..5, 0u32..5).prop_map(|(e, id)| format!("enw #{e} #{id} 1 1\nebo #{e}\n")),
        1 => (1u32..20_000).prop_map(|f| format!("sgt {f}\n")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_lines_make_the_client_panic(lines in prop::collection::vec((line(), 0i64..40), 0..100), told in any::<bool>()) {
        let mut watch = Watch::new();
        watch.hear("WELCOME\n");
        if told {
            watch.hear(BURST);
        }
        for (line, later) in lines {
            watch.hear(&line);
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
