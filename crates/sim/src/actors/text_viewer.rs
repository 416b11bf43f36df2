//! Our viewer over the text protocol: the real client, which is given whole lines.
//!
//! No line may be one that it cannot use, and whenever nothing is on its way to it, its world must be the server's.

use trantor_client::{Client, ClientConfig, ClientEvent, Language, LinkState, ProtocolError};
use trantor_engine::EngineConfig;
use trantor_model::EggId;
use trantor_protocol::text::{Cut, Dialect, LineCutter};
use trantor_time::RealTime;

use super::{Actor, CheckResult, Moment, take_unsent};
use crate::access::TokenNumber;
use crate::fault::{Fault, Sabotage};
use crate::picture::Picture;
use crate::replayed::Received;
use crate::rng::Rng;

/// See the module.
pub(crate) struct TextViewer {
    client: Client,
    cutter: LineCutter,
    /// Lines that the client could not use since it last connected.
    ignored: u64,
    /// Whether it is sent the inventories of agents that are there already.
    has_inventories: bool,
    /// Eggs before this one are not mentioned to it.
    first_egg: EggId,
    /// Whether there are so many that they are served in turns.
    takes_turns: bool,
    /// Lines to be compared with a replay of the journal.
    received: Option<Received>,
    /// A recording that it watches was moved.
    has_jumped: bool,
    is_over: bool,
    worlds_compared: u64,
    tokens_refused: u64,
    /// For its token; it goes.
    is_refused: bool,
}

impl TextViewer {
    pub(crate) fn new(config: &EngineConfig, takes_turns: bool) -> Self {
        Self {
            client: client(None, RealTime::ZERO),
            cutter: LineCutter::new(),
            ignored: 0,
            has_inventories: !matches!(config.dialect, Dialect::French42 | Dialect::English42),
            first_egg: config.first_egg_told(),
            takes_turns,
            received: None,
            has_jumped: false,
            is_over: true,
            worlds_compared: 0,
            tokens_refused: 0,
            is_refused: false,
        }
    }

    /// Gives the client a line.
    fn line(&mut self, line: &[u8], moment: &Moment<'_>) -> CheckResult {
        if let Some(received) = &mut self.received {
            received.push(line);
        }
        if line.starts_with(b"tna ")
            && let LinkState::Loading { tiles, of } = self.client.link(moment.now)
            && tiles < of
        {
            return Err("a viewer in text is sent teams before the whole map".to_owned());
        }
        self.client.handle(&[line, b"\n"].concat(), moment.now);
        while let Some(event) = self.client.poll_event() {
            let ClientEvent::Ended { error, .. } = event else {
                continue;
            };
            self.is_over = true;
            match error {
                Some(ProtocolError::TokenRefused) if moment.allowed.is_token_refused => {
                    self.tokens_refused += 1;
                    self.is_refused = true;
                }
                None | Some(ProtocolError::Silent { .. } | ProtocolError::NotReading) => {}
                Some(error) => return Err(format!("a viewer in text ended: {error}")),
            }
        }
        let stats = self.client.stats(moment.now);
        let ignored = stats.ignored + stats.ignored_lines;
        let is_new = std::mem::replace(&mut self.ignored, ignored) < ignored;
        // An elevation may have begun before it came.
        match is_new && !line.starts_with(b"pie ") {
            true => Err(format!(
                "a viewer in text cannot use {:?}",
                String::from_utf8_lossy(line)
            )),
            false => Ok(()),
        }
    }
}

impl Actor for TextViewer {
    fn opened(&mut self, token: Option<TokenNumber>, now: RealTime) {
        self.client = client(token, now);
        self.cutter = LineCutter::new();
        self.ignored = 0;
        self.is_refused = false;
        self.is_over = false;
    }

    fn hear(&mut self, mut bytes: &[u8], moment: &Moment<'_>, sabotage: &mut Sabotage) -> CheckResult {
        // A victory is not taken back.
        self.has_jumped |= moment.has_moved;
        let ground_fault = match self.takes_turns {
            true => Fault::DroppedLateLine,
            false => Fault::DroppedLine,
        };
        let mut cutter = std::mem::take(&mut self.cutter);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(cut) = cutter.next(&mut bytes)
        {
            let fault = match cut {
                Cut::Line(line) if line.starts_with(b"bct ") => Some(ground_fault),
                Cut::Line(line) if line.starts_with(b"pbc ") => Some(Fault::DroppedSaid),
                _ => None,
            };
            result = match cut {
                _ if fault.is_some_and(|fault| sabotage.strikes(fault)) => Ok(()),
                Cut::Line(line) => self.line(line, moment),
                Cut::TooLong => Err("the server sent a line without end".to_owned()),
            };
        }
        self.cutter = cutter;
        result
    }

    fn act(&mut self, moment: &Moment<'_>, _: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.client.next_timeout().is_some_and(|at| at <= moment.now) {
            self.client.handle_timeout(moment.now);
        }
        take_unsent(&mut self.client, out);
        !self.is_refused
    }

    fn wake(&self) -> Option<RealTime> {
        self.client.next_timeout()
    }

    fn rest(&mut self) {}

    fn gone(&mut self, now: RealTime) {
        self.client.closed("the connection broke", now);
        self.is_over = true;
    }

    fn check_done(&self, _: RealTime) -> CheckResult {
        match self.is_over || self.knows_world() {
            true => Ok(()),
            false => Err("a viewer in text was never sent the world".to_owned()),
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
        let newest = self.client.newest_world().ok_or("it knows the world")?;
        let newest = Picture::of_viewer(&newest.map_err(|error| error.to_string())?);
        let difference = truth.difference_in_text(&newest, self.first_egg, self.has_inventories);
        if let Some(difference) = difference {
            return Err(format!(
                "the world of a viewer in text is not the world: {difference}"
            ));
        }
        if truth.has_winner() != newest.has_winner() && !self.has_jumped {
            return Err("a viewer in text was sent another victory".to_owned());
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
