//! What sessions in both languages share: bytes each way, the controls, figures of the connection, and its limits.
//!
//! How a session begins and when it is too silent is [`crate::client`]'s; what each message does is
//! [`crate::frame_session`]'s and [`crate::text_session`]'s. Any error ends the connection; nothing is retried.

use std::collections::VecDeque;
use std::fmt::Debug;

use trantor_model::{AgentId, CommandKind};
use trantor_protocol::wire::{SentNumbers, ToServer, write_frame};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::client::ClientEvent;
use crate::clock_sync::ServerTime;
use crate::control::{Control, ControlError, ControlRequest};
use crate::error::{ProtocolError, WorldError};
use crate::recording::Recording;
use crate::scene::LinkState;
use crate::stats::ClientStats;
use crate::timeline::Timeline;
use crate::world::World;

/// How long a server may take from the connection to its hello: longer than a way there and back that is made as long
/// as it can be asked for, and shorter than the minute after which a server gives up.
pub const HANDSHAKE_MAX: RealSpan = RealSpan::from_secs(25);

/// Silence after which the connection is closed: three rounds of probes without any answer.
pub const SILENT_MAX: RealSpan = RealSpan::from_secs(30);

/// Events kept for a shell that does not read them. A session has few; refusals are the only ones that repeat.
pub const EVENTS_MAX: usize = 256;

/// Bytes that may wait to be sent. A viewer says little; a server that does not take even that is not sound.
pub const OUTBOX_BYTES_MAX: usize = 64 * 1024;

/// A session in one of the two languages.
pub(crate) trait Session: Debug + Send {
    /// The server has greeted: asks it to be let in.
    fn start(&mut self, connection: &mut Connection, now: RealTime);

    /// Takes what the server sent after its greeting.
    fn read(&mut self, bytes: &[u8], connection: &mut Connection, now: RealTime) -> Result<(), CloseReason>;

    /// Does what is due at `now`.
    fn handle_timeout(&mut self, connection: &mut Connection, now: RealTime);

    /// When [`Self::handle_timeout`] has something to do.
    fn next_timeout(&self, heard: RealTime) -> RealTime;

    /// Whether the server let us in, so that requests can be made.
    fn is_joined(&self) -> bool;

    /// How far a session is that has begun, while the server is not silent.
    fn link(&self, now: RealTime) -> LinkState;

    /// Silence after which the user is warned.
    fn silent_after(&self) -> RealSpan;

    /// The server's clock at `now`, and how much later than it happens this viewer is sent the game, in milliseconds.
    fn server_at(&mut self, now: RealTime) -> (Option<ServerTime>, u32);

    /// What is shown, with its feed.
    fn timeline(&self) -> Option<&Timeline>;

    /// What is shown, with its feed.
    fn timeline_mut(&mut self) -> Option<&mut Timeline>;

    /// The newest world received, a little ahead of what is shown.
    fn newest_world(&self) -> Option<Result<World, WorldError>>;

    /// Asks for another speed, a pause or a step.
    fn request(&mut self, request: ControlRequest, connection: &mut Connection) -> Result<(), ControlError>;

    /// Adds what only this session knows.
    fn count(&self, now: RealTime, stats: &mut ClientStats);

    /// The recording that the server plays, if it does.
    fn recording(&self) -> Option<&Recording> {
        None
    }

    /// Asks the server to move its recording to this moment.
    fn seek(&mut self, _: GameTime, _: &mut Connection) -> Result<(), ControlError> {
        Err(ControlError::NotARecording)
    }

    /// Asks which commands of an agent wait for their turn. Text has no word for it.
    fn watch(&mut self, _: Option<AgentId>, _: &mut Connection) -> Result<(), ControlError> {
        Ok(())
    }

    /// The commands that wait for their turn, of the agent watched, once they are known.
    fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        None
    }

    /// Says goodbye.
    fn leave(&self, _: &mut Connection) {}
}

/// A connection below its session.
#[derive(Debug)]
pub(crate) struct Connection {
    pub token: Option<String>,
    pub program: String,
    /// Speed and pause under the user's hand.
    pub control: Control,
    /// Numbers of what was sent, as the server acknowledges it.
    pub numbers: SentNumbers,
    /// When anything was received last.
    pub heard: RealTime,
    pub stats: ClientStats,
    outbox: Vec<u8>,
    /// How many bytes of the outbox were sent.
    sent: usize,
    events: VecDeque<ClientEvent>,
}

/// Why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The server did something wrong.
    Error(ProtocolError),
    /// Words of the server, or of the shell.
    Text(String),
}

impl Connection {
    pub fn new(program: String, token: Option<String>, now: RealTime) -> Self {
        Self {
            token,
            program,
            control: Control::new(false),
            numbers: SentNumbers::new(),
            heard: now,
            stats: ClientStats::default(),
            outbox: Vec::new(),
            sent: 0,
            events: VecDeque::new(),
        }
    }

    /// Appends what `write` writes to the outbox.
    pub fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        if self.sent == self.outbox.len() {
            self.outbox.clear();
            self.sent = 0;
        }
        write(&mut self.outbox)
    }

    /// Counts a message of our own wire, and appends it as a frame.
    pub fn send(&mut self, message: &ToServer) {
        self.numbers.send();
        self.write_message(message);
    }

    /// Appends a message that is counted already.
    pub fn write_message(&mut self, message: &ToServer) {
        self.write(|out| write_frame(out, message))
            .expect("what a viewer says is far shorter than a frame");
    }

    /// What to send next.
    pub fn unsent(&self) -> &[u8] {
        &self.outbox[self.sent..]
    }

    /// The first `count` bytes of [`Self::unsent`] were sent.
    ///
    /// # Panics
    /// If there were not so many.
    pub fn sent(&mut self, count: usize) {
        assert!(count <= self.unsent().len(), "no more was sent than there was");
        self.sent += count;
    }

    /// Adds an event; the oldest makes room if they are not read.
    pub fn push(&mut self, event: ClientEvent) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The oldest event not yet read.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }
}

impl<E: Into<ProtocolError>> From<E> for CloseReason {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}
