//! The program while the system's clock is set: nothing of it follows, since only the monotonic clock is read.
//!
//! `libfaketime` sets it: the time of day that the program reads is changed while it runs, and
//! the monotonic clock is left as it is.

use std::process::Stdio;

use trantor_game::journal::Ending;
use trantor_time::RealSpan;

use crate::support::{Folder, Peer, Program, command, now, skipped, verified, wait_until};

/// What the clock is set to while a command runs, each from the right time: hours and days, both ways, and far ahead at
/// last.
const JUMPS: [&str; 6] = ["+3h", "-5h", "+400d", "-10d", "+0", "+7300d"];

/// A step takes seven units.
const FREQUENCY: &str = "20";
const STEP: RealSpan = RealSpan::from_millis(350);

/// Beyond a step, on a machine that is busy. The jumps are hours.
const LATE_MAX: RealSpan = RealSpan::from_secs(5);

#[test]
fn a_clock_that_is_set_changes_no_reply_and_loses_no_agent() {
    let folders = std::fs::read_dir("/usr/lib").unwrap();
    let mut libraries = folders.map(|entry| entry.unwrap().path().join("faketime/libfaketime.so.1"));
    let Some(library) = libraries.find(|path| path.exists()) else {
        return skipped("there is no libfaketime");
    };
    let folder = Folder::new();
    let offset = folder.write("offset", b"+0\n");
    let keeping = "--record recordings --save saves";
    let often = format!("{keeping} -f {FREQUENCY} --save-every 100ms --metrics 0");
    let mut command = command(&folder, &often);
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", &offset)
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("RUST_LOG", "info");
    let mut program = Program::by(command, Stdio::null());
    let (mut agent, _) = program.join("red");
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
    wait_until("nothing is saved any more", || {
        program.metric("trantor_saves_total") > saves
    });
    for kind in [
        "trantor_sessions_closed_total{reason=\"idle\"}",
        "trantor_sessions_closed_total{reason=\"stalled\"}",
    ] {
        assert!(program.metric(kind) < 1.0, "{kind}");
    }
    let log = program.stop();
    let stamps = log.lines().filter_map(|line| line.strip_prefix('[')?.get(..4));
    let years: Vec<u32> = stamps.filter_map(|year| year.parse().ok()).collect();
    assert!(
        years[years.len() - 1] >= years[0] + 19,
        "the clock was not set: {log}"
    );

    let pieces = verified(&folder.join("recordings"));
    assert_eq!((pieces.len(), pieces[0].ending), (1, Ending::Closed), "{log}");
    let inputs = pieces[0].inputs;
    assert!(
        inputs > JUMPS.len() as u64,
        "all commands, and the join: {inputs}"
    );
    // The newest save is found by its number, whatever the clock said when it was written.
    let saves = std::fs::read_dir(folder.join("saves")).unwrap();
    let newest = saves.map(|entry| entry.unwrap().file_name()).max().unwrap();
    let log = Program::start_in(&folder, &format!("{keeping} --resume")).stop();
    assert!(log.contains(newest.to_str().unwrap()), "{log}");
}
