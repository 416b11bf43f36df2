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
//! An error of the server ends this connection and nothing else, with a reason to show. The last picture stays.

use std::sync::Arc;

use trantor_model::{AgentId, CommandKind, Control, Refusal};
use trantor_protocol::wire::{FeedEntry, LinkState as Link, ScorePoint, ToServer};
use trantor_time::{NANOS, RealSpan, RealTime};

use crate::control::Recording;
use crate::decoder::Decoder;
use crate::error::ProtocolError;
use crate::interface::{ClientConfig, ClientEvent, ClientStats, Language};
use crate::motion::ShownWorld;
use crate::scene::{LinkState, Scene, SceneClock};
use crate::session::{Greeting, HANDSHAKE_MAX, OUTBOX_BYTES_MAX, SILENT_MAX, Session};
use crate::timeline::Timeline;

/// Silence of a server that speaks frames after which the user is warned: it ticks twenty times a second to a viewer.
const FRAMES_SILENT_AFTER: RealSpan = RealSpan::from_millis(1_500);

/// As `FRAMES_SILENT_AFTER`, in text: two requests without an answer.
const TEXT_SILENT_AFTER: RealSpan = RealSpan::from_secs(10);

#[derive(Debug)]
pub struct Client {
    opened: RealTime,
    /// Until the server has greeted.
    greeting: Option<Greeting>,
    session: Session,
    decoder: Decoder,
    /// Once it is over: why, and when the last moment was shown.
    ended: Option<(Arc<str>, RealTime)>,
}

impl Client {
    /// A connection that was opened at `now`. Nothing is sent before the server's greeting.
    pub fn new(config: ClientConfig, now: RealTime) -> Self {
        Self {
            opened: now,
            greeting: Some(Greeting::default()),
            decoder: Decoder::new(config.language, now),
            session: Session::new(config, now),
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

    fn read(&mut self, mut bytes: &[u8], now: RealTime) -> Result<(), ProtocolError> {
        let session = &mut self.session;
        session.received = session.received.max(now);
        session.stats.bytes_in = session.stats.bytes_in.saturating_add(bytes.len() as u64);
        if let Some(greeting) = &mut self.greeting {
            if !greeting.take(&mut bytes)? {
                return Ok(());
            }
            self.greeting = None;
            self.decoder.start(session, now);
        }
        self.decoder.read(bytes, session, now)
    }

    /// Does what is due at `now`: sends probes, and ends a connection that receives nothing.
    pub fn handle_timeout(&mut self, now: RealTime) {
        if self.ended.is_some() {
            return;
        }
        if self.silence_ends_at() <= now {
            let secs = now.since(self.session.received).as_nanos() / NANOS;
            self.end(ProtocolError::Silent { secs }, now);
        } else if self.session.unsent().len() > OUTBOX_BYTES_MAX {
            self.end(ProtocolError::NotReading, now);
        } else {
            self.decoder.handle_timeout(&mut self.session, now);
        }
    }

    /// The socket was closed or failed, for a reason to show.
    pub fn closed(&mut self, reason: &str, now: RealTime) {
        if self.ended.is_none() {
            self.end(ProtocolError::Closed(reason.to_owned()), now);
        }
    }

    /// When [`Self::handle_timeout`] has something to do; `None` after the end.
    pub fn next_timeout(&self) -> Option<RealTime> {
        let decoder = self.decoder.next_timeout(&self.session);
        self.ended.is_none().then(|| self.silence_ends_at().min(decoder))
    }

    fn silence_ends_at(&self) -> RealTime {
        match self.session.is_joined {
            true => self.session.received.saturating_add(SILENT_MAX),
            false => self.opened.saturating_add(HANDSHAKE_MAX),
        }
    }

    /// What to send next.
    pub fn unsent(&mut self) -> &[u8] {
        match self.ended {
            None => self.session.unsent(),
            Some(_) => &[],
        }
    }

    /// The first `count` bytes of [`Self::unsent`] were sent.
    ///
    /// # Panics
    /// If there were not so many.
    pub fn sent(&mut self, count: usize) {
        let unsent = self.session.unsent().len();
        assert!(count <= unsent, "no more was sent than there was");
        self.session.sent += count;
    }

    /// The oldest event not yet read.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.session.events.pop_front()
    }

    /// The oldest thing shown and not yet read.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.session.timeline.as_mut()?.poll_feed()
    }

