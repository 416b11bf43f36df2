//! A server to talk to over loopback, and a peer that talks: what every test with sockets needs.
//!
//! Servers choose their ports themselves. Reads have a time limit, so that a test that would hang fails instead.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use trantor_runtime::RealClock;
use trantor_runtime::user_token::user_token;
use trantor_server::background::Background;
use trantor_server::conn::ConnStats;
use trantor_server::export::Exporter;
use trantor_server::options::Options;
use trantor_server::shell::Shell;
use trantor_server::tasks::TaskSender;
use trantor_time::{Clock, RealTime};

/// Longer than any answer takes on a busy machine, short enough to wait for in a failing test.
const PATIENCE: Duration = Duration::from_secs(10);

/// Now, for measuring.
pub fn now() -> RealTime {
    RealClock::new().now()
}

/// A server on a thread of this process, ended in order when it is dropped.
pub struct Server {
    pub address: SocketAddr,
    /// Where it tells what it counts, if its options ask for that.
    pub metrics: Option<SocketAddr>,
    _exporter: Option<Exporter>,
    running: Background,
}

impl Server {
    /// A server with `options`, on a port of its choice and with a fixed seed.
    pub fn start(options: Options) -> Self {
        let listen = SocketAddr::new(options.bind, 0);
        let running = Background::start(listen, options.engine_config(7)).unwrap();
        let exporter = options
            .metrics
            .are_wanted()
            .then(|| Exporter::start(&options.metrics, running.tasks().clone()).unwrap());
        Self {
            address: running.address(),
            metrics: exporter.as_ref().and_then(Exporter::address),
            _exporter: exporter,
            running,
        }
    }

    /// Sends tasks to its loop.
    pub fn tasks(&self) -> &TaskSender {
        self.running.tasks()
    }

    /// What happened on its connections, as of the end of a pass.
    pub fn conn_stats(&self) -> ConnStats {
        let (told, stats) = std::sync::mpsc::sync_channel(1);
        let tell = move |shell: &mut Shell| told.send(shell.conns().stats()).expect("the test waits for it");
        self.tasks().send("conn_stats", tell).unwrap();
        stats.recv_timeout(PATIENCE).unwrap()
    }

    /// A peer that has been greeted.
    pub fn connect(&self) -> Peer {
        let mut peer = Peer::connect(self.address);
        assert_eq!(peer.line(), "WELCOME");
        peer
    }

    /// An agent of `team`.
    pub fn join(&self, team: &str) -> Peer {
        let mut peer = self.connect();
        peer.send(&format!("{team}\n"));
        peer.line().parse::<u32>().expect("the number of places left");
        peer.line();
        peer
    }

    /// A text viewer that has read its first burst.
    pub fn watch(&self) -> Peer {
        let mut peer = self.connect();
        peer.send("GRAPHIC\nsgt\n");
        // The burst tells the frequency second, and again at the end because it was asked for.
        peer.lines_until("sgt ");
        peer.lines_until("sgt ");
        peer
    }
}

/// One end of a connection.
pub struct Peer {
    pub socket: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Peer {
    /// Connects, and reads nothing yet.
    pub fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        let reader = BufReader::new(socket.try_clone().unwrap());
        Self { socket, reader }
    }

    /// An operator by the token that a program leaves for its user; it is yet to read that it is one.
    pub fn operate(address: SocketAddr) -> Self {
        let mut peer = Self::connect(address);
        let token = user_token(peer.socket.local_addr().unwrap(), address).expect("it has left one");
        peer.send(&format!("ADMIN {token}\n"));
        peer
    }

    pub fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).unwrap();
    }

    /// The next line, without its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the connection ended with {line:?}");
        line.trim_end().to_owned()
    }

    /// Lines up to the first that starts with `start`, that one last.
    pub fn lines_until(&mut self, start: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.line());
            if lines.last().is_some_and(|line| line.starts_with(start)) {
                return lines;
            }
        }
    }

    /// Everything up to the end of the connection; an error where it was not ended in order.
    pub fn rest(&mut self) -> std::io::Result<String> {
        let mut rest = String::new();
        self.reader.read_to_string(&mut rest)?;
        Ok(rest)
    }
}

/// Runs the program with `arguments` to its end: exit status, what it printed, and what it complained of.
pub fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_trantor-server"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The program itself, as a user starts it; killed when it is dropped.
pub struct Program {
    pub child: Child,
    pub address: SocketAddr,
    /// What it printed when it was ready.
    pub first_line: String,
    /// What it prints after that.
    out: BufReader<ChildStdout>,
    /// Where it tells what it counts, once that was asked for.
    metrics: Option<SocketAddr>,
}

impl Program {
    /// Starts it with `arguments`, on a port of its choice, and waits until it listens.
    pub fn start(arguments: &[&str], stdin: Stdio) -> Self {
        Self::start_by(
            Command::new(env!("CARGO_BIN_EXE_trantor-server")),
            arguments,
            stdin,
        )
    }

    /// The same, where the system gives it at most `descriptors` descriptors.
    pub fn start_with_few(descriptors: u32, arguments: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        // After the script come $0, which is the program, and its arguments.
        let script = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_trantor-server")]);
        Self::start_by(shell, arguments, Stdio::null())
    }

    /// The same, by a command that becomes the program.
    pub fn start_by(mut command: Command, arguments: &[&str], stdin: Stdio) -> Self {
        let mut child = command
            .args(["-p", "0"])
            .args(arguments)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first_line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut first_line).unwrap();
        let address = first_line
            .split_whitespace()
            .nth(3)
            .and_then(|word| word.parse().ok());
        let address = address.unwrap_or_else(|| panic!("{first_line:?} names no address"));
        Self {
            child,
            address,
            first_line,
            out,
            metrics: None,
        }
    }

    /// What it tells under `name`, if it was started with `--metrics 0`.
    pub fn metric(&mut self, name: &str) -> f64 {
        let metrics = *self.metrics.get_or_insert_with(|| {
            let mut line = String::new();
            self.out.read_line(&mut line).unwrap();
            let address = line.split("http://").nth(1).unwrap().split('/').next();
            address.unwrap().parse().unwrap()
        });
        let mut peer = Peer::connect(metrics);
        peer.send("GET /metrics HTTP/1.1\r\n\r\n");
        let answer = peer.rest().unwrap();
        let value = answer
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
    }

    /// The pipe that it prints to.
    pub fn pipe(&self) -> &ChildStdout {
        self.out.get_ref()
    }

    /// Sends a signal as an operator would.
    pub fn kill(&self, signal: &str) {
        let sent = Command::new("kill")
            .arg(signal)
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already in most tests.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
