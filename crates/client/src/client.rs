//! A viewer's connection as a value: bytes and times in; bytes, events and scenes out.
//!
//! The shell owns the socket and the clock. It hands over what it read, sends what [`Client::unsent`] holds,
//! calls back when [`Client::next_timeout`] has come, and asks for a scene for every frame:
//!
//! ```text
//! read      client.handle(bytes, now)          → events: Welcome, Live, Refused, Ended
//! write     client.unsent(), client.sent(n)
//! time-out  client.handle_timeout(now)         at client.next_timeout()
//! frame     client.scene(now, &mut scene)      → client.poll_feed() for what it newly shows
//! ```
//!
//! Whatever the server does wrong ends this connection and nothing else, with a reason to show. The
//! last picture stays.

use std::collections::VecDeque;
use std::sync::Arc;

use trantor_model::{AgentId, CommandKind, MapSize};
use trantor_protocol::wire::ScorePoint;
use trantor_time::{GameTime, RealTime};

use crate::control::{ControlError, ControlRequest};
use crate::error::{ProtocolError, WorldError};
use crate::feed::FeedEntry;
use crate::gui_text::GuiSession;
use crate::recording::Recording;
use crate::scene::{LinkState, Scene, SceneClock};
use crate::session::WireSession;
use crate::stats::ClientStats;
use crate::world::World;

/// Events kept for a shell that does not read them. A session has few; refusals are the only ones that repeat.
pub const EVENTS_MAX: usize = 256;

/// What a connection should be like.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// What to speak with the server.
    pub language: Language,
    /// Name and version of the program, for the server's log.
    pub program: String,
    /// The server's token, if it is to be shown: who may control its time shows it.
    pub token: Option<String>,
}

/// What is spoken with a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Our frames: everything, exactly timed.
    #[default]
    Frames,
    /// The text that every Zappy server speaks with its viewers.
    Text,
}

/// What a shell should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The server let us in.
    Welcome {
        /// Name and version of the server.
        program: String,
        /// Teams in the order of their ids.
        teams: Vec<String>,
        /// The map.
        size: MapSize,
        /// Whether speed and pause are listened to.
        may_control: bool,
        /// Ticks that the server has run: fewer than before is another run of it. 0 where they are unknown.
        ticks: u64,
    },
    /// The world is there. Comes again if the server sends the world anew, as after a jump in a recording.
    Live,
    /// A word from the server's operator.
    Message {
        /// What a person should read.
        text: String,
    },
    /// The server refused a request.
    Refused {
        /// What a person should read.
        reason: String,
    },
    /// The connection is over; nothing follows.
    Ended {
        /// What a person should read.
        reason: String,
        /// What the server did wrong, if it did.
        error: Option<ProtocolError>,
    },
}

/// Why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The server did something wrong.
    Error(ProtocolError),
    /// Words of the server, or of the shell.
    Text(String),
}

/// Events that wait for the shell.
#[derive(Debug, Default)]
pub struct Events {
    waiting: VecDeque<ClientEvent>,
}

/// A viewer's connection.
#[derive(Debug)]
pub struct Client {
    session: Session,
    events: Events,
    /// Once it is over: why, and when the last moment was shown.
    ended: Option<(Arc<str>, RealTime)>,
}

/// A session in one of the two languages.
#[derive(Debug)]
enum Session {
    Frames(Box<WireSession>),
    Text(Box<GuiSession>),
}

/// Calls the same method of either session.
macro_rules! either {
    ($session:expr, $it:ident => $call:expr) => {
        match $session {
            Session::Frames($it) => $call,
            Session::Text($it) => $call,
        }
    };
}

impl Client {
    /// A connection that was opened at `now`.
    pub fn new(config: ClientConfig, now: RealTime) -> Self {
        let session = match config.language {
            Language::Frames => Session::Frames(Box::new(WireSession::new(config, now))),
            Language::Text => Session::Text(Box::new(GuiSession::new(config.token, now))),
        };
        Self {
            session,
            events: Events::default(),
            ended: None,
        }
    }

    /// Takes bytes from the server. After the end they are ignored.
    pub fn handle(&mut self, bytes: &[u8], now: RealTime) {
        if self.ended.is_none()
            && let Err(reason) = either!(&mut self.session, it => it.handle(bytes, now, &mut self.events))
        {
            self.end(reason, now);
        }
    }

    /// Does what is due at `now`: probes, and an end to waiting for a server that says nothing.
    pub fn handle_timeout(&mut self, now: RealTime) {
        if self.ended.is_none()
            && let Err(reason) = either!(&mut self.session, it => it.handle_timeout(now, &mut self.events))
        {
            self.end(reason, now);
        }
    }

    /// The socket was closed or failed, for a reason that a person should read.
    pub fn closed(&mut self, reason: &str, now: RealTime) {
        if self.ended.is_none() {
            self.end(CloseReason::Text(reason.to_owned()), now);
        }
    }

    /// When [`Self::handle_timeout`] has something to do; `None` after the end.
    pub fn next_timeout(&self) -> Option<RealTime> {
        self.ended
            .is_none()
            .then(|| either!(&self.session, it => it.next_timeout()))
    }

    /// What to send next; empty if nothing is.
    pub fn unsent(&mut self) -> &[u8] {
        match self.ended {
            None => either!(&mut self.session, it => it.outbox()).unsent(),
            Some(_) => &[],
        }
    }

