//! Agents that play until their server is killed, and a text viewer; all record what they receive.

use std::io::{BufRead, Write};
use std::net::SocketAddr;

use anyhow::Result;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_runtime::threads::{self, Thread};

use crate::process::Line;

/// Whole lines that a peer received, in order.
pub(super) type Received = Vec<Vec<u8>>;

/// Agents and a viewer, each on its own thread.
pub(super) struct Peers {
    agents: Vec<Thread<Received>>,
    viewer: Thread<Received>,
}

/// Longest broadcast, near the line limit, so that the journal finishes several pieces a second.
const BROADCAST_BYTES_MAX: usize = 16_000;

impl Peers {
    /// Starts a text viewer and then the agents of both teams. All have joined, in this order, on return.
    pub(super) fn start(server: SocketAddr, agents: usize, seed: u64) -> Result<Self> {
        let mut viewer = Line::connect(server, "GRAPHIC", "WELCOME")?;
        let viewer = threads::spawn("viewer", move || {
            std::iter::from_fn(|| next_line(&mut viewer.0)).collect()
        })?;
        let mut threads = Vec::new();
        for number in 0..agents {
            let mut random = Pcg64Mcg::seed_from_u64(seed << 8 | number as u64);
            let mut agent = join(server, ["red", "blue"][number % 2])?;
            agent.send(&command(&mut random))?;
            let body = move || {
                let mut received = Received::new();
                // The agent ends with the server or with its death.
                while let Some(line) = next_line(&mut agent.0) {
                    received.push(line);
                    // Read the rest of the stream.
                    let _gone = agent.0.get_mut().write_all(command(&mut random).as_bytes());
                }
                received
            };
            threads.push(threads::spawn(&format!("agent {number}"), body)?);
        }
        let agents = threads;
        Ok(Self { agents, viewer })
    }

    /// Waits until all connections have ended. Returns the lines of each agent, in the order of their joins, and of the viewer.
    pub(super) fn join(self) -> Result<(Vec<Received>, Received)> {
        let agents = self.agents.into_iter().map(Thread::join);
        Ok((agents.collect::<Result<_, _>>()?, self.viewer.join()?))
    }
}

/// Joins a team.
pub(super) fn join(server: SocketAddr, team: &str) -> Result<Line> {
    let mut agent = Line::connect(server, team, "WELCOME")?;
    // The number of places left, and the size of the map.
    agent.read_to("")?;
    agent.read_to("")?;
    Ok(agent)
}

/// The next whole line; `None` at the end of the stream.
fn next_line(lines: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let is_read = lines.read_until(b'\n', &mut line).is_ok();
    (is_read && line.ends_with(b"\n")).then_some(line)
}

fn command(random: &mut Pcg64Mcg) -> String {
    let word = match random.next_u32() % 24 {
        0 => "Fork",
        1 => "Incantation",
        2 => "Take food",
        3 => "Set food",
        4 => "Right",
        5 => "Look",
        6..=8 => "Forward",
        _ => {
            let text = "x".repeat(random.next_u32() as usize % BROADCAST_BYTES_MAX);
            return format!("Broadcast {text}\n");
        }
    };
    format!("{word}\n")
}
