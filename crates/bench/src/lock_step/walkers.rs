//! Some bots in a process of their own: each walks, one step after the other.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

use anyhow::{Context, Result};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

/// Who they are.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the server listens
    #[arg(long)]
    address: SocketAddr,
    /// Their team
    #[arg(long)]
    team: String,
    /// How many there are
    #[arg(long)]
    agents: usize,
}

/// Bytes read at once: a few lines.
const READ_BYTES: usize = 4 * 1_024;

/// Readiness taken from the system in one wait; more is reported by the next.
const EVENTS_CAPACITY: usize = 256;

/// A connection and how far it is.
struct Walker {
    stream: TcpStream,
    /// Lines heard: the greeting, two of the place, then one for each step.
    lines: u64,
}

/// Walks until the server ends.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut poll = Poll::new()?;
    let mut walkers = Vec::new();
    for number in 0..options.agents {
        let mut stream = TcpStream::connect(options.address)?;
        poll.registry()
            .register(&mut stream, Token(number), Interest::READABLE)?;
        stream.set_nodelay(true)?;
        walkers.push(Walker { stream, lines: 0 });
    }
    let mut events = Events::with_capacity(EVENTS_CAPACITY);
    loop {
        match poll.poll(&mut events, None) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        for event in &events {
            if !walkers[event.token().0].go_on(&options.team)? {
                return Ok(());
            }
        }
    }
}

impl Walker {
    /// Reads what there is, and answers each line; whether the server is still there.
    fn go_on(&mut self, team: &str) -> Result<bool> {
        let mut bytes = [0; READ_BYTES];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    for _ in bytes[..count].iter().filter(|byte| **byte == b'\n') {
                        self.heard(team)?;
                    }
                    // Fewer than there is room for: that was all.
                    if count < bytes.len() {
                        return Ok(true);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn heard(&mut self, team: &str) -> Result<()> {
        self.lines += 1;
        match self.lines {
            1 => writeln!(self.stream, "{team}"),
            2 => return Ok(()),
            // One is open at a time, so there is always room for it.
            _ => self.stream.write_all(b"Forward\n"),
        }
        .context("the server does not take a line")
    }
}
