//! What text viewers are told of a large world when they begin to watch: in pieces, while the game goes on.

use std::collections::BTreeSet;

use trantor_engine::{AdminRequest, EngineConfig, RefillNews, limits};
use trantor_game::AdminAction;
use trantor_model::{AgentId, Counts, Direction, Level, Resource, TeamId, Tile};
use trantor_protocol::text::Dialect;
use trantor_time::{Frequency, RealSpan};

use crate::harness::{Bench, game_config};

/// Tiles on a side: some pieces of the map's description.
const SIDE: u16 = 200;

fn one(resource: Resource) -> Counts {
    let mut counts = Counts::ZERO;
    counts[resource] = 1;
    counts
}

/// The whole life of a game goes on between the pieces; the viewer is told of no one it does not know, and knows all in
/// the end.
#[test]
fn a_large_world_is_told_piece_by_piece_while_it_changes() {
    let mut bench = Bench::new(EngineConfig::new(game_config(SIDE.into(), SIDE.into(), 9)));
    let walker = bench.join("walker", "a");
    bench.join("victim", "a");
    bench.act(AdminAction::SetRefill { enabled: false });
    let (first, last) = (
        Tile { x: 0, y: 0 },
        Tile {
            x: SIDE - 1,
            y: SIDE - 1,
        },
    );
    bench.put_agent(0, first.x, first.y, trantor_model::Direction::East);
    for tile in [first, last] {
        let ground = one(Resource::Food);
        bench.act(AdminAction::SetGround { tile, ground });
    }
    bench.send(walker, b"Take food\nForward\n");
    bench.run_for(RealSpan::from_millis(70) - RealSpan::from_nanos(1));

    let viewer = bench.join("G", "GRAPHIC");
    bench.send(viewer, b"sgt\n");
    let heard = bench.lines(viewer);
    assert!(heard.len() > 100 && !heard.iter().any(|line| line.starts_with("tna")));
    // All of this is between two pieces: what lies on a tile that was told of is taken, another tile changes,
    // somebody dies, somebody comes, an egg is laid, the speed changes.
    bench.now += RealSpan::from_nanos(1);
    let ground = one(Resource::Thystame);
    bench.act(AdminAction::SetGround { tile: last, ground });
    bench.act(AdminAction::Kill { agent: AgentId(1) });
    bench.join("newcomer", "b");
    let (team, tile) = (TeamId(0), first);
    bench.act(AdminAction::LayEgg { team, tile });
    bench.admin(AdminRequest::SetFrequency(50)).expect("a frequency");
    let mut all = heard;
    all.extend(bench.lines(viewer));
    assert!(
        !all.iter().any(|line| line.starts_with("tna")),
        "all of that happened between the pieces"
    );
    bench.run_for(RealSpan::from_millis(300));
    all.extend(bench.lines(viewer));

    assert!(
        all.iter().any(|line| line == "bct 0 0 0 0 0 0 0 0 0"),
        "it saw the food go"
    );
    assert!(
        all.iter().any(|line| line.starts_with("ppo #0 1 0")),
        "and the walker walk"
    );
    let speeds: Vec<_> = all.iter().filter(|line| line.starts_with("sgt")).collect();
    assert_eq!(
        speeds,
        ["sgt 100", "sgt 50", "sgt 50"],
        "the answer comes after the pieces"
    );
    bench.assert_knows_all(viewer, &all);
}

