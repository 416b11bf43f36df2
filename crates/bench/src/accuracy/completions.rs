//! Replies of many agents against their ideal instants.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use mio::net::TcpStream;
use mio::{Interest, Token};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::process::{Pid, Signal, kill_process};
use trantor_runtime::{Parker, RealClock, Wait, threads};
use trantor_server::wait::MioWait;
use trantor_time::{Clock, Frequency, GameClock, GameTime, RealSpan, RealTime};

use super::Options;
use crate::child::Server;
use crate::samples::Samples;
use crate::table::Table;

/// A turn needs nothing from the world and always succeeds.
const COMMAND: &str = "Right\n";
const COMMAND_UNITS: i64 = 7;

/// Commands of one agent before it is replaced by a fresh one: they starve after 1,260 units.
const COMMANDS_OF_ONE: u32 = 100;

/// The speed while agents join, which takes longer than their food lasts at the highest speeds.
const SLOW: &str = "1";

/// As many requests as an agent may have open.
const OPEN: u32 = 10;

/// The same where the server's process is stopped now and then: the game goes on meanwhile, and so does hunger.
const STOPPED_COMMANDS_OF_ONE: u32 = 40;

/// How long the server's process is stopped each time.
const STOP_SPAN: RealSpan = RealSpan::from_millis(20);

/// The longest time between two stops, which come at random instants.
const STOP_EVERY_US_MAX: u64 = 60_000;

/// The highest speed that is measured with stops: above it agents starve in them.
const STOPPED_FREQUENCY_MAX: u32 = 1_000;

/// Measures at every frequency asked for.
pub(super) fn measure(options: &Options) -> Result<Table> {
    let mut table = Table::new([
        "frequency",
        "completions",
        "early",
        "earliest, µs",
        "starved",
        "reply late p50, µs",
        "p99, µs",
        "p99.9, µs",
        "server: deadline late p50, µs",
        "p99, µs",
        "p99.9, µs",
    ]);
    for &frequency in &options.frequencies {
        let server = start(options, options.completions, COMMANDS_OF_ONE)?;
        let (late, counts) = play(
            options,
            &server,
            options.completions,
            COMMANDS_OF_ONE,
            frequency,
            OPEN,
        )?;
        table.row(row(&server, frequency, &late, &counts)?);
    }
    Ok(table)
}

/// Measures at every frequency asked for, with one command in flight and with two, while the process is stopped now and then.
pub(super) fn measure_stopped(options: &Options) -> Result<Table> {
    let mut table = Table::new([
        "frequency",
        "in flight",
        "completions",
        "stops",
        "early",
        "earliest, µs",
        "starved",
    ]);
    let frequencies = options.frequencies.iter().copied();
    for frequency in frequencies.filter(|frequency| *frequency <= STOPPED_FREQUENCY_MAX) {
        for in_flight in [1, 2] {
            let server = start(options, options.stopped, STOPPED_COMMANDS_OF_ONE)?;
            let is_over = Arc::new(AtomicBool::new(false));
            let (seen, pid) = (Arc::clone(&is_over), server.pid());
            let stopper = threads::spawn("stopper", move || stop_now_and_then(pid, &seen))?;
            let played = play(
                options,
                &server,
                options.stopped,
                STOPPED_COMMANDS_OF_ONE,
                frequency,
                in_flight,
            );
            is_over.store(true, Ordering::Relaxed);
            let (stops, (_, counts)) = (stopper.join()??, played?);
            table.row(vec![
                frequency.to_string(),
                in_flight.to_string(),
                counts.completions.to_string(),
                stops.to_string(),
                counts.early.to_string(),
                counts.earliest_us(),
                counts.starved.to_string(),
            ]);
        }
    }
    Ok(table)
}

/// A server with places for the agents of so many completions.
fn start(options: &Options, completions: u32, of_one: u32) -> Result<Server> {
    let rounds = completions.div_ceil(options.agents * of_one);
    let places = (rounds * options.agents).to_string();
    let arguments = ["-f", SLOW, "-n", "red", "-c", &places, "--seed", "1"];
    options.program.start(&arguments)
}

/// Lets agents play until there are so many completions.
fn play(
    options: &Options,
    server: &Server,
    completions: u32,
    of_one: u32,
    frequency: u32,
    in_flight: u32,
) -> Result<(Samples, Counts)> {
    let frequency = Frequency::new(u64::from(frequency))?;
    let mut late = Samples::new();
    let mut counts = Counts::default();
    for round in 0..completions.div_ceil(options.agents * of_one) {
        let left = completions.saturating_sub(counts.completions);
        let commands = left.div_ceil(options.agents).clamp(1, of_one);
        let mut crowd = Crowd::join(server.address, options.agents, commands, in_flight, frequency)?;
        set_speed(server.address, &frequency.to_string())?;
        crowd.play(u64::from(round), &mut late, &mut counts)?;
        set_speed(server.address, SLOW)?;
    }
    Ok((late, counts))
}

