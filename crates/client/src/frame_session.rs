//! A session with a server of ours: what each frame does.
//!
//! What may be believed is [`crate::checks`]'s. Text sessions with other servers are in [`crate::text_session`].

use trantor_model::{AgentId, CommandKind};
use trantor_protocol::FrameError;
use trantor_protocol::limits::COMMANDS_WAITING_MAX;
use trantor_protocol::wire::{
    Change, ClientHello, ClockAnchor, FrameCutter, History, ServerHello, SnapshotPart, ToClient, ToServer,
    WIRE_VERSION, WIRE_WORD, read_frame,
};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::checks::{
    check_hello, check_history, check_recording, check_stats, check_time, check_times_of, check_times_of_part,
};
use crate::client::ClientEvent;
use crate::clock_sync::{ClockSync, ServerTime};
use crate::control::{Control, ControlError, ControlRequest};
use crate::display_clock::{Anchor, DisplayClock};
use crate::error::{ProtocolError, StreamError, WorldError};
use crate::link::{readable, write_first_line};
use crate::recording::Recording;
use crate::scene::LinkState;
use crate::session::{CloseReason, Connection, Session};
use crate::stats::ClientStats;
use crate::stream_time::StreamTime;
use crate::timeline::{Snapshot, Timeline};
use crate::world::World;

/// Silence after which the user is warned. Ticks come twenty times a second to a viewer.
const SILENT_AFTER: RealSpan = RealSpan::from_millis(1_500);

/// Pieces of a world after which credit is given back: often enough that the default of 20 never runs dry, and not once
/// for every piece.
const CREDIT_BATCH: u32 = 5;

/// A session with a server of ours.
#[derive(Debug)]
pub(crate) struct FrameSession {
    cutter: FrameCutter,
    clock: ClockSync,
    /// When our hello left.
    asked: RealTime,
    joined: Option<Box<Joined>>,
}

/// All that begins with the server's hello.
#[derive(Debug)]
struct Joined {
    hello: ServerHello,
    /// When it came.
    at: RealTime,
    stream: StreamTime,
    /// What is watched, if it is no game that is being played.
    recording: Option<Recording>,
    /// Waiting commands of the agent watched.
    waiting: Option<(AgentId, Vec<Option<CommandKind>>)>,
    /// What happened before the world that is being received.
    history: Option<History>,
    /// A world that is being received.
    loading: Option<Snapshot>,
    /// Pieces of it for which no credit was given back yet.
    credit_owed: u32,
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
    connection: &'a mut Connection,
    now: RealTime,
}

impl FrameSession {
    /// A session that has not begun.
    pub fn new() -> Self {
        Self {
            cutter: FrameCutter::new::<ToClient>(),
            clock: ClockSync::new(),
            asked: RealTime::ZERO,
            joined: None,
        }
    }

    fn take(
        &mut self,
        message: ToClient,
        connection: &mut Connection,
        now: RealTime,
    ) -> Result<(), CloseReason> {
        match (&mut self.joined, message) {
            (_, ToClient::Goodbye { reason }) | (None, ToClient::Refused { reason, .. }) => {
                return Err(CloseReason::Text(readable(&reason)));
            }
            (None, ToClient::Hello(hello)) => self.join(hello, connection, now)?,
            (None, _) => return Err(out_of_place("a message", "before the server's hello").into()),
            (Some(_), ToClient::Hello(_)) => {
                return Err(out_of_place("a second hello", "after the first").into());
            }
            (Some(joined), message) => {
                let clock = &mut self.clock;
                let mut context = Context {
                    clock,
                    connection,
                    now,
                };
                joined.take(message, &mut context)?;
            }
        }
        Ok(())
    }

    fn join(
        &mut self,
        hello: ServerHello,
        connection: &mut Connection,
        now: RealTime,
    ) -> Result<(), ProtocolError> {
        check_hello(&hello)?;
        self.clock.handshake(self.asked, hello.since_reference_us, now);
        connection.push(ClientEvent::Welcome {
            program: readable(&hello.program),
            teams: hello.teams.iter().map(|name| readable(name)).collect(),
            size: hello.size,
            may_control: hello.may_control,
            ticks: hello.last_tick.map_or(0, |(number, _)| number.saturating_add(1)),
        });
        connection.control = Control::new(hello.may_control);
        let rtt_ns = self.clock.estimate(now).rtt_best_ns;
        self.joined = Some(Box::new(Joined::new(hello, rtt_ns, now)));
        Ok(())
    }

