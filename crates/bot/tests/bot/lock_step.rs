//! Bots as processes against a server in lock-step: the same bots and seeds play the same game whatever the scheduling, and
//! it is the game that `trantor-server sim` plays.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::Child;
use std::sync::mpsc;

use trantor_server::background::Background;
use trantor_server::headless;
use trantor_server::options::Options;

use crate::support::{BOT, PATIENCE, serve, start};

/// A process with some agents of a team.
fn bots(server: SocketAddr, team: &str, agents: u32) -> Child {
    let flags = format!("-n {team} --seed 7 --team-size {agents} --team-size-max {agents}");
    start(BOT, server, &flags)
}

/// Digest and time of the server's game once a team has won.
fn end_of(server: &Background) -> Option<(String, i128)> {
    let (sender, state) = mpsc::sync_channel(1);
    let posted = server.tasks().send("end_of", move |shell| {
        let game = shell.engine.game();
        let end = game
            .winner()
            .map(|_| (format!("{:016x}", game.digest()), game.now().whole_units()));
        sender.send(end).expect("the test waits for it");
    });
    posted.expect("the server's loop runs");
    state.recv_timeout(PATIENCE).expect("the server's loop runs")
}

/// A game of two teams of six; `split` spreads the agents of the first over processes.
fn played(split: &[u32]) -> (String, i128) {
    let mut options = Options {
        lock_step: true,
        ..Options::default()
    };
    (options.game.width, options.game.height) = (10, 10);
    options.game.places_per_team = 6;
    let server = serve(&options);
    let mut processes: Vec<Child> = split
        .iter()
        .map(|&agents| bots(server.address(), "red", agents))
        .collect();
    processes.push(bots(server.address(), "blue", 6));
    for process in &mut processes {
        let status = process.wait().expect("a process that was started ends");
        assert!(status.success(), "{status}");
    }
    end_of(&server).expect("the bots play until the game is over")
}

#[test]
fn bots_as_processes_play_the_game_of_a_leap() {
    const CALL: &str = "sim --seed 7 -x 10 -y 10 -c 6 --team-size-max 6";
    let summary = headless::simulate(CALL.split(' ').map(OsString::from)).expect(CALL);
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("it is JSON");
    assert_eq!(summary["ended"], "won");
    let leap = (
        summary["digest"].as_str().expect("a digest is text").to_owned(),
        summary["units"].as_i64().expect("units are a number").into(),
    );
    assert_eq!(played(&[6]), leap, "two processes");
    assert_eq!(played(&[1, 2, 3]), leap, "four processes, which race for places");
}
