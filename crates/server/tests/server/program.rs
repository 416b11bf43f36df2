//! The program from outside: what it prints, how it ends, and that it rests when there is nothing to do.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use trantor_time::RealSpan;

use crate::support::{Folder, PROGRAM, Peer, Program, command, now, outcome, run, run_in};

/// The usage is printed only where a flag has a part in the mistake.
#[test]
fn mistakes_are_one_line_and_status_84_beside_the_usage() {
    let folder = Folder::new();
    for (arguments, file, has_usage, mistake) in [
        (
            "-f 0",
            "",
            true,
            "-f 0: frequency must be a whole number from 1 to 10000",
        ),
        (
            "replay nonsense",
            "",
            false,
            "replay: unrecognized subcommand 'nonsense'; see ",
        ),
        (
            "-x 7",
            "width = 9\nfrequency = 0\n",
            false,
            "server.toml:2: frequency = 0: frequency must be ",
        ),
        (
            "-x 7",
            "\nresume = true\n",
            false,
            "server.toml:2: resume: needs save, ",
        ),
        (
            "-n a b c d e f g h i j k",
            "clients = 100000\n",
            true,
            "11 teams of 100000 places: ",
        ),
    ] {
        folder.write("server.toml", file.as_bytes());
        let config = if file.is_empty() {
            ""
        } else {
            "--config server.toml"
        };
        let (status, out, err) = run_in(&folder, &format!("{arguments} {config}"));
        assert_eq!(
            (status, out.starts_with("usage: ")),
            (84, has_usage),
            "{arguments}: {out}"
        );
        assert!(has_usage || out.is_empty(), "{arguments}: {out}");
        assert!(
            err.starts_with(&format!("trantor-server: {mistake}")),
            "{arguments}: {err}"
        );
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    let (status, out, err) = outcome(command(&folder, "").env("TRANTOR_SERVER_FREQUENCY", "0"));
    assert_eq!((status, out.as_str()), (84, ""));
    assert!(
        err.starts_with("trantor-server: TRANTOR_SERVER_FREQUENCY=0: "),
        "{err}"
    );
}

/// A call of it plays the same game everywhere, whatever server is configured there.
#[test]
fn a_game_without_connections_does_not_heed_the_servers_environment() {
    let play = |environment: &[(&str, &str)]| {
        let mut sim = command(Path::new("."), "sim --until 20");
        let (status, out, _) = outcome(sim.envs(environment.iter().copied()));
        assert_eq!(status, 0);
        let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
        summary["digest"].clone()
    };
    let changed = [
        ("TRANTOR_SERVER_SEED", "9"),
        ("TRANTOR_SERVER_WIDTH", "7"),
        ("TRANTOR_SERVER_CONFIG", "/nowhere/server.toml"),
    ];
    assert_eq!(play(&changed), play(&[]));
}

#[test]
fn help_and_version_are_printed_with_status_0() {
    for word in ["--help", "-help", "help", "--version", "sim --help"] {
        let (status, out, err) = run(word);
        assert_eq!((status, err.as_str()), (0, ""), "{word}");
        assert!(out.contains("trantor-server"), "{word}");
    }
}

/// All viewers see the win before it ends: those that are served in turn, and delayed spectators too.
#[test]
fn the_program_ends_after_the_win_if_that_is_asked_for() {
    let arguments = "-n red --match-duration 1 --after-win exit --control off --spectator-delay 1";
    let mut program = Program::start(arguments);
    let mut viewers: Vec<Peer> = (0..20).map(|_| program.connect()).collect();
    for viewer in &mut viewers {
        viewer.send("GRAPHIC\n");
    }
    for viewer in &mut viewers {
        viewer.lines_until("seg red");
    }
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_port_in_use_and_a_foreign_address_are_one_clear_line() {
    let taken = Program::start("");
    let port = taken.address.port();
    let (status, _, err) = run(&format!("-p {port} --log error"));
    assert_eq!(status, 84);
    let expected = "another server is running there, or choose another port with -p (0 for any)";
    assert_eq!(
        err,
        format!("trantor-server: 127.0.0.1:{port} is in use: {expected}\n")
    );

    // Nor is it said that it listens before it is known that all of it can.
    let (status, out, err) = run(&format!("-p 0 --metrics {port} --log error"));
    assert_eq!((status, out.as_str()), (84, ""));
    assert!(
        err.contains(&format!("no metrics on 127.0.0.1:{port}: ")),
        "{err}"
    );

    // An address that documentation owns, so that no machine has it.
    let (status, _, err) = run("-p 0 --bind 192.0.2.1 --log error");
    assert_eq!(status, 84);
    assert_eq!(
        err,
        "trantor-server: 192.0.2.1 is no address of this machine; see --bind\n"
    );
}

#[test]
fn the_first_line_tells_what_was_started() {
    let program = Program::start("-x 10 -y 12 -n a b -c 3 --seed 123");
    let port = program.address.port();
    let game = "10x12, teams a b, 3 places each, 100 units/s, seed 123";
    let expected = format!("trantor-server: listening on 127.0.0.1:{port} ({game})\n");
    assert_eq!(program.first_line, expected);
}

#[test]
fn a_signal_ends_it_in_order_within_a_second() {
    for signal in ["-TERM", "-INT"] {
        let mut program = Program::start("");
        let (mut peer, _) = program.join("red");
        peer.send("Forward\n");
        // A peer that never reads must not hold it up.
        let mut deaf = Peer::connect(program.address);
        deaf.send("GRAPHIC\n");
        deaf.send(&"mct\n".repeat(1_000));

        let asked = now();
        program.kill(signal);
        let status = program.child.wait().unwrap();
        let took = now() - asked;
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(took < RealSpan::from_secs(1), "{signal}: it took {took:?}");
        peer.rest().expect("an end in order, no reset");
    }
}

/// Both signals are pending while the program is stopped, so that the second one comes before the first took effect.
#[test]
fn a_second_signal_ends_it_at_once() {
    let mut program = Program::start("");
    for signal in ["-STOP", "-TERM", "-INT", "-CONT"] {
        program.kill(signal);
    }
    assert_eq!(program.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_waiting_game_is_started_from_standard_input_whose_end_ends_nothing() {
    let mut program = Program::by(command(Path::new("."), "--auto-start off"), Stdio::piped());
    let mut peer = Peer::connect(program.address);
    let mut stdin = program.child.stdin.take().unwrap();
    stdin.write_all(b"\n/nonsense\n/start\ntick rate 300\n").unwrap();
    peer.send("GRAPHIC\n");
    while peer.lines_until("sgt").last().unwrap() != "sgt 300" {}
    drop(stdin);
    program.connect();
    program.stop();
}

/// What harms nobody is in force after SIGHUP; what would need another game is not, and a mistake changes nothing.
#[test]
fn a_hang_up_reads_the_options_again() {
    let folder = Folder::new();
    let file = folder.write("server.toml", b"control = \"loopback\"\nwidth = 5\nheight = 5\n");
    let program = Program::start_in(&folder, "--config server.toml --log off");
    let mut viewer = Peer::connect(program.address);
    viewer.send("GRAPHIC\n");
    viewer.lines_until("enw #11");
    let mut ask_until = |answer: &str| loop {
        viewer.send("sst 100\n");
        match viewer.line() {
            line if line == answer => break,
            line if line == "sbp" => drop(viewer.line()),
            _ => {}
        }
    };
    ask_until("sgt 100");
    std::fs::write(&file, "control = \"off\"\nwidth = 9\n").unwrap();
    program.kill("-HUP");
    ask_until("sbp");
    std::fs::write(&file, "control = \"everybody\"\n").unwrap();
    program.kill("-HUP");
    ask_until("sbp");
    std::fs::write(&file, "control = \"everyone\"\n").unwrap();
    program.kill("-HUP");
    ask_until("sgt 100");
    viewer.send("msz\n");
    assert_eq!(viewer.lines_until("msz").last().unwrap(), "msz 5 5");
}

#[test]
fn what_a_hang_up_changes_is_logged() {
    let folder = Folder::new();
    let secret = folder.write("secret", b"0123456789abcdef\n");
    let file = folder.write("server.toml", b"control = \"off\"\n");
    let mut server = command(&folder, "--config server.toml");
    server.env("XDG_RUNTIME_DIR", &*folder);
    let mut program = Program::by(server, Stdio::null());
    let token = folder.join(format!("trantor/{}.token", program.address));
    for (control, has_user_token) in [("user", true), ("loopback", false), ("user", true)] {
        std::fs::write(&file, format!("control = \"{control}\"\n")).unwrap();
        assert!(reload(&mut program).ends_with("reloaded: control\n"));
        assert_eq!(token.exists(), has_user_token, "{control}");
    }
    std::fs::write(&file, "control = \"token\"\ntoken-file = \"secret\"\n").unwrap();
    assert!(reload(&mut program).ends_with("reloaded: control, token-file\n"));
    // The same options, with defaults written out.
    let (_, printed, _) = run_in(&folder, "config print --config server.toml");
    std::fs::write(&file, printed).unwrap();
    assert!(reload(&mut program).contains("no option has changed"));
    std::fs::write(&secret, "fedcba9876543210\n").unwrap();
    assert!(reload(&mut program).ends_with("reloaded: token-file\n"));
}

/// What a shell makes of `--config <(…)` is empty the second time.
#[test]
fn a_pipe_is_not_read_again_at_a_hang_up() {
    let script = "exec \"$0\" \"$@\" --config /dev/fd/3 3<<FILE\ncontrol = \"off\"\nFILE";
    let mut program = Program::by_script(script, "", Stdio::null());
    let refusal = "not reloaded, everything is as it was: /dev/fd/3: only a regular file can be read again\n";
    assert!(reload(&mut program).ends_with(refusal));
}

/// What the log says of options that are read again.
fn reload(program: &mut Program) -> String {
    program.kill("-HUP");
    loop {
        let mut line = String::new();
        assert!(
            program.err.read_line(&mut line).unwrap() > 0,
            "the program is gone"
        );
        if line.contains("reloaded") {
            return line;
        }
    }
}

/// As systemd does it: the socket is there before the program is, and the program tells when it serves.
#[cfg(target_os = "linux")]
#[test]
fn a_service_manager_hands_a_socket_over_and_is_told() {
    let folder = Folder::new();
    let notify = folder.join("notify");
    let heard = std::os::unix::net::UnixDatagram::bind(&notify).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It connects before the program has begun.
    let mut early = Peer::connect(address);

    let mut shell = Command::new("sh");
    let script = "exec 3<&0 0</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" \"$@\"";
    shell
        .args(["-c", script, PROGRAM, "--log", "off"])
        .env("NOTIFY_SOCKET", &notify)
        .env("WATCHDOG_USEC", "20000");
    let stdin = Stdio::from(std::os::fd::OwnedFd::from(listener));
    let mut program = Program::by(shell, stdin);
    assert_eq!(program.address, address);
    assert_eq!(early.line(), "WELCOME");

    let mut told = [0; 256];
    let mut next = || {
        let count = heard.recv(&mut told).unwrap();
        String::from_utf8(told[..count].to_vec())
            .unwrap()
            .trim_end()
            .to_owned()
    };
    assert!(next().starts_with(&format!("READY=1\nSTATUS=listening on {address}")));
    assert_eq!(next(), "WATCHDOG=1");
    assert_eq!(next(), "WATCHDOG=1");
    program.kill("-TERM");
    while next() != "STOPPING=1" {}
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}

/// Connections for which there is no descriptor wait with the system, and are accepted when others close; the agent that
/// plays notices nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_server_without_descriptors_goes_on_and_recovers() {
    // Fewer than its own and the connections that it would accept take; what the test inherited and passes on counts too.
    let program = Program::by_script("ulimit -n 30; exec \"$0\" \"$@\"", "--log error", Stdio::null());
    let mut agent = program.connect();
    agent.send("red\nConnect_nbr\n");
    assert_eq!(agent.lines_until("5").last().map(String::as_str), Some("5"));
    // The system accepts them for the server, so all of these succeed.
    let mut peers: Vec<Peer> = (0..60).map(|_| Peer::connect(program.address)).collect();

    // While it has no descriptor it must not go round and round.
    let woken = wake_ups_in(&program, RealSpan::from_secs(2));
    assert!(woken <= 4, "{woken} wake-ups in 2 s");

    agent.send("Connect_nbr\n");
    agent.lines_until("5");
    peers.drain(..50);
    for peer in &mut peers {
        assert_eq!(peer.line(), "WELCOME");
    }
}

/// Voluntary context switches are the times a thread went to sleep: at rest there are none.
#[cfg(target_os = "linux")]
#[test]
fn an_idle_server_makes_no_wake_ups() {
    let program = Program::start("");
    assert_eq!(
        wake_ups_in(&program, RealSpan::from_secs(1)),
        0,
        "nobody is connected"
    );

    let viewers: Vec<Peer> = (0..50).map(|_| program.watch()).collect();
    assert_eq!(
        wake_ups_in(&program, RealSpan::from_secs(2)),
        0,
        "50 viewers are silent"
    );
    drop(viewers);
}

/// How often any thread of `program` went to sleep within `span`.
#[cfg(target_os = "linux")]
fn wake_ups_in(program: &Program, span: RealSpan) -> u64 {
    use trantor_runtime::{Parker, Wait};

    let count = || -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", program.child.id())).unwrap();
        tasks
            .map(|task| {
                let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
                let line = status
                    .lines()
                    .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
                line.unwrap().trim().parse::<u64>().unwrap()
            })
            .sum()
    };
    // It may still be settling down after the last answer: its threads go to sleep once more, as soon as a busy machine lets
    // them.
    let mut before = count();
    loop {
        Parker::new().wait(Some(now() + RealSpan::from_millis(300)));
        let settled = count();
        if settled == before {
            break;
        }
        before = settled;
    }
    Parker::new().wait(Some(now() + span));
    count() - before
}
