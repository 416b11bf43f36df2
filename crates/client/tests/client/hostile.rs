//! A server that sends anything at all: the client ends the connection or goes on, within its limits, and never panics.
//! Maps in other forms, as some text servers send them.

use proptest::prelude::*;
use trantor_client::timeline::PENDING_MAX;
use trantor_client::{Language, LinkState, Scene};
use trantor_model::{AgentId, Change, Control, Direction, MoveKind, Tile};
use trantor_protocol::FrameError;
use trantor_protocol::wire::{ToClient, read_frame, write_frame};
use trantor_time::{GameTime, RealTime};

use crate::frames::{WORLD, message as words};
use crate::transcripts::{BURST, MILLI, Watch};

/// What is shown lies 1,500 ns behind: random messages come within a few of these.
const QUICK_WORLD: [&str; 5] = ["hello 0 1", "clock 0 0 1", "ground 80", "agents 0 2", "end 0"];

fn frame(message: &ToClient) -> Vec<u8> {
    let mut out = vec![];
    write_frame(&mut out, message).unwrap();
    out
}

#[test]
fn changes_for_the_far_future_are_bounded() {
    let far = (0..40_000).map(|turn| Change::Moved {
        agent: AgentId(turn % 2),
        tile: Tile { x: 1, y: 1 },
        facing: Direction::ALL[turn as usize % 4],
        how: [MoveKind::Pushed, MoveKind::Walked, MoveKind::Turned][turn as usize % 3],
    });
    let message = ToClient::Changes {
        at: GameTime::from_units(i64::MAX),
        changes: far.collect(),
    };
    let mut watch = Watch::in_frames(WORLD.map(words));
    for _ in 0..10 {
        watch.receive_frame(&message);
    }
    watch.wait(1_000);
    assert_eq!(watch.scene.link, LinkState::Live);
    let stats = watch.client.stats(watch.real());
    assert_eq!(stats.pending, PENDING_MAX);
    assert_eq!(stats.hurried as usize, 400_000 - PENDING_MAX);
}

#[test]
fn a_world_without_end_is_bounded() {
    let parts = (0..11).map(|part| words(&format!("agents {} {}", part * 10_000, (part + 1) * 10_000)));
    let mut watch = Watch::in_frames(WORLD[..3].iter().map(|line| words(line)).chain(parts));
    watch.wait(1);
    let LinkState::Ended { reason } = &watch.scene.link else {
        panic!("{:?}", watch.scene.link);
    };
    assert!(reason.contains("more than 100000 agents"), "{reason}");
}

