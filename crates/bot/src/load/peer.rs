//! One connection of the load generator: a socket and an agent or viewer.

use std::io;

use mio::Registry;
use trantor_time::{Frequency, RealTime};

use super::agent::{AgentState, LoadAgent};
use super::cli::Options;
use super::report::Figures;
use super::viewer::{Control, FrameViewer, TextViewer};
use crate::socket::Socket;

/// One connection.
pub(super) struct Peer {
    socket: Socket,
    kind: Kind,
    /// Whether its join is pending.
    pub(super) is_connecting: bool,
    /// Whether it may send commands, if it is an agent.
    pub(super) has_begun: bool,
    /// Whether it is closed.
    pub(super) has_ended: bool,
    /// Whether it is in the read queue.
    pub(super) is_to_read: bool,
}

/// Role of a connection.
pub(super) enum Kind {
    Agent(Box<LoadAgent>),
    Text(TextViewer),
    Frames(Box<FrameViewer>),
    Control(Control),
}

impl Peer {
    pub(super) fn new(socket: Socket, kind: Kind) -> Self {
        Self {
            socket,
            kind,
            is_connecting: true,
            has_begun: false,
            has_ended: false,
            is_to_read: false,
        }
    }

    /// Reads once into `buffer`; `None` if it would block.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.socket.read(buffer)
    }

    /// Whether it is a viewer.
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

    /// Handles bytes; returns whether they are valid.
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

    pub(super) fn fill(&mut self, config: &Options, speed: Frequency, now: RealTime) {
        if let Kind::Agent(agent) = &mut self.kind {
            agent.fill(config.in_flight, &config.mix, speed, now);
        }
    }

    pub(super) fn flush(&mut self, registry: &Registry) -> io::Result<()> {
        let unsent = match &mut self.kind {
            Kind::Agent(agent) => &mut agent.unsent,
            Kind::Text(viewer) => &mut viewer.unsent,
            Kind::Frames(viewer) => &mut viewer.unsent,
            Kind::Control(control) => &mut control.unsent,
        };
        self.socket.flush(unsent, registry)
    }

    /// Closes the connection and keeps its figures.
    pub(super) fn end(&mut self, registry: &Registry) -> io::Result<()> {
        match std::mem::replace(&mut self.has_ended, true) {
            true => Ok(()),
            false => self.socket.close(registry),
        }
    }
}