/// Stops a process for a moment at random instants until it is over; answers how often.
fn stop_now_and_then(pid: Pid, is_over: &AtomicBool) -> Result<u32> {
    let (clock, mut parker) = (RealClock::new(), Parker::new());
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut stops = 0;
    loop {
        let pause_us = random.next_u64() % STOP_EVERY_US_MAX;
        parker.wait(Some(clock.now() + RealSpan::from_micros(pause_us as i64)));
        if is_over.load(Ordering::Relaxed) {
            return Ok(stops);
        }
        kill_process(pid, Signal::STOP)?;
        parker.wait(Some(clock.now() + STOP_SPAN));
        kill_process(pid, Signal::CONT)?;
        stops += 1;
    }
}

fn row(server: &Server, frequency: u32, late: &Samples, counts: &Counts) -> Result<Vec<String>> {
    let quantile = |quantile| {
        server.metric(&format!(
            "trantor_deadline_lateness_quantile_seconds{{quantile=\"{quantile}\"}}"
        ))
    };
    let in_us = |seconds: f64| format!("{:.1}", seconds * 1e6);
    Ok(vec![
        frequency.to_string(),
        counts.completions.to_string(),
        counts.early.to_string(),
        counts.earliest_us(),
        counts.starved.to_string(),
        format!("{:.1}", late.quantile_us(0.5)),
        format!("{:.1}", late.quantile_us(0.99)),
        format!("{:.1}", late.quantile_us(0.999)),
        in_us(quantile("0.5")?),
        in_us(quantile("0.99")?),
        in_us(quantile("0.999")?),
    ])
}

#[derive(Default)]
struct Counts {
    completions: u32,
    early: u32,
    /// The least time between when a reply was due and when it came; negative for an early one.
    earliest_ns: Option<i64>,
    /// Agents that died before their last command: this program, or the machine, was too slow for the speed.
    starved: u32,
}

impl Counts {
    fn earliest_us(&self) -> String {
        self.earliest_ns
            .map_or_else(String::new, |nanos| format!("{:+.1}", nanos as f64 / 1_000.0))
    }
}

/// Agents that play at the same time, driven by one thread.
struct Crowd {
    wait: MioWait,
    clock: RealClock,
    agents: Vec<Agent>,
    commands: u32,
    in_flight: u32,
    frequency: Frequency,
}

struct Agent {
    socket: TcpStream,
    sent: u32,
    replied: u32,
    /// When each command was sent that was not replied to.
    sent_at: VecDeque<RealTime>,
    /// When the latest reply was due.
    due: RealTime,
    is_over: bool,
}

impl Crowd {
    /// Agents that have joined and will give `commands` each.
    fn join(
        address: SocketAddr,
        count: u32,
        commands: u32,
        in_flight: u32,
        frequency: Frequency,
    ) -> Result<Self> {
        let wait = MioWait::new()?;
        let mut agents = Vec::new();
        for index in 0..count {
            let socket = joined(address)?;
            let mut socket = TcpStream::from_std(socket);
            wait.registry()
                .register(&mut socket, Token(index as usize), Interest::READABLE)?;
            agents.push(Agent {
                socket,
                sent: 0,
                replied: 0,
                sent_at: VecDeque::new(),
                due: RealTime::ZERO,
                is_over: false,
            });
        }
        Ok(Self {
            wait,
            clock: RealClock::new(),
            agents,
            commands,
            in_flight,
            frequency,
        })
    }

    /// Lets all of them play to the end.
    fn play(&mut self, seed: u64, late: &mut Samples, counts: &mut Counts) -> Result<()> {
        let mut starts = self.starts(seed);
        let mut playing = self.agents.len();
        while playing > 0 {
            self.wait.wait(starts.front().map(|(at, _)| *at));
            let now = self.clock.now();
            while starts.front().is_some_and(|(at, _)| *at <= now) {
                let (_, index) = starts.pop_front().expect("there is a first");
                self.start(index)?;
            }
            while let Some(ready) = self.wait.next_ready() {
                let agent = &mut self.agents[ready.token.0];
                // One that is done dies while others play on.
                if agent.is_over {
                    continue;
                }
                let reading = Reading {
                    commands: self.commands,
                    in_flight: self.in_flight,
                    frequency: self.frequency,
                    clock: self.clock,
                };
                playing -= usize::from(agent.read(&reading, late, counts)?);
            }
        }
        Ok(())
    }

