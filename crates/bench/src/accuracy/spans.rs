//! How long things take from a client's question to its answer, against how long they should.
//!
//! The server runs on a thread of this process: an operator has to turn hunger off, or the agent would starve half
//! way through the chain.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Result};
use trantor_engine::AdminRequest;
use trantor_game::AdminAction;
use trantor_runtime::{Parker, RealClock, Wait, threads};
use trantor_server::background::Background;
use trantor_server::options::Options as ServerOptions;
use trantor_time::{Clock, Frequency, RealSpan};

use super::Options;
use crate::table::Table;

/// Frequency of the chain: it divides neither a second nor a millisecond.
const CHAIN_FREQUENCY: u32 = 300;

/// Units that a Forward and a Fork take.
const FORWARD_UNITS: u32 = 7;
const FORK_UNITS: u32 = 42;

/// As many requests as an agent may have open.
const OPEN: u32 = 10;

/// Measures the chain and the Fork.
pub(super) fn measure(options: &Options) -> Result<Table> {
    let mut table = Table::new(["what", "ideal, ms", "measured, ms", "difference, µs"]);
    let mut row = |what: String, units: u32, frequency: u32, measured: RealSpan| {
        let ideal_ms = f64::from(units) / f64::from(frequency) * 1e3;
        let measured_ms = measured.as_millis_f64();
        table.row(vec![
            what,
            format!("{ideal_ms:.3}"),
            format!("{measured_ms:.3}"),
            format!("{:+.0}", (measured_ms - ideal_ms) * 1e3),
        ]);
    };

    let chain = options.chain;
    let measured = chain_of_forwards(chain)?;
    row(
        format!("{chain} Forward at {CHAIN_FREQUENCY}"),
        chain * FORWARD_UNITS,
        CHAIN_FREQUENCY,
        measured,
    );
    for frequency in [20, 100] {
        let (measured, times) = fork_while_setting_speed(frequency)?;
        row(
            format!("Fork at {frequency}, `sst {frequency}` {times} times"),
            FORK_UNITS,
            frequency,
            measured,
        );
    }
    Ok(table)
}

/// The time from the first command sent to the last reply.
fn chain_of_forwards(count: u32) -> Result<RealSpan> {
    let server = serve(CHAIN_FREQUENCY)?;
    let clock = RealClock::new();
    let mut agent = Line::connect(server.address(), "red", 3)?;
    let started = clock.now();
    let at_first = count.min(OPEN);
    agent.send(&"Forward\n".repeat(at_first as usize))?;
    for replied in 0..count {
        anyhow::ensure!(agent.line()? == "ok", "a Forward always succeeds");
        if replied + at_first < count {
            agent.send("Forward\n")?;
        }
    }
    Ok(clock.now() - started)
}

/// The time that a Fork takes while a viewer sets the speed that it has, every millisecond; and how often it did.
fn fork_while_setting_speed(frequency: u32) -> Result<(RealSpan, u32)> {
    let server = serve(frequency)?;
    let clock = RealClock::new();
    let mut agent = Line::connect(server.address(), "red", 3)?;
    let mut viewer = Line::connect(server.address(), "GRAPHIC", 1)?;
    viewer.reader.get_ref().set_nonblocking(true)?;
    let is_over = Arc::new(AtomicBool::new(false));
    let seen_by_setter = Arc::clone(&is_over);

    let started = clock.now();
    let setter = threads::spawn("setter", move || -> Result<u32> {
        let mut sleep = Parker::new();
        let mut times = 0;
        while !seen_by_setter.load(Ordering::Relaxed) {
            viewer.send(&format!("sst {frequency}\n"))?;
            times += 1;
            // What it is told is not of interest, but a viewer that reads nothing would be let go.
            viewer.skip_what_has_come();
            sleep.wait(Some(started + RealSpan::from_millis(i64::from(times))));
        }
        Ok(times)
    })?;
    agent.send("Fork\n")?;
    let answer = agent.line()?;
    let took = clock.now() - started;
    is_over.store(true, Ordering::Relaxed);
    anyhow::ensure!(answer == "ok", "a Fork always succeeds, but: {answer:?}");
    Ok((took, setter.join()??))
}

/// A server on a thread of this process, in whose world nobody is hungry.
fn serve(frequency: u32) -> Result<Background> {
    let options = ServerOptions {
        frequency: Frequency::new(u64::from(frequency))?,
        seed: Some(1),
        ..ServerOptions::default()
    };
    let server = Background::start(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        options.engine_config(1),
    )?;
    let (told, is_done) = sync_channel(1);
    server.tasks().send("nobody is hungry", move |shell| {
        let now = shell.now();
        let request = AdminRequest::Act(AdminAction::SetHunger { enabled: false });
        // Whoever waits for this has not gone away before it came.
        let _received = told.send(shell.engine.admin(request, now));
    })?;
    is_done.recv()??;
    Ok(server)
}

/// A connection that speaks lines.
struct Line {
    reader: BufReader<TcpStream>,
}

impl Line {
    /// Connects, says `word`, and reads `lines` lines.
    fn connect(address: SocketAddr, word: &str, lines: u32) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut line = Self {
            reader: BufReader::new(stream),
        };
        line.send(&format!("{word}\n"))?;
        for _ in 0..lines {
            line.line()?;
        }
        Ok(line)
    }

    fn send(&mut self, text: &str) -> Result<()> {
        self.reader
            .get_mut()
            .write_all(text.as_bytes())
            .context("the server hung up")
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let count = self.reader.read_line(&mut line)?;
        anyhow::ensure!(count > 0, "the server hung up");
        Ok(line.trim_end().to_owned())
    }

    fn skip_what_has_come(&mut self) {
        let mut buffer = [0; 16 * 1024];
        while matches!(self.reader.get_mut().read(&mut buffer), Ok(count) if count > 0) {}
    }
}
