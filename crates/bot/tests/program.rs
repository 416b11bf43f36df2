//! The program `trantor-bot`: whole games against Trantor's server, and its errors.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use trantor_runtime::threads;
use trantor_server::background::Background;
use trantor_server::options::Options;
use trantor_time::Frequency;

use support::serve;

fn bot(server: SocketAddr, flags: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_trantor-bot"))
        .args(["-h", &server.ip().to_string(), "-p", &server.port().to_string()])
        .args(flags.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built with the test")
}

fn outcome(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn server_at(hertz: u64) -> Background {
    serve(&Options {
        frequency: Frequency::new(hertz).expect("a speed"),
        ..Options::default()
    })
}

/// The next line to a text viewer that starts with `start`.
fn watch_for(server: &Background, start: &str) -> String {
    let stream = TcpStream::connect(server.address()).expect("the server listens");
    let patience = Duration::from_secs(60);
    stream
        .set_read_timeout(Some(patience))
        .expect("a socket takes a time limit");
    (&stream).write_all(b"GRAPHIC\n").expect("the server reads");
    let lines = BufReader::new(stream).lines();
    let mut received = lines.map(|line| line.expect("the server sends lines in time"));
    received
        .find(|line| line.starts_with(start))
        .expect("the viewer receives it in time")
}

/// Twelve agents over TCP, from the first egg to the victory.
#[test]
fn two_teams_play_to_the_end_of_a_game() {
    let server = server_at(1_000);
    let red = bot(server.address(), "-n red --team-size 6 --seed 1");
    let blue = bot(server.address(), "-n blue --team-size 6 --seed 2");
    let winner = watch_for(&server, "seg ");
    assert!(["seg red", "seg blue"].contains(&winner.as_str()), "{winner}");
    for (team, child) in [("red", red), ("blue", blue)] {
        let (status, out, err) = outcome(&child.wait_with_output().unwrap());
        assert_eq!(
            out,
            format!("trantor-bot: team {team}: the server closed the connections\n"),
            "{err}"
        );
        assert_eq!(status, 0);
    }
}

#[test]
fn a_server_that_refuses_gives_one_error_line() {
    let server = server_at(100);
    let child = bot(server.address(), "-n green --patience 0");
    let (status, _, err) = outcome(&child.wait_with_output().unwrap());
    assert_eq!(
        err,
        "trantor-bot: the server has no place for team \"green\": no such team, or it is full\n"
    );
    assert_eq!(status, 1);
}

#[test]
fn an_address_without_server_gives_one_error_line() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = unused.local_addr().unwrap();
    drop(unused);
    for flags in ["-n red", "-n red --patience 0"] {
        let (status, _, err) = outcome(&bot(address, flags).wait_with_output().unwrap());
        assert!(
            err.starts_with("trantor-bot: cannot connect to 127.0.0.1:"),
            "{flags}: {err}"
        );
        assert_eq!((status, err.lines().count()), (1, 1));
    }
}

/// Writes to `/dev/full` fail as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_status_84() {
    for program in [
        env!("CARGO_BIN_EXE_trantor-bot"),
        env!("CARGO_BIN_EXE_trantor-load"),
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let output = Command::new(program).arg("--help").stdout(full.unwrap()).output();
        let (status, _, err) = outcome(&output.unwrap());
        assert_eq!((status, err.lines().count()), (84, 1), "{err}");
    }
}

#[test]
fn mistakes_in_flags_end_with_status_84_and_help_with_0() {
    let run = |flags: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_trantor-bot"))
            .args(flags)
            .output();
        outcome(&output.unwrap())
    };
    let (status, _, err) = run(&["-p", "4242"]);
    assert_eq!(
        (status, err.as_str()),
        (84, "trantor-bot: --name <TEAM> is missing\n")
    );
    let (status, out, _) = run(&["--help"]);
    assert_eq!(status, 0);
    assert!(out.contains("-h, --host"), "{out}");
}

/// Accepts an agent, greets it and answers its team name.
fn let_in(listener: &TcpListener, answer: &str) -> TcpStream {
    let peer = listener.accept().expect("an agent connects").0;
    (&peer).write_all(b"WELCOME\n").expect("the bot reads");
    let mut name = String::new();
    BufReader::new(&peer)
        .read_line(&mut name)
        .expect("the bot sends its team name");
    assert_eq!(name, "red\n");
    (&peer).write_all(answer.as_bytes()).expect("the bot reads");
    peer
}

