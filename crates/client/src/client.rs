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

use std::sync::Arc;

use trantor_model::{AgentId, CommandKind, MapSize};
use trantor_protocol::wire::ScorePoint;
use trantor_time::{GameTime, NANOS, RealTime};

use crate::control::{ControlError, ControlRequest};
use crate::error::{ProtocolError, WorldError};
use crate::feed::FeedEntry;
use crate::frame_session::FrameSession;
use crate::link::Greeting;
use crate::recording::Recording;
use crate::scene::{LinkState, Scene, SceneClock};
use crate::session::{CloseReason, Connection, HANDSHAKE_MAX, OUTBOX_BYTES_MAX, SILENT_MAX, Session};
use crate::stats::ClientStats;
use crate::text_session::TextSession;
use crate::world::World;

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
#[allow(missing_docs, reason = "a text is for the user; the others have comments")]
pub enum ClientEvent {
    /// The server let us in.
    Welcome {
        /// Name and version of the server.
        program: String,
        /// Teams in the order of their ids.
        teams: Vec<String>,
        size: MapSize,
        /// Whether speed and pause are listened to.
        may_control: bool,
        /// Ticks that the server has run: fewer than before is another run of it. 0 where they are unknown.
        ticks: u64,
    },
    /// The world is there. Comes again if the server sends the world anew, as after a jump in a recording.
    Live,
    /// A word from the server's operator.
    Message { text: String },
    /// The server refused a request.
    Refused { reason: String },
    /// The connection is over; nothing follows.
    Ended {
        reason: String,
        /// What the server did wrong, if it did.
        error: Option<ProtocolError>,
    },
}

/// A viewer's connection.
#[derive(Debug)]
pub struct Client {
    opened: RealTime,
    /// Until the server has greeted.
    greeting: Option<Greeting>,
    connection: Connection,
    session: Box<dyn Session>,
    /// Once it is over: why, and when the last moment was shown.
    ended: Option<(Arc<str>, RealTime)>,
}

impl Client {
    /// A connection that was opened at `now`. Nothing is sent before the server's greeting.
    pub fn new(config: ClientConfig, now: RealTime) -> Self {
        Self {
            opened: now,
            greeting: Some(Greeting::default()),
            connection: Connection::new(config.program, config.token, now),
            session: match config.language {
                Language::Frames => Box::new(FrameSession::new()),
                Language::Text => Box::new(TextSession::new(now)),
            },
            ended: None,
        }
    }

    /// Takes bytes from the server. After the end they are ignored.
    pub fn handle(&mut self, bytes: &[u8], now: RealTime) {
        if self.ended.is_none()
            && let Err(reason) = self.read(bytes, now)
        {
            self.end(reason, now);
        }
    }

    fn read(&mut self, mut bytes: &[u8], now: RealTime) -> Result<(), CloseReason> {
        let connection = &mut self.connection;
        connection.heard = connection.heard.max(now);
        connection.stats.bytes_in = connection.stats.bytes_in.saturating_add(bytes.len() as u64);
        if let Some(greeting) = &mut self.greeting {
            if !greeting.take(&mut bytes)? {
                return Ok(());
            }
            self.greeting = None;
            self.session.start(connection, now);
        }
        self.session.read(bytes, connection, now)
    }

    /// Does what is due at `now`: probes, and an end to waiting for a server that says nothing.
    pub fn handle_timeout(&mut self, now: RealTime) {
        if self.ended.is_some() {
            return;
        }
        if self.silence_ends_at() <= now {
            let secs = now.since(self.connection.heard).as_nanos() / NANOS;
            self.end(ProtocolError::Silent { secs }.into(), now);
        } else if self.connection.unsent().len() > OUTBOX_BYTES_MAX {
            self.end(ProtocolError::NotReading.into(), now);
        } else {
            self.session.handle_timeout(&mut self.connection, now);
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
        let session = self.session.next_timeout(self.connection.heard);
        self.ended.is_none().then(|| self.silence_ends_at().min(session))
    }

    fn silence_ends_at(&self) -> RealTime {
        match self.session.is_joined() {
            true => self.connection.heard.saturating_add(SILENT_MAX),
            false => self.opened.saturating_add(HANDSHAKE_MAX),
        }
    }

    /// What to send next; empty if nothing is.
    pub fn unsent(&mut self) -> &[u8] {
        match self.ended {
            None => self.connection.unsent(),
            Some(_) => &[],
        }
    }

    /// The first `count` bytes of [`Self::unsent`] were sent.
    ///
    /// # Panics
    /// If there were not so many.
    pub fn sent(&mut self, count: usize) {
        self.connection.sent(count);
    }

    /// The oldest event not yet read.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.connection.poll_event()
    }

