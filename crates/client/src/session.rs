//! A session with a server of ours: how it begins, its bytes, its time-outs.
//!
//! What its messages do once we are let in is [`crate::joined`]'s. Any error ends the connection
//! ([`crate::client`] does that); nothing here is retried. Text sessions with other servers are in
//! [`crate::gui_text`].

use trantor_model::{AgentId, CommandKind};
use trantor_protocol::FrameError;
use trantor_protocol::wire::{
    ClientHello, FrameCutter, ServerHello, ToClient, ToServer, WIRE_VERSION, WIRE_WORD, read_frame,
};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::acks::Acks;
use crate::client::{ClientConfig, ClientEvent, Ending, Events};
use crate::clock_sync::ClockSync;
use crate::control::{Control, ControlError, ControlRequest};
use crate::error::{ProtocolError, WorldError};
use crate::joined::{Context, Joined};
use crate::link::{Greeting, readable, write_first_line};
use crate::outbox::Outbox;
use crate::recording::Recording;
use crate::scene::{LinkState, Scene};
use crate::stats::ClientStats;
use crate::timeline::Timeline;
use crate::world::World;

/// How long a server may take from the connection to its hello: longer than a way there and back that is made as long
/// as it can be asked for, and shorter than the minute after which a server gives up.
pub const HANDSHAKE_MAX: RealSpan = RealSpan::from_secs(25);

/// Quiet after which the user is told. Ticks come twenty times a second while somebody watches.
pub const SILENT_AFTER: RealSpan = RealSpan::from_millis(1_500);

/// Quiet after which the connection is given up: three rounds of probes without any answer.
pub const SILENT_MAX: RealSpan = RealSpan::from_secs(30);

/// Teams shown. Far more than a game has; each has a line in every frame.
pub const TEAMS_MAX: usize = 1_024;

/// A connection to a server of ours.
#[derive(Debug)]
pub struct WireSession {
    config: ClientConfig,
    phase: Phase,
    cutter: FrameCutter,
    clock: ClockSync,
    acks: Acks,
    outbox: Outbox,
    opened: RealTime,
    heard: RealTime,
    stats: ClientStats,
}

#[derive(Debug)]
enum Phase {
    /// The greeting is awaited.
    Greeting(Greeting),
    /// Our hello left at this instant.
    Hello(RealTime),
    /// Welcome.
    Joined(Box<Joined>),
}

impl WireSession {
    /// A connection that was opened at `now`. Nothing is sent before the greeting.
    pub fn new(config: ClientConfig, now: RealTime) -> Self {
        Self {
            config,
            phase: Phase::Greeting(Greeting::default()),
            cutter: FrameCutter::new::<ToClient>(),
            clock: ClockSync::new(),
            acks: Acks::new(),
            outbox: Outbox::default(),
            opened: now,
            heard: now,
            stats: ClientStats::default(),
        }
    }

    /// Takes bytes from the server.
    ///
    /// # Errors
    /// How and why the connection ends, if it does.
    pub fn handle(&mut self, mut bytes: &[u8], now: RealTime, events: &mut Events) -> Result<(), Ending> {
        self.heard = self.heard.max(now);
        self.stats.bytes_in = self.stats.bytes_in.saturating_add(bytes.len() as u64);
        if let Phase::Greeting(greeting) = &mut self.phase {
            if !greeting.take(&mut bytes)? {
                return Ok(());
            }
            self.say_hello(now);
        }
        if matches!(self.phase, Phase::Hello(_)) && bytes.starts_with(b"ko\n") {
            return Err(ProtocolError::SpeaksText.into());
        }
        // The cutter is taken out so that a frame that borrows from it can be handled with all the rest.
        let mut cutter = std::mem::replace(&mut self.cutter, FrameCutter::new::<ToClient>());
        let result = self.handle_frames(&mut cutter, bytes, now, events);
        self.cutter = cutter;
        result
    }

    fn handle_frames(
        &mut self,
        cutter: &mut FrameCutter,
        mut bytes: &[u8],
        now: RealTime,
        events: &mut Events,
    ) -> Result<(), Ending> {
        let is_first = matches!(self.phase, Phase::Hello(_));
        let ended = |error| match error {
            // Text, taken for a length: a server that knows no `TRANTOR` may take it for the name of a team.
            FrameError::TooLong { .. } if is_first => ProtocolError::SpeaksText,
            error => error.into(),
        };
        while let Some(frame) = cutter.next(&mut bytes).map_err(ended)? {
            let message = read_frame(frame).map_err(ProtocolError::from)?;
            self.stats.messages_in = self.stats.messages_in.saturating_add(1);
            self.take(message, now, events)?;
        }
        Ok(())
    }