    /// The first `count` bytes of [`Self::unsent`] were sent.
    ///
    /// # Panics
    /// If there were not so many.
    pub fn sent(&mut self, count: usize) {
        either!(&mut self.session, it => it.outbox()).sent(count);
    }

    /// The oldest event not yet read.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.waiting.pop_front()
    }

    /// The oldest thing shown and not yet read.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        either!(&mut self.session, it => it.timeline_mut())?.poll_feed()
    }

    /// How the score went before the world that is shown, once for each world with which that came; the feed then
    /// begins with the last events before it.
    pub fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        either!(&mut self.session, it => it.timeline_mut())?.take_scores()
    }

    /// Asks the server for another speed, a pause or a step; the scene shows it at once.
    ///
    /// # Errors
    /// If it makes no sense to ask; the text is for the user.
    pub fn request(&mut self, request: ControlRequest) -> Result<(), ControlError> {
        match self.ended {
            None => either!(&mut self.session, it => it.request(request)),
            Some(_) => Err(ControlError::NotConnected),
        }
    }

    /// Writes speed and pause as they were asked for, without waiting for the next scene.
    pub fn fill_speed(&self, clock: &mut SceneClock) {
        if let Some(control) = either!(&self.session, it => it.control()) {
            control.fill(clock);
        }
    }

    /// The time-line of the recording that the server plays; `None` in a game that is being played. Where it stands
    /// is [`Recording::target`], or else the moment of the last scene ([`crate::SceneClock::game`]).
    pub fn recording(&self) -> Option<&Recording> {
        match &self.session {
            Session::Frames(session) => session.recording(),
            Session::Text(_) => None,
        }
    }

    /// Asks the server to move its recording to this moment, backwards or forwards; a moment outside stands for the
    /// nearer end. The slider can show it at once ([`Recording::target`]); the picture follows when the world of that
    /// moment is here, which begins with another [`ClientEvent::Live`]. May be called for every movement of a
    /// slider.
    ///
    /// # Errors
    /// If there is no recording, or the server does not listen to this viewer; the text is for the user.
    pub fn seek(&mut self, to: GameTime) -> Result<(), ControlError> {
        match (&self.ended, &mut self.session) {
            (Some(_), _) => Err(ControlError::NotConnected),
            (None, Session::Frames(session)) => session.seek(to),
            (None, Session::Text(_)) => Err(ControlError::NotARecording),
        }
    }

    /// Asks which commands of `agent` wait for their turn, or of none. A server that speaks text is not
    /// asked: it has no word for it.
    ///
    /// # Errors
    /// If there is no server to ask.
    pub fn watch(&mut self, agent: Option<AgentId>) -> Result<(), ControlError> {
        match (&self.ended, &mut self.session) {
            (Some(_), _) => Err(ControlError::NotConnected),
            (None, Session::Frames(session)) => session.watch(agent),
            (None, Session::Text(_)) => Ok(()),
        }
    }

    /// The commands of the agent watched that wait behind the one it is doing, in their order; `None` in it is a line
    /// that no command was recognised in. `None` until known. They are of the present, a little ahead of the scene.
    pub fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        match &self.session {
            Session::Frames(session) => session.waiting(),
            Session::Text(_) => None,
        }
    }

    /// Says goodbye. The shell sends what is unsent, and closes.
    pub fn leave(&mut self) {
        if let (None, Session::Frames(session)) = (&self.ended, &mut self.session) {
            session.leave();
        }
    }

    /// Writes what is to be seen at `now`, which is never less than in the call before; see [`SceneClock::game`] for
    /// its game time. Buffers in `scene` are used again; after the end the last moment stays. A change of the world
    /// is checked when it is due, so that this may end the connection.
    ///
    /// [`SceneClock::game`]: crate::scene::SceneClock::game
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let until = self.ended.as_ref().map_or(now, |(_, at)| *at);
        let shown = either!(&mut self.session, it => it.scene(until, scene));
        if let (None, Err(reason)) = (&self.ended, shown) {
            self.end(reason, now);
        }
        if self.ended.is_some() {
            scene.link = self.link(now);
        }
    }

    /// How the connection stands.
    pub fn link(&self, now: RealTime) -> LinkState {
        match &self.ended {
            None => either!(&self.session, it => it.link(now)),
            Some((reason, _)) => LinkState::Ended {
                reason: reason.clone(),
            },
        }
    }

    /// A copy of the newest world received, a little ahead of what is shown; `None` until it is complete, an error if
    /// the server sent a change that cannot be.
    pub fn newest_world(&self) -> Option<Result<World, WorldError>> {
        either!(&self.session, it => it.newest_world())
    }

    /// Figures for the HUD.
    pub fn stats(&self, now: RealTime) -> ClientStats {
        either!(&self.session, it => it.stats(now))
    }

    fn end(&mut self, why: CloseReason, now: RealTime) {
        let (reason, error) = match why {
            CloseReason::Error(error) => (error.to_string(), Some(error)),
            CloseReason::Text(reason) => (reason, None),
        };
        log::info!("the connection ended: {reason}");
        self.ended = Some((reason.as_str().into(), now));
        self.events.push(ClientEvent::Ended { reason, error });
    }
}

impl Events {
    /// Adds one; the oldest makes room if they are not read.
    pub fn push(&mut self, event: ClientEvent) {
        if self.waiting.len() == EVENTS_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(event);
    }
}

impl<E: Into<ProtocolError>> From<E> for CloseReason {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}
