//! Our viewer in frames: the real client, with every frame looked at on its way in.
//!
//! At each end mark the newest world that the client received is compared with a picture that was taken of the world at that tick,
//! however long the marks were under way.

use trantor_client::{Client, ClientConfig, ClientEvent, ControlRequest, Language, ProtocolError, Scene};
use trantor_protocol::wire::{FrameCutter, StepKind, ToClient, read_frame};
use trantor_time::{GameTime, RealSpan, RealTime};

use super::{Actor, CheckResult, Moment, take_unsent};
use crate::access::TokenNumber;
use crate::fault::{Fault, Sabotage};
use crate::picture::Picture;
use crate::rng::Rng;

/// See the module.
pub(crate) struct Viewer {
    client: Client,
    scene: Scene,
    cutter: FrameCutter,
    is_greeted: bool,
    /// Bytes of a frame whose end has not come, kept back while frames may be dropped.
    held: Vec<u8>,
    /// Whether the client has a world and no other is being sent.
    has_world: bool,
    is_meddling: bool,
    is_resting: bool,
    is_over: bool,
    wake: Option<RealTime>,
    ticks_compared: u64,
    tokens_refused: u64,
}

impl Viewer {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self {
            client: client(None, RealTime::ZERO),
            scene: Scene::default(),
            cutter: FrameCutter::new::<ToClient>(),
            is_greeted: false,
            held: Vec::new(),
            has_world: false,
            is_meddling: rng.one_in(3),
            is_resting: false,
            is_over: true,
            wake: None,
            ticks_compared: 0,
            tokens_refused: 0,
        }
    }

    fn feed(&mut self, bytes: &[u8], now: RealTime) -> CheckResult {
        self.client.handle(bytes, now);
        while let Some(event) = self.client.poll_event() {
            if let ClientEvent::Ended { error, .. } = event {
                self.is_over = true;
                return match error {
                    None | Some(ProtocolError::Silent { .. } | ProtocolError::NotReading) => Ok(()),
                    Some(error) => Err(format!("a viewer ended: {error}")),
                };
            }
        }
        Ok(())
    }

    /// Looks at a message that the client has taken.
    fn judge(&mut self, message: &ToClient, moment: &Moment<'_>) -> CheckResult {
        match message {
            ToClient::Hello(hello) => {
                let may_be = match hello.may_control {
                    true => moment.allowed.once,
                    false => !moment.allowed.always,
                };
                if !may_be {
                    return Err(format!(
                        "a viewer was told that it may control: {}",
                        hello.may_control
                    ));
                }
            }
            ToClient::Refused { reason, .. } if reason == "this is not the server's token" => {
                self.tokens_refused += 1;
                if !moment.allowed.is_token_refused {
                    return Err("a viewer was refused for the right token".to_owned());
                }
            }
            ToClient::Snapshot(_) => self.has_world = false,
            ToClient::SnapshotEnd { .. } => self.has_world = true,
            ToClient::TickEnd { number } if self.has_world => {
                let ticked = moment
                    .pictures
                    .get(number)
                    .ok_or_else(|| format!("tick {number} was told and never ran"))?;
                if moment.now < ticked.at + moment.delay {
                    return Err(format!("tick {number} was told sooner than it should"));
                }
                // One that was too slow is told nothing until it gets the world anew, and knows it by that.
                if !ticked.up_to_date.contains(&moment.conn) {
                    return Ok(());
                }
                let newest = self
                    .client
                    .newest_world()
                    .ok_or("a world came and is not there")?;
                let newest = newest.map_err(|error| format!("a viewer ended: {error}"))?;
                if let Some(difference) = ticked.picture.difference(&Picture::of_viewer(&newest)) {
                    return Err(format!(
                        "after tick {number} the viewer's world is not the world: {difference}"
                    ));
                }
                self.ticks_compared += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn meddle(&mut self, rng: &mut Rng) {
        let request = match rng.below(7) {
            // Refused, but of a recording.
            6 => {
                let to = GameTime::from_units(i64::from(rng.below(1_000)));
                let _refusal = self.client.seek(to);
                return;
            }
            0 => ControlRequest::SetFrequency(rng.between(0, 2_000)),
            1 => ControlRequest::Pause,
            2 => ControlRequest::Resume,
            3 => ControlRequest::Step(StepKind::Unit),
            4 => ControlRequest::Step(StepKind::Action),
            _ => ControlRequest::Step(StepKind::Event),
        };
        // What makes no sense at the moment is refused, as it is to a person.
        let _refusal = self.client.request(request);
    }
}

impl Actor for Viewer {
    fn opened(&mut self, token: Option<TokenNumber>, now: RealTime) {
        self.client = client(token, now);
        self.cutter = FrameCutter::new::<ToClient>();
        self.is_greeted = false;
        self.held.clear();
        self.has_world = false;
        self.is_over = false;
        self.wake = Some(now);
    }

    fn hear(&mut self, bytes: &[u8], moment: &Moment<'_>, sabotage: &mut Sabotage) -> CheckResult {
        let mut rest = bytes;
        if !self.is_greeted {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (greeting, frames) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            self.is_greeted = end.is_some();
            self.feed(greeting, moment.now)?;
            rest = frames;
        }
        let may_drop = [Fault::DroppedAck, Fault::DroppedDelta, Fault::DroppedPiece]
            .into_iter()
            .any(|fault| sabotage.is(fault));
        let mut cutter = std::mem::replace(&mut self.cutter, FrameCutter::new::<ToClient>());
        while !rest.is_empty() && !self.is_over {
            let before = rest;
            let frame = cutter.next(&mut rest).map_err(|error| error.to_string())?;
            let message: Option<ToClient> = match frame {
                Some(frame) => Some(read_frame(frame).map_err(|error| error.to_string())?),
                None => None,
            };
            let part = &before[..before.len() - rest.len()];
            let Some(message) = message else {
                if may_drop {
                    self.held.extend_from_slice(part);
                } else {
                    self.feed(part, moment.now)?;
                }
                continue;
            };
            let dropped = match &message {
                ToClient::Ack { .. } => {
                    sabotage.strikes(Fault::DroppedAck)
                        || (sabotage.is(Fault::DroppedAck) && sabotage.has_struck())
                }
                ToClient::Changes { .. } => sabotage.strikes(Fault::DroppedDelta),
                ToClient::Snapshot(_) => sabotage.strikes(Fault::DroppedPiece),
                _ => false,
            };
            let held = std::mem::take(&mut self.held);
            if dropped {
                continue;
            }
            self.feed(&held, moment.now)?;
            self.feed(part, moment.now)?;
            self.judge(&message, moment)?;
        }
        self.cutter = cutter;
        Ok(())
    }

    fn act(&mut self, moment: &Moment<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.client.next_timeout().is_some_and(|at| at <= moment.now) {
            self.client.handle_timeout(moment.now);
        }
        if self.wake.is_some_and(|at| at <= moment.now) {
            // About as often as a display shows a frame, and as a person does something.
            self.wake = Some(moment.now + RealSpan::from_millis(i64::from(rng.between(20, 90))));
            self.client.scene(moment.now, &mut self.scene);
            while self.client.poll_feed().is_some() {}
            if self.is_meddling && !self.is_resting && rng.one_in(4) {
                self.meddle(rng);
            }
        }
        take_unsent(&mut self.client, out);
        true
    }

    fn wake(&self) -> Option<RealTime> {
        if self.is_over {
            return None;
        }
        let timeout = self.client.next_timeout();
        self.wake.into_iter().chain(timeout).min()
    }

    fn rest(&mut self) {
        self.is_resting = true;
    }

    fn gone(&mut self, now: RealTime) {
        self.client.closed("the connection broke", now);
        self.is_over = true;
    }

    fn check_quiet(&self, now: RealTime) -> CheckResult {
        match self.client.stats(now).unacknowledged {
            0 => Ok(()),
            _ if self.is_over => Ok(()),
            count => Err(format!("{count} messages were never acknowledged")),
        }
    }

    fn tokens_refused(&self) -> u64 {
        self.tokens_refused
    }

    fn mirrors_compared(&self) -> u64 {
        self.ticks_compared
    }

    fn check_done(&self, _: RealTime) -> CheckResult {
        if self.is_over || (self.has_world && self.client.newest_world().is_some()) {
            return Ok(());
        }
        Err("a viewer never got the world".to_owned())
    }
}

fn client(token: Option<TokenNumber>, now: RealTime) -> Client {
    let config = ClientConfig {
        language: Language::Frames,
        program: "sim".to_owned(),
        token: token.map(TokenNumber::text),
    };
    Client::new(config, now)
}