    /// Does what is due at `now`.
    ///
    /// # Errors
    /// If the server took too long.
    pub fn handle_timeout(&mut self, now: RealTime, _: &mut Events) -> Result<(), Ending> {
        if self.silence_ends_at() <= now {
            let secs = now.since(self.heard).as_nanos() / trantor_time::units::NANOS;
            return Err(ProtocolError::Silent { secs }.into());
        }
        if self.outbox.is_full() {
            return Err(ProtocolError::NotReading.into());
        }
        if matches!(self.phase, Phase::Joined(_))
            && let Some(token) = self.clock.poll_probe(now)
        {
            self.send(&ToServer::Probe { token });
        }
        Ok(())
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> RealTime {
        let probe = self.clock.next_probe_at().unwrap_or(RealTime::MAX);
        self.silence_ends_at().min(probe)
    }

    /// What is to be sent.
    pub fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// Asks the server for another speed, a pause or a step.
    ///
    /// # Errors
    /// If it makes no sense to ask.
    pub fn request(&mut self, request: ControlRequest) -> Result<(), ControlError> {
        let Phase::Joined(joined) = &mut self.phase else {
            return Err(ControlError::NotConnected);
        };
        if let Some(message) = joined.control_mut().request(request, &mut self.acks)? {
            self.outbox.write_message(&message);
        }
        Ok(())
    }

    /// Speed and pause under the user's hand, once there is a server to ask.
    pub fn control(&self) -> Option<&Control> {
        match &self.phase {
            Phase::Joined(joined) => Some(joined.control()),
            _ => None,
        }
    }

    /// Asks the server to move its recording to this moment.
    ///
    /// # Errors
    /// If there is none, or the server does not listen to this viewer.
    pub fn seek(&mut self, to: GameTime) -> Result<(), ControlError> {
        let Phase::Joined(joined) = &mut self.phase else {
            return Err(ControlError::NotConnected);
        };
        if let Some(message) = joined.seek(to, &mut self.acks)? {
            self.outbox.write_message(&message);
        }
        Ok(())
    }

    /// Asks to be told which commands of an agent wait for their turn.
    ///
    /// # Errors
    /// If there is no server to ask.
    pub fn watch(&mut self, agent: Option<AgentId>) -> Result<(), ControlError> {
        let Phase::Joined(joined) = &mut self.phase else {
            return Err(ControlError::NotConnected);
        };
        joined.forget_waiting();
        self.send(&ToServer::Watch { agent });
        Ok(())
    }

    /// The commands that wait for their turn, of the agent watched, once they were told.
    pub fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        match &self.phase {
            Phase::Joined(joined) => joined.waiting(),
            _ => None,
        }
    }

    /// The recording that the server plays, if it does.
    pub fn recording(&self) -> Option<&Recording> {
        match &self.phase {
            Phase::Joined(joined) => joined.recording(),
            _ => None,
        }
    }

    /// Says goodbye.
    pub fn leave(&mut self) {
        if !matches!(self.phase, Phase::Greeting(_)) {
            self.send(&ToServer::Goodbye);
        }
    }

