//! Agents that do this and that until their server is gone.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_runtime::threads::{self, Thread};

/// Agents at play, each on a thread of its own.
pub(super) struct Players {
    threads: Vec<Thread<()>>,
}

/// Bytes of the longest thing that is said, a little less than a line may have: a piece of the journal then ends
/// several times a second.
const SPEECH_BYTES: usize = 16_000;

/// Starts so many agents, in both teams. They have joined when this returns.
pub(super) fn start(server: SocketAddr, agents: usize, seed: u64) -> Result<Players> {
    let mut threads = Vec::new();
    for number in 0..agents {
        let (mut stream, mut lines) = join(server, ["red", "blue"][number % 2])?;
        let mut random = Pcg64Mcg::seed_from_u64(seed << 8 | number as u64);
        let body = move || {
            let mut heard = String::new();
            loop {
                let sent = stream.write_all(command(&mut random).as_bytes());
                heard.clear();
                // The end of the server is the end of the player; so is its own death.
                if sent.is_err() || !lines.read_line(&mut heard).is_ok_and(|count| count > 0) {
                    return;
                }
            }
        };
        threads.push(threads::spawn(&format!("player {number}"), body)?);
    }
    Ok(Players { threads })
}

impl Players {
    /// Waits until all have noticed that their server is gone.
    pub(super) fn join(self) -> Result<()> {
        self.threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(Into::into))
    }
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
