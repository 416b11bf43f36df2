//! What the program does when the system gives it no more: no room on the disk, no processor for a while;
//! and how much memory peers can take.

use std::io::Write;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use trantor_game::journal::Ending;
use trantor_runtime::Parker;
use trantor_time::RealSpan;

use crate::support::{Folder, Peer, Program, now, verified, wait_until};

/// The limit that holds for `program` from now on; a test may lower it and raise it again.
fn limit(program: &Program, resource: Resource, current: Option<u64>) {
    let pid = Pid::from_raw(i32::try_from(program.child.id()).unwrap());
    let maximum = rustix::process::getrlimit(resource).maximum;
    prlimit(pid, resource, Rlimit { current, maximum }).unwrap();
}

/// An agent that has more to do than to look for food.
fn join(program: &Program) -> Peer {
    let (peer, _) = program.join("red");
    drop(program.operate("hunger off"));
    peer
}

/// Has the agent speak so often, each time answered; long speeches, so that the journal grows.
fn speak(agent: &mut Peer, times: usize) {
    let speech = format!("Broadcast {}\n", "words ".repeat(60));
    for _ in 0..times {
        agent.send(&speech);
        assert_eq!(agent.line(), "ok");
    }
}

/// A limit on the size of files stands for the disk: first there is room for a few records and a part of one more,
/// then for nothing, then for everything.
#[test]
fn a_full_disk_ends_the_recording_and_not_the_game_and_room_begins_it_again() {
    let folder = Folder::new();
    let mut program = Program::start_in(&folder, "--record . --metrics 0 -f 1000");
    let failed = |program: &mut Program| program.metric("trantor_journal_failures_total");
    let resumed = |program: &mut Program| program.metric("trantor_journal_resumed_total");
    let mut agent = join(&program);
    limit(&program, Resource::Fsize, Some(8 * 1_024));
    wait_until("no disk of this size can take so much", || {
        speak(&mut agent, 5);
        failed(&mut program) >= 1.0
    });
    limit(&program, Resource::Fsize, Some(0));
    speak(&mut agent, 40);
    limit(&program, Resource::Fsize, None);
    wait_until("there is room, and nothing is recorded", || {
        speak(&mut agent, 5);
        resumed(&mut program) >= failed(&mut program)
    });
    speak(&mut agent, 20);
    let log = program.stop();
    assert!(log.contains("recording ends here, the game goes on"), "{log}");
    assert!(log.contains("the game is recorded again from here on"), "{log}");

    let pieces = verified(&folder);
    let (first, last) = (pieces.first().unwrap(), pieces.last().unwrap());
    assert!(
        matches!(first.ending, Ending::CutOff { .. }),
        "what was written of the last record is taken back"
    );
    assert!(first.inputs >= 5, "{}", first.inputs);
    assert_eq!(last.ending, Ending::Closed);
    assert!(last.inputs >= 20, "{}", last.inputs);
    let runs = std::fs::read_dir(&*folder).unwrap().count();
    assert_eq!(runs, pieces.len(), "no attempt leaves an empty run behind");
}

#[test]
fn a_recording_that_ended_before_the_game_is_not_said_to_be_whole() {
    let folder = Folder::new();
    let mut program = Program::start_in(&folder, "--record . --metrics 0");
    limit(&program, Resource::Fsize, Some(0));
    drop(join(&program));
    wait_until("nothing can be written", || {
        program.metric("trantor_journal_failures_total") >= 1.0
    });
    let log = program.stop();
    assert!(log.contains("the game was not recorded to its end"), "{log}");
    assert!(!log.contains(" pieces in "), "{log}");
}