/// Who is told of the world hears once who has won: at the end of it, whether that happens before, meanwhile or after.
#[test]
fn whoever_begins_to_watch_hears_once_who_has_won() {
    let mut bench = Bench::new(EngineConfig::new(game_config(SIDE.into(), SIDE.into(), 9)));
    let players: Vec<usize> = (0..6).map(|_| bench.join("A", "a")).collect();
    bench.act(AdminAction::SetHunger { enabled: false });
    for agent in (0..6).map(AgentId) {
        let level = Level::new(7).expect("a level");
        bench.act(AdminAction::SetLevel { agent, level });
        bench.put_agent(agent.0, 5, 5, Direction::East);
    }
    let mut ground = Counts::ZERO;
    Resource::ALL
        .into_iter()
        .for_each(|resource| ground[resource] = 2);
    ground[Resource::Thystame] = 1;
    let tile = Tile { x: 5, y: 5 };
    bench.act(AdminAction::SetGround { tile, ground });
    bench.send(players[0], b"Incantation\n");
    let before = bench.join("G", "GRAPHIC");
    bench.run_for(RealSpan::from_millis(3_000) - RealSpan::from_nanos(1));
    let meanwhile = bench.join("G", "GRAPHIC");
    let told = bench.lines(meanwhile).len();
    assert!(
        told < usize::from(SIDE).pow(2),
        "{told} lines: it is not told all at once"
    );
    bench.run_for(RealSpan::from_millis(500));
    assert!(bench.engine.game().winner().is_some());
    let after = bench.join("G", "GRAPHIC");
    bench.run_for(RealSpan::from_millis(500));
    for (viewer, when) in [(before, "before"), (meanwhile, "meanwhile"), (after, "after")] {
        let lines = bench.lines(viewer);
        let wins = lines.iter().filter(|line| *line == "seg a").count();
        assert_eq!(wins, 1, "a viewer that came {when}");
    }
}

/// All that can happen to agents and eggs happens while a viewer is told of them, between any two pieces.
#[test]
fn a_large_population_is_told_piece_by_piece_while_it_changes() {
    for (seed, dialect) in [
        (1, Dialect::Epitech),
        (2, Dialect::French42),
        (3, Dialect::Epitech2016),
    ] {
        let mut config = EngineConfig::new(game_config(60, 60, 900));
        config.dialect = dialect;
        config.frequency = Frequency::new(10_000).expect("a frequency");
        config.refill_news = RefillNews::All;
        let mut bench = Bench::new(config);
        let words = [
            "Forward",
            "Take food",
            "Fork",
            "Eject",
            "Broadcast hi",
            "Incantation",
        ];
        let words_french = [
            "avance",
            "prend nourriture",
            "fork",
            "expulse",
            "broadcast hi",
            "incantation",
        ];
        let words = if dialect == Dialect::Epitech {
            words
        } else {
            words_french
        };
        let mut players: Vec<usize> = (0..250).map(|_| bench.join("A", "a")).collect();
        for player in 0..250 {
            // Some in a crowd, for pushes and elevations.
            let (x, y) = (player as u16 % 20, player as u16 % 3);
            bench.put_agent(player, x, y, Direction::East);
        }
        let ground = one(Resource::Linemate);
        for tile in (0..20).map(|x| Tile { x, y: 0 }) {
            bench.act(AdminAction::SetGround { tile, ground });
        }
        // The older sheets know no eggs of the start.
        if dialect != Dialect::Epitech {
            let team = TeamId(1);
            let tiles = (0..1_200).map(|nth| Tile {
                x: nth % 60,
                y: nth / 60,
            });
            tiles.for_each(|tile| bench.act(AdminAction::LayEgg { team, tile }));
        }
        let mut chance = seed;
        let mut draw = |most: u32| {
            chance =
                u64::wrapping_mul(chance, 6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) as u32 % most
        };
        bench.take_heard();
        let viewer = bench.join("G", "GRAPHIC");
        // Answered at the end.
        bench.send(viewer, b"msz\n");
        let mut happened = [0; 3];
        let mut all = Vec::new();
        loop {
            all.append(&mut bench.lines(viewer));
            bench.heard.clear();
            if all.iter().filter(|line| line.starts_with("msz")).count() == 2 {
                break;
            }
            let starts = ["bct", "pnw", "enw"];
            let stage = |line: &String| starts.iter().position(|word| line.starts_with(word));
            happened[all.iter().filter_map(stage).max().expect("a line of the world")] += 1;
            bench.run_for(RealSpan::from_micros(50));
            for _ in 0..4 {
                let player = players[draw(players.len() as u32) as usize];
                let word = words[draw(words.len() as u32) as usize];
                if bench.peers[player].is_open {
                    bench.send(player, format!("{word}\n").as_bytes());
                }
            }
            let alive: Vec<AgentId> = bench
                .engine
                .game()
                .world()
                .agents()
                .map(|agent| agent.id())
                .collect();
            match draw(4) {
                0 => bench.act(AdminAction::Kill {
                    agent: alive[draw(alive.len() as u32) as usize],
                }),
                1 => players.push(bench.join("B", "b")),
                2 => {
                    let (team, tile) = (TeamId(1), Tile { x: 0, y: 0 });
                    bench.act(AdminAction::LayEgg { team, tile });
                }
                _ => {}
            }
        }
        // School 42's agents are told in a third of the words.
        let pieces_min = if dialect == Dialect::French42 { 2 } else { 4 };
        assert!(happened.iter().all(|count| *count >= pieces_min), "{happened:?}");
        bench.act(AdminAction::SetRefill { enabled: false });
        bench.assert_knows_all(viewer, &all);
    }
}

