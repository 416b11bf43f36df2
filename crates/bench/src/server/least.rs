//! The least that could serve spread-out agents: what the machine takes for it, whoever serves.
//!
//! A program that sleeps until an answer is due or a command comes, writes each answer at once and reads each command at once; no game, no
//! limits, no watchers, and nothing of the protocol beyond its greeting. It is a child like the server and under the same load
//! generator. What the server takes more is its own; what both take is the machine's: a sleep that ends in time, a packet sent to
//! a program that sleeps on the other core, and a packet received.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use mio::net::TcpStream;
use mio::{Interest, Token};
use trantor_bot::load::{LoadConfig, Phase, Speed, run_watched};
use trantor_runtime::{RealClock, Wait};
use trantor_server::wait::{MioWait, Ready};
use trantor_time::{Clock, Frequency, NANOS, RealSpan, RealTime};

use super::row::Load;
use crate::child::processor_time_of;
use crate::samples::Runs;
use crate::table::Table;

/// Whom it serves.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many will come
    #[arg(long)]
    agents: usize,
    /// Units a second; a command takes seven
    #[arg(long)]
    frequency: u32,
}

/// Units that each command takes; the load asks for steps only.
const STEP_UNITS: i64 = 7;

/// Bytes read at once: more commands than an agent may have open.
const READ_BYTES: usize = 256;

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) late_p99_us: f64,
    /// Of one core, 1 being all of it.
    pub(super) core: f64,
}

/// An agent being served.
struct Served {
    stream: TcpStream,
    /// Commands read and not yet answered; the first of them is under way.
    open: usize,
}

/// Serves until somebody has gone.
pub(crate) fn serve(options: &Options) -> Result<()> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    println!("{}", listener.local_addr()?);
    let clock = RealClock::new();
    let mut wait = MioWait::new()?;
    let step = RealSpan::from_nanos(NANOS * STEP_UNITS / i64::from(options.frequency));
    let mut agents = Vec::new();
    for number in 0..options.agents {
        let mut agent = Served::welcome(listener.accept()?.0)?;
        let token = Token(number);
        wait.registry()
            .register(&mut agent.stream, token, Interest::READABLE)?;
        agents.push(agent);
    }
    let mut due: BinaryHeap<Reverse<(RealTime, usize)>> = BinaryHeap::new();
    loop {
        let next = due.peek().map(|Reverse((at, _))| *at);
        wait.wait(next);
        let now = clock.now();
        while let Some(Ready { token, .. }) = wait.next_ready() {
            let agent = &mut agents[token.0];
            let was_idle = agent.open == 0;
            if !agent.read()? {
                return Ok(());
            }
            if was_idle && agent.open > 0 {
                due.push(Reverse((now + step, token.0)));
            }
        }
        while let Some(&Reverse((at, number))) = due.peek()
            && at <= now
        {
            due.pop();
            let agent = &mut agents[number];
            agent.stream.write_all(b"ok\n")?;
            agent.open -= 1;
            if agent.open > 0 {
                due.push(Reverse((at + step, number)));
            }
        }
    }
}

impl Served {
    /// Greets an agent as the protocol wants it.
    fn welcome(mut stream: std::net::TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.write_all(b"WELCOME\n")?;
        let mut team = String::new();
        BufReader::new(&stream).read_line(&mut team)?;
        stream.write_all(b"0\n1 1\n")?;
        stream.set_nonblocking(true)?;
        let stream = TcpStream::from_std(stream);
        Ok(Self { stream, open: 0 })
    }

    /// Reads the commands that have come; answers whether it is still there.
    fn read(&mut self) -> Result<bool> {
        let mut bytes = [0; READ_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Ok(false),
            Ok(count) => self.open += bytes[..count].iter().filter(|byte| **byte == b'\n').count(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }
}

/// Puts it under `load`, of which agents, speed and commands open count, for `span`.
pub(super) fn measure(load: Load, span: RealSpan) -> Result<Found> {
    let (agents, frequency) = (load.agents.to_string(), load.frequency.to_string());
    let child = Command::new(std::env::current_exe()?)
        .args(["least", "--agents", &agents, "--frequency", &frequency])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Ended(child.context("the least server cannot be started")?);
    let mut told = String::new();
    BufReader::new(child.0.stdout.take().expect("it is a pipe")).read_line(&mut told)?;
    let config = LoadConfig {
        mix: "forward=1".parse()?,
        speed: Speed::Assumed(Frequency::new(u64::from(load.frequency))?),
        ..load.config(told.trim().parse()?, span)?
    };
    let mut used = Vec::new();
    let report = run_watched(&config, |phase: Phase| {
        if matches!(phase, Phase::Measuring | Phase::Measured) {
            used.push(processor_time_of(child.0.id()));
        }
    })?;
    let used = used.into_iter().collect::<Result<Vec<_>>>()?;
    let [begun, ended] = used[..] else {
        anyhow::bail!("a load that was measured went through all phases");
    };
    Ok(Found {
        late_p99_us: report.lateness.p99_us,
        core: (ended - begun).as_secs_f64() / report.measured_s,
    })
}

/// Killed when dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It has usually ended by itself.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Both in one round.
pub(super) struct Pair {
    pub(super) least: Found,
    pub(super) server: Found,
}

/// A figure of [`Found`].
type Figure = fn(&Found) -> f64;

/// How many times what the least program takes the server may take; the medians of the rounds are held to it.
const GOALS: [(&str, Figure, f64); 2] = [
    ("p99 of lateness, µs", |found| found.late_p99_us, 1.5),
    ("of a core, %", |found| found.core * 100.0, 1.25),
];

/// A table of it beside the server: each load with its rounds.
pub(super) fn compare(loads: &[(Load, Vec<Pair>)]) -> Table {
    let mut table = Table::new([
        "load",
        "what",
        "the least program",
        "the server",
        "times",
        "goal",
        "",
    ]);
    for (load, rounds) in loads {
        for (what, figure, most) in GOALS {
            let column = |figure: &dyn Fn(&Pair) -> f64| rounds.iter().map(figure).collect::<Runs>();
            let times = column(&|pair| figure(&pair.server) / figure(&pair.least));
            table.row(vec![
                format!("{} at {}", load.name(), load.frequency),
                what.to_owned(),
                column(&|pair| figure(&pair.least)).show(2),
                column(&|pair| figure(&pair.server)).show(2),
                times.show(2),
                format!("≤ {most}"),
                if times.median() <= most { "met" } else { "missed" }.to_owned(),
            ]);
        }
    }
    table
}
