//! `--save` and `--resume`: a game that outlives its server.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

#[path = "support/folder.rs"]
mod folder;
#[path = "support/mod.rs"]
#[expect(dead_code, reason = "every test program uses a part of it")]
mod support;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use trantor_server::autosave::newest_good;
use trantor_server::replay::{Outcome, pieces_in, verify_all};
use trantor_time::RealSpan;

use folder::Folder;
use support::{Peer, Program, now};

fn saves(directory: &Path) -> usize {
    let Ok(files) = std::fs::read_dir(directory) else {
        return 0;
    };
    files
        .filter(|file| {
            let name = file.as_ref().unwrap().file_name();
            name.to_str().unwrap().ends_with(".trs")
        })
        .count()
}

/// A peer that has joined; and the places its team had left.
fn join(program: &Program, team: &str) -> (Peer, u32) {
    let mut peer = Peer::connect(program.address);
    assert_eq!(peer.line(), "WELCOME");
    peer.send(&format!("{team}\n"));
    let places = peer.line().parse().unwrap();
    peer.line();
    (peer, places)
}

/// One that asks and is answered until `done` holds.
fn play_until(peer: &mut Peer, mut done: impl FnMut() -> bool) {
    let patience = now() + RealSpan::from_secs(10);
    while !done() {
        assert!(now() < patience, "it takes too long");
        peer.send("Inventory\n");
        peer.line();
    }
}

#[test]
fn a_timer_saves_while_the_game_goes_on() {
    let folder = Folder::new();
    let directory = folder.path().join("saves");
    let program = Program::start(
        &[
            "--save",
            directory.to_str().unwrap(),
            "--save-every",
            "100ms",
            "--save-keep",
            "2",
            "-f",
            "50",
        ],
        Stdio::null(),
    );
    let (mut peer, _) = join(&program, "red");
    play_until(&mut peer, || saves(&directory) >= 2);
    let (game, newest) = newest_good(&directory).unwrap().unwrap();
    assert_eq!(game.world().agents().len(), 1);
    play_until(&mut peer, || !newest.exists());
    assert!(saves(&directory) <= 3, "old ones go");
}

#[test]
fn a_stop_saves_once_more_and_a_kill_does_not() {
    for (signal, count) in [("-TERM", 1), ("-KILL", 0)] {
        let folder = Folder::new();
        let mut program = Program::start(&["--save", folder.path().to_str().unwrap()], Stdio::null());
        let (_peer, _) = join(&program, "red");
        program.kill(signal);
        program.child.wait().unwrap();
        assert_eq!(saves(folder.path()), count, "{signal}");
    }
}

#[test]
fn a_game_goes_on_where_it_was_and_its_agents_have_left_eggs() {
    let folder = Folder::new();
    let directory = folder.path().to_str().unwrap();
    let start = |more: &[&str]| {
        let mut arguments = vec!["--save", directory, "--resume", "-f", "500"];
        arguments.extend(more);
        Program::start(&arguments, Stdio::null())
    };
    // There is no save yet: a new game.
    let mut program = start(&["-x", "9", "-y", "7", "-n", "a", "b", "-c", "3", "--seed", "77"]);
    let (mut peer, left) = join(&program, "b");
    assert_eq!(left, 2);
    peer.send("Forward\nTake food\nForward\n");
    for _ in 0..3 {
        peer.line();
    }
    program.kill("-TERM");
    program.child.wait().unwrap();
    let (saved, _) = newest_good(folder.path()).unwrap().unwrap();
    assert_eq!(saved.world().agents().len(), 1);

    // What the options say of the game is of no account any more.
    let record = folder.path().join("journal");
    let mut program = start(&["-x", "20", "--record", record.to_str().unwrap()]);
    assert!(
        program
            .first_line
            .contains("(9x7, teams a b, 3 places each, 500 units/s, seed 77)"),
        "{}",
        program.first_line
    );
    let (mut peer, left) = join(&program, "b");
    assert_eq!(left, 2, "the place was given back");
    peer.send("Inventory\n");
    peer.line();
    program.kill("-TERM");
    program.child.wait().unwrap();
    let (again, _) = newest_good(folder.path()).unwrap().unwrap();
    assert!(again.now() > saved.now() && again.steps() >= saved.steps());
    for checked in verify_all(&pieces_in(&[record]).unwrap(), &[], || {}).unwrap() {
        assert!(matches!(checked.outcome, Outcome::Played { .. }), "{checked:?}");
    }
}

#[test]
fn a_server_killed_at_any_moment_leaves_a_save_that_goes_on() {
    let folder = Folder::new();
    let directory = folder.path().join("saves");
    let mut newest = None;
    for round in 0..5 {
        let mut program = Program::start(
            &[
                "--save",
                directory.to_str().unwrap(),
                "--save-every",
                "100ms",
                "--resume",
                "-f",
                "200",
            ],
            Stdio::null(),
        );
        let (mut peer, left) = join(&program, "red");
        assert_eq!(left, 5, "round {round}: whoever was killed left a place");
        let began = now();
        play_until(&mut peer, || {
            now() - began > RealSpan::from_millis(230 + 23 * round)
        });
        program.child.kill().unwrap();
        program.child.wait().unwrap();
        let (game, _) = newest_good(&directory).unwrap().unwrap();
        assert!(newest.is_none_or(|before| game.now() > before), "round {round}");
        newest = Some(game.now());
    }
}

