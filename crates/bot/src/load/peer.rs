//! One connection of the load generator: a socket, and what is at this end of it.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use trantor_time::{Frequency, RealTime};

use super::LoadConfig;
use super::agent::{AgentState, LoadAgent};
use super::report::Figures;
use super::viewer::{Control, FrameViewer, TextViewer};

/// One connection.
pub(super) struct Peer {
    stream: TcpStream,
    kind: Kind,
    /// Whether it is not known yet what will become of it.
    pub(super) is_connecting: bool,
    /// Whether it may ask, if it is an agent.
    pub(super) has_begun: bool,
    wants_write: bool,
    /// Whether nothing more is read or written on it.
    pub(super) has_ended: bool,
    /// Whether it waits for its turn to be read.
    pub(super) is_to_read: bool,
}

/// What is at this end of a connection.
pub(super) enum Kind {
    Agent(Box<LoadAgent>),
    Text(TextViewer),
    Frames(Box<FrameViewer>),
    Control(Control),
}

impl Peer {
    pub(super) fn connect(server: SocketAddr, kind: Kind) -> io::Result<Self> {
        Ok(Self {
            stream: TcpStream::connect(server)?,
            kind,
            is_connecting: true,
            has_begun: false,
            wants_write: true,
            has_ended: false,
            is_to_read: false,
        })
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.stream, token, Interest::READABLE | Interest::WRITABLE)
    }

    /// Reads what there is, no more than `buffer` holds.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }

    /// Whether it only watches.
    pub(super) fn is_viewer(&self) -> bool {
        matches!(self.kind, Kind::Text(_) | Kind::Frames(_))
    }

    pub(super) fn agent(&self) -> Option<&LoadAgent> {
        match &self.kind {
            Kind::Agent(agent) => Some(agent),
            _ => None,
        }
    }

    pub(super) fn agent_mut(&mut self) -> Option<&mut LoadAgent> {
        match &mut self.kind {
            Kind::Agent(agent) => Some(agent),
            _ => None,
        }
    }

    pub(super) fn control(&mut self) -> Option<&mut Control> {
        match &mut self.kind {
            Kind::Control(control) => Some(control),
            _ => None,
        }
    }

    pub(super) fn agent_state(&self) -> Option<AgentState> {
        self.agent().map(LoadAgent::state)
    }

    /// Takes in bytes; answers whether they made sense.
    pub(super) fn take_in(&mut self, bytes: &[u8], now: RealTime, figures: &mut Figures) -> bool {
        match &mut self.kind {
            Kind::Agent(agent) => {
                figures.counts.agent_bytes += if figures.is_measuring {
                    bytes.len() as u64
                } else {
                    0
                };
                agent.take_in(bytes, now, figures);
            }
            Kind::Text(viewer) => viewer.take_in(bytes, figures),
            Kind::Frames(viewer) => {
                if let Err(error) = viewer.take_in(bytes, figures) {
                    log::warn!("a viewer received an invalid frame: {error}");
                    return false;
                }
            }
            Kind::Control(control) => control.take_in(bytes),
        }
        true
    }

    pub(super) fn fill(&mut self, config: &LoadConfig, speed: Frequency, now: RealTime) {
        if let Kind::Agent(agent) = &mut self.kind {
            agent.fill(config.in_flight, &config.mix, speed, now);
        }
    }

    /// Writes what is to be written, and asks for write readiness only if some of it is left.
    pub(super) fn flush(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let unsent = match &mut self.kind {
            Kind::Agent(agent) => &mut agent.unsent,
            Kind::Text(viewer) => &mut viewer.unsent,
            Kind::Frames(viewer) => &mut viewer.unsent,
            Kind::Control(control) => &mut control.unsent,
        };
        while !unsent.is_empty() {
            match self.stream.write(unsent) {
                Ok(count) => {
                    unsent.drain(..count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let wants_write = !unsent.is_empty();
        if wants_write != self.wants_write {
            self.wants_write = wants_write;
            let interest = if wants_write {
                Interest::READABLE | Interest::WRITABLE
            } else {
                Interest::READABLE
            };
            registry.reregister(&mut self.stream, token, interest)?;
        }
        Ok(())
    }

    /// Ends the connection, if it has not, and keeps what was found on it.
    pub(super) fn end(&mut self, registry: &Registry) -> io::Result<()> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        registry.deregister(&mut self.stream)?;
        // The peer may have ended it already, which is as good.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        Ok(())
    }
}
