//! `--record` and `--save` where a transcript cannot say it: a server that is killed, and pieces of megabytes.

use trantor_game::journal::Ending;
use trantor_server::autosave::newest_good;
use trantor_server::store::SystemFiles;

use crate::support::{Folder, Program, verified, wait_until};

#[test]
fn what_was_sent_before_a_kill_has_happened_after_the_resume() {
    const FLAGS: &str = "--record journal --save saves -f 1000";
    let folder = Folder::new();
    let newest_steps = || {
        let newest = newest_good(&SystemFiles, &folder.join("saves")).unwrap();
        newest.unwrap().0.steps()
    };
    let mut program = Program::start_in(&folder, FLAGS);
    let (mut peer, _) = program.join("red");
    for _ in 0..20 {
        peer.send("Forward\n");
        assert_eq!(peer.line(), "ok");
    }
    // This comes of time alone.
    while peer.line() != "dead" {}
    program.crash();
    let end = verified(&folder.join("journal"))[0].end.steps;
    assert!(newest_steps() < end, "no save has reached it");

    // Twice, since it may be killed before the next save is due.
    for _ in 0..2 {
        let mut program = Program::start_in(&folder, &format!("{FLAGS} --resume"));
        let (_peer, left) = program.join("red");
        assert_eq!(left, 4, "the place of the dead is gone");
        program.crash();
        let steps = newest_steps();
        assert!(steps >= end, "{steps} of {end}");
    }
}

#[test]
fn a_long_journal_is_cut_into_packed_pieces_and_old_runs_make_room_as_reloaded() {
    let folder = Folder::new();
    // Larger than what is to be kept in the end.
    let old = folder.write("run-0000/piece-00000.trj.zst", b"");
    let file = std::fs::File::options().write(true).open(&old).unwrap();
    file.set_len(65_000_000).unwrap();
    let options = folder.write("server.toml", b"record-keep = \"1GB\"\n");
    let mut program = Program::start_in(&folder, "--record . --config server.toml -f 2000");
    std::fs::write(&options, "record-keep = \"64MB\"\n").unwrap();
    program.kill("-HUP");
    // However slow the machine is, no agent starves meanwhile.
    drop(program.operate("hunger off"));
    let (mut agent, _) = program.join("red");
    let packed = folder.join("run-0001/piece-00000.trj.zst");
    let speech = format!("Broadcast {}\n", "words ".repeat(2_600));
    let mut said = 0;
    wait_until("no piece is packed, or the old run is not removed", || {
        agent.send(&speech);
        assert_eq!(agent.line(), "ok");
        said += 1;
        packed.exists() && !old.exists()
    });
    program.crash();
    let pieces = verified(&folder);
    assert_eq!(pieces[0].ending, Ending::Continued);
    assert!(pieces.iter().map(|piece| piece.inputs).sum::<u64>() >= said);
}
