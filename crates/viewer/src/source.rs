//! Where scenes come from: a server's game, or a synthetic one.

use std::collections::VecDeque;
use std::sync::Arc;

use trantor_client::{
    Client, ClientConfig, ClientEvent, ClientStats, ControlRequest, FeedEntry, Language, LinkState,
    Recording, Scene,
};
use trantor_model::{AgentId, CommandKind};
use trantor_protocol::wire::StepKind;
use trantor_time::link::LinkCounts;
use trantor_time::{GameTime, RealTime};

use crate::demo::news::{NEWS_MAX, add_news};
use crate::demo::{self, Demo};
use crate::lag::{Lag, Line};
use crate::net::{Net, NetEvent, Outgoing};

/// Something to watch.
#[derive(Debug)]
pub enum Source {
    /// A server's game.
    Live(Box<Live>),
    /// A synthetic scene.
    Demo(Box<Playing>),
}

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
    /// The agent whose waiting commands the user wants to see.
    watched: Option<AgentId>,
    /// What the server did wrong, after which only the user tries again.
    given_up: Option<String>,
    /// What the user should read: refusals of requests.
    notices: Vec<String>,
}

/// Messages for the user that may wait: nobody reads more in the seconds that one is shown.
const NOTICES_MAX: usize = 16;

/// A demo, with the little control that makes sense for one.
#[derive(Debug)]
pub struct Playing {
    demo: Demo,
    units: f64,
    frequency: u32,
    paused: bool,
    last: Option<RealTime>,
    /// What was shown and not yet read.
    news: VecDeque<FeedEntry>,
}

impl Source {
    /// Watches the server at `host` and `port`, and shows it a token if it has one. `wake` is called, from another thread, when something came.
    ///
    /// # Errors
    /// If the operating system refuses a thread.
    pub fn live(
        host: &str,
        port: u16,
        language: Language,
        token: Option<String>,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let address = format!("{host}:{port}");
        Ok(Self::Live(Box::new(Live {
            net: Net::start(host, port, wake)?,
            waiting_for: format!("waiting for a server at {address} …").into(),
            address,
            language,
            token,
            program: concat!("trantor-viewer ", env!("CARGO_PKG_VERSION")).to_owned(),
            session: None,
            down: Line::new(0),
            up: Line::new(1),
            watched: None,
            given_up: None,
            notices: Vec::new(),
        })))
    }

    /// Shows a demo.
    pub fn demo(demo: Demo) -> Self {
        Self::Demo(Box::new(Playing {
            demo,
            units: 0.0,
            frequency: demo::FREQUENCY,
            paused: false,
            last: None,
            news: VecDeque::with_capacity(NEWS_MAX),
        }))
    }

    /// Takes one thing that came from the network; `false` when nothing waits.
    pub fn take_network(&mut self, now: RealTime) -> bool {
        match self {
            Self::Live(live) => live.take_network(now),
            Self::Demo(_) => false,
        }
    }

    /// Whether things from the network wait, and there is room to take them.
    pub fn has_network(&self) -> bool {
        matches!(self, Self::Live(live) if live.net.has_events() && !live.down.is_full())
    }

    /// How many pieces from the network wait.
    pub fn pieces_waiting(&self) -> usize {
        match self {
            Self::Live(live) => live.net.waiting() + live.down.len(),
            Self::Demo(_) => 0,
        }
    }

    /// Makes the way to the server longer on purpose, or as long as it is.
    ///
    /// # Errors
    /// If there is no way; the text is for the user.
    pub fn set_lag(&mut self, lag: Option<Lag>) -> Result<(), String> {
        let Self::Live(live) = self else {
            return Err("there is no connection that could lag".to_owned());
        };
        live.down.set(lag);
        live.up.set(lag);
        Ok(())
    }

    /// How much longer the way is made.
    pub fn lag(&self) -> Option<Lag> {
        match self {
            Self::Live(live) => live.down.lag(),
            Self::Demo(_) => None,
        }
    }

