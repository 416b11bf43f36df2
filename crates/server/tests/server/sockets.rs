//! What only real sockets can show: how bytes are cut, who is served when, and how connections end.
//!
//! What the lines say is tested in the engine, by transcripts.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trantor_engine::Control;
use trantor_server::options::Options;
use trantor_time::{Frequency, RealSpan};

use crate::support::{Peer, Server, now};

/// On a map that is too large for builds with assertions to check it whole at every step: what is tested here is
/// who is served when, and the checks would be all that is measured.
fn options(teams: &[&str], places_per_team: u32, frequency: u64) -> Options {
    Options {
        teams: teams.iter().map(ToString::to_string).collect(),
        places_per_team,
        frequency: Frequency::new(frequency).unwrap(),
        width: 40,
        height: 40,
        // A server in this process leaves no token.
        control: Control::Loopback,
        ..Options::default()
    }
}

/// One read that takes whatever has come.
fn one_read(peer: &mut Peer) -> String {
    let mut bytes = [0; 4096];
    let count = peer.socket.read(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn the_number_of_places_and_the_map_come_in_one_piece() {
    let server = Server::start(options(&["red"], 3, 100));
    for left in ["2", "1", "0"] {
        let mut peer = Peer::connect(server.address);
        assert_eq!(one_read(&mut peer), "WELCOME\n");
        peer.send("red\n");
        assert_eq!(one_read(&mut peer), format!("{left}\n40 40\n"));
    }
}

/// Many agents take one read for one message, so no two may leave in one write, even if both are due at once.
#[test]
fn each_reply_to_an_agent_leaves_in_a_write_of_its_own() {
    let server = Server::start(options(&["red"], 3, 10_000));
    let mut peer = server.join("red");
    let before = server.conn_stats();
    peer.send("Connect_nbr\nnonsense\nConnect_nbr\nInventory\nConnect_nbr\nRight\n");
    let lines = peer.lines_until("ok");
    let after = server.conn_stats();
    assert_eq!(lines.len(), 6);
    assert_eq!(after.writes - before.writes, 6);
    assert_eq!(after.reads - before.reads, 1);
}

/// Viewers read streams, and what they are told at one time leaves in one write.
#[test]
fn what_a_viewer_is_told_at_once_leaves_in_one_write() {
    let server = Server::start(options(&["red"], 3, 10_000));
    let mut viewer = server.watch();
    let before = server.conn_stats();
    viewer.send("msz\nsgt\ntna\nbct 0 0\nnonsense\n");
    assert_eq!(viewer.lines_until("suc").len(), 5);
    assert_eq!(server.conn_stats().writes - before.writes, 1);
}

/// More are to be told something at one time than a pass writes to. Who is left over is told by the next one, also if nothing
/// else ever happens.
#[test]
fn nobody_is_left_out_where_one_pass_cannot_tell_all() {
    const AGENTS: u32 = 1_200;
    trantor_server::descriptors::raise_limit();
    // Nobody starves meanwhile: an agent that is told anything else is told this with it.
    let server = Server::start(options(&["red"], AGENTS, 50));
    let mut peers: Vec<Peer> = (0..AGENTS).map(|_| server.join("red")).collect();
    let mut speaker = peers.pop().unwrap();
    speaker.send("Broadcast all of you\n");
    for (nth, peer) in peers.iter_mut().enumerate() {
        let heard = peer.line();
        assert!(heard.starts_with("message"), "agent {nth} heard {heard:?}");
    }
}

/// What an operator says at once and faster than it may is carried out by and by, also where nobody else says anything.
#[test]
fn an_operator_that_is_held_up_is_answered_to_the_end() {
    const LINES: usize = 2_400;
    let server = Server::start(options(&["red"], 1, 100));
    let mut operator = server.connect();
    operator.send(&format!("ADMIN\n{}help\n", "what\n".repeat(LINES)));
    assert_eq!(operator.line(), "ok");
    for nth in 0..LINES {
        let answer = operator.line();
        assert!(answer.starts_with("ko"), "line {nth}: {answer:?}");
    }
    operator.lines_until("ok");
}

#[test]
fn an_operator_that_would_let_itself_go_is_answered() {
    let server = Server::start(options(&["red"], 1, 100));
    let mut operator = server.connect();
    operator.send("ADMIN\nkick connection 0.0\ntick rate 50\n");
    let lines = operator.lines_until("50 units/s");
    assert!(
        lines[1].starts_with("ko this is your own connection"),
        "{lines:?}"
    );
    assert_eq!(operator.line(), "ok");
}

/// Closing a connection with unread input makes the system reset it, and a reset takes the last line with it.
#[test]
fn dead_is_delivered_though_input_was_pending() {
    let server = Server::start(options(&["red"], 1, 10_000));
    let mut peer = server.join("red");
    // It starves after 1,260 units, 0.126 s; until then it sends without ever reading.
    let started = now();
    while now() - started < RealSpan::from_millis(300) {
        // The server hangs up in the middle of this; then there is nobody to send to.
        if peer.socket.write_all(b"Broadcast nothing but noise\n").is_err() {
            break;
        }
    }
    let rest = peer.rest().expect("an end in order, no reset");
    assert!(
        rest.ends_with("\ndead\n"),
        "…{:?}",
        &rest[rest.len().saturating_sub(40)..]
    );
}

#[test]
fn a_half_closed_connection_counts_as_gone() {
    let server = Server::start(options(&["red"], 1, 100));
    let mut viewer = server.watch();
    let mut peer = server.join("red");
    peer.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(viewer.lines_until("pdi").last().unwrap(), "pdi #0");
    assert_eq!(peer.rest().unwrap(), "", "and is closed from our side too");
}

#[test]
fn a_peer_that_resets_its_connection_harms_nobody() {
    let server = Server::start(options(&["red"], 50, 10_000));
    for _ in 0..20 {
        let mut rude = server.join("red");
        rude.send("Look\nLook\nLook\nLook\nLook\nLook\nLook\nLook\nLook\nLook\n");
        // Unread input at the time of closing makes our own system send the reset.
        rude.socket.shutdown(Shutdown::Read).unwrap();
        drop(rude);
    }
    let mut viewer = server.connect();
    viewer.send("GRAPHIC\n");
    drop(viewer);
    let mut peer = server.join("red");
    peer.send("Forward\n");
    assert_eq!(peer.line(), "ok");
}

/// Flooders send as fast as they can; one honest agent must still be answered in time.
#[test]
fn a_flood_does_not_starve_others() {
    let server = Server::start(options(&["red"], 20, 100));
    let is_over = Arc::new(AtomicBool::new(false));
    let flooders: Vec<_> = (0..4)
        .map(|index| {
            let mut peer = server.join("red");
            let is_over = Arc::clone(&is_over);
            let flood = move || {
                let noise = "Nonsense\n".repeat(5_000);
                let mut drain = [0; 65_536];
                let patience = Some(std::time::Duration::from_millis(50));
                peer.socket.set_write_timeout(patience).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    // This waits until the server has read, so that the flood is as fast as the server and no faster.
                    peer.socket.set_nonblocking(false).unwrap();
                    match peer.socket.write(noise.as_bytes()) {
                        Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
                        _ => {}
                    }
                    peer.socket.set_nonblocking(true).unwrap();
                    while matches!(peer.socket.read(&mut drain), Ok(count) if count > 0) {}
                }
            };
            trantor_runtime::threads::spawn(&format!("flooder {index}"), flood).unwrap()
        })
        .collect();

    let mut honest = server.join("red");
    let mut waits: Vec<_> = (0..21)
        .map(|_| {
            let asked = now();
            honest.send("Connect_nbr\n");
            assert_eq!(honest.line(), "15");
            now() - asked
        })
        .collect();
    is_over.store(true, Ordering::Relaxed);
    drop(flooders);
    // A millisecond or so where the machine is free. The median, since one answer may be late for want of a core.
    waits.sort();
    let median = waits[waits.len() / 2];
    assert!(
        median < RealSpan::from_millis(200),
        "half of the answers took {median:?} or more"
    );
}

/// A viewer that asks for the whole map and never reads it is let go, and nobody else notices.
#[test]
fn a_viewer_that_never_reads_is_let_go() {
    let mut options = options(&["red"], 2, 100);
    options.limits.stall_span = RealSpan::from_millis(300);
    options.limits.requests_per_second = 1_000_000;
    let server = Server::start(options);
    let mut deaf = server.watch();
    let mut honest = server.join("red");
    let asks = "mct\n".repeat(2_000);
    deaf.socket.set_nonblocking(true).unwrap();
    let started = now();
    let mut is_gone = false;
    while !is_gone && now() - started < RealSpan::from_secs(10) {
        match deaf.socket.write(asks.as_bytes()) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => is_gone = true,
        }
        let asked = now();
        honest.send("Connect_nbr\n");
        assert_eq!(honest.line(), "1");
        // A millisecond or two: no more than a piece of the map is encoded in a pass.
        let took = now() - asked;
        assert!(took < RealSpan::from_secs(1), "an honest answer took {took:?}");
    }
    assert!(is_gone, "it asked for gigabytes and was never let go");
}

/// What a question costs is counted, not timed: a report, a read and a write, however many are silent.
#[test]
fn a_pass_looks_only_at_what_is_ready() {
    let server = Server::start(options(&["red"], 1, 100));
    let _silent: Vec<_> = (0..300).map(|_| server.connect()).collect();
    let mut agent = server.join("red");
    let before = server.conn_stats();
    for _ in 0..100 {
        agent.send("Connect_nbr\n");
        assert_eq!(agent.line(), "0");
    }
    let after = server.conn_stats();
    assert_eq!(after.reports - before.reports, 100);
    assert_eq!(after.reads - before.reads, 100);
    assert_eq!(after.writes - before.writes, 100);
}
