//! Minds in the program: a match without a client.

use std::ffi::OsString;

use trantor_game::Replay;
use trantor_server::headless::simulate;
use trantor_server::replay::{pieces_in, read};

use crate::support::{Folder, Program};

/// Played live as fast as the machine can, won, recorded and ended: the match that `sim` plays, and its replay.
#[test]
fn a_match_without_a_client_is_the_one_that_sim_plays() {
    const GAME: &str = "--seed 3 -x 8 -y 8 -c 6 --mind red=team:6 --mind blue=random:2,every=20,think=2.5";
    let folder = Folder::new();
    let live = format!("{GAME} -f 10000 --lag-limit 10 --record . --after-win exit");
    let mut program = Program::start_in(&folder, &live);
    let sim = format!("sim {GAME}");
    let summary =
        simulate(sim.split(' ').map(OsString::from)).unwrap_or_else(|error| panic!("{sim}: {error}"));
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("it is JSON");
    assert_eq!(summary["ended"], "won");
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
    let pieces = pieces_in(&[folder.join("run-0001")]).unwrap();
    let replayed = Replay::open(read(&pieces[0]).unwrap()).unwrap().verify().unwrap();
    assert_eq!(summary["digest"], format!("{:016x}", replayed.game.digest()));
}
