//! What the messages of a server mean: frames of ours, or the text of all others.

use trantor_time::RealTime;

use crate::clock_sync::ServerTime;
use crate::error::ProtocolError;
use crate::frame_session::FrameSession;
use crate::interface::{ClientStats, Language};
use crate::motion::ShownWorld;
use crate::scene::LinkState;
use crate::session::Session;
use crate::text_session::TextSession;
use crate::timeline::Timeline;

#[derive(Debug)]
pub(crate) enum Decoder {
    Frames(FrameSession),
    Text(Box<TextSession>),
}

impl Decoder {
    /// For a connection that was opened at `now`.
    pub fn new(language: Language, now: RealTime) -> Self {
        match language {
            Language::Frames => Self::Frames(FrameSession::new()),
            Language::Text => Self::Text(Box::new(TextSession::new(now))),
        }
    }

    /// The server has greeted: sends what follows the first line.
    pub fn start(&mut self, session: &mut Session, now: RealTime) {
        match self {
            Self::Frames(frames) => frames.start(session, now),
            Self::Text(text) => text.start(session, now),
        }
    }

    /// Takes what the server sent after its greeting.
    pub fn read(&mut self, bytes: &[u8], session: &mut Session, now: RealTime) -> Result<(), ProtocolError> {
        match self {
            Self::Frames(frames) => frames.read(bytes, session, now),
            Self::Text(text) => text.read(bytes, session, now),
        }
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, session: &mut Session, now: RealTime) {
        match self {
            Self::Frames(frames) => frames.handle_timeout(session, now),
            Self::Text(text) => text.handle_timeout(session, now),
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self, session: &Session) -> RealTime {
        match self {
            Self::Frames(frames) => frames.next_timeout(),
            Self::Text(text) => text.next_timeout(session),
        }
    }

    /// The state of a link that received something lately.
    pub fn link(&self, session: &Session, now: RealTime) -> LinkState {
        match self {
            Self::Frames(frames) => frames.link(session, now),
            Self::Text(text) => text.link(session),
        }
    }

    /// The server's clock at `now`; `None` before it is known. In text it is our own: the server's stays unknown.
    pub fn server_at(&mut self, now: RealTime) -> Option<ServerTime> {
        match self {
            Self::Frames(frames) => frames.server_at(now),
            Self::Text(_) => Some(ServerTime::from_nanos(now.as_nanos())),
        }
    }

    /// The newest world received, a little ahead of what is shown.
    pub fn newest_world(&self, session: &Session) -> Option<Result<ShownWorld, ProtocolError>> {
        match self {
            Self::Frames(_) => session.timeline.as_ref().map(Timeline::newest_world),
            Self::Text(text) => text.newest_world(session).map(Ok),
        }
    }

    /// Adds the figures that only this decoder knows.
    pub fn count(&self, now: RealTime, stats: &mut ClientStats) {
        match self {
            Self::Frames(frames) => frames.count(now, stats),
            Self::Text(text) => text.count(stats),
        }
    }
}
