//! Viewers of ours against a dull one that copies the world word for word.

#[path = "../harness/mod.rs"]
mod harness;
mod joining;
mod requests;
mod ticks;
mod world;

use trantor_engine::EngineConfig;
use trantor_time::RealSpan;

use harness::{Bench, game_config};

fn bench(width: u32, height: u32) -> Bench {
    Bench::new(EngineConfig::new(game_config(width, height, 8)))
}

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

/// A busy little game: everybody does something all the time.
fn keep_busy(bench: &mut Bench, agents: &[usize], rounds: usize) {
    let lines = [
        "Forward",
        "Take food",
        "Right",
        "Look",
        "Broadcast hi",
        "Set food",
        "Eject",
        "Fork",
        "Incantation",
        "Left",
        "Take linemate",
        "foo",
    ];
    for round in 0..rounds {
        for (number, agent) in agents.iter().enumerate() {
            let line = lines[(round * 5 + number * 7 + round / 3) % lines.len()];
            bench.send(*agent, format!("{line}\n").as_bytes());
        }
        bench.run_for(ms(37));
    }
}
