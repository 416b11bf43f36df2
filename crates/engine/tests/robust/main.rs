//! Hostile, slow and many peers; and random ones, under the engine's own checks.
//!
//! In builds with assertions the engine compares its parts after every verb, so a random run that ends has
//! shown that every bound of `limits.rs` held throughout.

mod bounds;
#[path = "../harness/mod.rs"]
mod harness;
mod random;
mod rates;

use trantor_engine::{CloseReason, EngineConfig};
use trantor_time::RealSpan;

use harness::{Bench, game_config};

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn bench(width: u32, height: u32, places: u32) -> Bench {
    Bench::new(EngineConfig::new(game_config(width, height, places)))
}

fn closed(bench: &mut Bench, reason: CloseReason) -> u64 {
    let now = bench.now;
    bench.engine.stats(now).counters.closed[reason.index()]
}
