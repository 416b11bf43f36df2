//! Agents that do this and that until their server is gone, and a text viewer that watches them; all of them note what they
//! receive.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_runtime::threads::{self, Thread};

/// Whole lines that a peer received, in order.
pub(super) type Received = Vec<Vec<u8>>;

/// Agents at play, and a viewer, each on a thread of its own.
pub(super) struct Players {
    agents: Vec<Thread<Received>>,
    viewer: Thread<Received>,
}

/// Bytes of the longest thing that is said, a little less than a line may have: a piece of the journal then ends
/// several times a second.
const SPEECH_BYTES: usize = 16_000;

/// Starts a text viewer and then so many agents, in both teams. They have joined, in this order, when this returns.
pub(super) fn start(server: SocketAddr, agents: usize, seed: u64) -> Result<Players> {
    let mut watching = TcpStream::connect(server)?;
    watching.write_all(b"GRAPHIC\n")?;
    let mut watched = BufReader::new(watching);
    let mut before = vec![next_line(&mut watched).context("the server takes no viewer")?];
    let viewer = threads::spawn("viewer", move || {
        before.extend(std::iter::from_fn(|| next_line(&mut watched)));
        // The greeting is no news of the game.
        before.retain(|line| line != b"WELCOME\n");
        before
    })?;
    let mut threads = Vec::new();
    for number in 0..agents {
        let (mut stream, mut lines) = join(server, ["red", "blue"][number % 2])?;
        let mut random = Pcg64Mcg::seed_from_u64(seed << 8 | number as u64);
        stream.write_all(command(&mut random).as_bytes())?;
        let body = move || {
            let mut received = Received::new();
            // The end of the server is the end of the player; so is its own death.
            while let Some(line) = next_line(&mut lines) {
                received.push(line);
                // What was sent before the end is still to be read.
                let _gone = stream.write_all(command(&mut random).as_bytes());
            }
            received
        };
        threads.push(threads::spawn(&format!("player {number}"), body)?);
    }
    Ok(Players {
        agents: threads,
        viewer,
    })
}

/// The next line that is whole; none once the server is gone.
fn next_line(lines: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let is_read = lines.read_until(b'\n', &mut line).is_ok();
    (is_read && line.ends_with(b"\n")).then_some(line)
}

impl Players {
    /// Waits until all have noticed that their server is gone. Answers what each agent received, in the order in which they
    /// joined, and what the viewer did.
    pub(super) fn join(self) -> Result<(Vec<Received>, Received)> {
        let agents = self.agents.into_iter().map(Thread::join);
        Ok((agents.collect::<Result<_, _>>()?, self.viewer.join()?))
    }
}

/// Ends the match, as an operator.
pub(super) fn end_match(server: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(server)?;
    stream.write_all(b"ADMIN\nend\n")?;
    let mut lines = BufReader::new(stream);
    // The first word and the command are answered with `ok` each, after what they tell.
    for _ in 0..2 {
        while next_line(&mut lines).context("the operator is not obeyed")? != b"ok\n" {}
    }
    Ok(())
}

/// One agent that joins, gets so many answers, and leaves.
pub(super) fn play(server: SocketAddr, answers: usize) -> Result<()> {
    let (mut stream, mut lines) = join(server, "red")?;
    for _ in 0..answers {
        stream.write_all(b"Inventory\n")?;
        let mut heard = String::new();
        while !heard.starts_with('[') {
            heard.clear();
            anyhow::ensure!(lines.read_line(&mut heard)? > 0, "the resumed server hung up");
        }
    }
    Ok(())
}

fn join(server: SocketAddr, team: &str) -> Result<(TcpStream, BufReader<TcpStream>)> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?);
    stream.write_all(format!("{team}\n").as_bytes())?;
    // WELCOME, the number of places left, the size of the map.
    for _ in 0..3 {
        let mut line = String::new();
        lines
            .read_line(&mut line)
            .context("the server does not let an agent in")?;
        anyhow::ensure!(line != "ko\n", "the server has no place left");
    }
    Ok((stream, lines))
}

fn command(random: &mut Pcg64Mcg) -> String {
    let food = ["Take food\n", "Set food\n"];
    match random.next_u32() % 24 {
        0 => "Fork\n".to_owned(),
        1 => "Incantation\n".to_owned(),
        2 | 3 => food[random.next_u32() as usize % 2].to_owned(),
        4 => "Right\n".to_owned(),
        5 => "Look\n".to_owned(),
        6..=8 => "Forward\n".to_owned(),
        _ => format!(
            "Broadcast {}\n",
            "x".repeat(random.next_u32() as usize % SPEECH_BYTES)
        ),
    }
}
