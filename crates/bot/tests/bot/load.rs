//! The program `trantor-load` against Trantor's server and scripted servers.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::Child;

use trantor_runtime::{RealClock, threads};
use trantor_server::background::Background;
use trantor_server::options::Options;
use trantor_time::{Clock, RealSpan};

use crate::support::{LOAD, greet, interrupt, lines, listen, outcome, serve, viewer};

fn load(server: &Background, flags: &str) -> (i32, serde_json::Value, String) {
    load_on(server.address(), flags)
}

fn load_on(server: SocketAddr, flags: &str) -> (i32, serde_json::Value, String) {
    found(start(server, flags))
}

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
    let server = serve(&Options {
        places_per_team: 10,
        ..Options::default()
    });
    let flags = "-a 20 --text-viewers 2 --frame-viewers 2 -f 1000 -d 0.7 --warm-up 0.2";
    let (status, report, stderr) = load(&server, flags);
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(number(&report, "agents"), 20.0);
    assert_eq!(number(&report, "frequency"), 1_000.0, "the speed was set");
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
fn a_load_without_places_gives_one_error_line() {
    let server = serve(&Options::default());
    let (status, _, stderr) = load(&server, "-n green -a 3 -d 0.1");
    assert_eq!(status, 1);
    assert_eq!(
        stderr,
        "trantor-load: no agent was given a place: 3 were refused; the server needs these teams (-n green) with places \
         for all (-c 3), and --respawn-slots on if others have played and left\n"
    );
}

#[test]
fn a_refused_speed_is_reported_before_agents_join() {
    let server = serve(&Options::default());
    // The refusal ends the wait for a confirmation before its time limit.
    let (status, _, stderr) = load(&server, "-f 20000");
    assert_eq!(status, 1);
    assert_eq!(
        stderr,
        "trantor-load: the server refused 20000 units a second; without -f its own speed is used\n"
    );
    let (status, report, stderr) = load(&server, "-a 12 -d 0.1 --warm-up 0");
    assert_eq!((status, number(&report, "agents")), (0, 12.0), "{stderr}");
}

/// How a scripted server treats the control viewer.
#[derive(Clone, Copy)]
enum Viewer {
    /// Sends the speed at the start.
    Speed(u32),
    /// Answers queries with 100, and echoes a set speed.
    SpeedWhenAsked,
    /// Closes the connection.
    Close,
    /// No viewer connects.
    Nobody,
}

impl Viewer {
    fn serve(self, mut viewer: TcpStream) {
        match self {
            Self::Speed(speed) => {
                assert_eq!(greet(&viewer), "GRAPHIC\n");
                let _ = write!(viewer, "msz 5 5\nsgt {speed}\n");
                lines(&viewer).for_each(drop);
            }
            Self::SpeedWhenAsked => {
                assert_eq!(greet(&viewer), "GRAPHIC\n");
                let mut speed = "sgt 100".to_owned();
                for line in lines(&viewer) {
                    if line.starts_with("sst") {
                        speed = line;
                    }
                    let _ = writeln!(&viewer, "{speed}");
                }
            }
            Self::Close | Self::Nobody => {}
        }
    }
}

/// How a scripted server treats the agent.
#[derive(Clone, Copy)]
enum Agent {
    Answer,
    /// Answers for a second, and then only reads.
    Hang,
    /// Answers for a second, and closes the connection.
    Go,
    AnswerNothing,
    /// Sends messages forever.
    Flood,
}

impl Agent {
    fn serve(self, mut agent: &TcpStream) {
        let clock = RealClock::new();
        let until = clock.now() + RealSpan::from_secs(1);
        if let Self::Flood = self {
            let messages = b"message 1, hello\n".repeat(10_000);
            while agent.write_all(&messages).is_ok() {}
        }
        for _ in lines(agent) {
            let answers = match self {
                Self::Answer => true,
                Self::Hang | Self::Go => clock.now() < until,
                Self::AnswerNothing | Self::Flood => false,
            };
            if answers {
                let _ = agent.write_all(b"ok\n");
            } else if let Self::Go = self {
                return;
            }
        }
    }
}