    /// When each agent starts: anywhere within the length of one command, so that they are not in step.
    fn starts(&self, seed: u64) -> VecDeque<(RealTime, usize)> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let first = self.clock.now() + RealSpan::from_millis(10);
        let widest = GameClock::new(RealTime::ZERO, GameTime::ZERO, self.frequency)
            .real_at(GameTime::from_units(COMMAND_UNITS))
            .expect("a clock that goes gets there")
            .as_nanos()
            .unsigned_abs();
        let mut starts: Vec<_> = (0..self.agents.len())
            .map(|index| {
                (
                    first + RealSpan::from_nanos((random.next_u64() % widest) as i64),
                    index,
                )
            })
            .collect();
        starts.sort();
        starts.into()
    }

    fn start(&mut self, index: usize) -> Result<()> {
        self.agents[index].send(self.in_flight.min(self.commands), &self.clock)
    }
}

/// What an agent is to do, and when its replies are due.
struct Reading {
    commands: u32,
    in_flight: u32,
    frequency: Frequency,
    clock: RealClock,
}

impl Agent {
    fn send(&mut self, commands: u32, clock: &RealClock) -> Result<()> {
        let now = clock.now();
        self.sent_at.extend((0..commands).map(|_| now));
        let text = COMMAND.repeat(commands as usize);
        // A handful of bytes always fits into an empty buffer.
        self.socket
            .write_all(text.as_bytes())
            .context("a command cannot be sent")?;
        self.sent += commands;
        Ok(())
    }

    /// Takes in the replies that have come. Answers whether it is over with that: they were the last, or it starved.
    fn read(&mut self, reading: &Reading, late: &mut Samples, counts: &mut Counts) -> Result<bool> {
        let commands = reading.commands;
        let mut buffer = [0; 1024];
        while !self.is_over {
            let count = match self.socket.read(&mut buffer) {
                Ok(0) => {
                    counts.starved += 1;
                    self.is_over = true;
                    break;
                }
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let now = reading.clock.now();
            // Each comes in a segment of its own unless this side was late; behind the last of an agent that starves is "dead\n".
            let lines = buffer[..count].split(|byte| *byte == b'\n');
            let replies = lines.filter(|line| *line == b"ok").count();
            for _ in 0..replies {
                self.replied += 1;
                let sent_at = self
                    .sent_at
                    .pop_front()
                    .context("a reply came before a command")?;
                let starts = GameClock::new(self.due.max(sent_at), GameTime::ZERO, reading.frequency);
                let due = starts.real_at(GameTime::from_units(COMMAND_UNITS));
                let due = due.context("a clock that goes gets there")?;
                self.due = due;
                counts.completions += 1;
                counts.early += u32::from(now < due);
                let late_ns = (now - due).as_nanos();
                counts.earliest_ns = Some(counts.earliest_ns.map_or(late_ns, |least| least.min(late_ns)));
                late.record(now.since(due));
            }
            if self.replied == commands {
                self.is_over = true;
                break;
            }
            let more = (commands - self.sent).min(reading.in_flight - (self.sent - self.replied));
            if more > 0 {
                self.send(more, &reading.clock)?;
            }
        }
        Ok(self.is_over)
    }
}

/// Sets the speed by a viewer that leaves once it is confirmed: one that stayed would be told of all that agents do.
fn set_speed(address: SocketAddr, frequency: &str) -> Result<()> {
    let mut viewer = BufReader::new(std::net::TcpStream::connect(address)?);
    viewer
        .get_mut()
        .write_all(format!("GRAPHIC\nsst {frequency}\n").as_bytes())?;
    let answer = format!("sgt {frequency}\n");
    let mut line = String::new();
    while line != answer {
        line.clear();
        anyhow::ensure!(
            viewer.read_line(&mut line)? > 0,
            "the server hung up on the viewer"
        );
    }
    Ok(())
}

/// A connection of an agent that has been told its place.
fn joined(address: SocketAddr) -> Result<std::net::TcpStream> {
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(b"red\n")?;
    // Nothing comes after these three lines until something is asked, so the reader keeps nothing back.
    let mut reader = BufReader::new(stream.try_clone()?);
    for _ in 0..3 {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        anyhow::ensure!(line != "ko\n", "the team is full");
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}
