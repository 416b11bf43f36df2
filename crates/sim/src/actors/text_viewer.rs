//! Our viewer over the text protocol.

use trantor_client::{Client, ClientConfig, ClientEvent, Language, ProtocolError};
use trantor_model::{AgentId, Level, Tile};
use trantor_time::RealTime;

use super::{Actor, Moment, Verdict, take_unsent};
use crate::dice::Dice;
use crate::fault::Sabotage;

/// See the module.
pub(crate) struct TextViewer {
    client: Client,
}

impl TextViewer {
    pub(crate) fn new() -> Self {
        Self {
            client: client(RealTime::ZERO),
        }
    }
}

impl Actor for TextViewer {
    fn opened(&mut self, now: RealTime) {
        self.client = client(now);
    }

    fn hear(&mut self, bytes: &[u8], moment: &Moment<'_>, _: &mut Sabotage) -> Verdict {
        self.client.handle(bytes, moment.now);
        while let Some(event) = self.client.poll_event() {
            if let ClientEvent::Ended {
                error: Some(error), ..
            } = event
                && !matches!(error, ProtocolError::Silent { .. } | ProtocolError::NotReading)
            {
                return Err(format!("a viewer in text ended: {error}"));
            }
        }
        Ok(())
    }

    fn act(&mut self, moment: &Moment<'_>, _: &mut Dice, out: &mut Vec<u8>) -> bool {
        if self.client.next_timeout().is_some_and(|at| at <= moment.now) {
            self.client.handle_timeout(moment.now);
        }
        take_unsent(&mut self.client, out);
        true
    }

    fn wake(&self) -> Option<RealTime> {
        self.client.next_timeout()
    }

    fn rest(&mut self) {}

    fn gone(&mut self, now: RealTime) {
        self.client.closed("the connection broke", now);
    }

    fn check_world(&self, places: &[(AgentId, Tile, Level)]) -> Verdict {
        let Some(mirror) = self.client.mirror() else {
            return Ok(());
        };
        let mut told: Vec<_> = mirror
            .world()
            .agents()
            .map(|agent| (agent.view.id, agent.view.tile, agent.view.level))
            .collect();
        told.sort();
        if told == places {
            return Ok(());
        }
        Err(format!(
            "a viewer in text has agents at {told:?}, the world at {places:?}"
        ))
    }
}

fn client(now: RealTime) -> Client {
    let config = ClientConfig {
        language: Language::Text,
        program: "sim".to_owned(),
        token: None,
        shares_clock: false,
    };
    Client::new(config, now)
}
