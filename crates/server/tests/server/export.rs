//! `/metrics` and `/health`, asked as a scraper asks.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{Shutdown, SocketAddr, SocketAddrV4};

use rustix::net;
use trantor_server::background::Background;
use trantor_server::export::Exporter;
use trantor_server::options::Options;
use trantor_server::shell::Shell;

use crate::support::{Peer, Program, wait_until};

/// The status line and the body of an answer to `GET path`.
fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut peer = Peer::connect(address);
    peer.send(&format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let answer = peer.rest().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn metrics_can_be_scraped() {
    let mut server = Program::start("--metrics 0");
    let mut viewer = server.watch();
    let mut agent = server.join("red").0;
    agent.send("Forward\nnonsense\n");
    assert_eq!([agent.line(), agent.line()], ["ok", "ko"]);
    viewer.lines_until("ppo");

    let (status, body) = get(server.metrics(), "/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    for line in [
        "trantor_connections_open 2.0",
        "trantor_deadlines_total{kind=\"action\"} 1.0",
        "trantor_game_speed_units_per_second 100.0",
        "trantor_commands_total 2.0",
    ] {
        assert!(body.lines().any(|found| found == line), "{line} in:\n{body}");
    }
    let busy = server.metric("trantor_loop_busy_seconds_total");
    let up = server.metric("trantor_uptime_seconds");
    assert!(busy > 0.0 && busy <= up, "{busy} of {up}");
    let written = server.metric("trantor_socket_written_bytes_total");
    assert!(written > 9_000.0, "the viewer's first burst alone");
    let mut names = BTreeSet::new();
    for line in body.lines().filter(|line| line.starts_with("# TYPE ")) {
        assert!(line.starts_with("# TYPE trantor_"), "{line:?}");
        assert!(names.insert(line), "declared twice: {line:?}");
    }
    assert!(body.ends_with("# EOF\n"));

    // An idle server shows all that has happened.
    drop(agent);
    wait_until("its end is not counted", || {
        server.metric("trantor_sessions_closed_total{reason=\"by_peer\"}") >= 1.0
    });
}

/// A peer that has ended its side, as `nc -N` does, gets its answer. Requests in quick succession ask the loop once: an idle server
/// makes no pass but those that it is asked for.
#[test]
fn requests_are_answered_to_their_end_and_ask_the_loop_once() {
    const REQUESTS: u32 = 100;
    let mut server = Program::start("--metrics 0");
    let metrics = server.metrics();
    for (request, status) in [
        ("GET /metrics HTTP/1.1\r\n\r\n", "200 OK"),
        ("GET /health HTTP/1.1\r\n\r\n", "200 OK"),
        ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("red\nForward\n\n", "400 Bad Request"),
    ] {
        let mut peer = Peer::connect(metrics);
        peer.send(request);
        peer.socket.shutdown(Shutdown::Write).unwrap();
        let answer = peer.rest().unwrap();
        let expected = format!("HTTP/1.1 {status}\r\n");
        assert!(answer.starts_with(&expected), "{request}: {answer:?}");
        let has_help = answer.contains("There is GET /metrics");
        assert_eq!(has_help, status != "200 OK", "{answer:?}");
    }
    let before = server.metric("trantor_loop_passes_total");
    for _ in 0..REQUESTS {
        assert_eq!(get(metrics, "/health").0, "HTTP/1.1 200 OK");
    }
    let passed = server.metric("trantor_loop_passes_total") - before;
    assert!(passed < f64::from(REQUESTS) / 2.0, "{passed} passes");
}

#[test]
fn health_asks_the_loop_itself() {
    let any_port = "127.0.0.1:0".parse().unwrap();
    let server = Background::start(any_port, Options::default().engine_config(7)).unwrap();
    let exporter = Exporter::start(any_port, Vec::new(), server.tasks().clone()).unwrap();
    let metrics = exporter.address();
    assert_eq!(
        get(metrics, "/health"),
        ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned())
    );

    // The loop hangs in a task until this test drops the sender.
    let (resume, is_over) = std::sync::mpsc::sync_channel::<()>(0);
    let hang = move |_: &mut Shell| {
        let _dropped = is_over.recv();
    };
    server.tasks().send("hang", hang).unwrap();
    // Its last answer counts for a while.
    let health = || get(metrics, "/health").0;
    wait_until("it is not noticed", || {
        health() == "HTTP/1.1 503 Service Unavailable"
    });
    assert!(
        get(metrics, "/metrics").0.contains("503"),
        "stale counts are not served"
    );
    drop(resume);
    wait_until("it does not recover", || health() == "HTTP/1.1 200 OK");
}

/// More silent peers than may be connected: the oldest of their address are closed, and a scraper is served.
#[test]
#[cfg(target_os = "linux")]
fn a_flood_of_another_address_does_not_evict_a_scraper() {
    let mut server = Program::start("--metrics 0");
    let metrics = server.metrics();
    let mut scraper = Peer::connect(metrics);
    let flood: Vec<_> = (0..40)
        .map(|_| {
            let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
            net::bind(&socket, &SocketAddrV4::new([127, 0, 0, 2].into(), 0)).unwrap();
            net::connect(&socket, &metrics).unwrap();
            std::net::TcpStream::from(socket)
        })
        .collect();
    // It is accepted after the flood.
    assert_eq!(get(metrics, "/health").0, "HTTP/1.1 200 OK");
    let closed = (&flood[0]).read(&mut [0]);
    assert!(matches!(closed, Ok(0)), "the oldest was closed: {closed:?}");
    scraper.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert!(scraper.rest().unwrap().starts_with("HTTP/1.1 200 OK"));
}
