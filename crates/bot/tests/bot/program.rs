//! The program `trantor-bot`: whole games against Trantor's server, and its errors.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use trantor_runtime::threads;
use trantor_server::background::Background;
use trantor_server::options::Options;
use trantor_time::Frequency;

use crate::support::{BOT, LOAD, greet, interrupt, lines, listen, outcome, serve, start, viewer};

fn bot(server: SocketAddr, flags: &str) -> Child {
    start(BOT, server, flags)
}

fn server_at(hertz: u64) -> Background {
    serve(&Options {
        frequency: Frequency::new(hertz).expect("a speed"),
        ..Options::default()
    })
}

/// Agents over TCP, from the first egg to the victory. At this speed a command takes 35 ms, so that bots win also where other
/// programs hold them up for some milliseconds; at 1,000 they did not.
#[test]
fn two_teams_play_to_the_end_of_a_game() {
    let server = server_at(200);
    let red = bot(server.address(), "-n red --team-size 6 --seed 1");
    let blue = bot(server.address(), "-n blue --team-size 6 --seed 2");
    let winner = lines(&viewer(server.address())).find(|line| line.starts_with("seg "));
    assert!(
        matches!(winner.as_deref(), Some("seg red" | "seg blue")),
        "{winner:?}"
    );
    for (team, child) in [("red", red), ("blue", blue)] {
        let (status, out, err) = outcome(child);
        assert_eq!(
            out,
            format!("trantor-bot: team {team}: the server closed the connections\n"),
            "{err}"
        );
        assert_eq!(status, 0);
    }
}

/// Writes to `/dev/full` fail as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_and_mistakes_are_status_84() {
    let run = |program: &str, flag: &str, out: Stdio| {
        let child = Command::new(program)
            .arg(flag)
            .stdout(out)
            .stderr(Stdio::piped())
            .spawn();
        outcome(child.unwrap())
    };
    for program in [BOT, LOAD] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let (status, _, err) = run(program, "--help", full.unwrap().into());
        assert_eq!((status, err.lines().count()), (84, 1), "{err}");
        let (status, out, _) = run(program, "--help", Stdio::piped());
        assert!(status == 0 && out.contains("-h, --host"), "{out}");
    }
    let (status, _, err) = run(BOT, "-p1", Stdio::piped());
    let (mistake, usage) = err.split_once('\n').unwrap();
    assert_eq!(
        (status, mistake),
        (84, "trantor-bot: --name <TEAM>: is missing; see --help")
    );
    assert!(
        usage.starts_with("usage: trantor-bot -n TEAM ") && usage.lines().count() == 1,
        "{usage}"
    );
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let (status, _, err) = outcome(bot(address, "-n red --team-size 6 --team-size-max 3"));
    let message = "trantor-bot: --team-size-max 3: must be at least --team-size 6\nusage: ";
    assert!(status == 84 && err.starts_with(message), "{status}: {err}");
    // Before a load, which would find no server here.
    let child = Command::new(LOAD)
        .args(["-p", "1", "--json", "/nowhere/report.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let (status, _, err) = outcome(child.unwrap());
    assert!(
        status == 84 && err.starts_with("trantor-load: cannot write /nowhere/report.json: "),
        "{err}"
    );
}

/// Accepts an agent, greets it and answers its team name.
fn let_in(listener: &TcpListener, answer: &str) -> TcpStream {
    let peer = listener.accept().expect("an agent connects").0;
    assert_eq!(greet(&peer), "red\n");
    (&peer).write_all(answer.as_bytes()).expect("the bot reads");
    peer
}

/// Commands of a single-agent bot in an empty world after this many refusals.
fn said_after(refusals: usize) -> Vec<String> {
    let (listener, address) = listen();
    let child = bot(address, "-n red --seed 1 --in-flight 1");
    for _ in 0..refusals {
        drop(let_in(&listener, "ko\n"));
    }
    let peer = let_in(&listener, "1\n5 5\n");
    let mut said = Vec::new();
    for line in lines(&peer).take(40) {
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
    outcome(child);
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
    let (listener, address) = listen();
    let server = threads::spawn("scripted", move || {
        drop(listener.accept().expect("an agent connects"));
        close_in_order(let_in(&listener, "1\n5 5\n"));
        drop(listener.accept().expect("an agent connects"));
    })
    .expect("a thread");
    let (status, _, err) = outcome(bot(address, "-n red"));
    let child = bot(address, "-n red --patience 0");
    let impatient = outcome(child);
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
    let (listener, address) = listen();
    let child = bot(address, "-n red");
    let mut peer = let_in(&listener, "1\n5 5\n");
    let lines = b"message 1, hello\n".repeat(10_000);
    // The bot has read a part and has more to read.
    (0..100).for_each(|_| peer.write_all(&lines).expect("the bot reads"));
    interrupt(&child);
    while peer.write_all(&lines).is_ok() {}
    let (status, out, err) = outcome(child);
    assert!(
        out.starts_with("trantor-bot: team red: interrupted"),
        "{out}{err}"
    );
    assert_eq!(status, 0);
}

#[test]
fn connections_that_break_off_are_no_end_of_a_game() {
    let (listener, address) = listen();
    let child = bot(address, "-n red");
    let peer = let_in(&listener, "1\n5 5\n");
    // Closing a socket with unread input resets the connection.
    peer.peek(&mut [0]).expect("the bot sends its team name");
    drop(peer);
    let (status, _, err) = outcome(child);
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
fn a_bot_that_cannot_play_says_why_in_one_line_and_its_seed_if_wanted() {
    let server = server_at(100);
    let full = "trantor-bot: the server has no place for team \"green\": no such team, or it is full\n";
    let (status, _, err) = outcome(bot(server.address(), "-n green --patience 0"));
    assert_eq!((status, &*err), (1, full));
    let (_, _, err) = outcome(bot(server.address(), "-n green --patience 0 -v --seed 7"));
    assert!(err.contains("seed 7\n"), "{err}");
    let (unused, address) = listen();
    drop(unused);
    for flags in ["-n red", "-n red --patience 0"] {
        let (status, _, err) = outcome(bot(address, flags));
        assert!(
            err.starts_with("trantor-bot: cannot connect to 127.0.0.1:"),
            "{err}"
        );
        assert_eq!((status, err.lines().count()), (1, 1));
    }
}
