//! What the world's server promises, one test a promise.
//!
//! Whole conversations are in `transcripts/`; here is what needs arithmetic, thousands of repetitions, or a
//! look inside.

mod arrival;
mod commands;
#[path = "../harness/mod.rs"]
mod harness;
mod meals;
mod sessions;
mod speed;

use trantor_engine::EngineConfig;
use trantor_game::AdminAction;
use trantor_model::{Counts, Direction, Tile};
use trantor_time::{Frequency, RealSpan, RealTime};

use harness::{Bench, game_config};

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn ns(nanos: i64) -> RealSpan {
    RealSpan::from_nanos(nanos)
}

/// A game without refill and hunger, so that nothing happens but what is asked for.
fn quiet(frequency: u64) -> Bench {
    let mut config = EngineConfig::new(game_config(10, 10, 20));
    config.frequency = Frequency::new(frequency).expect("a frequency");
    quiet_with(config)
}

fn quiet_with(config: EngineConfig) -> Bench {
    let mut bench = Bench::new(config);
    bench.act(AdminAction::SetRefill { enabled: false });
    bench.act(AdminAction::SetHunger { enabled: false });
    bench
}

/// When a peer heard each thing, in nanoseconds since `began`.
fn instants(bench: &mut Bench, peer: usize, began: RealTime) -> Vec<i64> {
    let heard = bench.take_heard();
    heard
        .iter()
        .filter(|heard| heard.peer == peer)
        .map(|heard| (heard.real - began).as_nanos())
        .collect()
}

/// An agent alone, where one of everything lies.
fn amid_riches() -> (Bench, usize) {
    let mut bench = quiet(100);
    let agent = bench.join("A", "a");
    bench.put_agent(0, 5, 5, Direction::North);
    bench.act(AdminAction::SetGround {
        tile: Tile { x: 5, y: 5 },
        ground: Counts([1; 7]),
    });
    bench.take_heard();
    (bench, agent)
}
