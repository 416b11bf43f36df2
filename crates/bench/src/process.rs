//! Programs under measurement: started like a user starts them, observed through /proc, and killed on drop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use trantor_protocol::OPERATOR_WORD;
use trantor_runtime::{Parker, RealClock};
use trantor_time::{Clock, RealSpan};

/// Time limit for a clean shutdown.
const END_PATIENCE: RealSpan = RealSpan::from_secs(15);

/// Blocks the thread.
pub(crate) fn sleep(span: RealSpan) {
    Parker::new().wait(Some(RealClock::new().now() + span));
}

/// Polls `is_done` every 10 ms; fails with `otherwise` after `patience`.
pub(crate) fn wait_until(
    patience: RealSpan,
    otherwise: &'static str,
    mut is_done: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let clock = RealClock::new();
    let until = clock.now() + patience;
    while !is_done()? {
        ensure!(clock.now() < until, otherwise);
        sleep(RealSpan::from_millis(10));
    }
    Ok(())
}

/// A child process, killed on drop.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Starts this program with these arguments.
    pub(crate) fn of_this_program(words: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words.split_whitespace());
        Self::start(&mut command)
    }

    /// Starts a program with piped output.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let name = command.get_program().display();
        Ok(Self(child.with_context(|| {
            format!("cannot start {name}; build it beside this program")
        })?))
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Processor time of all threads.
    pub(crate) fn processor(&self) -> Result<RealSpan> {
        let mut nanos = 0;
        for thread in std::fs::read_dir(self.file("task")).context("this measurement needs Linux")? {
            // A thread that answers one scrape may have ended since it was listed.
            if let Ok(schedule) = std::fs::read_to_string(thread?.path().join("schedstat")) {
                nanos += field(&schedule, "")?;
            }
        }
        Ok(RealSpan::from_nanos(i64::try_from(nanos)?))
    }

    /// Resident memory in bytes, without the system's socket buffers; and its peak.
    pub(crate) fn memory_bytes(&self) -> Result<[u64; 2]> {
        let status = std::fs::read_to_string(self.file("status"))?;
        Ok([
            field(&status, "VmRSS:")? * 1_024,
            field(&status, "VmHWM:")? * 1_024,
        ])
    }

    /// Open descriptors.
    pub(crate) fn descriptors(&self) -> Result<usize> {
        Ok(std::fs::read_dir(self.file("fd"))?.count())
    }

    /// The lines it prints.
    pub(crate) fn lines(&mut self) -> impl Iterator<Item = Result<String>> + use<> {
        let output = self.0.stdout.take().expect("its output is a pipe");
        BufReader::new(output)
            .lines()
            .map(|line| line.map_err(Into::into))
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.0.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// The first number behind `name` in a file of lines like `name: 12 kB`.
fn field(text: &str, name: &str) -> Result<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    let number = rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.with_context(|| format!("a file of /proc has no {name:?}"))
}

/// Path of the server's program.
#[derive(clap::Args)]
pub(crate) struct ServerProgram {
    /// The server's program; the one beside this program if not given
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
}

/// A running server.
pub(crate) struct Server {
    pub(crate) process: Process,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    metrics: SocketAddr,
}

impl ServerProgram {
    pub(crate) fn path(&self) -> Result<PathBuf> {
        match &self.server {
            Some(path) => Ok(path.clone()),
            None => Ok(std::env::current_exe()?.with_file_name("trantor-server")),
        }
    }

    /// Starts the server with flags and folder options on free ports, and waits until it listens.
    pub(crate) fn start(&self, flags: &str, folders: &[(&str, &Path)]) -> Result<Server> {
        let mut command = Command::new(self.path()?);
        command.args(["-p", "0", "--metrics", "0", "--log", "warn"]);
        command.args(flags.split_whitespace());
        for (option, folder) in folders {
            command.arg(option).arg(folder);
        }
        let mut process = Process::start(&mut command)?;
        let mut lines = process.lines();
        let mut line = || lines.next().context("the server ended")?;
        // "trantor-server: listening on 127.0.0.1:4242 (…)"
        let address = line()?
            .split_whitespace()
            .nth(3)
            .and_then(|word| word.parse().ok());
        // "trantor-server: metrics on http://127.0.0.1:9100/metrics"
        let metrics = line()?;
        let metrics = metrics
            .split('/')
            .find_map(|part| part.parse::<SocketAddr>().ok());
        match (address, metrics) {
            (Some(address), Some(metrics)) => Ok(Server {
                process,
                address,
                metrics,
            }),
            _ => bail!("the server does not say where it listens"),
        }
    }
}

impl Server {
    /// Scrapes the metrics.
    pub(crate) fn metrics(&self) -> Result<Metrics> {
        let mut stream = TcpStream::connect(self.metrics)?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(
            answer.starts_with("HTTP/1.1 200"),
            "the server's loop hangs: {answer}"
        );
        Ok(Metrics(answer))
    }

    /// Runs a command on an operator connection.
    pub(crate) fn operate(&self, command: &str) -> Result<()> {
        let mut operator = Line::connect(self.address, OPERATOR_WORD, "ok")?;
        operator.send(&format!("{command}\n"))?;
        operator.read_to("ok")
    }

    /// Sends SIGTERM and waits for the exit.
    pub(crate) fn stop(mut self) -> Result<()> {
        kill_process(self.process.pid(), Signal::TERM)?;
        let mut status: Option<ExitStatus> = None;
        wait_until(END_PATIENCE, "the server does not end when asked", || {
            status = self.process.0.try_wait()?;
            Ok(status.is_some())
        })?;
        ensure!(
            status.is_some_and(|status| status.success()),
            "the server ended with {status:?}"
        );
        Ok(())
    }
}

/// Metrics of a server, as it was asked for them.
pub(crate) struct Metrics(String);

impl Metrics {
    /// The value of a metric, without `trantor_`.
    ///
    /// # Panics
    /// If the server has none of this name.
    pub(crate) fn get(&self, name: &str) -> f64 {
        let mut lines = self.0.lines().filter_map(|line| line.strip_prefix("trantor_"));
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
        value.unwrap_or_else(|| panic!("the server has no metric {name}"))
    }
}

/// A connection of text lines.
pub(crate) struct Line(pub(crate) BufReader<TcpStream>);

impl Line {
    /// Connects, says `word`, and reads up to a line that starts with `last`.
    pub(crate) fn connect(server: SocketAddr, word: &str, last: &str) -> Result<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        let mut line = Self(BufReader::new(stream));
        line.send(&format!("{word}\n"))?;
        line.read_to(last)?;
        Ok(line)
    }

    pub(crate) fn send(&mut self, text: &str) -> Result<()> {
        let sent = self.0.get_mut().write_all(text.as_bytes());
        sent.context("the server closed the connection")
    }

    /// Reads up to a line that starts with `last`; fails at a refusal.
    pub(crate) fn read_to(&mut self, last: &str) -> Result<()> {
        let mut line = String::new();
        loop {
            line.clear();
            let count = self.0.read_line(&mut line)?;
            ensure!(count > 0, "the server closed the connection before {last:?}");
            ensure!(!line.starts_with("ko"), "the server refused: {line:?}");
            if line.starts_with(last) {
                return Ok(());
            }
        }
    }
}