    /// Leaves the server, if there is one, and joins it again at once.
    ///
    /// # Errors
    /// If there is none to join; the text is for the user.
    pub fn reconnect(&mut self) -> Result<(), String> {
        let Self::Live(live) = self else {
            return Err("there is no server to join".to_owned());
        };
        live.given_up = None;
        live.waiting_for = format!("joining {} …", live.address).into();
        live.net.connect_again();
        Ok(())
    }

    /// Does what is due, and sends what is to be sent.
    pub fn tend(&mut self, now: RealTime) {
        if let Self::Live(live) = self {
            live.tend(now);
        }
    }

    /// When [`Self::tend`] has something to do without anything having come.
    pub fn next_timeout(&self) -> Option<RealTime> {
        match self {
            Self::Live(live) => live.next_timeout(),
            Self::Demo(_) => None,
        }
    }

    /// Writes what is to be seen at `now`, never less than before. While there is no world, the last one stays.
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        match self {
            Self::Live(live) => live.scene(now, scene),
            Self::Demo(playing) => playing.scene(now, scene),
        }
    }

    /// Asks for another speed, a pause or a step.
    ///
    /// # Errors
    /// If it cannot be asked; the text is for the user.
    pub fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String> {
        match self {
            Self::Live(live) => live.request(request, now),
            Self::Demo(playing) => {
                playing.request(request);
                Ok(())
            }
        }
    }

    /// The time-line of what is watched, if it is a recording.
    pub fn recording(&self) -> Option<&Recording> {
        match self {
            Self::Live(live) => live.session.as_ref().and_then(|(client, _)| client.recording()),
            Self::Demo(_) => None,
        }
    }

    /// Asks which commands of an agent wait for their turn, from now on.
    pub fn watch(&mut self, agent: Option<AgentId>) {
        if let Self::Live(live) = self {
            live.watched = agent;
            live.watch();
        }
    }

    /// The commands of `agent` that wait, as far as they were told.
    pub fn waiting(&self, agent: AgentId) -> Option<&[Option<CommandKind>]> {
        let Self::Live(live) = self else { return None };
        let (client, _) = live.session.as_ref()?;
        let (of, commands) = client.waiting()?;
        (of == agent).then_some(commands)
    }

    /// Moves a recording to a moment.
    ///
    /// # Errors
    /// If it cannot be; the text is for the user.
    pub fn seek(&mut self, to: GameTime) -> Result<(), String> {
        match self {
            Self::Live(live) => {
                let (client, _) = live.session.as_mut().ok_or("there is no connection")?;
                client.seek(to).map_err(|error| error.to_string())
            }
            Self::Demo(_) => Err("this is no recording".to_owned()),
        }
    }

    /// The oldest thing shown and not yet read.
    pub fn poll_feed(&mut self) -> Option<FeedEntry> {
        match self {
            Self::Live(live) => live.session.as_mut().and_then(|(client, _)| client.poll_feed()),
            Self::Demo(playing) => playing.news.pop_front(),
        }
    }

    /// The oldest message for the user.
    pub fn poll_notice(&mut self) -> Option<String> {
        match self {
            Self::Live(live) if !live.notices.is_empty() => Some(live.notices.remove(0)),
            _ => None,
        }
    }

    /// Figures about the connection, if there is one.
    pub fn stats(&self, now: RealTime) -> Option<ClientStats> {
        match self {
            Self::Live(live) => live.session.as_ref().map(|(client, _)| client.stats(now)),
            Self::Demo(_) => None,
        }
    }

    /// What is watched, in a few words.
    pub fn name(&self) -> &str {
        match self {
            Self::Live(live) => &live.address,
            Self::Demo(_) => "a synthetic scene",
        }
    }

    /// The demo, if it is one.
    pub fn as_demo(&self) -> Option<&Demo> {
        match self {
            Self::Demo(playing) => Some(&playing.demo),
            Self::Live(_) => None,
        }
    }

    /// Says goodbye, if there is somebody to say it to.
    pub fn leave(&mut self) {
        if let Self::Live(live) = self
            && let Some((client, out)) = &mut live.session
        {
            client.leave();
            live.up.set(None);
            live.up.clear();
            send(client, &mut live.up, out, RealTime::ZERO);
        }
    }
}

impl Live {
    /// What the way here did to what was sent.
    pub fn lag(&self) -> Option<(Lag, LinkCounts)> {
        Some((self.down.lag()?, self.down.counts()))
    }

