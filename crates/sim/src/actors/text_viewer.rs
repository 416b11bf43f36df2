//! The real client over the text protocol.
//!
//! Checks that the client can use every line, and that its world equals the server's while nothing is in flight.

use trantor_client::{Client, ClientConfig, ClientEvent, Language, LinkState, ProtocolError};
use trantor_engine::EngineConfig;
use trantor_model::EggId;
use trantor_protocol::text::{Cut, Dialect, LineCutter};
use trantor_time::RealTime;

use super::{Actor, CheckResult, Context, take_unsent};
use crate::access::TokenNumber;
use crate::fault::{Fault, FaultInjector};
use crate::picture::Picture;
use crate::replayed::Received;
use crate::rng::Rng;

/// See the module.
pub(crate) struct TextViewer {
    client: Client,
    cutter: LineCutter,
    /// Lines of this connection that the client could not use.
    ignored: u64,
    /// The dialect sends inventories of existing agents.
    has_inventories: bool,
    /// Older eggs are not sent to it.
    first_egg: EggId,
    /// There are so many text viewers that the engine serves them in rotation.
    is_rotated: bool,
    /// Lines to be compared with a replay of the journal.
    received: Option<Received>,
    /// The playback that it watches was moved by a seek.
    has_seeked: bool,
    is_over: bool,
    worlds_compared: u64,
    tokens_refused: u64,
    /// Its token was refused.
    is_refused: bool,
}

impl TextViewer {
    pub(crate) fn new(config: &EngineConfig, is_rotated: bool) -> Self {
        Self {
            client: client(None, RealTime::ZERO),
            cutter: LineCutter::new(),
            ignored: 0,
            has_inventories: !matches!(config.dialect, Dialect::French42 | Dialect::English42),
            first_egg: config.first_egg_told(),
            is_rotated,
            received: None,
            has_seeked: false,
            is_over: true,
            worlds_compared: 0,
            tokens_refused: 0,
            is_refused: false,
        }
    }

    fn line(&mut self, line: &[u8], context: &Context<'_>) -> CheckResult {
        if let Some(received) = &mut self.received {
            received.push(line);
        }
        if line.starts_with(b"tna ")
            && let LinkState::Loading { tiles, of } = self.client.link(context.now)
            && tiles < of
        {
            return Err("a text viewer received teams before all tiles".to_owned());
        }
        self.client.handle(&[line, b"\n"].concat(), context.now);
        while let Some(event) = self.client.poll_event() {
            let ClientEvent::Ended { error, .. } = event else {
                continue;
            };
            self.is_over = true;
            match error {
                Some(ProtocolError::TokenRefused) if context.allowed.is_token_refused => {
                    self.tokens_refused += 1;
                    self.is_refused = true;
                }
                None | Some(ProtocolError::Silent { .. } | ProtocolError::NotReading) => {}
                Some(error) => return Err(format!("a text viewer failed: {error}")),
            }
        }
        let stats = self.client.stats(context.now);
        let ignored = stats.ignored + stats.ignored_lines;
        let is_new = std::mem::replace(&mut self.ignored, ignored) < ignored;
        // An elevation may have begun before it connected.
        match is_new && !line.starts_with(b"pie ") {
            true => Err(format!(
                "a text viewer cannot use {:?}",
                String::from_utf8_lossy(line)
            )),
            false => Ok(()),
        }
    }
}

impl Actor for TextViewer {
    fn connected(&mut self, token: Option<TokenNumber>, now: RealTime) {
        self.client = client(token, now);
        self.cutter = LineCutter::new();
        self.ignored = 0;
        self.is_refused = false;
        self.is_over = false;
    }

    fn receive(
        &mut self,
        mut bytes: &[u8],
        context: &Context<'_>,
        injector: &mut FaultInjector,
    ) -> CheckResult {
        // The text protocol cannot take back a victory.
        self.has_seeked |= context.has_seeked;
        let ground_fault = match self.is_rotated {
            true => Fault::DroppedRotatedLine,
            false => Fault::DroppedLine,
        };
        let mut cutter = std::mem::take(&mut self.cutter);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(cut) = cutter.next(&mut bytes)
        {
            let fault = match cut {
                Cut::Line(line) if line.starts_with(b"bct ") => Some(ground_fault),
                Cut::Line(line) if line.starts_with(b"pbc ") => Some(Fault::DroppedBroadcast),
                _ => None,
            };
            result = match cut {
                _ if fault.is_some_and(|fault| injector.injects(fault)) => Ok(()),
                Cut::Line(line) => self.line(line, context),
                Cut::TooLong => Err("the server sent an overlong line".to_owned()),
            };
        }
        self.cutter = cutter;
        result
    }

    fn act(&mut self, context: &Context<'_>, _: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.client.next_timeout().is_some_and(|at| at <= context.now) {
            self.client.handle_timeout(context.now);
        }
        take_unsent(&mut self.client, out);
        !self.is_refused
    }

    fn wake(&self) -> Option<RealTime> {
        self.client.next_timeout()
    }

    fn wind_down(&mut self) {}

    fn disconnected(&mut self, now: RealTime) {
        self.client.closed("the connection broke", now);
        self.is_over = true;
    }

    fn check_done(&self, _: RealTime) -> CheckResult {
        match self.is_over || self.knows_world() {
            true => Ok(()),
            false => Err("a text viewer never received the world".to_owned()),
        }
    }

    fn tokens_refused(&self) -> u64 {
        self.tokens_refused
    }

    fn worlds_compared(&self) -> u64 {
        self.worlds_compared
    }

    fn knows_world(&self) -> bool {
        !self.is_over && self.client.newest_world().is_some()
    }

    fn take_received(&mut self) -> Option<Received> {
        self.received.take()
    }

    fn check_world(&mut self, truth: &Picture, steps: Option<u64>) -> CheckResult {
        self.worlds_compared += 1;
        let newest = self.client.newest_world().ok_or("the world is missing")?;
        let newest = Picture::of_viewer(&newest.map_err(|error| error.to_string())?);
        let difference = truth.difference_in_text(&newest, self.first_egg, self.has_inventories);
        if let Some(difference) = difference {
            return Err(format!(
                "the world of a text viewer differs from the server's: {difference}"
            ));
        }
        if truth.has_winner() != newest.has_winner() && !self.has_seeked {
            return Err("a text viewer received another victory".to_owned());
        }
        if let Some(steps) = steps {
            let received = self.received.get_or_insert(Received::from(steps));
            received.note_all_until(steps);
        }
        Ok(())
    }
}

fn client(token: Option<TokenNumber>, now: RealTime) -> Client {
    let config = ClientConfig {
        language: Language::Text,
        program: "sim".to_owned(),
        token: token.map(TokenNumber::text),
    };
    Client::new(config, now)
}
