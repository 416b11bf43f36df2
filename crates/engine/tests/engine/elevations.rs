//! What is clumsy to write out as a transcript: every elevation, with enough and with one short.
//!
//! The table is that of the rules as they are written down, not of the code under test. Those of looks, sound and pushes
//! are with the rules of the game.

use crate::harness::{Bench, game_config};
use trantor_engine::EngineConfig;
use trantor_model::{AdminAction, AgentId, Counts, Direction, Level, Resource, Tile};
use trantor_time::RealSpan;

fn bare(width: u32, height: u32) -> Bench {
    let mut bench = Bench::new(EngineConfig::new(game_config(width, height, 8)));
    bench.make_bare();
    bench.act(AdminAction::SetHunger { enabled: false });
    bench
}

/// Elevations from 1 to 7, each with exactly what the table of section 11 asks for, and with one short of it
/// in every way: a player, and each stone.
#[test]
fn every_elevation_with_enough_and_with_one_short() {
    let table: [(u32, [u32; 7]); 7] = [
        (1, [0, 1, 0, 0, 0, 0, 0]),
        (2, [0, 1, 1, 1, 0, 0, 0]),
        (2, [0, 2, 0, 1, 0, 2, 0]),
        (4, [0, 1, 1, 2, 0, 1, 0]),
        (4, [0, 1, 2, 1, 3, 0, 0]),
        (6, [0, 1, 2, 3, 0, 1, 0]),
        (6, [0, 2, 2, 2, 2, 2, 1]),
    ];
    for (level, (players, stones)) in (1u8..).zip(table) {
        for short_of in [None].into_iter().chain(Resource::ALL.into_iter().map(Some)) {
            let mut ground = Counts(stones);
            if let Some(resource) = short_of
                && !ground.take_one(resource)
            {
                continue;
            }
            let received = elevate(level, players, ground);
            let expected = if short_of.is_some() {
                vec!["ko".to_owned()]
            } else {
                vec![
                    "Elevation underway".to_owned(),
                    format!("Current level: {}", level + 1),
                ]
            };
            assert_eq!(received, expected, "level {level}, short of {short_of:?}");
        }
        if players > 1 {
            assert_eq!(
                elevate(level, players - 1, Counts(stones)),
                ["ko"],
                "level {level}, a player short"
            );
        }
    }
}

fn elevate(level: u8, players: u32, ground: Counts) -> Vec<String> {
    let mut bench = bare(10, 10);
    let asker = bench.join("A", "a");
    for number in 1..players {
        bench.join(&format!("A{number}"), "a");
    }
    for agent in 0..players {
        bench.put_agent(agent, 5, 5, Direction::North);
        bench.act(AdminAction::SetLevel {
            agent: AgentId(agent),
            level: Level::new(level).expect("1 to 8"),
        });
    }
    bench.act(AdminAction::SetGround {
        tile: Tile { x: 5, y: 5 },
        ground,
    });
    bench.lines(asker);
    bench.send(asker, b"Incantation\n");
    bench.run_for(RealSpan::from_secs(4));
    let mut received = bench.lines(asker);
    // Six of the last level win, and are disconnected.
    received.retain(|line| line != "[end]");
    received
}
