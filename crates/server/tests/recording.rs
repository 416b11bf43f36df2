//! `--record`: what a run leaves, however it ends.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

#[path = "support/folder.rs"]
mod folder;
#[path = "support/mod.rs"]
#[expect(dead_code, reason = "every test program uses a part of it")]
mod support;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use trantor_game::journal::{CutShort, Ending};
use trantor_server::replay::{Checked, Outcome, pieces_in, verify_all};
use trantor_time::RealSpan;

use folder::Folder;
use support::{Peer, Program, now};

/// Two agents that have joined.
fn agents(program: &Program) -> Vec<Peer> {
    ["red", "blue"]
        .iter()
        .map(|team| {
            let mut peer = Peer::connect(program.address);
            assert_eq!(peer.line(), "WELCOME");
            peer.send(&format!("{team}\n"));
            peer.line();
            peer.line();
            peer
        })
        .collect()
}

/// Has each agent do so much, and reads all answers. Answers how many commands that were.
fn play(agents: &mut [Peer], rounds: usize) -> u64 {
    let commands = ["Forward", "Inventory", "Right", "Take food", "Broadcast hello"];
    let mut count = 0;
    for round in 0..rounds {
        for agent in agents.iter_mut() {
            agent.send(&format!("{}\n", commands[round % commands.len()]));
        }
        for agent in agents.iter_mut() {
            // What others say comes in between.
            while agent.line().starts_with("message") {}
            count += 1;
        }
    }
    count
}

fn verify(directory: &Path) -> Vec<Checked> {
    let files = pieces_in(&[directory.to_owned()]).unwrap();
    verify_all(&files, &[], || {}).unwrap()
}

/// Inputs of all pieces; every one of them must agree.
fn inputs(checked: &[Checked]) -> u64 {
    checked
        .iter()
        .map(|one| match &one.outcome {
            Outcome::Played { played, .. } => played.inputs,
            other => panic!("{}: {other:?}", one.file.display()),
        })
        .sum()
}

