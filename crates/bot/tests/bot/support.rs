//! Trantor's server on a thread of the test, scripted servers, and programs as processes.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trantor_server::background::Background;
use trantor_server::options::Options;

pub(crate) const BOT: &str = env!("CARGO_BIN_EXE_trantor-bot");
pub(crate) const LOAD: &str = env!("CARGO_BIN_EXE_trantor-load");

/// Ample for anything here on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server on a port of its choice, with a fixed seed.
pub(crate) fn serve(options: &Options) -> Background {
    let listen = SocketAddr::new(options.bind, 0);
    Background::start(listen, options.engine_config(7)).expect("a thread, and a port on loopback")
}

/// A listener for a scripted server.
pub(crate) fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a bound address");
    (listener, address)
}

pub(crate) fn start(program: &str, server: SocketAddr, flags: &str) -> Child {
    Command::new(program)
        .args(["-h", &server.ip().to_string(), "-p", &server.port().to_string()])
        .args(flags.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program was built with the test")
}

/// Exit status, standard output and standard error.
pub(crate) fn outcome(child: Child) -> (i32, String, String) {
    let output = child.wait_with_output().expect("a process that was started ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status.code().unwrap_or(-1);
    (status, text(&output.stdout), text(&output.stderr))
}

#[cfg(unix)]
pub(crate) fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the process runs");
}

/// Greets a peer, and reads the first line that it sends.
pub(crate) fn greet(mut peer: &TcpStream) -> String {
    let mut line = String::new();
    let _ = peer.write_all(b"WELCOME\n");
    let _ = BufReader::new(peer).read_line(&mut line);
    line
}

/// Lines from a peer, to the end of the connection.
pub(crate) fn lines(peer: &TcpStream) -> impl Iterator<Item = String> {
    BufReader::new(peer).lines().map_while(Result::ok)
}

/// A text viewer of this server.
pub(crate) fn viewer(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).expect("the server listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket takes a time limit");
    (&stream).write_all(b"GRAPHIC\n").expect("the server reads");
    stream
}
