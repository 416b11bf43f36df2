//! Agents that play until their server is gone, and a text viewer; all of them keep what they receive.

use std::io::{BufRead, Write};
use std::net::SocketAddr;

use anyhow::Result;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_runtime::threads::{self, Thread};

use crate::process::Line;

/// Whole lines that a peer received, in order.
pub(super) type Received = Vec<Vec<u8>>;

/// Agents at play, and a viewer, each on a thread of its own.
pub(super) struct Peers {
    agents: Vec<Thread<Received>>,
    viewer: Thread<Received>,
}

/// Bytes of the longest broadcast, a little less than a line may have: a piece of the journal then ends several times a
/// second.
const BROADCAST_BYTES_MAX: usize = 16_000;

impl Peers {
    /// Starts a text viewer and then so many agents, in both teams. They have joined, in this order, when this returns.
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
                // The end of the server is the end of the agent; so is its own death.
                while let Some(line) = next_line(&mut agent.0) {
                    received.push(line);
                    // What was sent before the end is still to be read.
                    let _gone = agent.0.get_mut().write_all(command(&mut random).as_bytes());
                }
                received
            };
            threads.push(threads::spawn(&format!("agent {number}"), body)?);
        }
        let agents = threads;
        Ok(Self { agents, viewer })
    }

    /// Waits until all have noticed that their server is gone. Answers what each agent received, in the order in which they
    /// joined, and what the viewer did.
    pub(super) fn join(self) -> Result<(Vec<Received>, Received)> {
        let agents = self.agents.into_iter().map(Thread::join);
        Ok((agents.collect::<Result<_, _>>()?, self.viewer.join()?))
    }
}

/// An agent of a team, once it has a place.
pub(super) fn join(server: SocketAddr, team: &str) -> Result<Line> {
    let mut agent = Line::connect(server, team, "WELCOME")?;
    // The number of places left, and the size of the map.
    agent.read_to("")?;
    agent.read_to("")?;
    Ok(agent)
}

/// The next line that is whole; none once the server is gone.
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
