//! The server as a child: started like a user starts it, watched from outside.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use trantor_runtime::{Parker, RealClock, Wait};
use trantor_time::{Clock, RealSpan, RealTime};

/// Where the server's program lies.
#[derive(clap::Args)]
pub(crate) struct ServerProgram {
    /// The server's program; the one beside this program if not given
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
}

/// A running server; killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Where it tells its counts.
    metrics: SocketAddr,
}

impl ServerProgram {
    /// Where it lies.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        match &self.server {
            Some(path) => Ok(path.clone()),
            None => Ok(std::env::current_exe()?.with_file_name("trantor-server")),
        }
    }

    /// Starts it on ports of its choice, and waits until it listens.
    pub(crate) fn start(&self, arguments: &[&str]) -> Result<Server> {
        let path = self.path()?;
        let mut child = Command::new(&path)
            .args(["-p", "0", "--metrics", "0", "--log", "warn"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| {
                format!(
                    "cannot start {}; build it or name it with --server",
                    path.display()
                )
            })?;
        let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
        let mut next_line = || -> Result<String> { Ok(lines.next().context("the server ended")??) };
        // "trantor-server: listening on 127.0.0.1:4242 (…)"
        let address = next_line()?
            .split_whitespace()
            .nth(3)
            .and_then(|word| word.parse().ok());
        // "trantor-server: metrics on http://127.0.0.1:9100/metrics"
        let metrics = next_line()?;
        let metrics = metrics
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next()?.parse().ok());
        match (address, metrics) {
            (Some(address), Some(metrics)) => Ok(Server {
                child,
                address,
                metrics,
            }),
            _ => {
                child.kill()?;
                bail!("{} does not tell where it listens", path.display())
            }
        }
    }
}

impl Server {
    /// The value that it tells under `name`, as a scraper sees it.
    pub(crate) fn metric(&self, name: &str) -> Result<f64> {
        use std::io::{Read, Write};

        let mut stream = std::net::TcpStream::connect(self.metrics)?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let line = answer
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.with_context(|| format!("the server tells no {name}"))?
            .parse()
            .context("a metric is a number")
    }

    /// Ends it as no process can prevent, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, as a service manager does, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status()?;
        anyhow::ensure!(asked.success(), "the server cannot be asked to end");
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }

    /// How often its threads went to sleep so far, and so how often they were woken.
    pub(crate) fn sleeps(&self) -> Result<u64> {
        self.sum_over_threads("status", |status| field(status, "voluntary_ctxt_switches:"))
    }

    /// How often its threads were taken off their processor so far, by their own wish or not.
    pub(crate) fn switches(&self) -> Result<u64> {
        self.sum_over_threads("status", |status| {
            let voluntary = field(status, "voluntary_ctxt_switches:")?;
            Some(voluntary + field(status, "nonvoluntary_ctxt_switches:")?)
        })
    }

    /// Memory that it holds, in bytes. What the system keeps for its sockets is not in it.
    pub(crate) fn memory_bytes(&self) -> Result<u64> {
        self.kibibytes("VmRSS:")
    }

    /// The most memory that it ever held, in bytes.
    pub(crate) fn memory_peak_bytes(&self) -> Result<u64> {
        self.kibibytes("VmHWM:")
    }

    fn kibibytes(&self, name: &str) -> Result<u64> {
        let path = self.file("status");
        let kib = field(&std::fs::read_to_string(&path)?, name);
        Ok(kib.with_context(|| format!("{path} is not as expected"))? * 1_024)
    }

    /// Processor time that it has used so far outside the system's calls. Coarse: the system counts in hundredths of
    /// a second.
    pub(crate) fn user_time(&self) -> Result<RealSpan> {
        let path = self.file("stat");
        let stat = std::fs::read_to_string(&path)?;
        // The name in brackets may hold spaces; behind it user time is the twelfth field.
        let behind_name = stat.rsplit(") ").next().unwrap_or_default();
        let ticks: Option<i64> = behind_name
            .split(' ')
            .nth(11)
            .and_then(|field| field.parse().ok());
        let ticks = ticks.with_context(|| format!("{path} is not as expected"))?;
        Ok(RealSpan::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
    }

    /// Descriptors that it has open.
    pub(crate) fn descriptors(&self) -> Result<usize> {
        Ok(std::fs::read_dir(self.file("fd"))?.count())
    }

    /// The system's name for it.
    pub(crate) fn pid(&self) -> Pid {
        let number = i32::try_from(self.child.id()).expect("the system numbers processes so");
        Pid::from_raw(number).expect("a child is not process 0")
    }

    /// Ends it in order, and answers how it ended; fails if that is not before `until`.
    pub(crate) fn end(&mut self, until: RealTime) -> Result<ExitStatus> {
        kill_process(self.pid(), Signal::TERM)?;
        let clock = RealClock::new();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            anyhow::ensure!(clock.now() < until, "the server does not end when asked");
            Parker::new().wait(Some(clock.now() + END_LOOK_SPAN));
        }
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.child.id())
    }

    /// Processor time that it has used so far.
    pub(crate) fn processor_time(&self) -> Result<RealSpan> {
        processor_time_of(self.child.id())
    }

    fn sum_over_threads(&self, file: &str, number: impl Fn(&str) -> Option<u64>) -> Result<u64> {
        sum_over_threads(self.child.id(), file, number)
    }
}

/// Processor time that the process of this number has used so far.
pub(crate) fn processor_time_of(pid: u32) -> Result<RealSpan> {
    let nanos = sum_over_threads(pid, "schedstat", |status| status.split(' ').next()?.parse().ok())?;
    Ok(RealSpan::from_nanos(i64::try_from(nanos)?))
}

fn sum_over_threads(pid: u32, file: &str, number: impl Fn(&str) -> Option<u64>) -> Result<u64> {
    let threads = format!("/proc/{pid}/task");
    let mut sum = 0;
    for thread in std::fs::read_dir(&threads).context("this measurement needs Linux")? {
        let text = std::fs::read_to_string(thread?.path().join(file))?;
        sum += number(&text).with_context(|| format!("{threads}/…/{file} is not as expected"))?;
    }
    Ok(sum)
}

/// The first number behind `name` in a file of lines like `name: 12 kB`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How often it is looked whether a server that was asked to end has done so.
const END_LOOK_SPAN: RealSpan = RealSpan::from_millis(20);

/// What Linux counts processor time in for its readers, on every machine of today.
const TICKS_PER_SECOND: i64 = 100;

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which the measurement has told already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
