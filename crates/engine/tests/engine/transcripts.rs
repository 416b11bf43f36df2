//! Every transcript of `tests/transcripts`, on a manual clock.
//!
//! `BLESS=1 cargo test -p trantor-engine --test engine transcripts` rewrites what is expected; the difference is
//! then reviewed like any other.

use std::fs;
use std::path::Path;

/// Runs all of them and shows the first difference of each that fails.
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
        let Ok(got) = std::panic::catch_unwind(|| crate::harness::script::run(&expected)) else {
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
