//! The socket's thread against sockets of the test.

use super::*;
use std::net::TcpListener;

fn wait_for(net: &Net) -> NetEvent {
    net.events
        .recv_timeout(Duration::from_secs(20))
        .expect("the thread tells what happens")
}

#[test]
fn bytes_cross_both_ways_and_a_lost_server_is_found_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let net = Net::start("127.0.0.1", port, || {}).unwrap();
    for round in 0..2u8 {
        let (mut server, _) = listener.accept().unwrap();
        let NetEvent::Opened { out, .. } = wait_for(&net) else {
            panic!("opened first")
        };
        server.write_all(&[round; 3]).unwrap();
        let NetEvent::Bytes(piece) = wait_for(&net) else {
            panic!("bytes next")
        };
        assert_eq!(piece, [round; 3]);
        out.send(b"hello".to_vec()).unwrap();
        let mut heard = [0; 5];
        server.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"hello");
        drop(server);
        let NetEvent::Closed { .. } = wait_for(&net) else {
            panic!("closed last")
        };
    }
}

#[test]
fn without_a_server_it_says_so_and_ends_when_told() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let net = Net::start("127.0.0.1", port, || {}).unwrap();
    let NetEvent::Closed { reason, .. } = wait_for(&net) else {
        panic!("nobody listens")
    };
    assert_eq!(reason, "Connection refused", "without the system's number");
    drop(net);
}

#[test]
fn a_connection_that_was_hung_up_waits_for_a_word() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let net = Net::start("127.0.0.1", port, || {}).unwrap();
    assert!(matches!(wait_for(&net), NetEvent::Opened { .. }));
    net.hang_up();
    assert!(matches!(wait_for(&net), NetEvent::Closed { .. }));
    // Longer than from one try to the next.
    let quiet = net.events.recv_timeout(RETRY_AFTER * 3 / 2);
    assert!(quiet.is_err(), "{quiet:?}");
    net.connect_again();
    assert!(matches!(wait_for(&net), NetEvent::Opened { .. }));
}

#[test]
fn a_full_line_of_events_does_not_hold_up_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let net = Net::start("127.0.0.1", port, || {}).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.set_nonblocking(true).unwrap();
    // More than the line and the system's buffers hold; nobody reads.
    let piece = vec![7; PIECE_BYTES];
    for _ in 0..PIECES_MAX * 4 {
        let _ = server.write(&piece);
    }
    drop(net);
}

#[test]
fn a_server_that_is_never_there_is_asked_for_less_and_less_until_the_user_asks() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let net = Net::start("127.0.0.1", port, || {}).unwrap();
    let waits = |net: &Net| match wait_for(net) {
        NetEvent::Closed { again_in, .. } => again_in,
        other => panic!("nobody listens: {other:?}"),
    };
    assert_eq!(waits(&net), RETRY_AFTER);
    assert_eq!(waits(&net), RETRY_AFTER * 2);
    net.connect_again();
    assert_eq!(waits(&net), RETRY_AFTER, "the user knows that it is there now");
}
