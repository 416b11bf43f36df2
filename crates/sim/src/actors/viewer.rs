//! The real client over the wire protocol; every frame is inspected on its way in.
//!
//! At each `TickEnd` the client's newest world is compared with the server's world at that tick, whatever the latency.

use trantor_client::{Client, ClientConfig, ClientEvent, ControlRequest, Language, ProtocolError, Scene};
use trantor_protocol::wire::{FrameCutter, StepKind, ToClient, read_frame};
use trantor_time::{GameTime, RealSpan, RealTime};

use super::{Actor, CheckResult, Context, take_unsent};
use crate::access::TokenNumber;
use crate::fault::{Fault, FaultInjector};
use crate::picture::{Picture, Ticked};
use crate::rng::Rng;

/// See the module.
pub(crate) struct Viewer {
    client: Client,
    scene: Scene,
    cutter: FrameCutter,
    is_greeted: bool,
    /// An incomplete frame, held back while frames may be dropped.
    held: Vec<u8>,
    /// The client has a world and is not loading another.
    has_world: bool,
    sends_requests: bool,
    is_winding_down: bool,
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
            sends_requests: rng.one_in(3),
            is_winding_down: false,
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
                    Some(error) => Err(format!("a viewer failed: {error}")),
                };
            }
        }
        Ok(())
    }

    fn check_message(&mut self, message: &ToClient, context: &Context<'_>) -> CheckResult {
        match message {
            ToClient::Hello(hello) => {
                let may_be = match hello.may_control {
                    true => context.allowed.once,
                    false => !context.allowed.always,
                };
                if !may_be {
                    return Err(format!(
                        "a viewer's hello has may_control = {}",
                        hello.may_control
                    ));
                }
            }
            ToClient::Refused { reason, .. } if reason == "this is not the server's token" => {
                self.tokens_refused += 1;
                if !context.allowed.is_token_refused {
                    return Err("a viewer was refused for the right token".to_owned());
                }
            }
            ToClient::Snapshot(_) => self.has_world = false,
            ToClient::SnapshotEnd { .. } => self.has_world = true,
            ToClient::TickEnd { number } if self.has_world => {
                let ticked = context.pictures.get(number);
                // A viewer that was too slow gets a new snapshot instead of changes.
                let sent_all =
                    |ticked: &&Ticked| context.conn.is_some_and(|conn| ticked.up_to_date.contains(&conn));
                if let Some(ticked) = ticked.filter(sent_all) {
                    self.check_world(&ticked.picture, None)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn send_random_request(&mut self, rng: &mut Rng) {
        let request = match rng.below(7) {
            // Refused unless a recording is played.
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
        // A refusal is a valid answer.
        let _refusal = self.client.request(request);
    }
}

impl Actor for Viewer {
    fn connected(&mut self, token: Option<TokenNumber>, now: RealTime) {
        self.client = client(token, now);
        self.cutter = FrameCutter::new::<ToClient>();
        self.is_greeted = false;
        self.held.clear();
        self.has_world = false;
        self.is_over = false;
        self.wake = Some(now);
    }

    fn receive(&mut self, bytes: &[u8], context: &Context<'_>, injector: &mut FaultInjector) -> CheckResult {
        let mut rest = bytes;
        if !self.is_greeted {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (greeting, frames) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
            self.is_greeted = end.is_some();
            self.feed(greeting, context.now)?;
            rest = frames;
        }
        let may_drop = [Fault::DroppedAck, Fault::DroppedDelta, Fault::DroppedSnapshotPart]
            .into_iter()
            .any(|fault| injector.is(fault));
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
                    self.feed(part, context.now)?;
                }
                continue;
            };
            let dropped = match &message {
                ToClient::Ack { .. } => {
                    injector.injects(Fault::DroppedAck)
                        || (injector.is(Fault::DroppedAck) && injector.has_injected())
                }
                ToClient::Changes { .. } => injector.injects(Fault::DroppedDelta),
                ToClient::Snapshot(_) => injector.injects(Fault::DroppedSnapshotPart),
                _ => false,
            };
            let held = std::mem::take(&mut self.held);
            if dropped {
                continue;
            }
            self.feed(&held, context.now)?;
            self.feed(part, context.now)?;
            self.check_message(&message, context)?;
        }
        self.cutter = cutter;
        Ok(())
    }

    fn act(&mut self, context: &Context<'_>, rng: &mut Rng, out: &mut Vec<u8>) -> bool {
        if self.client.next_timeout().is_some_and(|at| at <= context.now) {
            self.client.handle_timeout(context.now);
        }
        if self.wake.is_some_and(|at| at <= context.now) {
            // About the frame rate of a display, and the rate of a person's actions.
            self.wake = Some(context.now + RealSpan::from_millis(i64::from(rng.between(20, 90))));
            self.client.scene(context.now, &mut self.scene);
            while self.client.poll_feed().is_some() {}
            if self.sends_requests && !self.is_winding_down && rng.one_in(4) {
                self.send_random_request(rng);
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

    fn wind_down(&mut self) {
        self.is_winding_down = true;
    }

    fn disconnected(&mut self, now: RealTime) {
        self.client.closed("the connection broke", now);
        self.is_over = true;
    }

    fn check_quiet(&self, now: RealTime) -> CheckResult {
        match self.client.stats(now).unacknowledged {
            0 => Ok(()),
            _ if self.is_over => Ok(()),
            count => Err(format!("{count} requests were never acknowledged")),
        }
    }

    fn tokens_refused(&self) -> u64 {
        self.tokens_refused
    }

    fn mirrors_compared(&self) -> u64 {
        self.ticks_compared
    }

    fn knows_world(&self) -> bool {
        !self.is_over && self.has_world
    }

    fn check_world(&mut self, truth: &Picture, _: Option<u64>) -> CheckResult {
        let newest = self
            .client
            .newest_world()
            .ok_or("the world is missing after its snapshot")?;
        let newest = newest.map_err(|error| format!("a viewer failed: {error}"))?;
        self.ticks_compared += 1;
        match truth.difference(&Picture::of_viewer(&newest)) {
            Some(difference) => Err(format!("the viewer's world differs: {difference}")),
            None => Ok(()),
        }
    }

    fn check_done(&self, _: RealTime) -> CheckResult {
        if self.is_over || (self.has_world && self.client.newest_world().is_some()) {
            return Ok(());
        }
        Err("a viewer never received the world".to_owned())
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
