//! What is clumsy to write out: every cone, every direction of sound, every push.
//!
//! Expected values are made here from the rules as they are written down, not from the code under test.

mod harness;

use harness::{Bench, game_config};
use trantor_engine::EngineConfig;
use trantor_game::AdminAction;
use trantor_model::{AgentId, Counts, Direction, Level, Resource, Tile};
use trantor_time::RealSpan;

const DIRECTIONS: [Direction; 4] = [
    Direction::North,
    Direction::East,
    Direction::South,
    Direction::West,
];

fn bare(width: u32, height: u32) -> Bench {
    let mut bench = Bench::new(EngineConfig::new(game_config(width, height, 8)));
    bench.make_bare();
    bench.act(AdminAction::SetHunger { enabled: false });
    bench
}

/// Sends a line and answers what is heard within eight units.
fn ask(bench: &mut Bench, peer: usize, line: &str) -> Vec<String> {
    bench.lines(peer);
    bench.send(peer, format!("{line}\n").as_bytes());
    bench.run_for(RealSpan::from_millis(80));
    bench.lines(peer)
}

/// Tile numbers: distinct objects make each tile tell itself apart. Counts of the seven resources are the
/// digits of the number of the tile, in base 3.
fn ground_of(number: usize) -> Counts {
    let mut ground = Counts::ZERO;
    let mut rest = number;
    for count in &mut ground.0 {
        *count = (rest % 3) as u32;
        rest /= 3;
    }
    ground
}

fn words_of(ground: &Counts) -> Vec<&'static str> {
    ground
        .iter()
        .flat_map(|(resource, count)| vec![resource.name(); count as usize])
        .collect()
}

/// Forward and right-hand vector, as section 7 of the rules gives them.
fn forward_and_right(facing: Direction) -> ((i32, i32), (i32, i32)) {
    match facing {
        Direction::North => ((0, -1), (1, 0)),
        Direction::East => ((1, 0), (0, 1)),
        Direction::South => ((0, 1), (-1, 0)),
        Direction::West => ((-1, 0), (0, -1)),
    }
}

/// Levels 1 to 8, four directions, in the middle and over the corner of the map, and on a map that is smaller
/// than the cone: each tile of the cone, nearest row first, each from left to right.
#[test]
fn every_cone_in_every_direction() {
    for (width, height, stands) in [
        (20, 20, [(10, 10), (0, 0), (19, 3)]),
        (5, 4, [(2, 2), (0, 0), (4, 3)]),
    ] {
        let mut bench = bare(width, height);
        let size = bench.engine.config().game.size;
        for index in 0..size.area() {
            bench.act(AdminAction::SetGround {
                tile: size.tile_at(index),
                ground: ground_of(index),
            });
        }
        let agent = bench.join("A", "a");
        for level in 1..=8 {
            bench.act(AdminAction::SetLevel {
                agent: AgentId(0),
                level: Level::new(level).unwrap(),
            });
            for facing in DIRECTIONS {
                for (x, y) in stands {
                    bench.put_agent(0, x, y, facing);
                    let (forward, right) = forward_and_right(facing);
                    let mut tiles = Vec::new();
                    for row in 0..=i32::from(level) {
                        for side in -row..=row {
                            let dx = row * forward.0 + side * right.0;
                            let dy = row * forward.1 + side * right.1;
                            let seen_x = (i32::from(x) + dx).rem_euclid(width as i32) as u16;
                            let seen_y = (i32::from(y) + dy).rem_euclid(height as i32) as u16;
                            let seen = Tile { x: seen_x, y: seen_y };
                            let mut words = words_of(&ground_of(size.index_of(seen)));
                            if (seen_x, seen_y) == (x, y) {
                                words.insert(0, "player");
                            }
                            tiles.push(words.iter().map(|word| format!(" {word}")).collect::<String>());
                        }
                    }
                    assert_eq!(tiles.len(), (usize::from(level) + 1).pow(2));
                    let expected = format!("[{} ]", tiles.join(","));
                    assert_eq!(
                        ask(&mut bench, agent, "Look"),
                        [expected],
                        "level {level}, {facing:?}, {x} {y}"
                    );
                }
            }
        }
    }
}

/// All receivers' directions against all eight neighbours: the number goes counter-clockwise from ahead.
#[test]
fn every_neighbour_in_every_direction() {
    let ring = [
        (0, -1),
        (-1, -1),
        (-1, 0),
        (-1, 1),
        (0, 1),
        (1, 1),
        (1, 0),
        (1, -1),
    ];
    let mut bench = bare(10, 10);
    let speaker = bench.join("A", "a");
    let listener = bench.join("B", "b");
    for (turns, facing) in [
        Direction::North,
        Direction::West,
        Direction::South,
        Direction::East,
    ]
    .iter()
    .enumerate()
    {
        for (place, (dx, dy)) in ring.iter().enumerate() {
            bench.put_agent(1, 5, 5, *facing);
            bench.put_agent(0, (5 + dx) as u16, (5 + dy) as u16, Direction::North);
            bench.lines(listener);
            ask(&mut bench, speaker, "Broadcast hi");
            // Each turn to the left brings what was two further round ahead.
            let heard = (place + 8 - 2 * turns) % 8 + 1;
            assert_eq!(
                bench.lines(listener),
                [format!("message {heard}, hi")],
                "{facing:?} from {dx} {dy}"
            );
        }
    }
}

/// The table of section 9 of the rules: where the victim feels the push come from.
#[test]
fn the_sixteen_pushes() {
    let table = [[5, 7, 1, 3], [3, 5, 7, 1], [1, 3, 5, 7], [7, 1, 3, 5]];
    let mut bench = bare(10, 10);
    let ejector = bench.join("A", "a");
    let victim = bench.join("B", "b");
    for (row, ejector_faces) in table.iter().zip(DIRECTIONS) {
        for (felt, victim_faces) in row.iter().zip(DIRECTIONS) {
            bench.put_agent(0, 0, 0, ejector_faces);
            bench.put_agent(1, 0, 0, victim_faces);
            bench.lines(victim);
            assert_eq!(ask(&mut bench, ejector, "Eject"), ["ok"]);
            assert_eq!(
                bench.lines(victim),
                [format!("eject: {felt}")],
                "{ejector_faces:?} {victim_faces:?}"
            );
            let (dx, dy) = forward_and_right(ejector_faces).0;
            let tile = Tile {
                x: (dx + 10) as u16 % 10,
                y: (dy + 10) as u16 % 10,
            };
            let pushed = bench.engine.game().world().agent(AgentId(1)).unwrap();
            assert_eq!(
                (pushed.tile(), pushed.facing()),
                (tile, victim_faces),
                "facing stays"
            );
        }
    }
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
            let heard = elevate(level, players, ground);
            let expected = if short_of.is_some() {
                vec!["ko".to_owned()]
            } else {
                vec![
                    "Elevation underway".to_owned(),
                    format!("Current level: {}", level + 1),
                ]
            };
            assert_eq!(heard, expected, "level {level}, short of {short_of:?}");
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
    let mut heard = bench.lines(asker);
    // Six of the last level win, and are let go.
    heard.retain(|line| line != "[end]");
    heard
}
