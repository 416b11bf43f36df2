//! `--save` and `--resume`: a game that outlives its server.

use std::path::Path;

use trantor_game::Game;
use trantor_server::autosave::newest_good;
use trantor_server::store::SystemFiles;
use trantor_time::RealSpan;

use crate::support::{Folder, Peer, Program, now, run, run_in, verified};

fn saves(directory: &Path) -> usize {
    let files = std::fs::read_dir(directory).into_iter().flatten();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".trs")).count()
}

fn newest(directory: &Path) -> Game {
    newest_good(&SystemFiles, directory).unwrap().unwrap().0
}

/// An agent that asks and is answered until `done` holds.
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
    let program = Program::start_in(&folder, "--save . --save-every 100ms --save-keep 2 -f 50");
    let (mut peer, _) = program.join("red");
    play_until(&mut peer, || saves(&folder) >= 2);
    let (game, newest) = newest_good(&SystemFiles, &folder).unwrap().unwrap();
    assert_eq!(game.world().agents().len(), 1);
    play_until(&mut peer, || !newest.exists());
    assert!(saves(&folder) <= 3, "old ones go");
}

#[test]
fn a_stop_saves_once_more_and_a_kill_does_not() {
    for (signal, count) in [("-TERM", 1), ("-KILL", 0)] {
        let folder = Folder::new();
        let mut program = Program::start_in(&folder, "--save .");
        let (_peer, _) = program.join("red");
        program.kill(signal);
        program.child.wait().unwrap();
        assert_eq!(saves(&folder), count, "{signal}");
    }
}

#[test]
fn a_game_goes_on_where_it_was_and_its_agents_have_left_eggs() {
    let folder = Folder::new();
    let start = |more: &str| Program::start_in(&folder, &format!("--save . --resume -f 500 {more}"));
    // There is no save yet: a new game.
    let mut program = start("-x 9 -y 7 -n a b -c 3 --seed 77");
    let (mut peer, left) = program.join("b");
    assert_eq!(left, 2);
    peer.send("Forward\nTake food\nForward\n");
    for _ in 0..3 {
        peer.line();
    }
    program.stop();
    let saved = newest(&folder);
    assert_eq!(saved.world().agents().len(), 1);

    // The game keeps its map, teams and seed, whatever the options say.
    let mut program = start("-x 20 --record journal");
    let line = &program.first_line;
    assert!(
        line.contains("(9x7, teams a b, 3 places each, 500 units/s, seed 77)"),
        "{line}"
    );
    let (mut peer, left) = program.join("b");
    assert_eq!(left, 2, "the place was given back");
    peer.send("Inventory\n");
    peer.line();
    program.stop();
    let again = newest(&folder);
    assert!(again.now() > saved.now() && again.steps() >= saved.steps());
    assert!(!verified(&folder.join("journal")).is_empty());
}

#[test]
fn a_victory_is_saved_when_it_happens() {
    let folder = Folder::new();
    let mut program = Program::start_in(&folder, "--save . --control loopback");
    let (_agent, _) = program.join("blue");
    let mut operator = Peer::connect(program.address);
    operator.send("ADMIN\nend\n");
    let patience = now() + RealSpan::from_secs(30);
    // Nothing else is saved within a minute.
    while saves(&folder) == 0 {
        assert!(now() < patience, "the victory is not saved");
    }
    program.crash();
    let saved = newest(&folder);
    assert!(saved.winner().is_some());
    assert_eq!(
        saved.world().agents().len(),
        1,
        "the winners stand where they stood"
    );
}

#[test]
fn what_was_sent_before_a_kill_has_happened_after_the_resume() {
    const KEEPING: &str = "--record journal --save saves -f 1000";
    let folder = Folder::new();
    let saves = folder.join("saves");
    let mut program = Program::start_in(&folder, KEEPING);
    let (mut peer, _) = program.join("red");
    for _ in 0..20 {
        peer.send("Forward\n");
        assert_eq!(peer.line(), "ok");
    }
    // This comes of time alone.
    while peer.line() != "dead" {}
    program.crash();
    let end = verified(&folder.join("journal"))[0].end.steps;
    assert!(newest(&saves).steps() < end, "no save has reached it");

    // Twice, since it may be killed before the next save is due.
    for _ in 0..2 {
        let mut program = Program::start_in(&folder, &format!("{KEEPING} --resume"));
        let (_peer, left) = program.join("red");
        assert_eq!(left, 4, "the place of the dead is gone");
        program.crash();
        let steps = newest(&saves).steps();
        assert!(steps >= end, "{steps} of {end}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_said_at_the_start() {
    // It is there and can be read; and no file can be made in it.
    for (option, what) in [
        ("--save /proc", "save in /proc"),
        ("--record /proc/x", "record in /proc/x"),
    ] {
        let (status, _, err) = run(&format!("-p 0 {option}"));
        assert_eq!(status, 84, "{err}");
        assert!(err.contains(&format!("trantor-server: cannot {what}: ")), "{err}");
    }
}

#[test]
fn a_second_server_does_not_push_out_the_saves_of_the_first() {
    let folder = Folder::new();
    let mut first = Program::start_in(&folder, "--save .");
    // It ends in any case: this address is for books.
    let (status, _, err) = run_in(&folder, "--bind 203.0.113.1 --save .");
    assert_eq!(status, 84, "{err}");
    assert!(
        err.contains("trantor-server: cannot save in .: another server saves there"),
        "{err}"
    );
    first.stop();
    assert_eq!(saves(&folder), 1);
    // The lock ends with its server.
    drop(Program::start_in(&folder, "--save . --resume"));
}

#[test]
fn a_saved_game_that_is_over_is_reported() {
    let folder = Folder::new();
    let mut program = Program::start_in(&folder, "--save . --resume");
    let (_agent, _) = program.join("blue");
    drop(program.operate("end"));
    program.stop();
    for (more, expected) in [
        ("", "blue has won: it can be watched and not joined"),
        ("--after-win exit", "blue has won: a new one"),
    ] {
        let mut program = Program::start_in(&folder, &format!("--save . --resume {more}"));
        if more.is_empty() {
            let mut viewer = Peer::connect(program.address);
            viewer.send("GRAPHIC\n");
            let lines = viewer.lines_until("seg blue");
            let winners = lines.iter().filter(|line| line.starts_with("pnw ")).count();
            assert_eq!(winners, 1, "they stand where they stood: {lines:?}");
        }
        let log = program.stop();
        assert!(log.contains(expected), "{more}: {log}");
    }
}

#[test]
fn damaged_saves_are_not_pushed_out_by_a_new_game() {
    let folder = Folder::new();
    folder.write("save-0000000001.trs", b"damaged");
    let (status, _, err) = run_in(&folder, "-p 0 --save . --resume --log error");
    assert_eq!(status, 84);
    assert!(err.contains("none of the 1 saves can be continued"), "{err}");
}
