//! What only real sockets can show: how bytes are cut, who is served when, and how connections end.
//!
//! What the lines say is tested in the engine, by transcripts.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trantor_time::RealSpan;

use crate::support::{Peer, Program, now};

/// On a map that is too large for builds with assertions to check it whole at every step: what is tested here is
/// who is served when, and the checks would be all that is measured.
fn server(arguments: &str) -> Program {
    let common = "-n red -x 40 -y 40 --control loopback --metrics 0 --log warn";
    Program::start(&format!("{common} {arguments}"))
}

fn writes(server: &mut Program) -> f64 {
    server.metric("trantor_socket_writes_total")
}

fn reads(server: &mut Program) -> f64 {
    server.metric("trantor_socket_reads_total")
}

/// Many agents take one read for one message, so no two may leave in one write, even if both are due at once. Viewers read
/// streams, and what they are sent at one time leaves in one.
#[test]
fn each_reply_to_an_agent_leaves_in_a_write_of_its_own() {
    let mut server = server("-c 3 -f 1000");
    let mut peer = server.join("red").0;
    let before = (writes(&mut server), reads(&mut server));
    peer.send("Connect_nbr\nnonsense\nConnect_nbr\nInventory\nConnect_nbr\nRight\n");
    assert_eq!(peer.lines_until("ok").len(), 6);
    assert_eq!(writes(&mut server) - before.0, 6.0);
    assert_eq!(reads(&mut server) - before.1, 1.0);
    assert!(peer.rest().unwrap().ends_with("dead\n"));

    let mut viewer = server.watch();
    let before = writes(&mut server);
    viewer.send("msz\nsgt\ntna\nbct 0 0\nnonsense\n");
    assert_eq!(viewer.lines_until("suc").len(), 5);
    assert_eq!(writes(&mut server) - before, 1.0);
}

/// One broadcast is for more agents than a pass writes to. The next pass writes to the rest, also if nothing else happens.
#[test]
fn a_broadcast_reaches_all_though_one_pass_cannot_write_to_all() {
    const AGENTS: u32 = 1_200;
    trantor_server::descriptors::raise_limit();
    // No agent starves meanwhile: with any other output it would be sent this too.
    let server = server(&format!("-c {AGENTS} -f 50"));
    let mut peers: Vec<Peer> = (0..AGENTS).map(|_| server.join("red").0).collect();
    let mut speaker = peers.pop().unwrap();
    speaker.send("Broadcast all of you\n");
    for (nth, peer) in peers.iter_mut().enumerate() {
        let line = peer.line();
        assert!(line.starts_with("message"), "agent {nth} received {line:?}");
    }
}

/// Closing a connection with unread input makes the system reset it, and a reset takes the last line with it.
#[test]
fn dead_is_delivered_though_input_was_pending() {
    let server = server("-c 1 -f 2000");
    let mut peer = server.join("red").0;
    // It starves after 1,260 units, 0.63 s; until then it sends without ever reading.
    let started = now();
    while now() - started < RealSpan::from_millis(1_500) {
        // The server disconnects in the middle of this.
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

/// A connection of which one half is closed counts as gone, and one that is reset affects no other.
#[test]
fn connections_that_end_abruptly_affect_no_other() {
    let server = server("-c 50");
    let mut viewer = server.watch();
    let mut half_closed = server.join("red").0;
    half_closed.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(viewer.lines_until("pdi").last().unwrap(), "pdi #0");
    assert_eq!(half_closed.rest().unwrap(), "", "and is closed from our side too");
    for _ in 0..20 {
        let mut reset = server.join("red").0;
        reset.send(&"Look\n".repeat(10));
        // Unread input at the time of closing makes our own system send the reset.
        reset.socket.shutdown(Shutdown::Read).unwrap();
    }
    let mut peer = server.join("red").0;
    peer.send("Connect_nbr\n");
    assert!(peer.line().parse::<u32>().is_ok());
}

/// Flooders send as fast as they can; one honest agent must still be answered in time.
#[test]
fn a_flood_does_not_starve_others() {
    let server = server("-c 20");
    let is_over = Arc::new(AtomicBool::new(false));
    let flooders: Vec<_> = (0..4)
        .map(|index| {
            let mut peer = server.join("red").0;
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

    let mut honest = server.join("red").0;
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

/// A viewer that asks for the whole map and never reads it is disconnected, and no other peer notices.
#[test]
fn a_viewer_that_never_reads_is_disconnected() {
    let server = server("-c 2 --stall-limit 1 --request-rate 1000000");
    let mut deaf = server.watch();
    let mut honest = server.join("red").0;
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
    assert!(is_gone, "it asked for gigabytes and was never disconnected");
}

/// The cost of a question is counted, not timed: a read and a write, however many peers are silent.
#[test]
fn a_pass_looks_only_at_what_is_ready() {
    let mut server = server("-c 1");
    let _silent: Vec<_> = (0..300).map(|_| server.connect()).collect();
    let mut agent = server.join("red").0;
    let items = |server: &mut Program| server.metric("trantor_loop_stage_items_total{stage=\"read\"}");
    let before = (writes(&mut server), reads(&mut server), items(&mut server));
    for _ in 0..100 {
        agent.send("Connect_nbr\n");
        assert_eq!(agent.line(), "0");
    }
    assert_eq!(writes(&mut server) - before.0, 100.0);
    assert_eq!(reads(&mut server) - before.1, 100.0);
    assert_eq!(items(&mut server) - before.2, 100.0);
}
