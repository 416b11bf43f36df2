//! A server's game, over one connection after the other.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Sender, TrySendError};
use trantor_client::{
    Client, ClientConfig, ClientEvent, ClientStats, ControlRequest, FeedEntry, Language, LinkState,
    Recording, Scene, SceneClock,
};
use trantor_model::{AgentId, CommandKind, MapSize};
use trantor_protocol::wire::ScorePoint;
use trantor_time::{GameTime, NANOS, RealSpan, RealTime};

use super::Source;
use crate::net::{Net, NetEvent};

#[derive(Debug)]
pub(super) struct Live {
    net: Net,
    address: String,
    language: Language,
    token: Option<String>,
    /// The connection, and where bytes for the server go.
    session: Option<(Client, Sender<Vec<u8>>)>,
    waiting_for: Arc<str>,
    /// Whether the game shown last was won, and when the server is asked for the next one.
    was_won: bool,
    next_try_at: RealTime,
    /// The agent whose waiting commands the user wants to see.
    watched: Option<AgentId>,
    /// Whether a whole world came since this was asked last.
    is_world_new: bool,
    /// Ticks that the server had run when it was joined last, and by the end of the connection before.
    ticks: u64,
    ticks_before: u64,
    /// Teams and map of the game joined last.
    game: Option<(Vec<String>, MapSize)>,
    /// Whether the world to come, or that came since this was asked last, is that of another run of the server, or of
    /// another server.
    will_be_other_run: bool,
    is_other_run: bool,
    /// Why the session ended that is not closed yet.
    ended: Option<String>,
    /// What the server did wrong, after which only the user tries again.
    given_up: Option<String>,
    /// What the user should read: refusals of requests.
    notices: Vec<String>,
}

/// Messages for the user that may wait: each is shown for seconds.
const NOTICES_MAX: usize = 16;

impl Live {
    pub(super) fn new(
        host: &str,
        port: u16,
        language: Language,
        token: Option<String>,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        // IPv6 addresses are written in brackets before a port, and looked up without them.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        Ok(Self {
            net: Net::start(host, port, wake)?,
            waiting_for: format!("waiting for a server at {address} …").into(),
            address,
            language,
            token,
            was_won: false,
            next_try_at: RealTime::ZERO,
            session: None,
            watched: None,
            is_world_new: false,
            ticks: 0,
            ticks_before: 0,
            game: None,
            will_be_other_run: false,
            is_other_run: false,
            ended: None,
            given_up: None,
            notices: Vec::new(),
        })
    }

    fn client(&self) -> Option<&Client> {
        self.session.as_ref().map(|(client, _)| client)
    }

    fn client_mut(&mut self) -> Option<&mut Client> {
        self.session.as_mut().map(|(client, _)| client)
    }

    fn closed(&mut self, reason: String, again_in: Duration, now: RealTime) {
        let again_ns = i64::try_from(again_in.as_nanos()).unwrap_or(i64::MAX);
        self.next_try_at = now.saturating_add(RealSpan::from_nanos(again_ns));
        let session = self.session.take();
        if let Some((client, _)) = &session {
            self.ticks_before = self.ticks.saturating_add(client.stats(now).ticks);
        }
        let because = match (self.ended.take(), session) {
            (Some(ended), _) => ended,
            (None, Some((mut client, _))) => {
                client.closed(&reason, now);
                last_words(&mut client).unwrap_or(reason)
            }
            (None, None) => reason,
        };
        self.waiting_for = match &self.given_up {
            Some(mistake) => format!("{mistake} — {} was left; F5 joins it again", self.address),
            None => {
                let secs = again_in.as_secs();
                format!(
                    "waiting for a server at {}, asked again after {secs} s: {because}",
                    self.address
                )
            }
        }
        .into();
    }
}

impl Source for Live {
    fn name(&self) -> &str {
        &self.address
    }

    fn take_network(&mut self, now: RealTime) -> bool {
        let Some(event) = self.net.poll() else {
            return false;
        };
        match event {
            NetEvent::Opened { out, token } => {
                // Servers of other kinds know no token, and text viewers may change the speed without one.
                let left = token.filter(|_| self.language == Language::Frames);
                let config = ClientConfig {
                    language: self.language,
                    token: self.token.clone().or(left),
                    program: concat!("trantor-viewer ", env!("CARGO_PKG_VERSION")).to_owned(),
                };
                self.session = Some((Client::new(config, now), out));
            }
            NetEvent::Bytes(piece) => {
                if let Some(client) = self.client_mut() {
                    client.handle(&piece, now);
                }
            }
            NetEvent::Closed { reason, again_in } => self.closed(reason, again_in, now),
        }
        self.tend(now);
        true
    }

    fn pieces_waiting(&self) -> usize {
        self.net.waiting()
    }

    fn next_timeout(&self) -> Option<RealTime> {
        self.client().and_then(Client::next_timeout)
    }

    fn reconnect(&mut self) -> Result<(), String> {
        self.given_up = None;
        self.waiting_for = format!("joining {} …", self.address).into();
        self.net.connect_again();
        Ok(())
    }

    fn leave(&mut self) {
        if let Some((client, out)) = &mut self.session {
            client.leave();
            send(client, out);
        }
    }

    fn poll_notice(&mut self) -> Option<String> {
        (!self.notices.is_empty()).then(|| self.notices.remove(0))
    }

