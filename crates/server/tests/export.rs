//! `/metrics` and `/health`, asked as a scraper asks.

#![expect(clippy::unwrap_used, reason = "in a test a failed unwrap is a failed test")]

#[path = "support/mod.rs"]
#[expect(dead_code, reason = "every test program uses a part of it")]
mod support;

use std::net::{Shutdown, SocketAddr, SocketAddrV4};

use rustix::net;
use trantor_server::options::{MetricsOptions, Options};
use trantor_time::RealSpan;

use support::{Peer, Server, now};

fn server() -> (Server, SocketAddr) {
    let address = Some("127.0.0.1:0".parse().unwrap());
    let server = Server::start(Options {
        metrics: MetricsOptions {
            address,
            ..MetricsOptions::default()
        },
        ..Options::default()
    });
    let metrics = server.metrics.unwrap();
    (server, metrics)
}

/// The status line and the body of an answer to `GET path`.
fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut peer = Peer::connect(address);
    peer.send(&format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let answer = peer.rest().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// The value that the scraper reads for `name`.
fn value(body: &str, name: &str) -> f64 {
    let line = body.lines().find(|line| line.split(' ').next() == Some(name));
    line.unwrap_or_else(|| panic!("no {name} in:\n{body}"))
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

/// As `nc -N` asks.
#[test]
fn who_says_no_more_after_the_request_is_answered_all_the_same() {
    let (_server, metrics) = server();
    for path in ["/metrics", "/health"] {
        let mut peer = Peer::connect(metrics);
        peer.send(&format!("GET {path} HTTP/1.1\r\n\r\n"));
        peer.socket.shutdown(Shutdown::Write).unwrap();
        let answer = peer.rest().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{path}: {answer:?}");
    }
}

#[test]
fn metrics_can_be_scraped() {
    let (server, metrics) = server();
    let mut viewer = server.watch();
    let mut agent = server.join("red");
    agent.send("Forward\nnonsense\n");
    assert_eq!([agent.line(), agent.line()], ["ok", "ko"]);
    viewer.lines_until("ppo");
    // An answer leaves before its pass has ended; that another pass has begun tells that it has.
    server.conn_stats();

    let (status, body) = get(metrics, "/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert_eq!(value(&body, "trantor_connections_open_count"), 2.0);
    assert_eq!(value(&body, "trantor_due_action_run_count"), 1.0);
    assert_eq!(value(&body, "trantor_game_frequency_per_second"), 100.0);
    assert!(value(&body, "trantor_server_loop_passes_count") > 3.0);
    assert_eq!(
        value(&body, "trantor_server_loop_passes_count"),
        value(&body, "trantor_server_loop_tick_count")
    );
    assert!(value(&body, "trantor_server_loop_uptime_ns") >= value(&body, "trantor_server_loop_busy_ns"));
    assert!(
        value(&body, "trantor_io_written_bytes") > 9_000.0,
        "the viewer's first burst alone"
    );
    for line in body.lines() {
        let is_type = line.starts_with("# TYPE trantor_");
        assert!(is_type || line.starts_with("trantor_"), "{line:?}");
    }
}

/// A resting server shows all that happened, though no pass comes any more.
#[test]
fn what_is_told_of_a_resting_server_is_complete() {
    let (server, metrics) = server();
    let mut agent = server.join("red");
    agent.send("Connect_nbr\n");
    assert_eq!(agent.line(), "5");
    drop(agent);
    let asked = now();
    loop {
        let (_, body) = get(metrics, "/metrics");
        if value(&body, "trantor_sessions_closed_by_peer_count") == 1.0 {
            assert_eq!(value(&body, "trantor_game_joined_count"), 1.0);
            assert_eq!(value(&body, "trantor_commands_taken_count"), 1.0);
            assert_eq!(value(&body, "trantor_sessions_agents_count"), 0.0);
            break;
        }
        assert!(
            now() - asked < RealSpan::from_secs(5),
            "the end of the agent is never told:\n{body}"
        );
    }
}

#[test]
fn health_asks_the_loop_itself() {
    let (server, metrics) = server();
    assert_eq!(
        get(metrics, "/health"),
        ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned())
    );

    // The loop hangs in a task until this test lets it go on.
    let (go_on, is_over) = std::sync::mpsc::sync_channel::<()>(0);
    server
        .tasks()
        .send("hang", move |_| {
            let _dropped = is_over.recv();
        })
        .unwrap();
    // Its last sign of life counts for a while.
    health_until(metrics, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(
        get(metrics, "/metrics").0,
        "HTTP/1.1 200 OK",
        "the counts can still be had"
    );
    drop(go_on);
    health_until(metrics, "HTTP/1.1 200 OK");
}

/// Asks for `/health` until it has this status.
fn health_until(metrics: SocketAddr, status: &str) {
    let asked = now();
    while get(metrics, "/health").0 != status {
        assert!(now() - asked < RealSpan::from_secs(30), "never {status}");
    }
}

/// A resting server makes no pass but those that it is asked for.
#[test]
fn questions_of_health_in_quick_succession_ask_the_loop_once() {
    const QUESTIONS: u32 = 100;
    let (_server, metrics) = server();
    let passes = || value(&get(metrics, "/metrics").1, "trantor_server_loop_passes_count");
    let before = passes();
    for _ in 0..QUESTIONS {
        assert_eq!(get(metrics, "/health").0, "HTTP/1.1 200 OK");
    }
    let passed = passes() - before;
    assert!(passed < f64::from(QUESTIONS) / 2.0, "{passed} passes");
}

#[test]
#[cfg(target_os = "linux")]
fn a_flood_of_another_address_does_not_evict_a_scraper() {
    let (_server, metrics) = server();
    let SocketAddr::V4(address) = metrics else {
        panic!("an IPv4 address was asked for");
    };
    let mut scraper = Peer::connect(metrics);
    let _flood: Vec<_> = (0..40)
        .map(|_| {
            let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
            net::bind(&socket, &SocketAddrV4::new([127, 0, 0, 2].into(), 0)).unwrap();
            net::connect(&socket, &address).unwrap();
            socket
        })
        .collect();
    // It is accepted after the flood.
    assert_eq!(get(metrics, "/health").0, "HTTP/1.1 200 OK");
    scraper.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert!(scraper.rest().unwrap().starts_with("HTTP/1.1 200 OK"));
}

#[test]
fn other_requests_are_refused_in_words() {
    let (_server, metrics) = server();
    let (status, body) = get(metrics, "/");
    assert_eq!(status, "HTTP/1.1 404 Not Found");
    assert!(body.contains("GET /metrics"));

    let mut stranger = Peer::connect(metrics);
    stranger.send("red\nForward\n\n");
    assert!(stranger.rest().unwrap().starts_with("HTTP/1.1 400 "));
}

/// More silent peers than may be connected: the oldest give way, and a scraper is served all the same.
#[test]
fn silent_peers_do_not_keep_a_scraper_out() {
    let (_server, metrics) = server();
    let mut silent: Vec<_> = (0..40).map(|_| Peer::connect(metrics)).collect();
    assert_eq!(get(metrics, "/metrics").0, "HTTP/1.1 200 OK");
    assert_eq!(silent[0].rest().unwrap(), "", "the oldest was let go");
}
