//! Viewers of the load generator: they read everything and parse as little as possible.

use trantor_protocol::FrameError;
use trantor_protocol::text::{
    Cut, GRAPHIC_WORD, GuiEvent, GuiRequest, LineCutter, parse_gui_event, write_gui_request,
};
use trantor_protocol::wire::{
    ClientHello, FrameCutter, ToClient, ToServer, WIRE_VERSION, WIRE_WORD, read_frame, write_frame,
};
use trantor_time::Frequency;

use super::report::Figures;

/// A text viewer that counts lines.
#[derive(Debug, Default)]
pub struct TextViewer {
    has_spoken: bool,
    /// Bytes to be written to the server; the writer takes them out.
    pub(super) unsent: Vec<u8>,
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
    phase: FramePhase,
    lines: LineCutter,
    frames: FrameCutter,
    /// Bytes to be written to the server; the writer takes them out.
    pub(super) unsent: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramePhase {
    Greeting,
    Watching,
}

impl FrameViewer {
    /// Nothing sent yet.
    pub fn new() -> Self {
        Self {
            phase: FramePhase::Greeting,
            lines: LineCutter::new(),
            frames: FrameCutter::new::<ToClient>(),
            unsent: Vec::new(),
        }
    }

    /// Takes in bytes.
    ///
    /// # Errors
    /// On an invalid frame.
    pub fn take_in(&mut self, mut piece: &[u8], figures: &mut Figures) -> Result<(), FrameError> {
        if figures.is_measuring {
            figures.counts.viewer_bytes += piece.len() as u64;
        }
        if self.phase == FramePhase::Greeting {
            if self.lines.next(&mut piece).is_none() {
                return Ok(());
            }
            self.phase = FramePhase::Watching;
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

impl Default for FrameViewer {
    fn default() -> Self {
        Self::new()
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
    pub(super) speed: Option<Frequency>,
    /// Whether the last requested speed was refused.
    pub(super) was_refused: bool,
    /// Bytes to be written to the server; the writer takes them out.
    pub(super) unsent: Vec<u8>,
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
        let mut viewer = FrameViewer::new();
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