    /// How the score went before the world that is shown, once for each world with which that came; the feed then
    /// begins with the last events before it.
    pub fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        self.session.timeline.as_mut()?.scores.take()
    }

    /// How the score went since the last call: a point for each moment at which it changed, however many one scene showed.
    pub fn take_steps(&mut self) -> Vec<ScorePoint> {
        let timeline = self.session.timeline.as_mut();
        timeline.map(Timeline::take_steps).unwrap_or_default()
    }

    /// Asks the server for something about the match; the scene shows another speed or pause at once. In a recording, the slider
    /// can show another moment at once ([`Recording::target`]); the picture follows when the world of that moment is here, which
    /// begins with another [`ClientEvent::Live`]. May be called for every movement of a slider.
    ///
    /// # Errors
    /// If it makes no sense to ask; the text is for the user.
    pub fn request(&mut self, request: Control) -> Result<(), Refusal> {
        if !self.is_open() {
            return Err(Refusal::NotConnected);
        }
        let session = &mut self.session;
        let is_speed = matches!(request, Control::SetFrequency(_));
        if session.config.language == Language::Text && !is_speed {
            return Err(Refusal::NotInText);
        }
        let (recording, numbers) = (session.recording.as_mut(), &mut session.numbers);
        if let Some(request) = session.controls.request(request, recording, numbers)? {
            session.write_control(request);
        }
        Ok(())
    }

    /// Whether the server let us in, and is still connected.
    fn is_open(&self) -> bool {
        self.ended.is_none() && self.session.is_joined
    }

    /// Writes speed and pause as they were asked for, without waiting for the next scene.
    pub fn fill_speed(&self, clock: &mut SceneClock) {
        if self.session.is_joined {
            self.session.controls.fill(clock);
        }
    }

    /// The time-line of the recording that the server plays; `None` in a game that is being played. It stands at
    /// [`Recording::target`], or else at the moment of the last scene ([`crate::SceneClock::game`]).
    pub fn recording(&self) -> Option<&Recording> {
        self.session.recording.as_ref()
    }

    /// Asks which commands of `agent` wait for their turn, or of none. The text protocol has no request for it.
    ///
    /// # Errors
    /// If there is no server to ask.
    pub fn watch(&mut self, agent: Option<AgentId>) -> Result<(), Refusal> {
        if !self.is_open() {
            return Err(Refusal::NotConnected);
        }
        if self.session.config.language == Language::Frames {
            self.session.waiting = None;
            self.session.links = None;
            self.session.send(&ToServer::Watch { agent });
        }
        Ok(())
    }

    /// The commands of the watched agent that wait behind the one it is doing, in their order; `None` in it is a line
    /// that is no command. `None` until known. They are of the present, a little ahead of the scene.
    pub fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        let (agent, commands) = self.session.waiting.as_ref()?;
        Some((*agent, commands))
    }

    /// The links of the watched agent; `None` until known, and while messages arrive at once.
    pub fn links(&self) -> Option<(AgentId, &[Link])> {
        self.session.lag.as_ref()?;
        let (agent, links) = self.session.links.as_ref()?;
        Some((*agent, links))
    }

    /// Says goodbye. The shell sends what is unsent, and closes.
    pub fn leave(&mut self) {
        let is_greeted = self.ended.is_none() && self.greeting.is_none();
        if is_greeted && self.session.config.language == Language::Frames {
            self.session.send(&ToServer::Goodbye);
        }
    }

    /// Writes what is to be seen at `now`, which is never less than in the call before; see [`SceneClock::game`] for
    /// its game time. Buffers in `scene` are used again; after the end the last moment stays. A change of the world
    /// is checked when it is due, so that this may end the connection.
    ///
    /// [`SceneClock::game`]: crate::scene::SceneClock::game
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let until = self.ended.as_ref().map_or(now, |(_, at)| *at);
        let Session { timeline, clock, .. } = &mut self.session;
        let shown = match (timeline, self.decoder.server_at(until)) {
            (Some(timeline), Some(server_now)) => timeline.scene(clock, server_now, scene),
            _ => Ok(()),
        };
        self.fill_speed(&mut scene.clock);
        scene.clock.delay_ms = self.session.delay_ms;
        scene.shown.clone_from(&self.session.shown);
        if scene.lag != self.session.lag {
            scene.lag.clone_from(&self.session.lag);
        }
        if let (None, Err(error)) = (&self.ended, shown) {
            self.end(error, now);
        }
        scene.link = self.link(now);
    }

    pub fn link(&self, now: RealTime) -> LinkState {
        let silent = now.since(self.session.received);
        let silent_after = match self.session.config.language {
            Language::Frames => FRAMES_SILENT_AFTER,
            Language::Text => TEXT_SILENT_AFTER,
        };
        match &self.ended {
            Some((reason, _)) => LinkState::Ended {
                reason: reason.clone(),
            },
            None if self.greeting.is_some() => LinkState::Connecting,
            None if !self.session.is_joined => LinkState::Greeting,
            None if silent > silent_after => LinkState::Silent {
                for_ms: silent.as_nanos().unsigned_abs() / 1_000_000,
            },
            None => self.decoder.link(&self.session, now),
        }
    }

    /// A copy of the newest world received, a little ahead of what is shown; `None` until it is complete, an error if
    /// the server sent a change that cannot be.
    pub fn newest_world(&self) -> Option<Result<ShownWorld, ProtocolError>> {
        self.decoder.newest_world(&self.session)
    }

    pub fn stats(&self, now: RealTime) -> ClientStats {
        let session = &self.session;
        let mut stats = session.stats.clone();
        stats.network_age_ns = now.since(session.received).as_nanos();
        stats.unacknowledged = session.numbers.in_flight();
        self.decoder.count(now, &mut stats);
        if let Some(timeline) = &session.timeline {
            stats.display_delay_ns = session.clock.delay_ns();
            timeline.count(&mut stats);
        }
        stats
    }

    fn end(&mut self, error: ProtocolError, now: RealTime) {
        let reason = error.to_string();
        log::info!("the connection ended: {reason}");
        self.ended = Some((reason.as_str().into(), now));
        let error = Some(error).filter(|error| !matches!(error, ProtocolError::Closed(_)));
        self.session.push(ClientEvent::Ended { reason, error });
    }
}
