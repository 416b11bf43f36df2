//! Every target on its corpus, past findings and a fixed number of mutated inputs.

use trantor_fuzz::{Mutator, TARGETS, target_named};

/// Mutated inputs for each target.
const INPUTS: usize = 2_000;

fn run(name: &str) {
    let target = target_named(name);
    let seeds = (target.seeds)();
    let mut mutator = Mutator::new(1, seeds.clone());
    let mutated = (0..INPUTS).map(|_| mutator.next_input());
    for input in seeds.into_iter().chain(findings(name)).chain(mutated) {
        (target.run)(&input);
    }
}

/// Inputs that once made the target panic.
fn findings(name: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("findings")
        .join(name);
    let Ok(files) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = files
        .map(|file| file.expect("the folder of findings is readable").path())
        .collect();
    paths.sort();
    let read = |path| std::fs::read(path).expect("a finding is readable");
    paths.iter().map(read).collect()
}

macro_rules! each {
    ($($name:ident)*) => { $(#[test] fn $name() { run(stringify!($name)); })* };
}

each! { line_cutter command_parser client_parser frame_decoder journal_reader journal_content snapshot_reader config_file sessions scripts }

#[test]
fn every_target_has_a_test_and_a_libfuzzer_binary() {
    for target in TARGETS {
        let name = target.name;
        assert!(include_str!("targets.rs").contains(name), "{name} has a test");
        let binary = format!("name = \"{name}\"");
        assert!(
            include_str!("../../../fuzz/Cargo.toml").contains(&binary),
            "{name} has a libFuzzer binary"
        );
    }
}