#[test]
fn agents_and_teams_without_end_are_bounded_and_counted() {
    let mut watch = Watch::live();
    let agents = (10..20_000).map(|id| format!("pnw #{id} 1 1 1 1 red\n"));
    watch.receive(agents.collect::<String>().as_bytes());
    watch.wait(1);
    let stats = watch.client.stats(watch.real());
    assert_eq!(stats.ignored, 20_000 - 10 + 1 - 10_000);
    let names = (0..3_000).map(|name| format!("tna team-{name}\n"));
    watch.receive(names.collect::<String>().as_bytes());
    watch.wait(1);
    assert_eq!(watch.scene.teams.len(), 1_024);
    watch.receive(format!("smg {}\n", "x".repeat(20_000)).as_bytes());
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
        let mut watch = Watch::new(Language::Text);
        watch.receive(format!("WELCOME\nmsz {size}\nsgt 50\ntna red\npnw #0 0 0 1 1 red\n").as_bytes());
        for y in 0..rows_sent {
            assert!(watch.scene.link != LinkState::Live, "{size}");
            let row = (0..100).map(|x| format!("bct {x} {y} 0 0 0 0 0 0 0\n"));
            watch.receive(row.collect::<String>().as_bytes());
            watch.wait(100);
        }
        for step in 0..51 {
            watch.receive(format!("ppo #0 {} 0 1\n", step % 2).as_bytes());
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

/// The lines of a join, from a server that names agents by plain numbers; teams named after no colour, an elevation, an egg whose
/// layer lives.
const JOIN: &str = "msz 3 2\nsgt 50\nbct 0 0 1 0 0 0 0 0 0\nbct 1 0 0 2 0 0 0 0 0\nbct 2 0 0 0 0 0 0 0 3\n\
    bct 0 1 0 0 0 0 0 0 0\nbct 1 1 4 0 0 0 0 0 0\nbct 2 1 0 0 0 0 0 0 0\ntna owls\ntna bats\ntna crows\n\
    pnw 0 0 0 2 2 owls\npin 0 0 0 9 0 0 0 0 0 0\nplv 0 2\nppo 0 0 0 2\npnw 5 1 1 1 1 bats\npin 5 1 1 3 1 0 0 0 0 0\n\
    plv 5 1\nppo 5 1 1 1\npnw 7 1 1 3 1 bats\npin 7 1 1 2 0 0 0 0 0 0\nplv 7 1\nenw 3 -1 2 1\nenw 4 0 1 1\npic 1 1 1 5 7\n";

/// What is shown of a world: whatever a person sees of it.
fn picture(watch: &Watch) -> String {
    let scene = &watch.scene;
    let ground = scene.ground.as_ref().map(|ground| &ground.tiles);
    let agents = scene.agents.iter().map(|it| {
        let about = (it.id, it.team, it.level, it.x.to_bits(), it.y.to_bits());
        format!("{about:?} {:?} {:?}\n", it.heading, it.inventory)
    });
    let teams = scene
        .teams
        .iter()
        .map(|it| format!("{} {:?}\n", it.name, it.by_level));
    let eggs = scene.eggs.iter().map(|it| format!("{it:?}\n"));
    let elevations = scene
        .elevations
        .iter()
        .map(|it| format!("{:?} {:?}\n", it.level, scene.participants(it)));
    let all: String = agents.chain(teams).chain(eggs).chain(elevations).collect();
    format!("{:?} {}\n{ground:?}\n{all}", scene.link, scene.clock.frequency)
}

/// A client that was sent these lines, and nothing for a while.
fn joined<'a>(lines: impl IntoIterator<Item = &'a str>) -> Watch {
    let mut watch = Watch::new(Language::Text);
    watch.receive(b"WELCOME\n");
    for line in lines {
        watch.receive(format!("{line}\n").as_bytes());
    }
    watch.wait(200);
    watch
}

/// Some servers send agents before the map, or never send its size unasked: what came before is not lost.
#[test]
fn a_size_that_does_not_come_is_asked_for() {
    let mut lines: Vec<&str> = JOIN.lines().collect();
    let size = lines.remove(0);
    let expected = picture(&joined(JOIN.lines()));
    let mut watch = joined(lines);
    watch.wait(1_900);
    assert_eq!(watch.asked, "GRAPHIC\nmsz\nsgt\ntna\nmct\n");
    watch.receive(format!("{size}\n").as_bytes());
    watch.wait(200);
    assert_eq!(picture(&watch), expected);
    assert!(expected.starts_with("Live 50"), "{expected}");
}

/// As some servers answer a request for the map.
#[test]
fn a_map_on_one_line_or_in_bare_lines_is_understood() {
    let tiles: Vec<_> = (0..1_600)
        .map(|at| format!("{} {} 0 0 0 0 0 0 7", at % 40, at / 40))
        .collect();
    for (word, between) in [("bct", " "), ("mct", " "), ("bct", "\n")] {
        let mut watch = Watch::new(Language::Text);
        watch.receive(b"WELCOME\nmsz 40 40\nsgt 50\ntna red\n");
        watch.receive(format!("{word} {}\n", tiles.join(between)).as_bytes());
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

/// A message made of bytes. Most are small, so that they are read as agents, tiles and teams that there are; times are
/// billionths of a unit.
fn message() -> impl Strategy<Value = ToClient> {
    let token = prop_oneof![
        16 => (0u8..5).prop_map(|byte| vec![byte]),
        2 => (0u8..=255, 1u8..32).prop_map(|(low, high)| vec![low | 0x80, high]),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    // Changes come most often, and each begins with its kind.
    let head = prop_oneof![
        2 => (0u8..19).prop_map(|kind| vec![kind]),
        3 => (0x80u8..=255, 0u8..24, 0u8..16).prop_map(|(low, high, kind)| vec![8, low, high, 1, kind]),
    ];
    (head, prop::collection::vec(token, 60)).prop_filter_map("bytes of no message", |(head, tokens)| {
        let bytes = [head, tokens.concat()].concat();
        match read_frame::<ToClient>(&bytes) {
            Err(FrameError::Trailing { extra }) => read_frame(&bytes[..bytes.len() - extra]).ok(),
            read => read.ok(),
        }
    })
}

/// Whatever was sent, the scene can be drawn.
fn check(scene: &Scene) {
    let Some(ground) = &scene.ground else { return };
    let tiles = ground.tiles.len();
    assert_eq!(tiles, ground.size.area());
    assert!(ground.changed.iter().all(|place| (*place as usize) < tiles));
    assert!(scene.agents.windows(2).all(|pair| pair[0].id < pair[1].id));
    for agent in &scene.agents {
        for (at, side) in [(agent.x, ground.size.width()), (agent.y, ground.size.height())] {
            assert!((-4.0..f32::from(side) + 4.0).contains(&at), "{agent:?}");
        }
        assert!((0.0..std::f32::consts::TAU).contains(&agent.heading), "{agent:?}");
        if let Some(action) = agent.action {
            assert!((0.0..=1.0).contains(&action.progress) && action.remaining_units >= 0.0);
        }
    }
    for elevation in &scene.elevations {
        let held = scene.participants(elevation);
        assert_eq!(held.len(), elevation.participants.len as usize);
        assert!(
            held.iter()
                .all(|id| scene.agent(*id).is_some_and(|agent| agent.held))
        );
    }
    for effect in &scene.effects {
        assert!((0.0..=1.0).contains(&effect.progress) && effect.age_units.is_finite());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_message_makes_the_client_panic(messages in prop::collection::vec((message(), 0i64..200), 0..60)) {
        let (mut client, mut scene, mut now) = (Watch::new(Language::Frames).client, Scene::default(), 0);
        client.closed("to begin with", RealTime::ZERO);
        for (message, later) in messages {
            let real = RealTime::from_nanos(now);
            // What has ended is brought back, so that one wrong message does not hide the rest.
            if client.next_timeout().is_none() {
                client = Watch::new(Language::Frames).client;
                client.handle(b"WELCOME\n", real);
                for line in QUICK_WORLD {
                    client.handle(&frame(&words(line)), real);
                }
            }
            client.handle(&frame(&message), real);
            now += later;
            let real = RealTime::from_nanos(now);
            client.handle_timeout(real);
            client.scene(real, &mut scene);
            check(&scene);
            let _ = client.request(Control::SetFrequency(1 + (now % 5_000) as u32));
            let _ = client.request(if now % 2 == 0 { Control::Pause } else { Control::Resume });
            let _ = client.request(Control::Seek(GameTime::from_nanounits(now.into())));
            while client.poll_feed().is_some() {}
            prop_assert!(client.stats(real).pending <= PENDING_MAX);
            if now % 3 == 0 {
                let unsent = client.unsent().len();
                client.sent(unsent);
            }
        }
    }

    #[test]
    fn a_world_told_in_any_order_is_the_same_picture(lines in Just(JOIN.lines().collect::<Vec<_>>()).prop_shuffle()) {
        let expected = picture(&joined(JOIN.lines()));
        let shuffled = joined(lines);
        prop_assert_eq!(picture(&shuffled), expected);
        let stats = shuffled.client.stats(shuffled.real());
        prop_assert_eq!((stats.ignored, stats.ignored_lines), (0, 0));
    }

    #[test]
    fn no_bytes_make_the_client_panic(
        bytes in prop::collection::vec(prop_oneof![2 => Just(0u8), 2 => 0u8..20, 1 => any::<u8>()], 0..400),
        size in 1usize..50,
        language in prop::sample::select(vec![Language::Frames, Language::Text]),
        joined in any::<bool>(),
    ) {
        let mut watch = match (joined, language) {
            (true, Language::Frames) => Watch::in_frames(WORLD.map(words)),
            (true, Language::Text) => Watch::live(),
            (false, language) => Watch::new(language),
        };
        for piece in bytes.chunks(size) {
            watch.client.handle(piece, watch.real());
            watch.wait(1);
            check(&watch.scene);
        }
    }

    #[test]
    fn no_lines_make_the_client_panic(lines in prop::collection::vec((line(), 0i64..40), 0..100), joined in any::<bool>()) {
        let mut watch = Watch::new(Language::Text);
        watch.receive(if joined { BURST.as_bytes() } else { b"WELCOME\n" });
        for (line, later) in lines {
            watch.receive(line.as_bytes());
            watch.wait(later.min(3));
            watch.now += later * MILLI;
            let _ = watch.client.request(Control::SetFrequency(1 + later as u32));
            let scene = &watch.scene;
            prop_assert!(scene.agents.windows(2).all(|pair| pair[0].id < pair[1].id));
            for agent in &scene.agents {
                prop_assert!(agent.x.is_finite() && agent.y.is_finite());
            }
        }
    }
}
