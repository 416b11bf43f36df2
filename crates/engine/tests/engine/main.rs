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

use std::fs;
use std::path::Path;

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

/// Runs every transcript of `tests/transcripts` on a manual clock, and shows the first difference of each that fails.
///
/// `BLESS=1 cargo test -p trantor-engine --test engine transcripts` rewrites what is expected; the difference is
/// then reviewed like any other.
#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are transcripts");
    let is_blessed = std::env::var_os("BLESS").is_some();
    let mut failures = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let expected = fs::read_to_string(&path).unwrap();
        let Ok(got) = std::panic::catch_unwind(|| harness::script::run(&expected)) else {
            failures.push(format!("{name}: see the panic above"));
            continue;
        };
        if got == expected {
            continue;
        }
        if is_blessed {
            fs::write(&path, got).unwrap();
            continue;
        }
        let line = expected
            .lines()
            .zip(got.lines())
            .take_while(|(expected, got)| expected == got)
            .count();
        failures.push(format!(
            "{name}, line {}:\n  expected  {}\n  got       {}",
            line + 1,
            expected.lines().nth(line).unwrap_or("(nothing)"),
            got.lines().nth(line).unwrap_or("(nothing)"),
        ));
    }
    assert!(
        failures.is_empty(),
        "{}\n(BLESS=1 rewrites what is expected)",
        failures.join("\n")
    );
}
