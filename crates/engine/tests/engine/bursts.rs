//! Text viewers that join get a large world in pieces, while the game runs.

use trantor_engine::{EngineConfig, RefillUpdates};
use trantor_model::{AdminAction, AgentId, Counts, Direction, TeamId, Tile};
use trantor_protocol::text::Dialect;
use trantor_time::{Frequency, RealSpan};

use crate::harness::{Bench, game_config};

/// All that can happen to agents and eggs happens while a viewer is sent them, between any two pieces.
#[test]
fn a_large_population_is_sent_piece_by_piece_while_it_changes() {
    for (seed, dialect) in [
        (1, Dialect::Epitech),
        (2, Dialect::French42),
        (3, Dialect::Epitech2016),
    ] {
        let mut config = EngineConfig::new(game_config(60, 60, 900));
        config.dialect = dialect;
        config.frequency = Frequency::new(10_000).expect("a frequency");
        config.refill_updates = RefillUpdates::All;
        let mut bench = Bench::new(config);
        let words = match dialect {
            Dialect::Epitech => "Forward,Take food,Fork,Eject,Broadcast hi,Incantation",
            _ => "avance,prend nourriture,fork,expulse,broadcast hi,incantation",
        };
        let words: Vec<&str> = words.split(',').collect();
        let mut players: Vec<usize> = (0..250).map(|_| bench.join("A", "a")).collect();
        for player in 0..250 {
            // Some in a crowd, for pushes and elevations.
            let (x, y) = (player as u16 % 20, player as u16 % 3);
            bench.put_agent(player, x, y, Direction::East);
        }
        let ground = Counts([0, 1, 0, 0, 0, 0, 0]);
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
        bench.take_received();
        let viewer = bench.join("G", "GRAPHIC");
        // Answered at the end.
        bench.send(viewer, b"msz\n");
        let mut happened = [0; 3];
        let mut all = Vec::new();
        loop {
            all.append(&mut bench.lines(viewer));
            bench.received.clear();
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
                .map(|agent| agent.id)
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
        // School 42's agents are sent in a third of the bytes.
        let pieces_min = if dialect == Dialect::French42 { 2 } else { 4 };
        assert!(happened.iter().all(|count| *count >= pieces_min), "{happened:?}");
        bench.act(AdminAction::SetRefill { enabled: false });
        bench.assert_knows_all(viewer, &all);
    }
}
