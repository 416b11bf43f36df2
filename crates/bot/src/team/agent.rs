//! One connection of a team: bytes to and from the agent on it, so many at a time.

use std::io::{self, Read, Write};

use mio::net::TcpStream;
use mio::{Interest, Token};

use crate::overdue::Overdue;
use crate::player::Player;

/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;

/// Buffers read of one agent before the others have their turn, and signals theirs: a server that talks without end is read
/// without end. At 16 KiB each that is what our server lets an agent leave unread by default.
const READS_PER_TURN_MAX: usize = 16;

/// One connection and the agent on it.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) number: u64,
    pub(super) stream: TcpStream,
    pub(super) player: Player,
    /// Of answers, while it plays.
    pub(super) overdue: Overdue,
    pub(super) was_greeted: bool,
    /// What was reported to the roster.
    pub(super) is_playing: bool,
    pub(super) wants_write: bool,
}

/// How much of what an agent was sent has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchanged {
    All,
    /// There may be more: readiness is reported once, and not again before more has come.
    Some,
    /// All, and nothing more will come.
    Closed,
}

impl Agent {
    /// Reads what there is, if it is not too much for one turn, and writes what follows from it.
    pub(super) fn exchange(&mut self) -> io::Result<Exchanged> {
        let mut bytes = [0; READ_BYTES];
        for _ in 0..READS_PER_TURN_MAX {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(Exchanged::Closed),
                Ok(count) => {
                    self.was_greeted = true;
                    self.player.take_in(&bytes[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.flush()?;
                    return Ok(Exchanged::All);
                }
                Err(error) => return Err(error),
            }
            self.flush()?;
        }
        Ok(Exchanged::Some)
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.player.unsent().is_empty() {
            match self.stream.write(self.player.unsent()) {
                Ok(count) => self.player.sent(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Asks for write readiness only while bytes wait.
    pub(super) fn update_interest(&mut self, registry: &mio::Registry, token: Token) -> io::Result<()> {
        let wants_write = !self.player.unsent().is_empty();
        if wants_write != self.wants_write {
            self.wants_write = wants_write;
            let write = wants_write.then_some(Interest::WRITABLE);
            let interest = write.map_or(Interest::READABLE, |write| write | Interest::READABLE);
            registry.reregister(&mut self.stream, token, interest)?;
        }
        Ok(())
    }
}
