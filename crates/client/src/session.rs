//! What a connection holds in either language: bytes to send, events, the controls, and the world that is shown.
//!
//! When a connection begins and when it is too silent is [`crate::client`]'s; what each message means is
//! [`crate::frame_session`]'s and [`crate::text_session`]'s. Any error ends the connection; nothing is retried.

use std::collections::VecDeque;
use std::sync::Arc;

use trantor_model::lag::{show, show_settings};
use trantor_model::{AgentId, CommandKind, Control, FeedKind, Lag};
use trantor_protocol::text::{GuiRequest, write_gui_request};
use trantor_protocol::wire::{LagState, LinkState as Link, SentNumbers, ToServer, write_frame};
use trantor_time::{Frequency, RealSpan, RealTime};

use crate::control::{Controls, Recording};
use crate::display_clock::DisplayClock;
use crate::error::ProtocolError;
use crate::interface::{ClientConfig, ClientEvent, ClientStats, Language};
use crate::push_bounded;
use crate::readable::{readable, readable_bytes};
use crate::scene::ShownOwners;
use crate::timeline::{Snapshot, Timeline};

/// How long a server may take from the connection to its hello: longer than a way there and back that is made as long
/// as it can be asked for, and shorter than the minute after which a server gives up.
pub(crate) const HANDSHAKE_MAX: RealSpan = RealSpan::from_secs(25);

/// Silence after which the connection is closed: three rounds of probes without any answer.
pub(crate) const SILENT_MAX: RealSpan = RealSpan::from_secs(30);

/// Events kept for a shell that does not read them. A session has few; refusals are the only ones that repeat.
const EVENTS_MAX: usize = 256;

/// Bytes that may wait to be sent. A viewer sends little; a server that does not read even that is broken.
pub(crate) const OUTBOX_BYTES_MAX: usize = 64 * 1024;

/// The state of a connection that both languages share.
#[derive(Debug)]
pub(crate) struct Session {
    pub config: ClientConfig,
    /// Whether the server let us in, so that requests can be made.
    pub is_joined: bool,
    pub controls: Controls,
    /// The recording that the server plays; `None` in a game that is being played.
    pub recording: Option<Recording>,
    /// Commands of the watched agent that wait, once they are known.
    pub waiting: Option<(AgentId, Vec<Option<CommandKind>>)>,
    /// What agents and the server show beside the game.
    pub shown: Arc<ShownOwners>,
    /// Links of the watched agent, while messages take time.
    pub links: Option<(AgentId, Vec<Link>)>,
    /// How messages travel, in words; `None` if they arrive at once.
    pub lag: Option<Arc<str>>,
    /// Milliseconds by which this viewer is sent everything later than it happens.
    pub delay_ms: u32,
    /// Which moment is shown.
    pub clock: DisplayClock,
    /// The world that is shown, once it is complete.
    pub timeline: Option<Timeline>,
    /// Numbers of what was sent, as the server acknowledges it.
    pub numbers: SentNumbers,
    /// When anything was received last.
    pub received: RealTime,
    pub stats: ClientStats,
    outbox: Vec<u8>,
    /// How many bytes of the outbox were sent.
    pub sent: usize,
    pub events: VecDeque<ClientEvent>,
}

impl Session {
    pub fn new(config: ClientConfig, now: RealTime) -> Self {
        Self {
            config,
            is_joined: false,
            controls: Controls::new(false),
            recording: None,
            waiting: None,
            shown: Arc::default(),
            links: None,
            lag: None,
            delay_ms: 0,
            clock: DisplayClock::new(0),
            timeline: None,
            numbers: SentNumbers::default(),
            received: now,
            stats: ClientStats::default(),
            outbox: Vec::new(),
            sent: 0,
            events: VecDeque::new(),
        }
    }

    /// Whether the world after a jump is being received.
    pub fn is_jumping(&self) -> bool {
        self.recording
            .as_ref()
            .is_some_and(|recording| recording.jumped_to.is_some())
    }

    /// Shows a world that is complete, in place of the one before.
    pub fn show(&mut self, snapshot: Snapshot) {
        self.clock.restart(snapshot.at);
        let versions_from = self.timeline.as_ref().map_or(0, Timeline::ground_version);
        self.timeline = Some(Timeline::new(snapshot, versions_from));
        if let Some(recording) = &mut self.recording {
            recording.jumped_to = None;
        }
        self.push(ClientEvent::Live);
    }

    /// Messages between agents travel like this.
    pub fn show_lag(&mut self, lag: &LagState, teams: &[String]) {
        let own = lag.teams.iter().filter_map(|(team, own)| {
            let name = teams.get(usize::from(team.0))?;
            Some(format!(" {}:{}", readable(name), words(own.as_ref())))
        });
        let own: String = own.collect();
        let is_on = lag.settings.is_some() || lag.teams.iter().any(|(_, own)| own.is_some());
        self.lag = is_on.then(|| (words(lag.settings.as_ref()) + &own).into());
        self.stats.messages = is_on.then_some(lag.totals);
    }

