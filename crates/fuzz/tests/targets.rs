//! Every target over some thousand broken inputs, the same ones every time; and over all that was ever found.

use trantor_fuzz::{Mutator, TARGETS};

/// Inputs for each target.
const INPUTS: usize = 2_000;

fn run(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.expect("a test for each target");
    let seeds = (target.seeds)();
    let mut mutator = Mutator::new(1, seeds.clone());
    let broken = (0..INPUTS).map(|_| mutator.next_input());
    for input in seeds.into_iter().chain(findings(name)).chain(broken) {
        trantor_fuzz::run(name, &input);
    }
}

/// Inputs that once showed a mistake.
fn findings(name: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("findings")
        .join(name);
    let Ok(files) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = files
        .map(|file| file.expect("a folder of ours can be read").path())
        .collect();
    paths.sort();
    let read = |path| std::fs::read(path).expect("a file of ours can be read");
    paths.iter().map(read).collect()
}

macro_rules! each {
    ($($name:ident)*) => { $(#[test] fn $name() { run(stringify!($name)); })* };
}

each! { line_cutter command_parser client_parser frame_decoder journal_reader journal_content snapshot_reader config_file sessions }

#[test]
fn every_target_is_tested_and_kept_for_libfuzzer() {
    for target in TARGETS {
        let name = target.name;
        assert!(include_str!("targets.rs").contains(name), "{name} has a test");
        let binary = format!("name = \"{name}\"");
        assert!(
            include_str!("../../../fuzz/Cargo.toml").contains(&binary),
            "{name} is kept"
        );
    }
}