    fn watch(&mut self, agent: Option<AgentId>) {
        // A server that is joined later is asked then.
        self.watched = agent;
        if let Some(client) = self.client_mut()
            && let Err(error) = client.watch(agent)
        {
            log::debug!("the server is not asked for the commands of an agent: {error}");
        }
    }

    fn waiting(&self, agent: AgentId) -> Option<&[Option<CommandKind>]> {
        let (of, commands) = self.client()?.waiting()?;
        (of == agent).then_some(commands)
    }

    fn fill_speed(&self, clock: &mut SceneClock) {
        if let Some(client) = self.client() {
            client.fill_speed(clock);
        }
    }

    fn recording(&self) -> Option<&Recording> {
        self.client().and_then(Client::recording)
    }

    fn seek(&mut self, to: GameTime) -> Result<(), String> {
        let client = self.client_mut().ok_or("there is no connection")?;
        client.seek(to).map_err(|error| error.to_string())
    }

    fn take_scores(&mut self) -> Option<Vec<ScorePoint>> {
        self.client_mut().and_then(Client::take_scores)
    }

    fn poll_feed(&mut self) -> Option<FeedEntry> {
        self.client_mut().and_then(Client::poll_feed)
    }

    fn stats(&self, now: RealTime) -> Option<ClientStats> {
        self.client().map(|client| client.stats(now))
    }

    fn take_new_world(&mut self) -> bool {
        std::mem::take(&mut self.is_world_new)
    }

    fn take_other_run(&mut self) -> bool {
        std::mem::take(&mut self.is_other_run)
    }

    fn tend(&mut self, now: RealTime) {
        let Some((client, out)) = &mut self.session else {
            return;
        };
        if client.next_timeout().is_some_and(|due| due <= now) {
            client.handle_timeout(now);
        }
        while let Some(event) = client.poll_event() {
            let notice = match event {
                ClientEvent::Refused { reason } => format!("The server says: {reason}"),
                ClientEvent::Welcome {
                    teams,
                    size,
                    may_control,
                    ticks,
                    ..
                } => {
                    let before = self.game.replace((teams, size));
                    let is_other_game = before.is_some() && before != self.game;
                    self.will_be_other_run |= is_other_game || ticks < self.ticks_before;
                    self.ticks = ticks;
                    if may_control {
                        continue;
                    }
                    "This server does not let viewers control its time".to_owned()
                }
                ClientEvent::Message { text } => text,
                ClientEvent::Ended { reason, error } => {
                    let is_expected = self.was_won && error.is_none();
                    match error {
                        // Whatever it said wrong, it would say again.
                        Some(error) if !error.may_pass() => {
                            self.given_up = Some(reason.clone());
                            self.net.hang_up();
                        }
                        _ => {
                            self.ended = Some(reason.clone());
                            self.net.drop_connection();
                        }
                    }
                    if is_expected {
                        continue;
                    }
                    reason
                }
                ClientEvent::Live => {
                    // Also after a jump in a recording, and in a game that was joined again.
                    self.is_world_new = true;
                    self.is_other_run |= std::mem::take(&mut self.will_be_other_run);
                    if let Err(error) = client.watch(self.watched) {
                        log::debug!("the server is not asked for the commands of an agent: {error}");
                    }
                    continue;
                }
            };
            if self.notices.len() == NOTICES_MAX {
                self.notices.remove(0);
            }
            self.notices.push(notice);
        }
        send(client, out);
    }

    fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let Some((client, _)) = &mut self.session else {
            let reason = match self.was_won && self.given_up.is_none() {
                true => {
                    let left = (self.next_try_at - now).max(RealSpan::ZERO).as_nanos();
                    let secs = (left + NANOS - 1) / NANOS;
                    format!("the match is over: asking for the next one in {secs} s").into()
                }
                false => Arc::clone(&self.waiting_for),
            };
            scene.link = LinkState::Ended { reason };
            return;
        };
        let link = client.link(now);
        if matches!(
            link,
            LinkState::Connecting
                | LinkState::Greeting
                | LinkState::Delayed { .. }
                | LinkState::Loading { .. }
        ) {
            // What was seen last stays until there is something newer.
            scene.link = link;
        } else {
            client.scene(now, scene);
            self.was_won = scene.winner.is_some();
        }
    }

    fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String> {
        let Some((client, _)) = &mut self.session else {
            let why = if self.was_won {
                "the match is over"
            } else {
                "there is no connection"
            };
            return Err(why.to_owned());
        };
        client.request(request).map_err(|error| error.to_string())?;
        self.tend(now);
        Ok(())
    }
}

/// Hands what is to be sent to the socket's thread. Where that has no room the bytes stay with the client, which gives the
/// connection up if they stay too long.
fn send(client: &mut Client, out: &Sender<Vec<u8>>) {
    let unsent = client.unsent();
    if unsent.is_empty() || out.is_full() {
        return;
    }
    let count = unsent.len();
    match out.try_send(unsent.to_vec()) {
        Ok(()) => client.sent(count),
        // Of the end of a connection the socket's thread tells by itself.
        Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
            log::debug!("{count} bytes stay unsent")
        }
    }
}

/// Why a connection ended, in the client's words, which know more than the socket's.
fn last_words(client: &mut Client) -> Option<String> {
    std::iter::from_fn(|| client.poll_event()).find_map(|event| match event {
        ClientEvent::Ended { reason, .. } => Some(reason),
        _ => None,
    })
}
