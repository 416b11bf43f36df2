//! The real client as a delayed spectator of a real engine shows what an undelayed viewer showed one delay earlier.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

use std::net::{IpAddr, Ipv4Addr};

use trantor_client::{Client, ClientConfig, ClientEvent, Language, LinkState, Scene};
use trantor_engine::{ConnId, Control, Engine, EngineConfig, Input};
use trantor_game::{GameConfig, Rules};
use trantor_model::{AgentId, MapSize, Tile};
use trantor_time::{RealSpan, RealTime};

const DELAY: RealSpan = RealSpan::from_secs(12);
/// Frame interval of the viewers.
const FRAME: RealSpan = RealSpan::from_millis(10);
const DELAY_FRAMES: usize = 1_200;

fn conn(slot: u32) -> ConnId {
    ConnId { slot, generation: 0 }
}

fn engine(now: RealTime) -> Engine {
    let mut config = EngineConfig::new(GameConfig {
        size: MapSize::new(12, 9).unwrap(),
        teams: vec!["red".to_owned(), "blue".to_owned()],
        places_per_team: 4,
        seed: 5,
        rules: Rules::default(),
    });
    // Loopback peers have control and therefore no delay.
    config.control = Control::Loopback;
    config.spectator_delay = DELAY;
    Engine::new(config, now)
}

fn client(language: Language, now: RealTime) -> Client {
    let config = ClientConfig {
        language,
        program: "test".to_owned(),
        token: None,
    };
    Client::new(config, now)
}

/// The comparable part of a scene: game time, and the tiles of agents.
fn shown(scene: &Scene) -> (f64, Vec<(AgentId, Tile)>) {
    let places = scene.agents.iter().map(|agent| (agent.id, agent.tile));
    (scene.clock.game.as_units_f64(), places.collect())
}

#[test]
fn a_delayed_spectator_shows_the_game_one_delay_later() {
    let mut now = RealTime::from_nanos(1_000_000_000);
    let mut engine = engine(now);
    let languages = [Language::Frames, Language::Frames, Language::Text];
    let mut clients = languages.map(|language| client(language, now));
    let from =
        [[127, 0, 0, 1], [10, 0, 0, 7], [10, 0, 0, 8]].map(|address| IpAddr::V4(Ipv4Addr::from(address)));
    let mut scenes = [(); 3].map(|()| Scene::default());
    // What the undelayed viewer showed, by frame.
    let mut seen = Vec::new();
    let mut compared = 0;
    for frame in 0..3_000_usize {
        now += FRAME;
        engine.begin_pass(now);
        if frame == 0 {
            for (slot, peer) in (0..).zip(from) {
                engine.handle(
                    Input::Opened {
                        conn: conn(slot),
                        peer,
                    },
                    now,
                );
            }
            for slot in 3..7 {
                engine.handle(
                    Input::Opened {
                        conn: conn(slot),
                        peer: from[0],
                    },
                    now,
                );
                let team = ["red\n", "blue\n"][slot as usize % 2];
                engine.handle(
                    Input::Bytes {
                        conn: conn(slot),
                        bytes: team.as_bytes(),
                    },
                    now,
                );
            }
        }
        if frame % 20 == 0 {
            for slot in 3..7 {
                let bytes = [&b"Forward\nRight\n"[..], b"Forward\n"][frame / 20 % 2];
                engine.handle(
                    Input::Bytes {
                        conn: conn(slot),
                        bytes,
                    },
                    now,
                );
            }
        }
        for (slot, client) in (0..).zip(&mut clients) {
            let said = client.unsent().to_vec();
            client.sent(said.len());
            engine.handle(
                Input::Bytes {
                    conn: conn(slot),
                    bytes: &said,
                },
                now,
            );
        }
        while engine.fire_next(now).is_some() {}
        while engine.poll_output().is_some() {}
        while let Some(conn) = engine.next_dirty() {
            while !engine.unsent(conn).is_empty() {
                let bytes = engine.unsent(conn).to_vec();
                engine.sent(conn, bytes.len());
                if let Some(client) = clients.get_mut(conn.slot as usize) {
                    client.handle(&bytes, now);
                }
            }
        }
        for (client, scene) in clients.iter_mut().zip(&mut scenes) {
            if client.next_timeout().is_some_and(|at| at <= now) {
                client.handle_timeout(now);
            }
            client.scene(now, scene);
            while let Some(event) = client.poll_event() {
                assert!(!matches!(event, ClientEvent::Ended { .. }), "{event:?}");
            }
        }
        seen.push(shown(&scenes[0]));

        // Compare from some seconds after the spectator's first world.
        let Some(expected) = frame.checked_sub(DELAY_FRAMES).filter(|then| *then >= 300) else {
            continue;
        };
        assert!(
            matches!(clients[1].link(now), LinkState::Live),
            "{:?}",
            clients[1].link(now)
        );
        let (at, places) = shown(&scenes[1]);
        let then = seen.partition_point(|(shown, _)| *shown < at);
        assert!(
            expected.abs_diff(then) < 30,
            "frame {frame} shows frame {then}, not {expected}"
        );
        let near = &seen[then.saturating_sub(4)..(then + 4).min(seen.len())];
        assert!(
            near.iter().any(|(_, others)| *others == places),
            "frame {frame}: {places:?} is not {near:?}"
        );
        compared += usize::from(places.len() == 4);
        if frame == 2_000 {
            let (_, places) = shown(&scenes[2]);
            assert_eq!(places.len(), 4, "the delayed text viewer shows all agents");
        }
    }
    assert!(compared > 500, "{compared} frames before the agents starved");
}