/// Load with one agent on a scripted server; a control viewer connects `before` and `after` it.
fn load_on_scripted(
    flags: &str,
    before: Viewer,
    play: Agent,
    after: Viewer,
) -> (i32, serde_json::Value, String) {
    let (listener, address) = listen();
    let server = threads::spawn("scripted", move || {
        let accept = || listener.accept().expect("a peer").0;
        let viewer = accept();
        let viewer = threads::spawn("viewer before", move || before.serve(viewer)).expect("a thread");
        let mut agent = accept();
        let _agent = threads::spawn("agent", move || {
            assert_eq!(greet(&agent), "red\n");
            let _ = write!(agent, "1\n5 5\n");
            viewer.join().expect("the viewer does not panic");
            play.serve(&agent);
        })
        .expect("a thread");
        after.serve(accept());
    })
    .expect("a thread");
    let found = load_on(address, flags);
    // Unblock the server if fewer peers connected.
    (0..3).for_each(|_| drop(TcpStream::connect(address)));
    server.join().expect("the scripted server does not panic");
    found
}

/// Table of flags, scripted server, standard error and checked figures.
#[test]
fn servers_that_change_speed_hang_or_go_are_measured_or_named() {
    const NOTHING: &str = "trantor-load: nothing was answered in 0.2 s: a game that is paused, or a server that hangs or is gone\n";
    let usual = Viewer::Speed(100);
    for (flags, before, play, after, status, message, figures) in [
        // The control viewer connects after the measurement and finds the changed speed.
        (
            "-d 0.2 --warm-up 0.1",
            usual,
            Agent::Answer,
            Viewer::Speed(102),
            0,
            "",
            &[("frequency", 100.0), ("frequency_at_end", 102.0)][..],
        ),
        (
            "-f 400 -d 0.2 --warm-up 0.1",
            Viewer::SpeedWhenAsked,
            Agent::Answer,
            Viewer::SpeedWhenAsked,
            0,
            "",
            &[("frequency", 400.0), ("frequency_at_end", 100.0)],
        ),
        (
            "-d 2 --warm-up 0",
            usual,
            Agent::Hang,
            usual,
            0,
            "",
            &[("commands_unanswered", 2.0)],
        ),
        (
            "-d 0.2 --warm-up 0",
            usual,
            Agent::AnswerNothing,
            Viewer::Nobody,
            1,
            NOTHING,
            &[],
        ),
        (
            "-d 0.2 --warm-up 0",
            usual,
            Agent::Flood,
            Viewer::Nobody,
            1,
            "nothing was answered",
            &[],
        ),
        (
            "-d 0.1 --warm-up 0",
            usual,
            Agent::Answer,
            Viewer::Close,
            0,
            "the server closed the connection",
            &[("agents_at_end", 1.0)],
        ),
        (
            "-d 2 --warm-up 0",
            usual,
            Agent::Go,
            Viewer::Nobody,
            2,
            "trantor-load: all agents were lost before the measurement ended\n",
            &[("agents_at_end", 0.0), ("connections_lost", 1.0)],
        ),
    ] {
        let (got, report, stderr) = load_on_scripted(&format!("-a 1 {flags}"), before, play, after);
        assert_eq!(got, status, "{flags}: {stderr}");
        assert!(
            stderr.contains(message) && stderr.is_empty() == message.is_empty(),
            "{flags}: {stderr}"
        );
        for (name, value) in figures {
            assert_eq!(number(&report, name), *value, "{flags}: {name} in {report}");
        }
        let is_late = number_or_zero(&report["lateness"]["max_us"]) > 200_000.0;
        assert!(is_late || !matches!(play, Agent::Hang), "{report}");
    }
}

fn number_or_zero(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

#[test]
fn a_load_that_fails_leaves_the_speed_as_it_was() {
    let server = serve(&Options::default());
    let (status, _, stderr) = load(&server, "-n green -a 3 -f 500");
    assert_eq!((status, stderr.lines().count()), (1, 1), "{stderr}");
    let speed = lines(&viewer(server.address())).find(|line| line.starts_with("sgt "));
    assert_eq!(speed.as_deref(), Some("sgt 100"));
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

#[test]
fn a_server_that_says_nothing_is_not_said_to_have_refused_anybody() {
    // The listener accepts connections in the backlog, and nothing reads them.
    let (_listener, address) = listen();
    let (status, _, stderr) = load_on(address, "-a 1 --assume 100 --join-patience 0.1");
    assert_eq!(
        (status, stderr.as_str()),
        (
            1,
            "trantor-load: no agent got an answer about its place: a game that waits for its start, or no server of \
             this game\n"
        )
    );
}