/// With `--refill-news all` the whole map is told after each refill, once round.
#[test]
fn a_refill_of_a_large_map_is_told_piece_by_piece() {
    let mut config = EngineConfig::new(game_config(SIDE.into(), SIDE.into(), 9));
    config.refill_news = RefillNews::All;
    let mut bench = Bench::new(config);
    let viewer = bench.join("G", "GRAPHIC");
    bench.run_for(RealSpan::from_millis(199));
    assert!(
        bench.lines(viewer).len() > usize::from(SIDE).pow(2),
        "it was greeted"
    );
    let take_all = |bench: &mut Bench, y: u16| {
        for tile in (0..SIDE).map(|x| Tile { x, y }) {
            let ground = Counts::ZERO;
            bench.act(AdminAction::SetGround { tile, ground });
        }
    };
    take_all(&mut bench, 7);
    bench.lines(viewer);
    bench.run_for(RealSpan::from_millis(1));
    let at_once = bench.lines(viewer);
    let bytes: usize = at_once.iter().map(|line| line.len() + 1).sum();
    assert!(
        (1_000..limits::ANSWER_BYTES_AT_ONCE + 100).contains(&bytes),
        "{bytes} bytes at once"
    );
    // Another refill while it is at it: it goes on, once round from there.
    bench.run_for(RealSpan::from_millis(198));
    take_all(&mut bench, 8);
    let before_second = at_once.len() + bench.lines(viewer).len();
    let tiles = usize::from(SIDE).pow(2);
    assert!(before_second < tiles, "{before_second} of {tiles}");
    bench.run_for(RealSpan::from_millis(2));
    bench.act(AdminAction::SetRefill { enabled: false });
    bench.run_for(RealSpan::from_secs(1));
    let after = bench.lines(viewer);
    let different: BTreeSet<_> = after
        .iter()
        .map(|line| line.split(' ').take(3).collect::<Vec<_>>())
        .collect();
    assert_eq!(different.len(), tiles);
    assert!(after.len() < tiles + 2_000, "{} lines, once round", after.len());
}

/// What is written for a viewer that does not read is one piece, whatever the size of the map.
#[test]
fn a_viewer_that_does_not_read_is_owed_one_piece_of_the_map() {
    let mut bench = Bench::new(EngineConfig::new(game_config(SIDE.into(), SIDE.into(), 9)));
    let viewer = bench.open("G");
    bench.peers[viewer].is_reading = false;
    bench.send(viewer, b"GRAPHIC\n");
    bench.run_for(RealSpan::from_secs(1));
    let conn = bench.peers[viewer].conn;
    let owed = bench.engine.unsent(conn).len();
    assert!(
        (limits::OUTBOX_PAUSE_BYTES..limits::OUTBOX_PAUSE_BYTES + 1_000).contains(&owed),
        "{owed}"
    );
    bench.peers[viewer].is_reading = true;
    bench.take_writes(viewer);
    bench.run_for(RealSpan::from_secs(1));
    bench.assert_knows_all(viewer, &[]);
}