    /// Tells the server which agent is watched; one that is joined later is told then.
    fn watch(&mut self) {
        if let Some((client, _)) = &mut self.session
            && let Err(error) = client.watch(self.watched)
        {
            log::debug!("nobody is told which agent is watched: {error}");
        }
    }

    fn next_timeout(&self) -> Option<RealTime> {
        let client = self
            .session
            .as_ref()
            .and_then(|(client, _)| client.next_timeout());
        let arrivals = [self.down.next_arrival(), self.up.next_arrival()];
        arrivals.into_iter().flatten().chain(client).min()
    }

    fn take_network(&mut self, now: RealTime) -> bool {
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
            NetEvent::Opened { out } => {
                let config = ClientConfig {
                    language: self.language,
                    token: self.token.clone(),
                    program: self.program.clone(),
                    shares_clock: false,
                };
                self.session = Some((Client::new(config, now), out));
            }
            NetEvent::Bytes(piece) => {
                if let Some((client, _)) = &mut self.session {
                    client.handle(&piece, now);
                }
                self.net.give_back(piece);
            }
            NetEvent::Closed { reason } => self.closed(reason, now),
        }
        self.tend(now);
        true
    }

    fn closed(&mut self, reason: String, now: RealTime) {
        self.up.clear();
        let because = match self.session.take() {
            Some((mut client, _)) => {
                client.closed(&reason, now);
                last_words(&mut client).unwrap_or(reason)
            }
            None => reason,
        };
        self.waiting_for = match &self.given_up {
            Some(mistake) => format!("{mistake} — {} was left", self.address),
            None => format!("waiting for a server at {}: {because}", self.address),
        }
        .into();
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
                    may_control: false, ..
                } => "This server does not let viewers control its time".to_owned(),
                ClientEvent::Message { text } => text,
                ClientEvent::Ended { reason, error } => {
                    if error.is_some() {
                        // Whatever it said wrong, it would say again.
                        self.given_up = Some(reason.clone());
                        self.net.hang_up();
                    }
                    reason
                }
                ClientEvent::Live => {
                    // Also after a jump in a recording, and in a game that was joined again.
                    if let Err(error) = client.watch(self.watched) {
                        log::debug!("nobody is told which agent is watched: {error}");
                    }
                    continue;
                }
                ClientEvent::Welcome { .. } => continue,
            };
            if self.notices.len() == NOTICES_MAX {
                self.notices.remove(0);
            }
            self.notices.push(notice);
        }
        send(client, &mut self.up, out, now);
    }

    fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let Some((client, _)) = &mut self.session else {
            scene.link = LinkState::Ended {
                reason: Arc::clone(&self.waiting_for),
            };
            return;
        };
        let link = client.link(now);
        if matches!(
            link,
            LinkState::Connecting | LinkState::Greeting | LinkState::Loading { .. }
        ) {
            // What was seen last stays until there is something newer.
            scene.link = link;
        } else {
            client.scene(now, scene);
        }
    }

    fn request(&mut self, request: ControlRequest, now: RealTime) -> Result<(), String> {
        let Some((client, _)) = &mut self.session else {
            return Err("there is no connection".to_owned());
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

impl Playing {
    fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        let elapsed = now.since(self.last.unwrap_or(now));
        self.last = Some(now);
        if !self.paused {
            self.units += elapsed.as_secs_f64() * f64::from(self.frequency);
        }
        self.demo.scene(self.units, scene);
        add_news(scene, &mut self.news);
        scene.clock.frequency = self.frequency;
        scene.clock.paused = self.paused;
    }

    fn request(&mut self, request: ControlRequest) {
        match request {
            ControlRequest::SetFrequency(frequency) => self.frequency = frequency.max(1),
            ControlRequest::Pause => self.paused = true,
            ControlRequest::Resume => self.paused = false,
            ControlRequest::Step(StepKind::Unit) => self.units = self.units.floor() + 1.0,
            ControlRequest::Step(StepKind::Event) => self.units = (self.units / 7.0).floor() * 7.0 + 7.0,
        }
    }
}

#[cfg(test)]
mod tests;
