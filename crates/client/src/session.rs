//! A session with a server of ours: what every message does, and where it may stand.
//!
//! Bytes come in, the parts are driven, messages go to the outbox. Any error ends the connection
//! ([`crate::client`] does that); nothing here is retried. Text sessions with other servers are in
//! [`crate::gui_text`].

use trantor_protocol::wire::{
    Change, ClientHello, ClockAnchor, FrameCutter, ServerHello, ServerStats, SnapshotPart, ToClient,
    ToServer, WIRE_VERSION, WIRE_WORD, read_frame, write_frame,
};
use trantor_time::{GameTime, RealSpan, RealTime};

use crate::acks::Acks;
use crate::client::{ClientConfig, ClientEvent, Ending, Events};
use crate::clock_sync::{ClockSync, ServerTime};
use crate::control::{Control, ControlError, ControlRequest};
use crate::display_clock::{Anchor, DisplayClock};
use crate::error::{ProtocolError, StreamError};
use crate::link::{Greeting, readable};
use crate::mirror::Mirror;
use crate::outbox::Outbox;
use crate::scene::{LinkState, Scene};
use crate::show::Show;
use crate::stats::ClientStats;
use crate::stream_time::StreamTime;

/// How long a server may take from the connection to its hello.
pub const HANDSHAKE_MAX: RealSpan = RealSpan::from_secs(10);

/// Quiet after which the user is told. Ticks come twenty times a second while somebody watches.
pub const SILENT_AFTER: RealSpan = RealSpan::from_millis(1_500);

/// Quiet after which the connection is given up: three rounds of probes without any answer.
pub const SILENT_MAX: RealSpan = RealSpan::from_secs(30);

/// Teams shown. Far more than a game has; each has a line in every frame.
pub const TEAMS_MAX: usize = 1_024;

/// The largest game time believed, in nanounits: what the fastest clock shows after ten thousand years. It
/// leaves room for every sum and product in 128 bits.
const GAME_TIME_NU_MAX: i128 = 1 << 96;

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
    stream: StreamTime,
    control: Control,
    /// A world that is being received.
    loading: Option<Mirror>,
    /// The world that is shown.
    show: Option<Show>,
    /// The clock of the world to come, until there is one.
    display: Option<DisplayClock>,
    anchor_us: Option<i64>,
    /// The instant of the last tick that is complete.
    complete_us: Option<i64>,
    tick_age_ns: i64,
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
        while let Some(frame) = cutter.next(&mut bytes).map_err(ProtocolError::from)? {
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
        if let Some(message) = joined.control.request(request, &mut self.acks)? {
            self.write(&message);
        }
        Ok(())
    }

    /// Says goodbye.
    pub fn leave(&mut self) {
        if !matches!(self.phase, Phase::Greeting(_)) {
            self.send(&ToServer::Goodbye);
        }
    }

    /// What is shown, with its feed.
    pub fn show_mut(&mut self) -> Option<&mut Show> {
        match &mut self.phase {
            Phase::Joined(joined) => joined.show.as_mut(),
            _ => None,
        }
    }

    /// What is shown.
    pub fn show(&self) -> Option<&Show> {
        match &self.phase {
            Phase::Joined(joined) => joined.show.as_ref(),
            _ => None,
        }
    }

    /// Writes the scene of `now`.
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) {
        scene.link = self.link(now);
        let Phase::Joined(joined) = &mut self.phase else {
            return;
        };
        let speed = joined.control.shown();
        if let (Some(show), Some(server_now)) = (&mut joined.show, self.clock.server_at(now)) {
            show.scene(server_now, scene);
        }
        scene.clock.frequency = speed.frequency.map_or(0, trantor_time::Frequency::get);
        scene.clock.paused = speed.paused;
        scene.clock.unconfirmed = joined.control.is_unconfirmed();
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
            Phase::Joined(joined) if joined.show.is_some() && joined.loading.is_none() => LinkState::Live,
            Phase::Joined(joined) => LinkState::Loading {
                tiles: joined.loading.as_ref().map_or(0, |mirror| mirror.ground().len()) as u32,
                of: joined.hello.size.area() as u32,
            },
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
            stats.ticks_skipped = joined.stream.skipped();
            stats.tick_age_ns = joined.tick_age_ns;
            if let Some(show) = &joined.show {
                show.count(&mut stats);
            }
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
        self.outbox.write(|out| {
            out.extend_from_slice(WIRE_WORD.as_bytes());
            out.push(b'\n');
        });
        self.send(&ToServer::Hello(ClientHello {
            version: WIRE_VERSION,
            program: self.config.program.clone(),
        }));
        self.phase = Phase::Hello(now);
    }

    /// Counts and writes a message.
    fn send(&mut self, message: &ToServer) {
        self.acks.send();
        self.write(message);
    }

    /// Writes a message that was counted already.
    fn write(&mut self, message: &ToServer) {
        self.outbox
            .write(|out| write_frame(out, message))
            .expect("what a viewer says is far shorter than a frame");
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
        let rtt_ns = self.clock.estimate(now).rtt_best_ns;
        let delay_ns = i64::from(hello.tick_period_us)
            .saturating_mul(1_500)
            .saturating_add(rtt_ns);
        events.push(ClientEvent::Welcome {
            program: readable(&hello.program),
            teams: hello.teams.iter().map(|name| readable(name)).collect(),
            size: hello.size,
            may_control: hello.may_control,
        });
        self.phase = Phase::Joined(Box::new(Joined {
            stream: StreamTime::new(hello.tick_period_us, hello.last_tick, hello.next_tick_us),
            control: Control::new(hello.may_control),
            loading: Some(Mirror::new(hello.size, hello.teams.len())),
            show: None,
            display: Some(DisplayClock::new(delay_ns)),
            anchor_us: None,
            complete_us: None,
            tick_age_ns: 0,
            hello,
        }));
        Ok(())
    }
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

