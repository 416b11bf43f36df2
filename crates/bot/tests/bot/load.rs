//! The program `trantor-load` against Trantor's server and scripted servers.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::Child;

use trantor_runtime::{RealClock, threads};
use trantor_server::options::Options;
use trantor_time::{Clock, RealSpan};

use crate::support::{LOAD, greet, interrupt, lines, listen, outcome, serve, viewer};

fn start(server: SocketAddr, flags: &str) -> Child {
    crate::support::start(LOAD, server, &format!("--json - {flags}"))
}

/// Exit status, report and standard error.
fn found(load: Child) -> (i32, serde_json::Value, String) {
    let (status, out, err) = outcome(load);
    (status, serde_json::from_str(&out).unwrap_or_default(), err)
}

fn number(report: &serde_json::Value, name: &str) -> f64 {
    report[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {report}"))
}

#[test]
fn agents_and_viewers_of_both_kinds_are_served_and_measured() {
    let mut options = Options::default();
    options.game.places_per_team = 10;
    let server = serve(&options);
    let flags = "-a 20 --text-viewers 2 --frame-viewers 2 -f 500 -d 0.7 --warm-up 0.2";
    let (status, report, stderr) = found(start(server.address(), flags));
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(number(&report, "agents"), 20.0);
    assert_eq!(number(&report, "frequency"), 500.0, "the speed was set");
    assert_eq!(
        number(&report, "connections_lost") + number(&report, "deaths"),
        0.0
    );
    for counted in ["commands", "viewer_lines", "viewer_frames"] {
        assert!(number(&report, counted) > 10.0, "{counted} in {report}");
    }
    let achieved = number(&report, "achieved_of_ideal");
    assert!(achieved > 0.1 && achieved < 1.1, "{report}");
    assert!(report["lateness"]["p99_us"].as_f64() <= report["latency"]["p99_us"].as_f64());
}

#[test]
fn a_load_that_cannot_be_says_why_in_one_line() {
    let server = serve(&Options::default());
    let no_place = "no agent was given a place: 3 were refused; the server needs these teams (-n green) with places for \
                    all (-c 3), and --respawn-slots on if others have played and left";
    // The listener accepts connections in the backlog, and nothing reads them.
    let (_listener, silent) = listen();
    let no_answer =
        "no agent got an answer about its place: a game that waits for its start, or no server of this game";
    for (server, flags, line) in [
        (server.address(), "-n green -a 3 -f 500", no_place),
        // The refusal ends the wait for a confirmation before its time limit.
        (
            server.address(),
            "-f 20000",
            "the server refused 20000 units a second; without -f its own speed is used",
        ),
        (silent, "-a 1 --assume 100 --join-patience 0.1", no_answer),
    ] {
        let (status, _, stderr) = found(start(server, flags));
        assert_eq!((status, stderr), (1, format!("trantor-load: {line}\n")));
    }
    // The speed is as it was, and all places are free.
    let speed = lines(&viewer(server.address())).find(|line| line.starts_with("sgt "));
    assert_eq!(speed.as_deref(), Some("sgt 100"));
    let (status, report, stderr) = found(start(server.address(), "-a 12 -d 0.5 --warm-up 0"));
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(number(&report, "agents"), 12.0);
}

/// Serves the control viewer: sends the speed at the start, answers queries with 100 and echoes a set speed, or closes.
fn serve_viewer(how: &str, mut viewer: TcpStream) {
    if how == "closed" {
        return;
    }
    assert_eq!(greet(&viewer), "GRAPHIC\n");
    let mut speed = "sgt 100".to_owned();
    if how != "queried" {
        let _ = write!(viewer, "msz 5 5\nsgt {how}\n");
        return lines(&viewer).for_each(drop);
    }
    for line in lines(&viewer) {
        if line.starts_with("sst") {
            speed = line;
        }
        let _ = writeln!(&viewer, "{speed}");
    }
}

/// Serves the agent: answers, always or for a second, or floods it with messages.
fn serve_agent(how: &str, mut agent: &TcpStream) {
    let clock = RealClock::new();
    let until = clock.now() + RealSpan::from_secs(1);
    if how == "floods" {
        let messages = b"message 1, hello\n".repeat(10_000);
        while agent.write_all(&messages).is_ok() {}
    }
    for _ in lines(agent) {
        match how {
            "answers" => {}
            "hangs" | "goes" if clock.now() < until => {}
            "goes" => return,
            _ => continue,
        }
        let _ = agent.write_all(b"ok\n");
    }
}

/// Load with one agent on a scripted server; a control viewer connects `before` and `after` it.
fn load_on_scripted(
    flags: &str,
    [before, play, after]: [&'static str; 3],
) -> (i32, serde_json::Value, String) {
    let (listener, address) = listen();
    let server = threads::spawn("scripted", move || {
        let accept = || listener.accept().expect("a peer").0;
        let viewer = accept();
        let viewer = threads::spawn("viewer before", move || serve_viewer(before, viewer)).expect("a thread");
        let mut agent = accept();
        let _agent = threads::spawn("agent", move || {
            assert_eq!(greet(&agent), "red\n");
            let _ = write!(agent, "1\n5 5\n");
            viewer.join().expect("the viewer does not panic");
            serve_agent(play, &agent);
        })
        .expect("a thread");
        serve_viewer(after, accept());
    })
    .expect("a thread");
    let found = found(start(address, flags));
    // Unblock the server if fewer peers connected.
    (0..3).for_each(|_| drop(TcpStream::connect(address)));
    server.join().expect("the scripted server does not panic");
    found
}

/// Flags, what the server does to the viewer before, the agent, and the viewer after; the status, figures, and the error,
/// where … stands for what depends on the machine's speed.
const SCRIPTED: &str = "\
-d 0.2 --warm-up 0.1        | 100     | answers  | 102     | 0 | frequency 100 frequency_at_end 102  |
-f 400 -d 0.2 --warm-up 0.1 | queried | answers  | queried | 0 | frequency 400 frequency_at_end 100  |
-d 2 --warm-up 0            | 100     | hangs    | 100     | 0 | commands_unanswered 2               |
-d 0.2 --warm-up 0          | 100     | is quiet | closed  | 1 |                                     | trantor-load: nothing was \
answered in … s: a game that is paused, or a server that hangs or is gone
-d 0.2 --warm-up 0          | 100     | floods   | closed  | 1 |                                     | nothing was answered
-d 0.1 --warm-up 0          | 100     | answers  | closed  | 0 | agents_at_end 1                     | the server closed the \
connection
-d 2 --warm-up 0            | 100     | goes     | closed  | 2 | agents_at_end 0 connections_lost 1  | trantor-load: all \
agents were lost before the measurement ended";

#[test]
fn servers_that_change_speed_hang_or_go_are_measured_or_named() {
    for line in SCRIPTED.lines() {
        let [flags, before, play, after, status, figures, message] =
            line.split('|').map(str::trim).collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let (got, report, stderr) = load_on_scripted(&format!("-a 1 {flags}"), [before, play, after]);
        assert_eq!(got.to_string(), status, "{line}: {stderr}");
        let is_said =
            message.split('…').all(|part| stderr.contains(part)) && stderr.is_empty() == message.is_empty();
        assert!(is_said, "{line}: {stderr}");
        let figures: Vec<&str> = figures.split_whitespace().collect();
        for figure in figures.chunks_exact(2) {
            let value = figure[1].parse::<f64>().unwrap();
            assert_eq!(number(&report, figure[0]), value, "{line}: {report}");
        }
        let is_late = report["lateness"]["max_us"].as_f64() > Some(200_000.0);
        assert!(is_late || play != "hangs", "{report}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_before_the_measurement_is_reported_and_restores_the_speed() {
    let message = "trantor-load: interrupted before anything was measured\n";
    let (listener, address) = listen();

    let load = start(address, "-a 1");
    let viewer = listener.accept().expect("the control viewer connects").0;
    assert_eq!(greet(&viewer), "GRAPHIC\n");
    interrupt(&load);
    let (status, _, said) = found(load);
    assert_eq!((status, said.as_str()), (1, message));

    let load = start(address, "-a 1 -f 500");
    let mut viewer = listener.accept().expect("the control viewer connects").0;
    assert_eq!(greet(&viewer), "GRAPHIC\n");
    let reader = viewer.try_clone().expect("a descriptor");
    viewer.write_all(b"sgt 100\n").expect("the client reads");
    let mut asked = Vec::new();
    for line in lines(&reader) {
        // It slows the game down; the server does not confirm.
        match line.as_str() {
            "sst 1" => interrupt(&load),
            "sgt" => viewer.write_all(b"sgt 1\nsgt 100\n").expect("the client reads"),
            _ => viewer
                .write_all(format!("{line}\n").as_bytes())
                .expect("the client reads"),
        }
        asked.push(line);
    }
    assert_eq!(asked, ["sst 500", "sst 1", "sst 100", "sgt"]);
    let (status, _, said) = found(load);
    assert_eq!((status, said.as_str()), (1, message));
}