#[test]
fn a_victory_is_saved_when_it_happens() {
    let folder = Folder::new();
    let save = ["--save", folder.path().to_str().unwrap(), "--control", "loopback"];
    let mut program = Program::start(&save, Stdio::null());
    let (_agent, _) = join(&program, "blue");
    let mut operator = Peer::connect(program.address);
    operator.send("ADMIN\nend\n");
    let patience = now() + RealSpan::from_secs(30);
    // Nothing else is saved within a minute.
    while saves(folder.path()) == 0 {
        assert!(now() < patience, "the victory is not saved");
    }
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    let (saved, _) = newest_good(folder.path()).unwrap().unwrap();
    assert!(saved.winner().is_some());
    assert_eq!(
        saved.world().agents().len(),
        1,
        "the winners stand where they stood"
    );
}

#[test]
fn what_was_sent_before_a_kill_has_happened_after_the_resume() {
    let folder = Folder::new();
    let [record, save] = ["journal", "saves"].map(|name| folder.path().join(name));
    let keeping = [
        "--record",
        record.to_str().unwrap(),
        "--save",
        save.to_str().unwrap(),
        "-f",
        "1000",
    ];
    let mut program = Program::start(&keeping, Stdio::null());
    let (mut peer, _) = join(&program, "red");
    for _ in 0..20 {
        peer.send("Forward\n");
        assert_eq!(peer.line(), "ok");
    }
    // This comes of time alone.
    while peer.line() != "dead" {}
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    let verified = || verify_all(&pieces_in(std::slice::from_ref(&record)).unwrap(), &[], || {}).unwrap();
    let Outcome::Played { end, .. } = verified()[0].outcome else {
        panic!("{:?}", verified())
    };
    let begun = newest_good(&save).unwrap().unwrap().0;
    assert!(begun.steps() < end.steps, "no save has reached it");

    // Twice, since it may be killed before the next save is due.
    for _ in 0..2 {
        let resume = [&keeping[..], &["--resume"]].concat();
        let mut program = Program::start(&resume, Stdio::null());
        let (_peer, left) = join(&program, "red");
        assert_eq!(left, 4, "the place of the dead is gone");
        program.child.kill().unwrap();
        program.child.wait().unwrap();
        let (saved, _) = newest_good(&save).unwrap().unwrap();
        assert!(saved.steps() >= end.steps, "{} of {}", saved.steps(), end.steps);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told_at_the_start() {
    // It is there and can be read, whoever asks; and nobody can make a file in it.
    let (status, _, err) = support::run(&["-p", "0", "--save", "/proc"]);
    assert_eq!(status, 84, "{err}");
    assert!(err.contains("trantor-server: cannot save in /proc: "), "{err}");
}

#[test]
fn a_second_server_does_not_push_out_the_saves_of_the_first() {
    let folder = Folder::new();
    let directory = folder.path().to_str().unwrap();
    let mut first = Program::start(&["--save", directory], Stdio::null());
    // It ends in any case: this address is for books.
    let (status, _, err) = support::run(&["--bind", "203.0.113.1", "--save", directory]);
    assert_eq!(status, 84, "{err}");
    let told = format!("trantor-server: cannot save in {directory}: another server saves there");
    assert!(err.contains(&told), "{err}");
    first.kill("-TERM");
    first.child.wait().unwrap();
    assert_eq!(saves(folder.path()), 1);
    // What is gone holds nothing any more.
    drop(Program::start(&["--save", directory, "--resume"], Stdio::null()));
}

#[test]
fn a_saved_game_that_is_over_is_said_to_be() {
    let folder = Folder::new();
    let save = ["--save", folder.path().to_str().unwrap(), "--resume"];
    let mut program = Program::start(&save, Stdio::null());
    let (agent, _) = join(&program, "blue");
    let mut operator = Peer::operate(program.address);
    operator.send("end\n");
    operator.lines_until("ok");
    operator.lines_until("ok");
    program.kill("-TERM");
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
    drop(agent);
    for (more, told) in [
        (&[][..], "blue has won: it can be watched and not joined"),
        (&["--after-win", "exit"], "blue has won: a new one"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trantor-server"));
        command.args(save).stderr(Stdio::piped());
        let mut program = Program::start_by(command, more, Stdio::null());
        if more.is_empty() {
            let mut viewer = Peer::connect(program.address);
            viewer.send("GRAPHIC\n");
            let lines = viewer.lines_until("seg blue");
            let winners = lines.iter().filter(|line| line.starts_with("pnw ")).count();
            assert_eq!(winners, 1, "they stand where they stood: {lines:?}");
        }
        // An orderly end, which loses nothing of the log.
        program.kill("-TERM");
        let mut log = String::new();
        let mut stderr = program.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        assert!(log.contains(told), "{more:?}: {log}");
    }
}

#[test]
fn saves_that_are_no_good_are_not_pushed_out_by_a_new_game() {
    let folder = Folder::new();
    folder.write("save-0000000001.trs", b"damaged");
    let directory = folder.path().to_str().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_trantor-server"))
        .args(["-p", "0", "--save", directory, "--resume", "--log", "error"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(84));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("none of the 1 saves can be continued"), "{err}");
}
