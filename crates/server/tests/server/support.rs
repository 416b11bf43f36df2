//! The program to talk to over loopback, a peer that talks, and a folder for files.
//!
//! The program chooses its ports itself. Reads have a time limit, so that a test that would hang fails instead.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use trantor_game::Stamp;
use trantor_game::journal::Ending;
use trantor_runtime::RealClock;
use trantor_runtime::user_token::user_token;
use trantor_server::replay::{Checked, Outcome, pieces_in, verify_all};
use trantor_time::{Clock, RealSpan, RealTime};

/// Longer than any answer takes on a busy machine, short enough to wait for in a failing test.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn now() -> RealTime {
    RealClock::new().now()
}

/// Waits until something is so, or fails with `else_what`.
pub fn wait_until(else_what: &str, mut is_so: impl FnMut() -> bool) {
    let until = now() + RealSpan::from_secs(30);
    while !is_so() {
        assert!(now() < until, "{else_what}");
        std::thread::yield_now();
    }
}

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

    pub fn send(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).unwrap();
    }

    /// The next line, without its end; `None` where the connection ends.
    pub fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok()?;
        Some(line.strip_suffix('\n')?.trim_end().to_owned())
    }

    /// The next line, of a connection that must have one.
    pub fn line(&mut self) -> String {
        self.next_line().expect("the connection ended")
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

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_trantor-server");

/// The program with `arguments`, cut at spaces, to be started in `folder`: paths among them are relative to it.
pub fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.current_dir(folder).args(arguments.split_whitespace());
    command
}

/// Runs a command to its end: exit status, standard output, standard error.
pub fn outcome(command: &mut Command) -> (i32, String, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().unwrap(), out, err)
}

/// What a piece of a journal came to when it was played again.
pub struct Verified {
    pub inputs: u64,
    pub end: Stamp,
    pub ending: Ending,
}

/// All pieces of journals in `directory`, played again. Every one must agree.
pub fn verified(directory: &Path) -> Vec<Verified> {
    let checked = verify_all(&pieces_in(&[directory.to_owned()]).unwrap(), &[]).unwrap();
    let of_piece = |Checked { file, outcome, .. }: Checked| match outcome {
        Outcome::Played {
            ending, played, end, ..
        } => Verified {
            inputs: played.inputs,
            end,
            ending,
        },
        other => panic!("{}: {other:?}", file.display()),
    };
    checked.into_iter().map(of_piece).collect()
}

/// The program itself, as a user starts it; killed when it is dropped.
pub struct Program {
    pub child: Child,
    pub address: SocketAddr,
    pub first_line: String,
    out: BufReader<ChildStdout>,
    pub err: BufReader<ChildStderr>,
    /// Where it serves its metrics, once that was asked for.
    metrics: Option<SocketAddr>,
}

impl Program {
    /// Starts it with `arguments`, cut at spaces, on a port of its choice, and waits until it listens.
    pub fn start(arguments: &str) -> Self {
        Self::start_in(Path::new("."), arguments)
    }

    /// As `start`, in `folder`: paths are relative to it.
    pub fn start_in(folder: &Path, arguments: &str) -> Self {
        Self::by(command(folder, arguments), Stdio::null())
    }

    /// As `start_in`, by a command that becomes the program.
    pub fn by(mut command: Command, stdin: Stdio) -> Self {
        command.args(["-p", "0"]).stdin(stdin);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first_line = String::new();
        out.read_line(&mut first_line).unwrap();
        let address = first_line
            .split_whitespace()
            .nth(3)
            .and_then(|word| word.parse().ok());
        let address = address.unwrap_or_else(|| {
            let mut said = String::new();
            let _ended = err.read_to_string(&mut said);
            panic!("{first_line:?} names no address: {said}")
        });
        Self {
            child,
            address,
            first_line,
            out,
            err,
            metrics: None,
        }
    }

    /// A peer that has been greeted.
    pub fn connect(&self) -> Peer {
        let mut peer = Peer::connect(self.address);
        assert_eq!(peer.line(), "WELCOME");
        peer
    }

    /// A text viewer that has read its first burst.
    pub fn watch(&self) -> Peer {
        let mut peer = self.connect();
        peer.send("GRAPHIC\nsgt\n");
        // The burst has the frequency second, and the reply has it again.
        peer.lines_until("sgt ");
        peer.lines_until("sgt ");
        peer
    }

    /// An agent that has joined `team`, and the places that the team had left.
    pub fn join(&self, team: &str) -> (Peer, u32) {
        let mut peer = self.connect();
        peer.send(&format!("{team}\n"));
        let places = peer.line().parse().unwrap();
        peer.line();
        (peer, places)
    }

    /// An operator, by the token that the program leaves for its user, who has said `line`.
    pub fn operate(&self, line: &str) -> Peer {
        let mut operator = Peer::connect(self.address);
        let from = operator.socket.local_addr().unwrap();
        let token = user_token(from, self.address).expect("it has left one");
        operator.send(&format!("ADMIN {token}\n{line}\n"));
        operator.lines_until("ok");
        operator.lines_until("ok");
        operator
    }

    /// Where it serves its metrics, if it was started with `--metrics 0`.
    pub fn metrics(&mut self) -> SocketAddr {
        *self.metrics.get_or_insert_with(|| {
            let mut line = String::new();
            self.out.read_line(&mut line).unwrap();
            let address = line.split("http://").nth(1).unwrap().split('/').next();
            address.unwrap().parse().unwrap()
        })
    }

    pub fn metric(&mut self, name: &str) -> f64 {
        let mut peer = Peer::connect(self.metrics());
        peer.send("GET /metrics HTTP/1.1\r\n\r\n");
        let answer = peer.rest().unwrap();
        let mut values = answer
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = values.next().unwrap_or_else(|| panic!("no {name} in:\n{answer}"));
        value.parse().unwrap()
    }

    pub fn pipe(&self) -> &ChildStdout {
        self.out.get_ref()
    }

    pub fn kill(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Waits for its end, which must be in order; answers what it logged.
    pub fn log(&mut self) -> String {
        let mut log = String::new();
        self.err.read_to_string(&mut log).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{log}");
        log
    }

    /// Ends it in order; answers what it logged.
    pub fn stop(&mut self) -> String {
        self.kill("-TERM");
        self.log()
    }

    /// Ends it as no program can prevent.
    pub fn crash(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already in most tests.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A folder of a test's own, gone when the test is over.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("folder-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// Writes a file, with the folders it lies in.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The next build removes what is left over.
        let _gone = std::fs::remove_dir_all(&self.path);
    }
}

/// Says that a test did not run for want of a tool; on CI that is a failure.
#[cfg(target_os = "linux")]
pub fn skipped(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    writeln!(std::io::stderr().lock(), "SKIPPED: {why}").unwrap();
}
