//! A server's game, over one connection after the other.

use std::sync::Arc;
use std::time::Duration;

use trantor_client::{Client, ClientConfig, ClientEvent, ControlRequest, Language, LinkState, Scene};
use trantor_model::{AgentId, MapSize};
use trantor_time::link::LinkCounts;
use trantor_time::{NANOS, RealSpan, RealTime};

use crate::lag::{Lag, Line};
use crate::net::{Net, NetEvent, Outgoing};

/// A server's game, over one connection after the other.
#[derive(Debug)]
pub struct Live {
    net: Net,
    address: String,
    language: Language,
    token: Option<String>,
    program: String,
    session: Option<(Client, Outgoing)>,
    /// The way here and the way there, as long as they are made.
    down: Line<NetEvent>,
    up: Line<Vec<u8>>,
    /// Why there is no connection.
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

/// Messages for the user that may wait: nobody reads more in the seconds that one is shown.
const NOTICES_MAX: usize = 16;

impl Live {
    /// See [`Source::live`](super::Source::live).
    pub(super) fn new(
        host: &str,
        port: u16,
        language: Language,
        token: Option<String>,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        // As addresses of the sixth version are written with a port, and as they are looked up.
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
            program: concat!("trantor-viewer ", env!("CARGO_PKG_VERSION")).to_owned(),
            was_won: false,
            next_try_at: RealTime::ZERO,
            session: None,
            down: Line::new(0),
            up: Line::new(1),
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

    /// What the way here did to what was sent, while it is made longer.
    pub fn lag(&self) -> Option<(Lag, LinkCounts)> {
        Some((self.down.lag()?, self.down.counts()))
    }

    pub(super) fn set_lag(&mut self, lag: Option<Lag>) {
        self.down.set(lag);
        self.up.set(lag);
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn client(&self) -> Option<&Client> {
        self.session.as_ref().map(|(client, _)| client)
    }

    pub(super) fn client_mut(&mut self) -> Option<&mut Client> {
        self.session.as_mut().map(|(client, _)| client)
    }

    pub(super) fn has_network(&self) -> bool {
        self.net.has_events() && !self.down.is_full()
    }

    pub(super) fn pieces_waiting(&self) -> usize {
        self.net.waiting() + self.down.len()
    }

    /// Leaves the server and joins it again at once.
    pub(super) fn reconnect(&mut self) {
        self.given_up = None;
        self.waiting_for = format!("joining {} …", self.address).into();
        self.net.connect_again();
    }

    /// Says goodbye, if there is somebody to say it to.
    pub(super) fn leave(&mut self) {
        if let Some((client, out)) = &mut self.session {
            client.leave();
            self.up.set(None);
            self.up.clear();
            send(client, &mut self.up, out, RealTime::ZERO);
        }
    }

    /// The oldest message for the user.
    pub(super) fn poll_notice(&mut self) -> Option<String> {
        (!self.notices.is_empty()).then(|| self.notices.remove(0))
    }

    /// The user wants to see the waiting commands of another agent. A server that is joined later is told then.
    pub(super) fn watch(&mut self, agent: Option<AgentId>) {
        self.watched = agent;
        if let Some((client, _)) = &mut self.session
            && let Err(error) = client.watch(self.watched)
        {
            log::debug!("nobody is told which agent is watched: {error}");
        }
    }

    pub(super) fn next_timeout(&self) -> Option<RealTime> {
        let client = self
            .session
            .as_ref()
            .and_then(|(client, _)| client.next_timeout());
        let arrivals = [self.down.next_arrival(), self.up.next_arrival()];
        arrivals.into_iter().flatten().chain(client).min()
    }

    pub(super) fn take_network(&mut self, now: RealTime) -> bool {
        while !self.down.is_full()
            && let Some(event) = self.net.poll()
        {
            let bytes = match &event {
                NetEvent::Bytes(piece) => piece.len(),
                NetEvent::Opened { .. } | NetEvent::Closed { .. } => 0,
            };
            self.down.put(event, bytes, now);
            if self.down.lag().is_none() {
                // Without lag what came is taken at once, so that the line to the thread stays the only one.
                break;
            }
        }
        let Some(event) = self.down.take(now) else {
            return false;
        };
        match event {
            NetEvent::Opened { out, token } => {
                // Servers of other kinds know no token, and text viewers may change the speed without one.
                let left = token.filter(|_| self.language == Language::Frames);
                let config = ClientConfig {
                    language: self.language,
                    token: self.token.clone().or(left),
                    program: self.program.clone(),
                };
                self.session = Some((Client::new(config, now), out));
            }
            NetEvent::Bytes(piece) => {
                if let Some((client, _)) = &mut self.session {
                    client.handle(&piece, now);
                }
                self.net.give_back(piece);
            }
            NetEvent::Closed { reason, again_in } => self.closed(reason, again_in, now),
        }
        self.tend(now);
        true
    }

    fn closed(&mut self, reason: String, again_in: Duration, now: RealTime) {
        self.up.clear();
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

    pub(super) fn tend(&mut self, now: RealTime) {
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
                        log::debug!("nobody is told which agent is watched: {error}");
                    }
                    continue;
                }
            };
            if self.notices.len() == NOTICES_MAX {
                self.notices.remove(0);
            }
            self.notices.push(notice);
        }
        send(client, &mut self.up, out, now);
    }

    pub(super) fn take_new_world(&mut self) -> bool {
        std::mem::take(&mut self.is_world_new)
    }

    pub(super) fn take_other_run(&mut self) -> bool {
        std::mem::take(&mut self.is_other_run)
    }

    pub(super) fn scene(&mut self, now: RealTime, scene: &mut Scene) {
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

    pub(super) fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String> {
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

/// Puts what is to be sent on its way, and hands over what has come to its end.
fn send(client: &mut Client, up: &mut Line<Vec<u8>>, out: &Outgoing, now: RealTime) {
    let unsent = client.unsent();
    if !unsent.is_empty() && !up.is_full() {
        let count = unsent.len();
        up.put(unsent.to_vec(), count, now);
        client.sent(count);
    }
    // What finds no room stays; if it stays too long, the client gives the connection up.
    while out.has_room()
        && let Some(bytes) = up.take(now)
    {
        if let Err(why) = out.send(bytes) {
            // The socket's thread notices by itself, and tells.
            log::debug!("bytes stay unsent: {why}");
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
