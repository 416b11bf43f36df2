//! The program from outside: what it prints, how it ends, and that it rests when there is nothing to do.

use std::process::{Command, Stdio};

use trantor_time::RealSpan;

use crate::support::{Folder, PROGRAM, Peer, Program, now};

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

/// As systemd does it: the socket is there before the program is, and the program reports when it serves.
#[cfg(target_os = "linux")]
#[test]
fn a_service_manager_hands_a_socket_over_and_is_notified() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let folder = Folder::new();
    let (path, name) = (folder.join("notify"), format!("trantor-{}", std::process::id()));
    let by_path = UnixDatagram::bind(&path).unwrap();
    serve_under(&by_path, path.to_str().unwrap());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    serve_under(&UnixDatagram::bind_addr(&address).unwrap(), &format!("@{name}"));
}

/// A service manager that listens at `socket`, of which the program knows by `name`.
#[cfg(target_os = "linux")]
fn serve_under(socket: &std::os::unix::net::UnixDatagram, name: &str) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It connects before the program has begun.
    let mut early = Peer::connect(address);

    let mut shell = Command::new("sh");
    let script = "exec 3<&0 0</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" \"$@\"";
    shell
        .args(["-c", script, PROGRAM, "--log", "off"])
        .env("NOTIFY_SOCKET", name)
        .env("WATCHDOG_USEC", "20000");
    let stdin = Stdio::from(std::os::fd::OwnedFd::from(listener));
    let mut program = Program::by(shell, stdin);
    assert_eq!(program.address, address);
    assert_eq!(early.line(), "WELCOME");

    let next = || {
        let mut state = [0; 256];
        let count = socket.recv(&mut state).unwrap();
        String::from_utf8_lossy(&state[..count]).trim_end().to_owned()
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
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 30; exec \"$0\" --log error \"$@\"", PROGRAM]);
    let program = Program::by(shell, Stdio::null());
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
    assert_eq!(wake_ups_in(&program, RealSpan::from_secs(1)), 0, "no connections");

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
    use trantor_runtime::Parker;

    let of_thread = |thread: std::io::Result<std::fs::DirEntry>| -> u64 {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.unwrap().trim().parse().unwrap()
    };
    let threads = format!("/proc/{}/task", program.child.id());
    let count = || std::fs::read_dir(&threads).unwrap().map(of_thread).sum();
    // It may still be settling down after the last answer: its threads go to sleep once more, as soon as a busy machine lets
    // them.
    let mut before: u64 = count();
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