    fn read_frames(
        &mut self,
        cutter: &mut FrameCutter,
        mut bytes: &[u8],
        connection: &mut Connection,
        now: RealTime,
    ) -> Result<(), CloseReason> {
        let is_first = self.joined.is_none();
        let ended = |error| match error {
            // Text, taken for a length: a server that knows no `TRANTOR` may take it for the name of a team.
            FrameError::TooLong { .. } if is_first => ProtocolError::SpeaksText,
            error => error.into(),
        };
        while let Some(frame) = cutter.next(&mut bytes).map_err(ended)? {
            let message = read_frame(frame).map_err(ProtocolError::from)?;
            connection.stats.messages_in = connection.stats.messages_in.saturating_add(1);
            self.take(message, connection, now)?;
        }
        Ok(())
    }
}

impl Session for FrameSession {
    fn start(&mut self, connection: &mut Connection, now: RealTime) {
        let (token, program) = (connection.token.clone(), connection.program.clone());
        connection.write(|out| write_first_line(out, WIRE_WORD, token.as_deref()));
        connection.send(&ToServer::Hello(ClientHello {
            version: WIRE_VERSION,
            program,
        }));
        self.asked = now;
    }

    fn read(&mut self, bytes: &[u8], connection: &mut Connection, now: RealTime) -> Result<(), CloseReason> {
        if self.joined.is_none() && bytes.starts_with(b"ko\n") {
            return Err(ProtocolError::SpeaksText.into());
        }
        // The cutter is taken out so that a frame that borrows from it can be handled with all the rest.
        let mut cutter = std::mem::replace(&mut self.cutter, FrameCutter::new::<ToClient>());
        let result = self.read_frames(&mut cutter, bytes, connection, now);
        self.cutter = cutter;
        result
    }

    fn handle_timeout(&mut self, connection: &mut Connection, now: RealTime) {
        if self.is_joined()
            && let Some(token) = self.clock.poll_probe(now)
        {
            connection.send(&ToServer::Probe { token });
        }
    }

    fn next_timeout(&self, _: RealTime) -> RealTime {
        self.clock.next_probe_at().unwrap_or(RealTime::MAX)
    }

    fn is_joined(&self) -> bool {
        self.joined.is_some()
    }

    fn link(&self, now: RealTime) -> LinkState {
        match &self.joined {
            Some(joined) => joined.link(now),
            None => LinkState::Greeting,
        }
    }

    fn silent_after(&self) -> RealSpan {
        SILENT_AFTER
    }

    fn server_at(&mut self, now: RealTime) -> (Option<ServerTime>, u32) {
        let delay_ms = self.joined.as_ref().map_or(0, |joined| joined.hello.delay_ms);
        (self.clock.server_at(now), delay_ms)
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.joined.as_ref()?.timeline.as_ref()
    }

    fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        self.joined.as_mut()?.timeline.as_mut()
    }

    fn newest_world(&self) -> Option<Result<World, WorldError>> {
        self.timeline().map(Timeline::newest_world)
    }

    fn request(&mut self, request: ControlRequest, connection: &mut Connection) -> Result<(), ControlError> {
        if let Some(message) = connection.control.request(request, &mut connection.numbers)? {
            connection.write_message(&message);
        }
        Ok(())
    }

    fn count(&self, now: RealTime, stats: &mut ClientStats) {
        stats.clock = self.clock.estimate(now);
        stats.saturated = self.clock.saturated();
        if let Some(joined) = &self.joined {
            stats.ticks_skipped = joined.stream.skipped();
            stats.tick_age_ns = joined.tick_age_ns;
        }
    }

    fn recording(&self) -> Option<&Recording> {
        self.joined.as_ref()?.recording.as_ref()
    }

    fn seek(&mut self, to: GameTime, connection: &mut Connection) -> Result<(), ControlError> {
        let joined = self.joined.as_mut().ok_or(ControlError::NotConnected)?;
        let recording = joined.recording.as_mut().ok_or(ControlError::NotARecording)?;
        if !joined.hello.may_control {
            return Err(ControlError::NotAllowed);
        }
        if let Some(message) = recording.seek(to, &mut connection.numbers) {
            connection.write_message(&message);
        }
        Ok(())
    }

    fn watch(&mut self, agent: Option<AgentId>, connection: &mut Connection) -> Result<(), ControlError> {
        let joined = self.joined.as_mut().ok_or(ControlError::NotConnected)?;
        joined.waiting = None;
        connection.send(&ToServer::Watch { agent });
        Ok(())
    }

    fn waiting(&self) -> Option<(AgentId, &[Option<CommandKind>])> {
        let (agent, commands) = self.joined.as_ref()?.waiting.as_ref()?;
        Some((*agent, commands))
    }

    fn leave(&self, connection: &mut Connection) {
        connection.send(&ToServer::Goodbye);
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
            recording: None,
            waiting: None,
            history: None,
            loading: Some(empty_world(&hello)),
            credit_owed: 0,
            timeline: None,
            display: Some(DisplayClock::new(delay_ns)),
            anchor_us: None,
            complete_us: None,
            tick_age_ns: 0,
            hello,
            at: now,
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
                context.connection.push(ClientEvent::Refused {
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
            ToClient::Ack { number } => self.ack(number, context.connection)?,
            ToClient::Clock(anchor) => self.anchor(&anchor, context)?,
            ToClient::Stats(stats) => {
                check_stats(&stats)?;
                context.connection.stats.server = Some(stats);
            }
            ToClient::Recording(info) => {
                check_recording(&info)?;
                if let Some(display) = self.display() {
                    display.set_end(info.end);
                }
                if self.recording.replace(Recording::new(info)).is_some() {
                    return Err(out_of_place("a second recording", "after the first"));
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
        self.credit_owed += 1;
        if self.credit_owed >= CREDIT_BATCH {
            self.give_credit(context.connection);
        }
        Ok(())
    }

    fn give_credit(&mut self, connection: &mut Connection) {
        let items = std::mem::take(&mut self.credit_owed);
        if items > 0 {
            connection.send(&ToServer::Credit { items });
        }
    }

    /// All messages up to `number` were processed, and their effects are here.
    fn ack(&mut self, number: u64, connection: &mut Connection) -> Result<(), ProtocolError> {
        connection.numbers.ack(number)?;
        connection.control.ack(number);
        let speed = connection.control.poll_wanted(&mut connection.numbers);
        let moment = self.recording.as_mut().and_then(|recording| {
            recording.ack(number);
            recording.poll_wanted(&mut connection.numbers)
        });
        for message in speed.iter().chain(&moment) {
            connection.write_message(message);
        }
        Ok(())
    }

    fn finish(&mut self, at: GameTime, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_time(at)?;
        let taken = self.loading.take();
        let mut snapshot = taken.ok_or(out_of_place("the end of a world", "without its pieces"))?;
        snapshot.finish(at)?;
        snapshot.history = self.history.take();
        self.give_credit(context.connection);
        let (display, version) = match (self.timeline.take(), self.display.take()) {
            (Some(timeline), _) => timeline.into_clock(),
            (None, display) => (display.unwrap_or_else(|| DisplayClock::new(0)), 0),
        };
        self.timeline = Some(Timeline::new(snapshot, display, version));
        if let Some(recording) = &mut self.recording {
            recording.loaded();
        }
        context.connection.push(ClientEvent::Live);
        Ok(())
    }

    fn end_tick(&mut self, number: u64, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        self.stream.end(number)?;
        context.connection.stats.ticks = context.connection.stats.ticks.saturating_add(1);
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
            .ok_or(out_of_place(
                "a change of the world",
                "before the world was complete",
            ))?;
        check_time(at)?;
        context.connection.stats.changes_in = context
            .connection
            .stats
            .changes_in
            .saturating_add(changes.len() as u64);
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
        let recording = self
            .recording
            .as_mut()
            .ok_or(out_of_place("another moment", "in a game that is being played"))?;
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
        context
            .connection
            .control
            .confirm(anchor.frequency, anchor.paused);
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

fn empty_world(hello: &ServerHello) -> Snapshot {
    let teams = hello.teams.iter().map(|name| readable(name).into());
    Snapshot::new(hello.size, teams.collect())
}

fn out_of_place(what: &'static str, when: &'static str) -> ProtocolError {
    ProtocolError::OutOfPlace { what, when }
}
