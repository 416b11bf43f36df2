//! `--record`: what a run leaves, however it ends.

use std::net::TcpListener;
use std::path::Path;

use trantor_game::journal::{CutShort, Ending};
use trantor_server::replay::pieces_in;
use trantor_time::RealSpan;

use crate::support::{Folder, Peer, Program, Verified, now, run_in, verified};

/// Two agents that have joined.
fn agents(program: &Program) -> [Peer; 2] {
    ["red", "blue"].map(|team| program.join(team).0)
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
            // Broadcasts of the others come in between.
            while agent.line().starts_with("message") {}
            count += 1;
        }
    }
    count
}

fn inputs(pieces: &[Verified]) -> u64 {
    pieces.iter().map(|piece| piece.inputs).sum()
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_run_that_ends_in_order_leaves_a_packed_journal_with_everything_in_it() {
    let folder = Folder::new();
    for run in 1..3 {
        let mut program = Program::start_in(&folder, "--record . -f 2000 --seed 5");
        let mut agents = agents(&program);
        let commands = play(&mut agents, 20);
        program.stop();

        let run = folder.join(format!("run-{run:04}"));
        let pieces = verified(&run);
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0].file, run.join("piece-00000.trj.zst"));
        assert_eq!(entries(&run), 1, "nothing else is left over");
        assert_eq!(pieces[0].ending, Ending::Closed);
        // The speed, two joins, and all commands.
        assert_eq!(inputs(&pieces), commands + 3);
    }
}

#[test]
fn whatever_a_killed_server_answered_is_in_its_journal() {
    for moment in 0..6 {
        let folder = Folder::new();
        let mut program = Program::start_in(&folder, "--record . -f 5000");
        let mut agents = agents(&program);
        let answered = play(&mut agents, 3 + 7 * moment);
        // It dies with work in its hands.
        for agent in &mut agents {
            agent.send("Forward\nRight\nForward\nLook\n");
        }
        program.crash();
        let pieces = verified(&folder);
        assert!(
            inputs(&pieces) >= answered + 2,
            "{} of {answered}",
            inputs(&pieces)
        );
        match pieces.last().unwrap().ending {
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
    let file = std::fs::File::options().write(true).open(&old).unwrap();
    file.set_len(65_000_000).unwrap();
    let options = folder.write("server.toml", b"record-keep = \"1GB\"\n");
    let mut program = Program::start_in(&folder, "--record . --config server.toml -f 2000");
    std::fs::write(&options, "record-keep = \"64MB\"\n").unwrap();
    program.kill("-HUP");
    // However slow the machine is, no agent starves meanwhile.
    drop(program.operate("hunger off"));
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
    let packed = folder.join("run-0001/piece-00000.trj.zst");
    let patience = now() + RealSpan::from_secs(10);
    while !packed.exists() || old.exists() {
        assert!(
            now() < patience,
            "the first piece is not packed, or the old run not removed"
        );
        play(&mut agents, 1);
    }
    program.crash();

    let pieces = verified(&folder);
    assert_eq!((pieces.len(), pieces[0].ending), (2, Ending::Continued));
    assert!(inputs(&pieces) >= 152);
}

#[test]
fn what_a_dead_run_left_half_done_is_removed_and_a_living_one_is_left_alone() {
    let folder = Folder::new();
    let living = Program::start_in(&folder, "--record .");
    let of_living = folder.write("run-0001/piece-00007.trj.zst.aside", b"half");
    let half = folder.write("run-0002/piece-00000.trj.zst.aside", b"half");
    let packed = folder.write("run-0002/piece-00001.trj.zst", b"whole");
    let plain = folder.write("run-0002/piece-00001.trj", b"whole");
    let last = folder.write("run-0002/piece-00002.trj", b"as far as it got");
    let empty = folder.write("run-0002/piece-00003.trj", b"");
    let never_begun = folder.write("run-0003/piece-00007.trj", b"");
    let not_ours = folder.write("notes/half.aside", b"half");
    let second = Program::start_in(&folder, "--record .");
    let is_there = [&of_living, &half, &packed, &plain, &last, &not_ours].map(|file| file.exists());
    assert_eq!(is_there, [true, false, true, false, true, true]);
    assert!(!empty.exists() && !never_begun.exists());
    assert!(
        folder.join("run-0003").exists() && !folder.join("run-0004").exists(),
        "the second one has the number of the run in which there was nothing"
    );
    drop((living, second));
}

#[test]
fn a_start_that_fails_leaves_no_run() {
    let folder = Folder::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = other.local_addr().unwrap();
    let (status, _, err) = run_in(&folder, &format!("-p 0 --record . --metrics {metrics}"));
    assert_eq!((status, entries(&folder)), (84, 0), "{err}");
}

#[test]
fn old_runs_stop_no_server_from_recording_another() {
    let folder = Folder::new();
    folder.write("run-9999/piece-00000.trj.zst", b"");
    // A directory cannot be removed as a file that was never finished.
    folder.write("run-0001/kept.aside/by-hand", b"");
    for name in ["run-4294967295", "run-99999999999", "run-7", "run-00000123456"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    for run in ["run-10000", "run-10001"] {
        Program::start_in(&folder, "--record .").stop();
        folder.write(&format!("{run}/piece-00001.trj"), b"x");
    }
    let pieces = pieces_in(&[folder.to_path_buf()]).unwrap();
    let runs = pieces.iter().filter_map(|piece| piece.parent()?.file_name());
    let expected = ["run-9999", "run-10000", "run-10000", "run-10001", "run-10001"];
    assert_eq!(runs.collect::<Vec<_>>(), expected);
}
