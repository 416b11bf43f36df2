//! The load generator as a user starts it, against a server of ours.

mod support;

use std::process::Command;

use trantor_server::background::Background;
use trantor_server::options::Options;

use support::serve;

fn load(server: &Background, flags: &str) -> (i32, serde_json::Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_trantor-load"))
        .args(["-h", &server.address().ip().to_string()])
        .args(["-p", &server.address().port().to_string(), "--json", "-"])
        .args(flags.split_whitespace())
        .output()
        .expect("the program was built with the test");
    (
        output.status.code().unwrap_or(-1),
        serde_json::from_slice(&output.stdout).unwrap_or_default(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn number(report: &serde_json::Value, name: &str) -> f64 {
    report[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {report}"))
}

#[test]
fn agents_and_viewers_of_both_kinds_are_served_and_measured() {
    let server = serve(&Options {
        places_per_team: 10,
        ..Options::default()
    });
    let flags = "-a 20 --text-viewers 2 --frame-viewers 2 -f 1000 -d 0.7 --warm-up 0.2";
    let (status, report, told) = load(&server, flags);
    assert_eq!(status, 0, "{told}");
    assert_eq!(number(&report, "agents"), 20.0);
    assert_eq!(number(&report, "frequency"), 1_000.0, "it was set");
    assert_eq!(
        number(&report, "connections_lost") + number(&report, "deaths"),
        0.0
    );
    for counted in ["commands", "viewer_lines", "viewer_frames"] {
        assert!(number(&report, counted) > 10.0, "{counted} in {report}");
    }
    let achieved = number(&report, "achieved_of_ideal");
    assert!(achieved > 0.1 && achieved < 1.1, "{report}");
    assert!(report["lateness"]["p99_us"].as_f64() <= report["latency"]["p99_us"].as_f64());
}

#[test]
fn a_load_without_places_is_told_in_one_line() {
    let server = serve(&Options::default());
    let (status, _, told) = load(&server, "-n green -a 3 -d 0.1");
    assert_eq!(status, 1);
    assert_eq!(told, "trantor-load: no agent was given a place: 3 were refused\n");
}

#[test]
fn mistakes_in_flags_end_with_status_84() {
    let server = serve(&Options::default());
    let (status, _, told) = load(&server, "-k 11");
    assert_eq!(status, 84);
    assert_eq!(told.lines().count(), 1, "{told}");
}
