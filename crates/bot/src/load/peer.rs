//! One connection of the load generator: a socket and an agent or viewer. Viewers read everything and parse as little as
//! possible.

use std::io;

use mio::Registry;
use trantor_protocol::FrameError;
use trantor_protocol::text::{
    Cut, GRAPHIC_WORD, GuiEvent, GuiRequest, LineCutter, parse_gui_event, write_gui_request,
};
use trantor_protocol::wire::{
    ClientHello, FrameCutter, ToClient, ToServer, WIRE_VERSION, WIRE_WORD, read_frame, write_frame,
};
use trantor_time::{Frequency, RealTime};

use super::agent::{AgentState, LoadAgent};
use super::cli::Options;
use super::report::Figures;
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

/// A text viewer that counts lines.
#[derive(Debug, Default)]
pub struct TextViewer {
    has_spoken: bool,
    /// Bytes to be written to the server; the writer takes them out.
    pub(crate) unsent: Vec<u8>,
}

impl TextViewer {
    /// Takes in bytes.
    pub fn take_in(&mut self, bytes: &[u8], figures: &mut Figures) {
        // Send the first line after the greeting.
        if !self.has_spoken {
            self.has_spoken = true;
            self.unsent.extend_from_slice(GRAPHIC_WORD.as_bytes());
            self.unsent.push(b'\n');
        }
        if figures.is_measuring {
            figures.counts.viewer_lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
            figures.counts.viewer_bytes += bytes.len() as u64;
        }
    }
}

/// A frame viewer; returns credit for every part of a snapshot.
#[derive(Debug)]
pub struct FrameViewer {
    has_spoken: bool,
    lines: LineCutter,
    frames: FrameCutter,
    /// Bytes to be written to the server; the writer takes them out.
    pub(crate) unsent: Vec<u8>,
}

impl Default for FrameViewer {
    fn default() -> Self {
        Self {
            has_spoken: false,
            lines: LineCutter::new(),
            frames: FrameCutter::new::<ToClient>(),
            unsent: Vec::new(),
        }
    }
}

impl FrameViewer {
    /// Takes in bytes.
    ///
    /// # Errors
    /// On an invalid frame.
    pub fn take_in(&mut self, mut piece: &[u8], figures: &mut Figures) -> Result<(), FrameError> {
        if figures.is_measuring {
            figures.counts.viewer_bytes += piece.len() as u64;
        }
        if !self.has_spoken {
            if self.lines.next(&mut piece).is_none() {
                return Ok(());
            }
            self.has_spoken = true;
            self.unsent.extend_from_slice(WIRE_WORD.as_bytes());
            self.unsent.push(b'\n');
            self.say(&ToServer::Hello(ClientHello {
                version: WIRE_VERSION,
                program: concat!("trantor-load ", env!("CARGO_PKG_VERSION")).to_owned(),
            }))?;
        }
        let mut credit = 0;
        while let Some(frame) = self.frames.next(&mut piece)? {
            figures.counts.viewer_frames += u64::from(figures.is_measuring);
            if let ToClient::Snapshot(_) = read_frame(frame)? {
                credit += 1;
            }
        }
        if credit > 0 {
            self.say(&ToServer::Credit { items: credit })?;
        }
        Ok(())
    }

    fn say(&mut self, message: &ToServer) -> Result<(), FrameError> {
        write_frame(&mut self.unsent, message)
    }
}

/// The control viewer: queries and sets the speed.
#[derive(Debug, Default)]
pub struct Control {
    lines: LineCutter,
    has_spoken: bool,
    /// Whether it queries the speed after its first line.
    queries_first: bool,
    /// The speed as last received.
    pub(crate) speed: Option<Frequency>,
    /// Whether the last requested speed was refused.
    pub(crate) was_refused: bool,
    /// Bytes to be written to the server; the writer takes them out.
    pub(crate) unsent: Vec<u8>,
}

impl Control {
    /// Takes in bytes.
    pub fn take_in(&mut self, mut piece: &[u8]) {
        while let Some(cut) = self.lines.next(&mut piece) {
            let Cut::Line(line) = cut else { continue };
            if !self.has_spoken {
                self.has_spoken = true;
                self.unsent.extend_from_slice(GRAPHIC_WORD.as_bytes());
                self.unsent.push(b'\n');
                if self.queries_first {
                    self.query();
                }
                continue;
            }
            match parse_gui_event(line) {
                Some(GuiEvent::Frequency(speed)) => self.speed = Some(speed),
                // After the first speed it sends no other request that could be refused.
                Some(GuiEvent::BadParameter | GuiEvent::UnknownRequest) => self.was_refused = true,
                _ => {}
            }
        }
    }

    /// Queries the speed, for servers that do not send it at the start.
    pub fn query(&mut self) {
        match self.has_spoken {
            true => write_gui_request(&mut self.unsent, GuiRequest::Frequency),
            false => self.queries_first = true,
        }
    }

    /// Sets the speed.
    pub fn set(&mut self, speed: Frequency) {
        self.was_refused = false;
        write_gui_request(&mut self.unsent, GuiRequest::SetFrequency(speed));
    }
}

#[cfg(test)]
mod tests {
    use trantor_model::Counts;
    use trantor_protocol::wire::SnapshotPart;

    use super::*;

    #[test]
    fn a_viewer_of_frames_gives_credit_back() {
        let mut viewer = FrameViewer::default();
        let mut figures = Figures::new();
        viewer.take_in(b"WELCOME\n", &mut figures).unwrap();
        let said = std::mem::take(&mut viewer.unsent);
        assert!(said.starts_with(b"TRANTOR\n"));
        let part = || {
            ToClient::Snapshot(SnapshotPart::Ground {
                first: 0,
                tiles: vec![Counts::ZERO; 3],
            })
        };
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &part()).unwrap();
        write_frame(&mut bytes, &part()).unwrap();
        for piece in bytes.chunks(3) {
            viewer.take_in(piece, &mut figures).unwrap();
        }
        let said = std::mem::take(&mut viewer.unsent);
        let mut expected = Vec::new();
        for _ in 0..2 {
            write_frame(&mut expected, &ToServer::Credit { items: 1 }).unwrap();
        }
        assert_eq!(said, expected);
    }
}
