//! The least program that could serve spread-out agents: what the machine itself costs any server.
//!
//! It sleeps as the server sleeps until an answer is due or a command comes, writes each answer and reads each command at
//! once; no game, no limits, no viewers, and nothing of the protocol beyond its greeting. It is a child like the server and
//! under the same load generator.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Context, Result};
use mio::net::TcpStream;
use mio::{Interest, Token};
use trantor_bot::load::{LoadConfig, Speed};
use trantor_runtime::{RealClock, Wait};
use trantor_server::wait::{MioWait, Ready};
use trantor_time::{Clock, Frequency, NANOS, RealSpan, RealTime};

use super::{COLUMNS, CORE_PERCENT, LATE_P99_US, Load};
use crate::figures::{Runs, Table};
use crate::process::{Process, STEP_UNITS, core_percent, run_load};

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

/// An agent being served.
struct Served {
    stream: TcpStream,
    /// Commands read and not yet answered; the first of them is under way.
    open: usize,
}

/// Serves until an agent leaves.
pub(crate) fn serve(options: &Options) -> Result<()> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    println!("{}", listener.local_addr()?);
    let clock = RealClock::new();
    let mut wait = MioWait::new()?;
    let step = RealSpan::from_nanos(NANOS * i64::from(STEP_UNITS) / i64::from(options.frequency));
    let mut agents = Vec::new();
    for number in 0..options.agents {
        let mut agent = Served::welcome(listener.accept()?.0)?;
        wait.registry()
            .register(&mut agent.stream, Token(number), Interest::READABLE)?;
        agents.push(agent);
    }
    let mut due: BinaryHeap<Reverse<(RealTime, usize)>> = BinaryHeap::new();
    loop {
        wait.wait(due.peek().map(|Reverse((at, _))| *at));
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
        BufReader::new(&stream).read_line(&mut String::new())?;
        stream.write_all(b"0\n1 1\n")?;
        stream.set_nonblocking(true)?;
        let stream = TcpStream::from_std(stream);
        Ok(Self { stream, open: 0 })
    }

    /// Reads the commands that have come; answers whether it is still there.
    fn read(&mut self) -> Result<bool> {
        let mut bytes = [0; 256];
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

/// Puts it under `load`, with steps only, for `span`. Answers its p99 of lateness and what it used of a core.
pub(super) fn measure(load: Load, span: RealSpan) -> Result<[f64; 2]> {
    let (agents, frequency) = (load.agents, load.frequency);
    let mut process = Process::of_this_program(&format!("least --agents {agents} --frequency {frequency}"))?;
    let address = process.lines().next().context("it says where it listens")??;
    let config = LoadConfig {
        mix: "forward=1".parse()?,
        speed: Speed::Assumed(Frequency::new(u64::from(frequency))?),
        ..load.config(address.parse()?, span)?
    };
    let (report, used) = run_load(&config, &process, |_| {})?;
    Ok([report.lateness.p99_us, core_percent(used, &report)])
}

/// What is compared, and how many times what the least program takes the server may take; the medians of the rounds count.
const GOALS: [(&str, usize, f64); 2] = [
    ("p99 of lateness, µs", LATE_P99_US, 1.5),
    ("of a core, %", CORE_PERCENT, 1.25),
];

pub(super) fn table() -> Table {
    Table::new(&[
        "load",
        "what",
        "the least program",
        "the server",
        "times",
        "goal",
        "",
    ])
}

/// Adds the rows of one load, measured in turns.
pub(super) fn compare(load: Load, server: &[[f64; COLUMNS.len()]], least: &[[f64; 2]], table: &mut Table) {
    for (place, (what, column, most)) in GOALS.into_iter().enumerate() {
        let pairs = || {
            server
                .iter()
                .map(move |found| found[column])
                .zip(least.iter().map(move |found| found[place]))
        };
        let times: Runs = pairs().map(|(server, least)| server / least).collect();
        table.row(vec![
            format!("{} at {}", load.name(), load.frequency),
            what.to_owned(),
            pairs().map(|(_, least)| least).collect::<Runs>().show(2),
            pairs().map(|(server, _)| server).collect::<Runs>().show(2),
            times.show(2),
            format!("≤ {most}"),
            if times.median() <= most { "met" } else { "missed" }.to_owned(),
        ]);
    }
}