    /// What is shown, with its feed.
    pub fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        match &mut self.phase {
            Phase::Joined(joined) => joined.timeline_mut(),
            _ => None,
        }
    }

    /// The newest world received.
    pub fn newest_world(&self) -> Option<Result<World, WorldError>> {
        match &self.phase {
            Phase::Joined(joined) => Some(joined.timeline()?.newest_world()),
            _ => None,
        }
    }

    /// Writes the scene of `now`.
    ///
    /// # Errors
    /// How and why the connection ends, if a change that is due cannot be.
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) -> Result<(), Ending> {
        scene.link = self.link(now);
        if let Phase::Joined(joined) = &mut self.phase {
            joined.scene(self.clock.server_at(now), scene)?;
        }
        Ok(())
    }

    /// How the connection stands.
    pub fn link(&self, now: RealTime) -> LinkState {
        let silent = now.since(self.heard);
        match &self.phase {
            Phase::Greeting(_) => LinkState::Connecting,
            Phase::Hello(_) => LinkState::Greeting,
            Phase::Joined(_) if silent > SILENT_AFTER => LinkState::Silent {
                for_ms: silent.as_nanos().unsigned_abs() / 1_000_000,
            },
            Phase::Joined(joined) => joined.link(now),
        }
    }

    /// Figures for the HUD.
    pub fn stats(&self, now: RealTime) -> ClientStats {
        let mut stats = self.stats.clone();
        stats.clock = self.clock.estimate(now);
        stats.network_age_ns = now.since(self.heard).as_nanos();
        stats.saturated = self.clock.saturated();
        stats.unacknowledged = self.acks.in_flight();
        if let Phase::Joined(joined) = &self.phase {
            joined.count(&mut stats);
        }
        stats
    }

    fn silence_ends_at(&self) -> RealTime {
        match self.phase {
            Phase::Joined(_) => self.heard.saturating_add(SILENT_MAX),
            _ => self.opened.saturating_add(HANDSHAKE_MAX),
        }
    }

    fn say_hello(&mut self, now: RealTime) {
        self.outbox
            .write(|out| write_first_line(out, WIRE_WORD, self.config.token.as_deref()));
        self.send(&ToServer::Hello(ClientHello {
            version: WIRE_VERSION,
            program: self.config.program.clone(),
        }));
        self.phase = Phase::Hello(now);
    }

    /// Counts and writes a message.
    fn send(&mut self, message: &ToServer) {
        self.acks.send();
        self.outbox.write_message(message);
    }

    fn take(&mut self, message: ToClient, now: RealTime, events: &mut Events) -> Result<(), Ending> {
        match (&mut self.phase, message) {
            (Phase::Hello(sent), ToClient::Hello(hello)) => {
                let sent = *sent;
                self.join(hello, sent, now, events)?;
            }
            (Phase::Hello(_), ToClient::Refused { reason, .. } | ToClient::Goodbye { reason })
            | (Phase::Joined(_), ToClient::Goodbye { reason }) => {
                return Err(Ending::Told(readable(&reason)));
            }
            (Phase::Joined(_), ToClient::Hello(_)) => {
                return Err(out_of_place("a second hello", "after the first"));
            }
            (Phase::Joined(joined), message) => {
                let mut context = Context {
                    clock: &mut self.clock,
                    acks: &mut self.acks,
                    outbox: &mut self.outbox,
                    stats: &mut self.stats,
                    events,
                    now,
                };
                joined.take(message, &mut context)?;
            }
            (Phase::Greeting(_) | Phase::Hello(_), _) => {
                return Err(out_of_place("a message", "before the server's hello"));
            }
        }
        Ok(())
    }

    fn join(
        &mut self,
        hello: ServerHello,
        sent: RealTime,
        now: RealTime,
        events: &mut Events,
    ) -> Result<(), ProtocolError> {
        if hello.version != WIRE_VERSION {
            return Err(ProtocolError::OtherVersion {
                theirs: hello.version,
                ours: WIRE_VERSION,
            });
        }
        if hello.tick_period_us == 0 {
            return Err(ProtocolError::BadHello {
                what: "its ticks take no time",
            });
        }
        if hello.teams.len() > TEAMS_MAX {
            return Err(ProtocolError::TooMuch {
                what: "teams",
                max: TEAMS_MAX,
            });
        }
        if self.config.shares_clock {
            self.clock.share_exactly(hello.since_reference_us, now);
        } else {
            self.clock.handshake(sent, hello.since_reference_us, now);
        }
        events.push(ClientEvent::Welcome {
            program: readable(&hello.program),
            teams: hello.teams.iter().map(|name| readable(name)).collect(),
            size: hello.size,
            may_control: hello.may_control,
            ticks: hello.last_tick.map_or(0, |(number, _)| number.saturating_add(1)),
        });
        let rtt_ns = self.clock.estimate(now).rtt_best_ns;
        self.phase = Phase::Joined(Box::new(Joined::new(hello, rtt_ns, now)));
        Ok(())
    }
}

fn out_of_place(what: &'static str, when: &'static str) -> Ending {
    ProtocolError::OutOfPlace { what, when }.into()
}