/// Commands of a single-agent bot in an empty world after this many refusals.
fn said_after(refusals: usize) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a bound address");
    let child = bot(address, "-n red --seed 1 --in-flight 1");
    for _ in 0..refusals {
        drop(let_in(&listener, "ko\n"));
    }
    let peer = let_in(&listener, "1\n5 5\n");
    let mut said = Vec::new();
    for line in BufReader::new(&peer).lines().take(40) {
        let line = line.expect("the bot sends commands");
        let answer = match line.as_str() {
            "Look" => "[ player,,, ]\n",
            "Inventory" => "[ food 10 ]\n",
            "Connect_nbr" => "0\n",
            _ => "ok\n",
        };
        said.push(line);
        (&peer).write_all(answer.as_bytes()).expect("the bot reads");
    }
    drop(peer);
    drop(listener);
    child.wait_with_output().expect("a process that was started ends");
    said
}

#[test]
fn how_often_a_place_was_asked_for_in_vain_changes_nothing() {
    assert_eq!(said_after(1), said_after(0));
}

/// Clean close, as at the end of a game: shuts down writing after everything was read.
fn close_in_order(mut peer: TcpStream) {
    peer.shutdown(std::net::Shutdown::Write)
        .expect("the socket is connected");
    // The peer may have closed it already.
    let _ = std::io::copy(&mut peer, &mut std::io::sink());
}

#[test]
fn a_connection_that_is_closed_before_there_is_a_place_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a bound address");
    let server = threads::spawn("scripted", move || {
        drop(listener.accept().expect("an agent connects"));
        close_in_order(let_in(&listener, "1\n5 5\n"));
        drop(listener.accept().expect("an agent connects"));
    })
    .expect("a thread");
    let (status, _, err) = outcome(&bot(address, "-n red").wait_with_output().unwrap());
    let child = bot(address, "-n red --patience 0");
    let impatient = outcome(&child.wait_with_output().unwrap());
    // Unblock the server if fewer peers connected.
    (0..3).for_each(|_| drop(TcpStream::connect(address)));
    server.join().expect("the scripted server does not panic");
    assert_eq!((status, err.as_str()), (0, ""));
    let (status, _, err) = impatient;
    assert_eq!(
        (status, err),
        (
            1,
            format!(
                "trantor-bot: {address} closes each connection before it gives a place: it is full, or no server of \
                 this game\n"
            )
        )
    );
}

#[cfg(unix)]
#[test]
fn a_server_that_talks_without_end_does_not_keep_a_signal_from_being_heeded() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let child = bot(listener.local_addr().expect("a bound address"), "-n red");
    let mut peer = let_in(&listener, "1\n5 5\n");
    let lines = b"message 1, hello\n".repeat(10_000);
    // The bot has read a part and has more to read.
    (0..100).for_each(|_| peer.write_all(&lines).expect("the bot reads"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the process runs");
    while peer.write_all(&lines).is_ok() {}
    let (status, out, err) = outcome(&child.wait_with_output().unwrap());
    assert!(
        out.starts_with("trantor-bot: team red: interrupted"),
        "{out}{err}"
    );
    assert_eq!(status, 0);
}

#[test]
fn connections_that_break_off_are_no_end_of_a_game() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a bound address");
    let child = bot(address, "-n red");
    let peer = let_in(&listener, "1\n5 5\n");
    // Closing a socket with unread input resets the connection.
    peer.peek(&mut [0]).expect("the bot sends its team name");
    drop(peer);
    let (status, _, err) = outcome(&child.wait_with_output().unwrap());
    assert_eq!(
        (status, err),
        (
            1,
            format!(
                "trantor-bot: the connections to {address} broke off: the server was killed, or the network failed\n"
            )
        )
    );
}

#[test]
fn the_seed_is_printed_so_that_a_game_can_be_repeated() {
    let server = server_at(100);
    let seed_of = |flags: &str| {
        let flags = format!("-n green --patience 0 -v {flags}");
        let (_, _, err) = outcome(&bot(server.address(), &flags).wait_with_output().unwrap());
        let (_, rest) = err
            .split_once("seed ")
            .unwrap_or_else(|| panic!("no seed in {err}"));
        rest.lines().next().and_then(|seed| seed.parse::<u64>().ok())
    };
    assert_eq!(seed_of("--seed 7"), Some(7));
    assert!(seed_of("").is_some());
}