impl Joined {
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
                    context.write(&message);
                }
            }
            ToClient::Clock(anchor) => self.anchor(&anchor, context)?,
            ToClient::Stats(stats) => context.stats.server = Some(checked_stats(stats)?),
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
        let (size, teams) = (self.hello.size, self.hello.teams.len());
        let loading = self.loading.get_or_insert_with(|| Mirror::new(size, teams));
        loading.load(part)?;
        if let Some(items) = context.acks.processed() {
            context.send(&ToServer::Credit { items });
        }
        Ok(())
    }

    fn finish(&mut self, at: GameTime, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        check_time(at)?;
        let mut mirror = self.loading.take().ok_or(ProtocolError::OutOfPlace {
            what: "the end of a world",
            when: "without its pieces",
        })?;
        mirror.finish(at)?;
        if let Some(items) = context.acks.settle() {
            context.send(&ToServer::Credit { items });
        }
        let names = self.hello.teams.iter().map(|name| readable(name).into());
        let (display, version) = match (self.show.take(), self.display.take()) {
            (Some(show), _) => show.into_clock(),
            (None, display) => (display.unwrap_or_else(|| DisplayClock::new(0)), 0),
        };
        self.show = Some(Show::new(mirror, names.collect(), display, version));
        context.events.push(ClientEvent::Live);
        Ok(())
    }

    fn end_tick(&mut self, number: u64, context: &mut Context<'_>) -> Result<(), ProtocolError> {
        self.stream.end(number)?;
        context.stats.ticks = context.stats.ticks.saturating_add(1);
        let Some(tick_us) = self.stream.last_tick_us() else {
            return Ok(());
        };
        // What this tick told may be as old as the tick before. When we joined there may have been none for long.
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
                display.arrived(complete, server_now);
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
        let show =
            self.show
                .as_mut()
                .filter(|_| self.loading.is_none())
                .ok_or(ProtocolError::OutOfPlace {
                    what: "a change of the world",
                    when: "before the world was complete",
                })?;
        check_time(at)?;
        context.stats.changes_in = context.stats.changes_in.saturating_add(changes.len() as u64);
        show.advance(at)?;
        for change in changes {
            check_times_of(&change)?;
            show.apply(at, change)?;
        }
        Ok(())
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
        self.control.told(anchor).map_err(|_| ProtocolError::TooMuch {
            what: "changes of speed",
            max: crate::prediction::WAITING_MAX,
        })?;
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
        match &mut self.show {
            Some(show) => Some(show.clock_mut()),
            None => self.display.as_mut(),
        }
    }
}

impl Context<'_> {
    fn send(&mut self, message: &ToServer) {
        self.acks.send();
        self.write(message);
    }

    fn write(&mut self, message: &ToServer) {
        self.outbox
            .write(|out| write_frame(out, message))
            .expect("what a viewer says is far shorter than a frame");
    }
}

fn out_of_place(what: &'static str, when: &'static str) -> Ending {
    ProtocolError::OutOfPlace { what, when }.into()
}

fn checked_stats(stats: ServerStats) -> Result<ServerStats, ProtocolError> {
    match stats.teams.len() <= TEAMS_MAX {
        true => Ok(stats),
        false => Err(ProtocolError::TooMuch {
            what: "teams",
            max: TEAMS_MAX,
        }),
    }
}

fn check_time(at: GameTime) -> Result<(), StreamError> {
    match (0..=GAME_TIME_NU_MAX).contains(&at.as_nanounits()) {
        true => Ok(()),
        false => Err(StreamError::GameTimeRange { at }),
    }
}

fn check_times(times: impl IntoIterator<Item = GameTime>) -> Result<(), StreamError> {
    times.into_iter().try_for_each(check_time)
}

fn check_times_of(change: &Change) -> Result<(), StreamError> {
    match change {
        Change::Joined { food_ends, .. } | Change::Inventory { food_ends, .. } => check_times(*food_ends),
        Change::ActionStarted { start, end, .. } => check_times([*start, *end]),
        Change::RitualStarted(ritual) => check_times([ritual.start, ritual.end]),
        _ => Ok(()),
    }
}

fn check_times_of_part(part: &SnapshotPart) -> Result<(), StreamError> {
    match part {
        SnapshotPart::Ground { .. } | SnapshotPart::Eggs(_) => Ok(()),
        SnapshotPart::Agents(agents) => agents.iter().try_for_each(|agent| {
            check_times(agent.food_ends)?;
            agent
                .action
                .iter()
                .try_for_each(|(_, start, end)| check_times([*start, *end]))
        }),
        SnapshotPart::Rituals(rituals) => rituals
            .iter()
            .try_for_each(|ritual| check_times([ritual.start, ritual.end])),
    }
}