    /// The oldest thing shown and not yet read.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.session.timeline_mut()?.poll_feed()
    }

    /// How the score went before the world that is shown, once for each world with which that came; the feed then
    /// begins with the last events before it.
    pub fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        self.session.timeline_mut()?.take_scores()
    }

    /// Asks the server for another speed, a pause or a step; the scene shows it at once.
    ///
    /// # Errors
    /// If it makes no sense to ask; the text is for the user.
    pub fn request(&mut self, request: ControlRequest) -> Result<(), ControlError> {
        match self.is_open() {
            true => self.session.request(request, &mut self.connection),
            false => Err(ControlError::NotConnected),
        }
    }

    /// Whether the server let us in, and is still connected.
    fn is_open(&self) -> bool {
        self.ended.is_none() && self.session.is_joined()
    }

    /// Writes speed and pause as they were asked for, without waiting for the next scene.
    pub fn fill_speed(&self, clock: &mut SceneClock) {
        if self.session.is_joined() {
            self.connection.control.fill(clock);
        }
    }

    /// The time-line of the recording that the server plays; `None` in a game that is being played. Where it stands
    /// is [`Recording::target`], or else the moment of the last scene ([`crate::SceneClock::game`]).
    pub fn recording(&self) -> Option<&Recording> {
        self.session.recording()
    }

    /// Asks the server to move its recording to this moment, backwards or forwards; a moment outside stands for the
    /// nearer end. The slider can show it at once ([`Recording::target`]); the picture follows when the world of that
    /// moment is here, which begins with another [`ClientEvent::Live`]. May be called for every movement of a
    /// slider.
    ///
    /// # Errors
    /// If there is no recording, or the server does not listen to this viewer; the text is for the user.
    pub fn seek(&mut self, to: GameTime) -> Result<(), ControlError> {
        match self.ended {
            None => self.session.seek(to, &mut self.connection),
            Some(_) => Err(ControlError::NotConnected),
        }
    }

    /// Asks which commands of `agent` wait for their turn, or of none. A server that speaks text is not
    /// asked: it has no word for it.
    ///
    /// # Errors
    /// If there is no server to ask.
    pub fn watch(&mut self, agent: Option<AgentId>) -> Result<(), ControlError> {
        match self.ended {
            None => self.session.watch(agent, &mut self.connection),
            Some(_) => Err(ControlError::NotConnected),
        }
    }

    /// The commands of the agent watched that wait behind the one it is doing, in their order; `None` in it is a line
    /// that no command was recognised in. `None` until known. They are of the present, a little ahead of the scene.
    pub fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        self.session.waiting()
    }

    /// Says goodbye. The shell sends what is unsent, and closes.
    pub fn leave(&mut self) {
        if self.ended.is_none() && self.greeting.is_none() {
            self.session.leave(&mut self.connection);
        }
    }

    /// Writes what is to be seen at `now`, which is never less than in the call before; see [`SceneClock::game`] for
    /// its game time. Buffers in `scene` are used again; after the end the last moment stays. A change of the world
    /// is checked when it is due, so that this may end the connection.
    ///
    /// [`SceneClock::game`]: crate::scene::SceneClock::game
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let until = self.ended.as_ref().map_or(now, |(_, at)| *at);
        let (server_now, delay_ms) = self.session.server_at(until);
        let shown = match (self.session.timeline_mut(), server_now) {
            (Some(timeline), Some(server_now)) => timeline.scene(server_now, scene),
            _ => Ok(()),
        };
        self.fill_speed(&mut scene.clock);
        scene.clock.delay_ms = delay_ms;
        if let (None, Err(error)) = (&self.ended, shown) {
            self.end(error.into(), now);
        }
        scene.link = self.link(now);
    }

    /// How the connection stands.
    pub fn link(&self, now: RealTime) -> LinkState {
        let silent = now.since(self.connection.heard);
        match &self.ended {
            Some((reason, _)) => LinkState::Ended {
                reason: reason.clone(),
            },
            None if self.greeting.is_some() => LinkState::Connecting,
            None if self.session.is_joined() && silent > self.session.silent_after() => LinkState::Silent {
                for_ms: silent.as_nanos().unsigned_abs() / 1_000_000,
            },
            None => self.session.link(now),
        }
    }

    /// A copy of the newest world received, a little ahead of what is shown; `None` until it is complete, an error if
    /// the server sent a change that cannot be.
    pub fn newest_world(&self) -> Option<Result<World, WorldError>> {
        self.session.newest_world()
    }

    /// Figures for the HUD.
    pub fn stats(&self, now: RealTime) -> ClientStats {
        let mut stats = self.connection.stats.clone();
        stats.network_age_ns = now.since(self.connection.heard).as_nanos();
        stats.unacknowledged = self.connection.numbers.in_flight();
        self.session.count(now, &mut stats);
        if let Some(timeline) = self.session.timeline() {
            timeline.count(&mut stats);
        }
        stats
    }

    fn end(&mut self, why: CloseReason, now: RealTime) {
        let (reason, error) = match why {
            CloseReason::Error(error) => (error.to_string(), Some(error)),
            CloseReason::Text(reason) => (reason, None),
        };
        log::info!("the connection ended: {reason}");
        self.ended = Some((reason.as_str().into(), now));
        self.connection.push(ClientEvent::Ended { reason, error });
    }
}
