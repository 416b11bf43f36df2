//! A session with a server of ours: how it begins, its bytes and time-outs, and what each message does.
//!
//! Any error ends the connection ([`crate::client`] does that); nothing here is retried. What may be believed is
//! [`crate::checks`]'s. Text sessions with other servers are in [`crate::gui_text`].

use trantor_model::{AgentId, CommandKind};
use trantor_protocol::FrameError;
use trantor_protocol::limits::COMMANDS_WAITING_MAX;
use trantor_protocol::wire::{
    Change, ClientHello, ClockAnchor, FrameCutter, History, ServerHello, SnapshotPart, ToClient, ToServer,
    WIRE_VERSION, WIRE_WORD, read_frame,
};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::acks::Acks;
use crate::checks::{
    check_hello, check_history, check_recording, check_stats, check_time, check_times_of, check_times_of_part,
};
use crate::client::{ClientConfig, ClientEvent, CloseReason, Events};
use crate::clock_sync::{ClockSync, ServerTime};
use crate::control::{Control, ControlError, ControlRequest};
use crate::display_clock::{Anchor, DisplayClock};
use crate::error::{ProtocolError, StreamError, WorldError};
use crate::link::{Greeting, readable, write_first_line};
use crate::outbox::Outbox;
use crate::recording::Recording;
use crate::scene::{LinkState, Scene};
use crate::stats::ClientStats;
use crate::stream_time::StreamTime;
use crate::timeline::{Snapshot, Timeline};
use crate::world::World;

/// How long a server may take from the connection to its hello: longer than a way there and back that is made as long
/// as it can be asked for, and shorter than the minute after which a server gives up.
pub const HANDSHAKE_MAX: RealSpan = RealSpan::from_secs(25);

/// Silence after which the user is warned. Ticks come twenty times a second to a viewer.
pub const SILENT_AFTER: RealSpan = RealSpan::from_millis(1_500);

/// Silence after which the connection is closed: three rounds of probes without any answer.
pub const SILENT_MAX: RealSpan = RealSpan::from_secs(30);

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

/// All that begins with the server's hello.
#[derive(Debug)]
struct Joined {
    hello: ServerHello,
    /// When it came.
    at: RealTime,
    stream: StreamTime,
    control: Control,
    /// What is watched, if it is no game that is being played.
    recording: Option<Recording>,
    /// Waiting commands of the agent watched.
    waiting: Option<(AgentId, Vec<Option<CommandKind>>)>,
    /// What happened before the world that is being received.
    history: Option<History>,
    /// A world that is being received.
    loading: Option<Snapshot>,
    /// The world that is shown.
    timeline: Option<Timeline>,
    /// The clock of the world to come, until there is one.
    display: Option<DisplayClock>,
    anchor_us: Option<i64>,
    /// The instant of the last tick that is complete.
    complete_us: Option<i64>,
    tick_age_ns: i64,
}