fn ending(checked: &Checked) -> Ending {
    match checked.outcome {
        Outcome::Played { ending, .. } => ending,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_that_ends_in_order_leaves_a_packed_journal_with_everything_in_it() {
    let folder = Folder::new();
    let directory = folder.path().to_str().unwrap();
    for run in 1..3 {
        let mut program = Program::start(
            &["--record", directory, "-f", "2000", "--seed", "5"],
            Stdio::null(),
        );
        let mut agents = agents(&program);
        let commands = play(&mut agents, 20);
        program.kill("-TERM");
        assert_eq!(program.child.wait().unwrap().code(), Some(0));

        let run = folder.path().join(format!("run-{run:04}"));
        let checked = verify(&run);
        assert_eq!(checked.len(), 1);
        assert_eq!(checked[0].file, run.join("piece-00000.trj.zst"));
        assert_eq!(
            std::fs::read_dir(&run).unwrap().count(),
            1,
            "nothing else is left over"
        );
        assert_eq!(ending(&checked[0]), Ending::Closed);
        // The speed, two joins, and all that was asked for.
        assert_eq!(inputs(&checked), commands + 3);
    }
}

#[test]
fn whatever_a_killed_server_answered_is_in_its_journal() {
    for moment in 0..6 {
        let folder = Folder::new();
        let mut program = Program::start(
            &["--record", folder.path().to_str().unwrap(), "-f", "5000"],
            Stdio::null(),
        );
        let mut agents = agents(&program);
        let answered = play(&mut agents, 3 + 7 * moment);
        // It dies with work in its hands.
        for agent in &mut agents {
            agent.send("Forward\nRight\nForward\nLook\n");
        }
        program.child.kill().unwrap();
        program.child.wait().unwrap();

        let checked = verify(folder.path());
        assert!(
            inputs(&checked) >= answered + 2,
            "{} of {answered}",
            inputs(&checked)
        );
        match ending(checked.last().unwrap()) {
            Ending::CutOff {
                why: CutShort::Nothing | CutShort::Torn,
                ..
            } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_long_journal_is_cut_into_packed_pieces_and_old_runs_make_room_as_reloaded() {
    let folder = Folder::new();
    // Larger than what is to be kept in the end.
    let old = folder.write("run-0000/piece-00000.trj.zst", b"");
    std::fs::File::options()
        .write(true)
        .open(&old)
        .unwrap()
        .set_len(65_000_000)
        .unwrap();
    let options = folder.write("server.toml", b"record-keep = \"1GB\"\n");
    let mut program = Program::start(
        &[
            "--record",
            folder.path().to_str().unwrap(),
            "--config",
            options.to_str().unwrap(),
            "-f",
            "2000",
        ],
        Stdio::null(),
    );
    std::fs::write(&options, "record-keep = \"64MB\"\n").unwrap();
    program.kill("-HUP");
    // However slow the machine is, nobody starves meanwhile.
    let mut operator = Peer::operate(program.address);
    operator.send("hunger off\n");
    operator.lines_until("ok");
    operator.lines_until("ok");
    let mut agents = agents(&program);
    let speech = format!("Broadcast {}\n", "words ".repeat(1_300));
    for _ in 0..75 {
        for agent in &mut agents {
            agent.send(&speech);
        }
        for agent in &mut agents {
            while agent.line() != "ok" {}
        }
    }
    let packed = folder.path().join("run-0001/piece-00000.trj.zst");
    let patience = now() + RealSpan::from_secs(10);
    while !packed.exists() || old.exists() {
        assert!(
            now() < patience,
            "the first piece is not packed, or the old run not removed"
        );
        play(&mut agents, 1);
    }
    program.child.kill().unwrap();
    program.child.wait().unwrap();

    let checked = verify(folder.path());
    assert_eq!((checked.len(), ending(&checked[0])), (2, Ending::Continued));
    assert!(inputs(&checked) >= 152);
}

#[test]
fn what_a_dead_run_left_half_done_is_removed_and_a_living_one_is_left_alone() {
    let folder = Folder::new();
    let record = ["--record", folder.path().to_str().unwrap()];
    let living = Program::start(&record, Stdio::null());
    let of_living = folder.write("run-0001/piece-00007.trj.zst.aside", b"half");
    let half = folder.write("run-0002/piece-00000.trj.zst.aside", b"half");
    let packed = folder.write("run-0002/piece-00001.trj.zst", b"whole");
    let plain = folder.write("run-0002/piece-00001.trj", b"whole");
    let last = folder.write("run-0002/piece-00002.trj", b"as far as it got");
    let empty = folder.write("run-0002/piece-00003.trj", b"");
    let never_begun = folder.write("run-0003/piece-00007.trj", b"");
    let not_ours = folder.write("notes/half.aside", b"half");
    let second = Program::start(&record, Stdio::null());
    let is_there = [&of_living, &half, &packed, &plain, &last, &not_ours].map(|file| file.exists());
    assert_eq!(is_there, [true, false, true, false, true, true]);
    assert!(!empty.exists() && !never_begun.exists());
    assert!(
        folder.path().join("run-0003").exists() && !folder.path().join("run-0004").exists(),
        "the second one has the number of the run in which there was nothing"
    );
    drop((living, second));
}

#[test]
fn a_start_that_fails_leaves_no_run() {
    let folder = Folder::new();
    let directory = folder.path().to_str().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = other.local_addr().unwrap().to_string();
    let (status, _, err) = support::run(&["-p", "0", "--record", directory, "--metrics", &metrics]);
    assert_eq!(status, 84, "{err}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{err}");
}

#[test]
fn old_runs_stop_nobody_from_recording_another() {
    let folder = Folder::new();
    folder.write("run-9999/piece-00000.trj.zst", b"");
    // A directory cannot be removed as a file that was never finished.
    folder.write("run-0001/kept.aside/by-hand", b"");
    for name in ["run-4294967295", "run-99999999999", "run-7", "run-00000123456"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let record = ["--record", folder.path().to_str().unwrap()];
    for run in ["run-10000", "run-10001"] {
        let mut program = Program::start(&record, Stdio::null());
        program.kill("-TERM");
        program.child.wait().unwrap();
        folder.write(&format!("{run}/piece-00001.trj"), b"x");
    }
    let pieces = pieces_in(&[folder.path().to_owned()]).unwrap();
    let runs = pieces.iter().filter_map(|piece| piece.parent()?.file_name());
    let expected = ["run-9999", "run-10000", "run-10000", "run-10001", "run-10001"];
    assert_eq!(runs.collect::<Vec<_>>(), expected);
}

#[test]
fn a_place_that_cannot_be_written_is_told_at_the_start() {
    let output = Command::new(env!("CARGO_BIN_EXE_trantor-server"))
        .args(["-p", "0", "--record", "/proc/nowhere"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(84));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.contains("trantor-server: cannot record in /proc/nowhere: "),
        "{err}"
    );
}