/// A process that was stopped gives up the time, says so, and is then as quick as before: no burst.
#[test]
fn a_stopped_program_slips_says_so_and_goes_on() {
    let mut program = Program::start("-f 100 --metrics 0");
    let mut agent = join(&program);
    let pid = Pid::from_raw(i32::try_from(program.child.id()).unwrap()).unwrap();
    let stopped_for = RealSpan::from_secs(2);
    agent.send(&"Forward\n".repeat(10));
    // It is stopped on the way to the next one.
    assert_eq!(agent.line(), "ok");
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    Parker::new().wait(Some(now() + stopped_for));
    rustix::process::kill_process(pid, Signal::CONT).unwrap();
    for _ in 0..9 {
        assert_eq!(agent.line(), "ok");
    }
    // Of 200 units, a quarter of a second's worth may be made up for.
    assert!(program.metric("trantor_game_slips_total") >= 1.0);
    assert!(program.metric("trantor_game_slipped_units_total") >= 100.0);
    let log = program.stop();
    assert!(log.contains("the game slipped"), "{log}");
}

/// Peers that fill everything that they may fill, each to its limit: what they leave unread, lines without an end, and ten of the
/// longest commands.
#[test]
fn greedy_peers_take_no_more_memory_than_the_limits_add_up_to() {
    const MIB: u64 = 1_024 * 1_024;
    const MESSAGE_BYTES: usize = 16 * 1_024;
    const PEERS: u64 = 40;
    let mut program = Program::start("--output-limit 16 -x 100 -y 100 -c 50 --metrics 0 --log error");
    drop(join(&program));
    let at_rest = memory_bytes(&program, "VmRSS:");

    let say = |text: &str| {
        let mut peer = Peer::connect(program.address);
        // The server reads no more of a peer that has enough under way.
        peer.socket.set_nonblocking(true).unwrap();
        let _as_much_as_it_takes = peer.socket.write(text.as_bytes());
        peer
    };
    let everything = format!("GRAPHIC\n{}", "mct\n".repeat(500));
    let no_end = "x".repeat(MESSAGE_BYTES - 1);
    let speech = format!("Broadcast {}\n", "x".repeat(MESSAGE_BYTES - 20));
    let speeches = format!("red\n{}", speech.repeat(10));
    let mut greedy = Vec::new();
    for _ in 0..PEERS {
        greedy.extend([&everything, &no_end, &speeches].map(|text| say(text)));
    }
    // From then on a viewer is not read any more.
    wait_until(
        "a map of 10,000 lines is more than a viewer may leave unread",
        || program.metric("trantor_sessions_blocked_peers_total") >= PEERS as f64,
    );
    wait_until(
        "each line without an end, and as much of each speaker, was read",
        || program.metric("trantor_socket_read_bytes_total") >= (2 * PEERS * MESSAGE_BYTES as u64) as f64,
    );
    let unread = 16 * MIB;
    let unfinished = PEERS * MESSAGE_BYTES as u64;
    let waiting = PEERS * 10 * MESSAGE_BYTES as u64;
    let peak = memory_bytes(&program, "VmHWM:") - at_rest;
    // A buffer that grows holds its old and its new bytes for a moment.
    let most = 2 * (unread + unfinished + waiting);
    assert!(peak > MIB, "{peak}: they took nothing");
    assert!(peak <= most, "{peak} of {most}");
}

/// Players and silent peers who come and go, thousands of times: each may leave a trace in a counter, and no more.
#[test]
fn connections_that_come_and_go_leave_no_memory_behind() {
    const ROUNDS: u64 = 2_000;
    let flags = "--accept-rate 100000 --respawn-slots on -f 1000 -c 20 --log error";
    let program = Program::start(flags);
    let come_and_go = |rounds: u64| {
        for _ in 0..rounds {
            let mut player = Peer::connect(program.address);
            player.send("red\nForward\n");
            assert_eq!(player.line(), "WELCOME");
            player.line();
            drop(player);
            drop(Peer::connect(program.address));
        }
    };
    come_and_go(ROUNDS / 4);
    let before = memory_bytes(&program, "VmRSS:");
    come_and_go(ROUNDS);
    let grown = memory_bytes(&program, "VmRSS:").saturating_sub(before);
    // The smallest thing that could be kept for a connection is larger.
    assert!(
        grown < 64 * 2 * ROUNDS,
        "{grown} bytes for {} connections",
        2 * ROUNDS
    );
}

/// The figure that the system has under `name`, in bytes.
fn memory_bytes(program: &Program, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.child.id())).unwrap();
    let figure = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    figure.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1_024
}
