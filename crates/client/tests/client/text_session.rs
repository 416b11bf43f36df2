//! Text servers that send without end, maps in other forms, and anything at all.

use proptest::prelude::*;
use trantor_client::{ControlRequest, Language, LinkState};

use crate::transcripts::{BURST, MILLI, Watch};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_lines_make_the_client_panic(lines in prop::collection::vec((line(), 0i64..40), 0..100), joined in any::<bool>()) {
        let mut watch = Watch::new(Language::Text);
        watch.receive(if joined { BURST.as_bytes() } else { b"WELCOME\n" });
        for (line, later) in lines {
            watch.receive(line.as_bytes());
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
        let mut watch = Watch::new(Language::Text);
        for piece in bytes.chunks(size) {
            watch.client.handle(piece, watch.real());
            watch.wait(1);
        }
    }
}
