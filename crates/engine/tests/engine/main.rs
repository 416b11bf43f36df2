//! What the engine promises. Whole conversations are transcripts; here is what needs arithmetic, thousands of repetitions,
//! passes that are cut short, or a look inside.
//!
//! In builds with assertions the engine compares its parts after every verb.

mod bursts;
mod elevations;
mod frames;
mod harness;
mod minds;
mod playback;
mod sessions;
mod speed;

use trantor_engine::EngineConfig;
use trantor_model::AdminAction;
use trantor_time::{Frequency, RealSpan, RealTime};

use harness::{Bench, game_config};

fn ms(millis: i64) -> RealSpan {
    RealSpan::from_millis(millis)
}

fn ns(nanos: i64) -> RealSpan {
    RealSpan::from_nanos(nanos)
}

fn bench(width: u32, height: u32, places: u32) -> Bench {
    Bench::new(EngineConfig::new(game_config(width, height, places)))
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

/// When a peer received each thing, in nanoseconds since `began`.
fn instants(bench: &mut Bench, peer: usize, began: RealTime) -> Vec<i64> {
    let received = bench.take_received();
    received
        .iter()
        .filter(|received| received.peer == peer)
        .map(|received| (received.real - began).as_nanos())
        .collect()
}

/// Every transcript of `tests/transcripts`, on a manual clock.
#[test]
fn transcripts() {
    trantor_transcript::check_folder(
        env!("CARGO_MANIFEST_DIR"),
        "tests/transcripts",
        harness::script::run,
    );
}
