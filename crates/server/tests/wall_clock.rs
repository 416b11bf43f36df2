//! The program while somebody sets the system's clock: nothing of it follows, since only the monotonic clock is read.
//!
//! `libfaketime` stands for whoever sets the clock: what the program is told of the time of day is changed while it runs, and
//! the monotonic clock is left as it is.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

#[path = "support/folder.rs"]
mod folder;
#[path = "support/mod.rs"]
#[expect(dead_code, reason = "every test program uses a part of it")]
mod support;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use trantor_game::journal::Ending;
use trantor_server::replay::{Outcome, pieces_in, verify_all};
use trantor_time::RealSpan;

use folder::Folder;
use support::{Peer, Program, now};

/// What the clock is set to while a command runs, each from the right time: hours and days, both ways, and far ahead at
/// last.
const JUMPS: [&str; 6] = ["+3h", "-5h", "+400d", "-10d", "+0", "+7300d"];

/// Game units in a second; a step takes seven.
const FREQUENCY: &str = "20";
const STEP: RealSpan = RealSpan::from_millis(350);

/// Beyond a step, on a machine that is busy. The jumps are hours.
const LATE_MAX: RealSpan = RealSpan::from_secs(5);

/// Where the library lies; `None` where there is none, which on CI is a failure.
fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").unwrap();
    let mut paths = folders.map(|entry| entry.unwrap().path().join("faketime/libfaketime.so.1"));
    let found = paths.find(|path| path.exists());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "there is no libfaketime");
        let mut out = std::io::stderr().lock();
        writeln!(out, "SKIPPED, no clock was set: there is no libfaketime").unwrap();
    }
    found
}

/// The year in which the first and the last line of a log were written, as the program was told.
fn years(log: &str) -> [u32; 2] {
    let stamps = log.lines().filter_map(|line| line.strip_prefix('['));
    let mut years = stamps.filter_map(|line| line.get(..4)?.parse().ok());
    let first = years.next().unwrap();
    [first, years.next_back().unwrap_or(first)]
}

#[test]
fn a_clock_that_is_set_changes_no_reply_loses_nobody_and_nothing() {
    let Some(library) = library() else { return };
    let folder = Folder::new();
    let offset = folder.write("offset", b"+0\n");
    let (record, save) = (folder.path().join("recordings"), folder.path().join("saves"));
    let keeping = [
        "--record",
        record.to_str().unwrap(),
        "--save",
        save.to_str().unwrap(),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_trantor-server"));
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", &offset)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("RUST_LOG", "info")
        .stderr(Stdio::piped());
    let often = ["-f", FREQUENCY, "--save-every", "100ms", "--metrics", "0"];
    let mut program = Program::start_by(command, &[&keeping[..], &often].concat(), Stdio::null());
    let mut agent = Peer::connect(program.address);
    assert_eq!(agent.line(), "WELCOME");
    agent.send("red\n");
    agent.line();
    agent.line();
    let mut viewer = Peer::connect(program.address);
    viewer.send("GRAPHIC\n");
    viewer.lines_until("pnw");

    for jump in JUMPS {
        let began = now();
        agent.send("Forward\n");
        std::fs::write(&offset, format!("{jump}\n")).unwrap();
        assert_eq!(agent.line(), "ok");
        let waited = now() - began;
        assert!(waited >= STEP && waited < STEP + LATE_MAX, "{jump}: {waited:?}");
        viewer.lines_until("ppo");
    }
    let saves = program.metric("trantor_saves_total");
    let until = now() + LATE_MAX;
    while program.metric("trantor_saves_total") <= saves {
        assert!(now() < until, "nothing is saved any more");
    }
    for kind in [
        "trantor_sessions_closed_total{reason=\"idle\"}",
        "trantor_sessions_closed_total{reason=\"stalled\"}",
    ] {
        assert!(program.metric(kind) < 1.0, "{kind}");
    }
    let log = end(program);
    let [first, last] = years(&log);
    assert!(last >= first + 19, "the clock was not set: {log}");

    let checked = verify_all(&pieces_in(std::slice::from_ref(&record)).unwrap(), &[], || {}).unwrap();
    let [one] = &checked[..] else {
        panic!("one piece: {log}")
    };
    match &one.outcome {
        Outcome::Played { ending, played, .. } => {
            assert_eq!(*ending, Ending::Closed);
            assert!(
                played.inputs > JUMPS.len() as u64,
                "all that was said, and who came"
            );
        }
        other => panic!("{other:?}"),
    }
    // The newest save is found by its number, whatever the clock said when it was written.
    let saves = std::fs::read_dir(&save).unwrap();
    let newest = saves.map(|entry| entry.unwrap().file_name()).max().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trantor-server"));
    command.env("RUST_LOG", "info").stderr(Stdio::piped());
    let again = Program::start_by(command, &[&keeping[..], &["--resume"]].concat(), Stdio::null());
    let log = end(again);
    assert!(log.contains(newest.to_str().unwrap()), "{log}");
}

/// Ends the program in order; answers what it logged.
fn end(mut program: Program) -> String {
    program.kill("-TERM");
    let mut log = String::new();
    let mut stderr = program.child.stderr.take().unwrap();
    stderr.read_to_string(&mut log).unwrap();
    assert_eq!(program.child.wait().unwrap().code(), Some(0), "{log}");
    log
}