    /// Everything up to message `number` was processed: what waited for it is sent.
    pub fn ack(&mut self, number: u64) -> Result<(), ProtocolError> {
        self.numbers.ack(number)?;
        self.controls.ack(number);
        let speed = self.controls.poll_wanted(&mut self.numbers);
        let moment = self.recording.as_mut().and_then(|recording| {
            recording.ack(number);
            recording.poll_wanted(&mut self.numbers)
        });
        for request in speed.into_iter().chain(moment) {
            self.write_control(request);
        }
        Ok(())
    }

    /// Appends what `write` writes to the outbox.
    fn write<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        if self.sent == self.outbox.len() {
            self.outbox.clear();
            self.sent = 0;
        }
        write(&mut self.outbox)
    }

    /// Appends the line that asks to be let in: `word`, with the token behind it.
    pub fn write_first_line(&mut self, word: &str) {
        let token = self.config.token.clone();
        self.write(|out| write_first_line(out, word, token.as_deref()));
    }

    /// Counts a message, and appends it.
    pub fn send(&mut self, message: &ToServer) {
        self.numbers.send();
        self.write_message(message);
    }

    /// Appends a request that is counted already. In text there is only the speed.
    pub fn write_control(&mut self, request: Control) {
        match (self.config.language, request) {
            (Language::Frames, request) => self.write_message(&ToServer::Control(request)),
            (Language::Text, Control::SetFrequency(asked)) => {
                if let Ok(frequency) = Frequency::new(u64::from(asked)) {
                    self.ask(GuiRequest::SetFrequency(frequency));
                }
            }
            (Language::Text, _) => {}
        }
    }

    fn write_message(&mut self, message: &ToServer) {
        self.write(|out| write_frame(out, message))
            .expect("a viewer's messages are far shorter than a frame");
    }

    /// Appends a request of the text protocol.
    pub fn ask(&mut self, request: GuiRequest) {
        self.write(|out| write_gui_request(out, request));
    }

    pub fn unsent(&self) -> &[u8] {
        &self.outbox[self.sent..]
    }

    /// The server announces something: an event, and an entry of the feed.
    pub fn announce(&mut self, text: String) {
        if let Some(timeline) = &mut self.timeline {
            timeline.note(FeedKind::Announced(text.as_str().into()));
        }
        self.push(ClientEvent::Message { text });
    }

    /// Adds an event; the oldest makes room if they are not read.
    pub fn push(&mut self, event: ClientEvent) {
        push_bounded(&mut self.events, event, EVENTS_MAX);
    }
}

/// A preset with what it stands for, or settings.
fn words(lag: Option<&Lag>) -> String {
    match (show(lag), lag.map(show_settings)) {
        (name, Some(settings)) if name != settings => format!("{name} ({settings})"),
        (settings, _) => settings,
    }
}

/// Longest greeting accepted, in bytes. Greetings are one word; some servers add a line of their own.
const GREETING_BYTES_MAX: usize = 1_024;

/// Bytes of a greeting that are kept, to tell whose it is.
const GREETING_BYTES_KEPT: usize = 64;

/// Waits for the server's first line. The greeting of another protocol is recognised, so that the error names the server
/// that was reached.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    read: usize,
    begin: Vec<u8>,
}

impl Greeting {
    /// Takes the greeting off the front of `bytes`; answers whether it is complete.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Result<bool, ProtocolError> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        self.read += taken;
        let kept = taken.min(GREETING_BYTES_KEPT - self.begin.len());
        self.begin.extend_from_slice(&bytes[..kept]);
        *bytes = &bytes[taken..];
        if self.read > GREETING_BYTES_MAX {
            let max = GREETING_BYTES_MAX;
            return Err(ProtocolError::NoGreeting { max });
        }
        if end.is_some() && is_of_another_protocol(&self.begin) {
            let greeting = readable_bytes(&self.begin);
            return Err(ProtocolError::OtherGreeting { greeting });
        }
        Ok(end.is_some())
    }
}

/// Whether servers of the web, of mail or of shells begin so. Zappy's have many greetings.
fn is_of_another_protocol(greeting: &[u8]) -> bool {
    let is_code =
        matches!(greeting, [a, b, c, b' ' | b'-', ..] if [a, b, c].iter().all(|byte| byte.is_ascii_digit()));
    is_code || greeting.starts_with(b"HTTP/") || greeting.starts_with(b"SSH-")
}

/// The line with which a viewer asks to be let in: a word, and the server's token behind it.
pub fn write_first_line(out: &mut Vec<u8>, word: &str, token: Option<&str>) {
    out.extend_from_slice(word.as_bytes());
    if let Some(token) = token {
        out.push(b' ');
        out.extend_from_slice(token.as_bytes());
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_never_ends_its_greeting_is_not_read_for_ever() {
        let mut greeting = Greeting::default();
        let piece = [b'x'; 100];
        let mut read = 0;
        while greeting.take(&mut &piece[..]).is_ok() {
            read += piece.len();
            assert!(read <= GREETING_BYTES_MAX);
        }
    }
}
