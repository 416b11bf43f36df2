//! Our viewer over the text protocol: the real client, with every line looked at on its way in.
//!
//! Whenever nothing is under way to it, it must know the world as it is; all of it, by the lines and in the client.

use trantor_client::{Client, ClientConfig, ClientEvent, Language, ProtocolError};
use trantor_engine::EngineConfig;
use trantor_model::EggId;
use trantor_time::RealTime;

use super::hearsay::Hearsay;
use super::{Actor, Moment, Verdict, take_unsent};
use crate::access::TokenNumber;
use crate::dice::Dice;
use crate::fault::{Fault, Sabotage};
use crate::picture::Picture;
use crate::replayed::Received;

/// See the module.
pub(crate) struct TextViewer {
    client: Client,
    hearsay: Hearsay,
    /// Eggs before this one are not mentioned to it.
    first_egg: EggId,
    /// Whether there are so many that it hears of things in turn with others.
    takes_turns: bool,
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
            hearsay: Hearsay::default(),
            first_egg: config.first_egg_told(),
            takes_turns,
            is_over: true,
            worlds_compared: 0,
            tokens_refused: 0,
            is_refused: false,
        }
    }

    /// A recording that it watches was moved.
    pub(crate) fn jumped(&mut self) {
        self.hearsay.jumped();
    }

    /// The client has not more, nor less, than it was told.
    fn compare_client(&self, truth: &Picture) -> Verdict {
        let Some(Ok(world)) = self.client.newest_world() else {
            return Ok(());
        };
        let mut agents: Vec<_> = world
            .agents()
            .map(|agent| (agent.view.id, agent.view.tile, agent.view.level))
            .collect();
        agents.sort();
        let there: Vec<_> = truth
            .agents()
            .map(|view| (view.id, view.tile, view.level))
            .collect();
        if agents != there && !truth.is_over() {
            return Err(format!(
                "a viewer in text has agents at {agents:?}, the world at {there:?}"
            ));
        }
        let mut eggs: Vec<_> = world.eggs().map(|egg| (egg.egg, egg.tile)).collect();
        eggs.sort();
        let there: Vec<_> = truth.eggs_from(self.first_egg).collect();
        if eggs != there {
            return Err(format!("a viewer in text has eggs {eggs:?}, the world {there:?}"));
        }
        match world.ground() == truth.ground() {
            true => Ok(()),
            false => Err("a viewer in text has other things on the ground than the world".to_owned()),
        }
    }
}

impl Actor for TextViewer {
    fn opened(&mut self, token: Option<TokenNumber>, now: RealTime) {
        self.client = client(token, now);
        self.is_refused = false;
        self.hearsay = Hearsay::default();
        self.is_over = false;
    }

    fn hear(&mut self, bytes: &[u8], moment: &Moment<'_>, sabotage: &mut Sabotage) -> Verdict {
        self.client.handle(bytes, moment.now);
        while let Some(event) = self.client.poll_event() {
            let ClientEvent::Ended { error, .. } = event else {
                continue;
            };
            self.is_over = true;
            if error == Some(ProtocolError::TokenRefused) && moment.allowed.is_token_refused {
                self.tokens_refused += 1;
                self.is_refused = true;
                return Ok(());
            }
            if let Some(error) = error
                && !matches!(error, ProtocolError::Silent { .. } | ProtocolError::NotReading)
            {
                return Err(format!("a viewer in text ended: {error}"));
            }
        }
        let fault = match self.takes_turns {
            true => Fault::DroppedLateLine,
            false => Fault::DroppedLine,
        };
        self.hearsay.hear(bytes, fault, sabotage)
    }

    fn act(&mut self, moment: &Moment<'_>, _: &mut Dice, out: &mut Vec<u8>) -> bool {
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

    fn check_done(&self, _: RealTime) -> Verdict {
        match self.is_over || self.hearsay.is_whole() {
            true => Ok(()),
            false => Err("a viewer in text was never told the world".to_owned()),
        }
    }

    fn tokens_refused(&self) -> u64 {
        self.tokens_refused
    }

    fn worlds_compared(&self) -> u64 {
        self.worlds_compared
    }

    fn knows_world(&self) -> bool {
        !self.is_over && self.hearsay.is_whole()
    }

    fn take_received(&mut self) -> Option<Received> {
        self.hearsay.received.take()
    }

    fn check_world(&mut self, truth: &Picture, steps: Option<u64>) -> Verdict {
        self.worlds_compared += 1;
        self.hearsay.compare(truth, self.first_egg)?;
        if let Some(steps) = steps {
            let received = self.hearsay.received.get_or_insert(Received::from(steps));
            received.note_all_until(steps);
        }
        self.compare_client(truth)
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