/// What a message may change besides the world.
struct Context<'a> {
    clock: &'a mut ClockSync,
    acks: &'a mut Acks,
    outbox: &'a mut Outbox,
    stats: &'a mut ClientStats,
    events: &'a mut Events,
    now: RealTime,
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
    pub fn handle(
        &mut self,
        mut bytes: &[u8],
        now: RealTime,
        events: &mut Events,
    ) -> Result<(), CloseReason> {
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
    ) -> Result<(), CloseReason> {
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
    pub fn handle_timeout(&mut self, now: RealTime, _: &mut Events) -> Result<(), CloseReason> {
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
        if let Some(message) = joined.control.request(request, &mut self.acks)? {
            self.outbox.write_message(&message);
        }
        Ok(())
    }

    /// Speed and pause under the user's hand, once there is a server to ask.
    pub fn control(&self) -> Option<&Control> {
        Some(&self.joined()?.control)
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

    /// Asks which commands of an agent wait for their turn.
    ///
    /// # Errors
    /// If there is no server to ask.
    pub fn watch(&mut self, agent: Option<AgentId>) -> Result<(), ControlError> {
        let Phase::Joined(joined) = &mut self.phase else {
            return Err(ControlError::NotConnected);
        };
        joined.waiting = None;
        self.send(&ToServer::Watch { agent });
        Ok(())
    }

    /// The commands that wait for their turn, of the agent watched, once they are known.
    pub fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        let (agent, commands) = self.joined()?.waiting.as_ref()?;
        Some((*agent, commands))
    }

    /// The recording that the server plays, if it does.
    pub fn recording(&self) -> Option<&Recording> {
        self.joined()?.recording.as_ref()
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
            Phase::Joined(joined) => joined.timeline.as_mut(),
            _ => None,
        }
    }

    /// The newest world received.
    pub fn newest_world(&self) -> Option<Result<World, WorldError>> {
        Some(self.joined()?.timeline.as_ref()?.newest_world())
    }

    /// Writes the scene of `now`.
    ///
    /// # Errors
    /// How and why the connection ends, if a change that is due cannot be.
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) -> Result<(), CloseReason> {
        scene.link = self.link(now);
        let Phase::Joined(joined) = &mut self.phase else {
            return Ok(());
        };
        let shown = match (&mut joined.timeline, self.clock.server_at(now)) {
            (Some(timeline), Some(server_now)) => timeline.scene(server_now, scene),
            _ => Ok(()),
        };
        joined.control.fill(&mut scene.clock);
        scene.clock.delay_ms = joined.hello.delay_ms;
        Ok(shown?)
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
        if let Some(joined) = self.joined() {
            stats.ticks_skipped = joined.stream.skipped();
            stats.tick_age_ns = joined.tick_age_ns;
            if let Some(timeline) = &joined.timeline {
                timeline.count(&mut stats);
            }
        }
        stats
    }

    fn joined(&self) -> Option<&Joined> {
        match &self.phase {
            Phase::Joined(joined) => Some(joined),
            _ => None,
        }
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

    fn take(&mut self, message: ToClient, now: RealTime, events: &mut Events) -> Result<(), CloseReason> {
        match (&mut self.phase, message) {
            (Phase::Hello(sent), ToClient::Hello(hello)) => {
                let sent = *sent;
                self.join(hello, sent, now, events)?;
            }
            (Phase::Hello(_), ToClient::Refused { reason, .. } | ToClient::Goodbye { reason })
            | (Phase::Joined(_), ToClient::Goodbye { reason }) => {
                return Err(CloseReason::Text(readable(&reason)));
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
        check_hello(&hello)?;
        self.clock.handshake(sent, hello.since_reference_us, now);
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

impl Joined {
    /// What follows from the server's hello, over a link with this round trip.
    fn new(hello: ServerHello, rtt_ns: i64, now: RealTime) -> Self {
        // Until it is measured: a tick and a half, and the way here and back.
        let delay_ns = i64::from(hello.tick_period_us)
            .saturating_mul(1_500)
            .saturating_add(rtt_ns);
        Self {
            stream: StreamTime::new(hello.tick_period_us, hello.last_tick, hello.next_tick_us),
            control: Control::new(hello.may_control),
            recording: None,
            waiting: None,
            history: None,
            loading: Some(empty_world(&hello)),
            timeline: None,
            display: Some(DisplayClock::new(delay_ns)),
            anchor_us: None,
            complete_us: None,
            tick_age_ns: 0,
            hello,
            at: now,
        }
    }

    /// The user wants to see another moment. Answers the message to send, if it is to be sent now.
    ///
    /// # Errors
    /// If there is no recording, or the server does not listen.
    fn seek(&mut self, to: GameTime, acks: &mut Acks) -> Result<Option<ToServer>, ControlError> {
        let recording = self.recording.as_mut().ok_or(ControlError::NotARecording)?;
        match self.control.may_control() {
            true => Ok(recording.seek(to, acks)),
            false => Err(ControlError::NotAllowed),
        }
    }

    /// Whether the world is there, or how much of it. A jump in a recording is no reason to say that one waits.
    fn link(&self, now: RealTime) -> LinkState {
        let is_jumping = self.recording.as_ref().is_some_and(Recording::is_loading);
        match (&self.timeline, &self.loading) {
            (Some(_), None) => LinkState::Live,
            (Some(_), Some(_)) if is_jumping => LinkState::Live,
            (_, loading) => {
                let tiles = loading
                    .as_ref()
                    .map_or(0, |snapshot| snapshot.world.ground().len()) as u32;
                let delay_ms = self.hello.delay_ms;
                let passed_ms = now.since(self.at).as_nanos() / 1_000_000;
                let left_ms = u32::try_from(i64::from(delay_ms) - passed_ms).unwrap_or(0);
                match tiles == 0 && left_ms > 0 {
                    true => LinkState::Delayed { delay_ms, left_ms },
                    false => LinkState::Loading {
                        tiles,
                        of: self.hello.size.area() as u32,
                    },
                }
            }
        }
    }

    /// Takes a message.
    ///
    /// # Errors
    /// If it cannot be right here and now.
    fn take(&mut self, message: ToClient, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        match message {
            ToClient::Refused { reason, .. } => {
                context.events.push(ClientEvent::Refused {
                    reason: readable(&reason),
                });
            }
            ToClient::ProbeReply { token, server_us } => {
                context.clock.answered(token, server_us, context.now)?;
            }
            ToClient::Snapshot(part) => self.load(part, context)?,
            ToClient::SnapshotEnd { at } => self.finish(at, context)?,
            ToClient::TickBegin { number, skipped } => self.stream.begin(number, skipped)?,
            ToClient::TickEnd { number } => self.end_tick(number, context)?,
            ToClient::StreamTime { instant_us } => self.stream.update(instant_us)?,
            ToClient::Changes { at, changes } => self.change(at, changes, context)?,
            ToClient::Ack { number } => {
                context.acks.ack(number)?;
                self.control.ack(number);
                if let Some(message) = self.control.poll_wanted(context.acks) {
                    context.outbox.write_message(&message);
                }
                if let Some(recording) = &mut self.recording {
                    recording.ack(number);
                    if let Some(message) = recording.poll_wanted(context.acks) {
                        context.outbox.write_message(&message);
                    }
                }
            }
            ToClient::Clock(anchor) => self.anchor(&anchor, context)?,
            ToClient::Stats(stats) => {
                check_stats(&stats)?;
                context.stats.server = Some(stats);
            }
            ToClient::Recording(info) => {
                check_recording(&info)?;
                if let Some(display) = self.display() {
                    display.set_end(info.end);
                }
                if self.recording.replace(Recording::new(info)).is_some() {
                    return Err(ProtocolError::OutOfPlace {
                        what: "a second recording",
                        when: "after the first",
                    });
                }
            }
            ToClient::Waiting { agent, commands } => {
                if commands.len() > COMMANDS_WAITING_MAX {
                    return Err(ProtocolError::TooMuch {
                        what: "waiting commands",
                        max: COMMANDS_WAITING_MAX,
                    });
                }
                self.waiting = Some((agent, commands));
            }
            ToClient::Sought(anchor) => self.jump(&anchor, context)?,
            ToClient::History(history) => {
                check_history(&history, self.hello.teams.len())?;
                self.history = Some(history);
            }
            ToClient::Hello(_) | ToClient::Goodbye { .. } => {
                unreachable!("these two are the session's own")
            }
        }
        Ok(())
    }

    /// A piece of the world. The first piece after the last one begins a world anew, and what is shown stays
    /// until that is complete.
    fn load(&mut self, part: SnapshotPart, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_times_of_part(&part)?;
        self.loading
            .get_or_insert_with(|| empty_world(&self.hello))
            .load(part)?;
        if let Some(items) = context.acks.processed() {
            context.send(&ToServer::Credit { items });
        }
        Ok(())
    }

    fn finish(&mut self, at: GameTime, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_time(at)?;
        let mut snapshot = self.loading.take().ok_or(ProtocolError::OutOfPlace {
            what: "the end of a world",
            when: "without its pieces",
        })?;
        snapshot.finish(at)?;
        snapshot.history = self.history.take();
        if let Some(items) = context.acks.settle() {
            context.send(&ToServer::Credit { items });
        }
        let (display, version) = match (self.timeline.take(), self.display.take()) {
            (Some(timeline), _) => timeline.into_clock(),
            (None, display) => (display.unwrap_or_else(|| DisplayClock::new(0)), 0),
        };
        self.timeline = Some(Timeline::new(snapshot, display, version));
        if let Some(recording) = &mut self.recording {
            recording.loaded();
        }
        context.events.push(ClientEvent::Live);
        Ok(())
    }

    fn end_tick(&mut self, number: u64, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        self.stream.end(number)?;
        context.stats.ticks = context.stats.ticks.saturating_add(1);
        let Some(tick_us) = self.stream.last_tick_us() else {
            return Ok(());
        };
        // What this tick brought may be as old as the tick before. When we joined there may have been none for long.
        let complete_us = self
            .complete_us
            .replace(tick_us)
            .unwrap_or(tick_us.saturating_sub(self.stream.period_us()));
        let (complete, tick) = (
            context.clock.server_time(complete_us),
            context.clock.server_time(tick_us),
        );
        if let Some(server_now) = context.clock.server_at(context.now) {
            self.tick_age_ns = server_now.since_ns(tick);
            if let Some(display) = self.display() {
                display.arrived(complete, tick, server_now);
            }
        }
        Ok(())
    }

    fn change(
        &mut self,
        at: GameTime,
        changes: Vec<Change>,
        context: &mut Context<'_>,
    ) -> Result<(), ProtocolError> {
        let is_jumping = self.recording.as_ref().is_some_and(Recording::is_loading);
        let timeline = self
            .timeline
            .as_mut()
            .filter(|_| self.loading.is_none() && !is_jumping)
            .ok_or(ProtocolError::OutOfPlace {
                what: "a change of the world",
                when: "before the world was complete",
            })?;
        check_time(at)?;
        context.stats.changes_in = context.stats.changes_in.saturating_add(changes.len() as u64);
        timeline.advance(at)?;
        for change in changes {
            check_times_of(&change)?;
            timeline.push(at, change)?;
        }
        Ok(())
    }

    /// The recording was moved. A world that was being received is of no use any more; what is shown stays until
    /// the one of the new moment is complete.
    fn jump(&mut self, anchor: &ClockAnchor, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        let recording = self.recording.as_mut().ok_or(ProtocolError::OutOfPlace {
            what: "another moment",
            when: "in a game that is being played",
        })?;
        recording.sought(anchor.game);
        self.loading = None;
        if let Some(display) = self.display() {
            display.forget_anchors();
        }
        self.anchor(anchor, context)
    }

    fn anchor(&mut self, anchor: &ClockAnchor, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_time(anchor.game)?;
        let to_us = anchor.real_us;
        if let Some(from_us) = self.anchor_us
            && to_us < from_us
        {
            return Err(StreamError::AnchorBack { from_us, to_us }.into());
        }
        self.anchor_us = Some(to_us);
        self.control.confirm(anchor);
        let at: ServerTime = context.clock.server_time(anchor.real_us);
        if let Some(display) = self.display() {
            display.anchor(Anchor {
                at,
                game: anchor.game,
                frequency: anchor.frequency,
                paused: anchor.paused,
            });
        }
        Ok(())
    }

    fn display(&mut self) -> Option<&mut DisplayClock> {
        match &mut self.timeline {
            Some(timeline) => Some(&mut timeline.clock),
            None => self.display.as_mut(),
        }
    }
}

impl Context<'_> {
    fn send(&mut self, message: &ToServer) {
        self.acks.send();
        self.outbox.write_message(message);
    }
}

fn empty_world(hello: &ServerHello) -> Snapshot {
    let teams = hello.teams.iter().map(|name| readable(name).into());
    Snapshot::new(hello.size, teams.collect())
}

fn out_of_place(what: &'static str, when: &'static str) -> CloseReason {
    ProtocolError::OutOfPlace { what, when }.into()
}
