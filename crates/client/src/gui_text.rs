//! A session with any Zappy server, as one of its text viewers.
//!
//! The server is asked for what it does not send by itself, and sent nothing that a text viewer may not say.
//! Its clock is unknown; game time counts from when we joined, at the speed it names. What lines mean for the
//! world is [`crate::gui_world`]'s.

use trantor_protocol::limits::{ANSWER_BYTES_MAX, LINE_BYTES_MAX};
use trantor_protocol::text::client::{parse_gui_event, parse_tiles, write_gui_request};
use trantor_protocol::text::{Cut, GRAPHIC_WORD, GuiEvent, GuiRequest, LineCutter};
use trantor_protocol::wire::{ClockAnchor, ToServer};
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, RealSpan, RealTime};

use crate::acks::Acks;
use crate::client::{ClientEvent, CloseReason, Events};
use crate::clock_sync::{ClockEstimate, ServerTime};
use crate::control::{Control, ControlError, ControlRequest};
use crate::display_clock::{Anchor, DisplayClock};
use crate::error::{ProtocolError, WorldError};
use crate::gui_world::{GuiWorld, Present};
use crate::link::{Greeting, readable_bytes, write_first_line};
use crate::outbox::Outbox;
use crate::scene::{LinkState, Scene};
use crate::session::{HANDSHAKE_MAX, SILENT_MAX};
use crate::stats::ClientStats;
use crate::timeline::Timeline;
use crate::world::World;

/// How long actions are shown to take at most. At one unit a second a step takes seven seconds, and a
/// game seven seconds late is no use.
const ACTION_MAX: RealSpan = RealSpan::from_secs(1);

/// How much later than at once a line may come without being shown late.
const JITTER: RealSpan = RealSpan::from_millis(30);

/// How often the server is asked for something, to know that it is there. It is silent while nothing happens.
const KEEP_ALIVE: RealSpan = RealSpan::from_secs(5);

/// Silence after which the world counts as complete, once all tiles were received.
const COMPLETE_AFTER: RealSpan = RealSpan::from_millis(100);

/// How long the size of the map may take before it is asked for, and then its tiles.
const ASK_AFTER: RealSpan = RealSpan::from_secs(2);

/// A server that has sent fewer tiles than this when it is asked whether it is there sends those that change, not its
/// map: then it is asked for that. More than this are on their way, and would only come twice.
const TILES_TRICKLE_MAX: usize = 1_000;

/// How long a tile that was never sent may delay the first picture. Then the world is shown, and what is
/// missing is asked for: some servers send no map unasked, and some never send a tile of it.
const LOADING_MAX: RealSpan = RealSpan::from_secs(5);

/// Most servers do not say when resources grow: they are asked for the map this often, and for each tile of
/// it half a millisecond longer, so that a large map is not asked for all the time.
const MAP_POLL: RealSpan = RealSpan::from_secs(2);
const MAP_POLL_PER_TILE: RealSpan = RealSpan::from_micros(500);

/// A connection to any Zappy server.
#[derive(Debug)]
pub struct GuiSession {
    phase: Phase,
    token: Option<String>,
    cutter: LineCutter,
    control: Control,
    /// Numbers of requests for a speed; each is answered by one line.
    acks: Acks,
    answers: u64,
    outbox: Outbox,
    opened: RealTime,
    heard: RealTime,
    /// Game time since we joined, by our own clock.
    game: GameClock,
    keep_alive_at: RealTime,
    /// When the request that waits for its answer was sent.
    asked: Option<RealTime>,
    rtt: RealSpan,
    stats: ClientStats,
}

#[derive(Debug)]
enum Phase {
    Greeting(Greeting),
    /// We asked to watch; the size of the map is awaited.
    Asked,
    /// The world is being received; the last tile that was new came at this instant.
    Loading(Box<GuiWorld>, RealTime),
    /// The world is shown; the map is asked for at this instant.
    Live(Box<GuiWorld>, RealTime),
}

impl GuiSession {
    /// A connection that was opened at `now`, to a server that may be shown a token.
    pub fn new(token: Option<String>, now: RealTime) -> Self {
        let frequency = Frequency::new(100).expect("100 is a frequency");
        Self {
            phase: Phase::Greeting(Greeting::default()),
            token,
            // Some servers send the whole map as one line.
            cutter: LineCutter::with_max(ANSWER_BYTES_MAX),
            control: Control::new(true),
            acks: Acks::new(),
            answers: 0,
            outbox: Outbox::default(),
            opened: now,
            heard: now,
            game: GameClock::new(now, GameTime::ZERO, frequency),
            keep_alive_at: RealTime::MAX,
            asked: None,
            rtt: RealSpan::ZERO,
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
            self.outbox
                .write(|out| write_first_line(out, GRAPHIC_WORD, self.token.as_deref()));
            self.phase = Phase::Asked;
            self.keep_alive_at = now.saturating_add(ASK_AFTER);
        }
        let mut cutter = std::mem::take(&mut self.cutter);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(cut) = cutter.next(&mut bytes)
        {
            self.stats.messages_in = self.stats.messages_in.saturating_add(1);
            result = match cut {
                Cut::Line(line) => self.line(line, now, events),
                Cut::TooLong => {
                    self.not_understood();
                    Ok(())
                }
            };
        }
        self.cutter = cutter;
        let present = self.present(now);
        if let Some(world) = self.world_mut() {
            world.settle(&present);
        }
        result
    }

    /// Does what is due at `now`.
    ///
    /// # Errors
    /// If the server took too long.
    pub fn handle_timeout(&mut self, now: RealTime, events: &mut Events) -> Result<(), CloseReason> {
        if self.silence_ends_at() <= now {
            let secs = now.since(self.heard).as_nanos() / trantor_time::units::NANOS;
            return Err(ProtocolError::Silent { secs }.into());
        }
        if self.outbox.is_full() {
            return Err(ProtocolError::NotReading.into());
        }
        if self.keep_alive_at <= now {
            self.keep_alive_at = now.saturating_add(KEEP_ALIVE);
            self.asked.get_or_insert(now);
            self.ask(GuiRequest::MapSize);
            // A server that sends nothing by itself is asked for everything.
            if matches!(self.phase, Phase::Asked) {
                self.ask(GuiRequest::Frequency);
                self.ask(GuiRequest::Teams);
                self.ask(GuiRequest::Map);
            }
            if let Phase::Loading(world, _) = &self.phase {
                let missing = world.tiles_missing();
                let received = world.latest().ground().len() - missing;
                if missing > 0 && received <= TILES_TRICKLE_MAX {
                    self.ask(GuiRequest::Map);
                }
            }
        }
        if self.loading_ends_at() <= now {
            self.open(now, events);
        }
        if let Phase::Live(world, poll_at) = &mut self.phase
            && *poll_at <= now
        {
            let tiles = world.latest().ground().len() as i64;
            *poll_at = now.saturating_add(MAP_POLL + MAP_POLL_PER_TILE * tiles);
            self.ask(GuiRequest::Map);
        }
        Ok(())
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> RealTime {
        let poll_at = match &self.phase {
            Phase::Live(_, poll_at) => *poll_at,
            _ => RealTime::MAX,
        };
        self.silence_ends_at()
            .min(self.keep_alive_at)
            .min(self.loading_ends_at())
            .min(poll_at)
    }

    /// What is to be sent.
    pub fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// Asks the server for another speed.
    ///
    /// # Errors
    /// If it makes no sense to ask, or the text protocol has no word for it.
    pub fn request(&mut self, request: ControlRequest) -> Result<(), ControlError> {
        match (&self.phase, request) {
            (Phase::Loading(..) | Phase::Live(..), ControlRequest::SetFrequency(_)) => {}
            (Phase::Loading(..) | Phase::Live(..), _) => return Err(ControlError::NotInText),
            _ => return Err(ControlError::NotConnected),
        }
        let message = self.control.request(request, &mut self.acks)?;
        self.say(message);
        Ok(())
    }

    /// What is shown, with its feed.
    pub fn timeline_mut(&mut self) -> Option<&mut Timeline> {
        self.world_mut()?.timeline.as_mut()
    }

    /// The newest world received.
    pub fn newest_world(&self) -> Option<Result<World, WorldError>> {
        let world = self.world()?;
        world.timeline.as_ref().map(|_| Ok(world.latest().clone()))
    }

    /// Writes the scene of `now`.
    ///
    /// # Errors
    /// How and why the connection ends, if a change that is due cannot be.
    pub fn scene(&mut self, now: RealTime, scene: &mut Scene) -> Result<(), CloseReason> {
        scene.link = self.link(now);
        let server_now = ServerTime::from_nanos(now.as_nanos());
        let shown = match self.timeline_mut() {
            Some(timeline) => timeline.scene(server_now, scene),
            None => Ok(()),
        };
        self.control.fill(&mut scene.clock);
        Ok(shown?)
    }

    /// Speed and pause under the user's hand.
    pub fn control(&self) -> Option<&Control> {
        Some(&self.control)
    }

    /// How the connection stands.
    pub fn link(&self, now: RealTime) -> LinkState {
        let silent = now.since(self.heard);
        match &self.phase {
            Phase::Greeting(_) => LinkState::Connecting,
            Phase::Asked => LinkState::Greeting,
            Phase::Loading(world, _) => {
                let of = world.latest().ground().len();
                LinkState::Loading {
                    tiles: (of - world.tiles_missing()) as u32,
                    of: of as u32,
                }
            }
            Phase::Live(..) if silent > KEEP_ALIVE + KEEP_ALIVE => LinkState::Silent {
                for_ms: silent.as_nanos().unsigned_abs() / 1_000_000,
            },
            Phase::Live(..) => LinkState::Live,
        }
    }

    /// Figures for the HUD. The server's clock is not known, only how long an answer takes.
    pub fn stats(&self, now: RealTime) -> ClientStats {
        let mut stats = self.stats.clone();
        stats.network_age_ns = now.since(self.heard).as_nanos();
        stats.unacknowledged = self.acks.in_flight();
        stats.clock = ClockEstimate {
            rtt_best_ns: self.rtt.as_nanos(),
            rtt_last_ns: self.rtt.as_nanos(),
            ..ClockEstimate::default()
        };
        if let Some(world) = self.world() {
            stats.ignored = world.ignored();
            if let Some(timeline) = &world.timeline {
                timeline.count(&mut stats);
            }
        }
        stats
    }

    fn line(&mut self, line: &[u8], now: RealTime, events: &mut Events) -> Result<(), CloseReason> {
        if matches!(self.phase, Phase::Asked) && line.trim_ascii() == b"ko" {
            return Err(match self.token {
                None => ProtocolError::NoTextViewers.into(),
                Some(_) => ProtocolError::TokenRefused.into(),
            });
        }
        let mut is_map = false;
        for (tile, ground) in parse_tiles(line) {
            is_map = true;
            self.event(GuiEvent::Tile { tile, ground }, now, events);
        }
        if is_map {
            return Ok(());
        }
        let understood = match line.len() {
            ..=LINE_BYTES_MAX => parse_gui_event(line),
            _ => None,
        };
        let Some(event) = understood else {
            // The lines that other servers add to the protocol are no errors.
            self.not_understood();
            return Ok(());
        };
        match event {
            GuiEvent::MapSize(size) => {
                if let Some(asked) = self.asked.take() {
                    self.rtt = now.since(asked);
                }
                if matches!(self.phase, Phase::Asked) {
                    let world = GuiWorld::new(size);
                    self.phase = Phase::Loading(Box::new(world), now);
                    self.keep_alive_at = now.saturating_add(ASK_AFTER);
                } else if let Some(world) = self.world_mut()
                    && world.latest().size() != size
                {
                    // A map does not change while it is watched.
                    world.ignore();
                }
            }
            GuiEvent::Frequency(frequency) => self.frequency(frequency, now),
            GuiEvent::BadParameter => {
                if self.acks.in_flight() > 0 {
                    self.answered();
                    events.push(ClientEvent::Refused {
                        reason: "the server refused that speed".to_owned(),
                    });
                } else {
                    self.not_understood();
                }
            }
            GuiEvent::UnknownRequest => self.not_understood(),
            GuiEvent::Message(text) => events.push(ClientEvent::Message {
                text: readable_bytes(text),
            }),
            event => self.event(event, now, events),
        }
        Ok(())
    }

    /// Something that is so in the world.
    fn event(&mut self, event: GuiEvent<'_>, now: RealTime, events: &mut Events) {
        // An event: the world was sent before it.
        if is_change(&event) && matches!(&self.phase, Phase::Loading(world, _) if world.tiles_missing() == 0)
        {
            self.open(now, events);
        }
        self.stats.changes_in = self.stats.changes_in.saturating_add(1);
        let present = self.present(now);
        if let Some(world) = self.world_mut() {
            let missing = world.tiles_missing();
            world.take(event, &present);
            let has_new_tiles = world.tiles_missing() < missing;
            if let Phase::Loading(_, tile_at) = &mut self.phase
                && has_new_tiles
            {
                *tile_at = now;
            }
        }
    }

    /// One of the two sides said something that the other does not know.
    fn not_understood(&mut self) {
        self.stats.ignored_lines = self.stats.ignored_lines.saturating_add(1);
    }

    /// The server named its speed, perhaps as an answer.
    fn frequency(&mut self, frequency: Frequency, now: RealTime) {
        self.game.set_frequency(now, frequency);
        let anchor = self.anchor(now);
        self.control.confirm(&ClockAnchor {
            real_us: 0,
            game: anchor.game,
            frequency,
            paused: false,
        });
        if self.acks.in_flight() > 0 {
            self.answered();
        }
        let delay_ns = delay_ns(frequency);
        if let Some(timeline) = self.timeline_mut() {
            timeline.clock.anchor(anchor);
            timeline.clock.aim(delay_ns);
        }
    }

    /// The oldest request for a speed was answered.
    fn answered(&mut self) {
        self.answers += 1;
        if self.acks.ack(self.answers).is_ok() {
            self.control.ack(self.answers);
        }
        let wanted = self.control.poll_wanted(&mut self.acks);
        self.say(wanted);
    }

    /// The world is complete: it is shown from now on.
    fn open(&mut self, now: RealTime, events: &mut Events) {
        let Phase::Loading(world, _) = std::mem::replace(&mut self.phase, Phase::Asked) else {
            return;
        };
        let mut world = world;
        let mut clock = DisplayClock::new(delay_ns(self.game.frequency()));
        clock.anchor(self.anchor(now));
        world.open(clock, self.game.now(now));
        events.push(ClientEvent::Welcome {
            program: String::new(),
            teams: world.teams().iter().map(|name| name.to_string()).collect(),
            size: world.latest().size(),
            may_control: true,
            ticks: 0,
        });
        events.push(ClientEvent::Live);
        // What is missing is asked for at once.
        let poll_at = if world.tiles_missing() > 0 {
            now
        } else {
            now.saturating_add(MAP_POLL)
        };
        self.phase = Phase::Live(world, poll_at);
    }

    fn anchor(&self, now: RealTime) -> Anchor {
        Anchor {
            at: ServerTime::from_nanos(now.as_nanos()),
            game: self.game.now(now),
            frequency: self.game.frequency(),
            paused: false,
        }
    }

    fn present(&self, now: RealTime) -> Present {
        Present {
            at: self.game.now(now),
            action: action_span(self.game.frequency()),
        }
    }

    fn loading_ends_at(&self) -> RealTime {
        let Phase::Loading(world, tile_at) = &self.phase else {
            return RealTime::MAX;
        };
        // Other lines do not move this end: servers send something all the time.
        let at_latest = tile_at.saturating_add(LOADING_MAX);
        match world.tiles_missing() {
            0 => at_latest.min(self.heard.saturating_add(COMPLETE_AFTER)),
            _ => at_latest,
        }
    }

    fn silence_ends_at(&self) -> RealTime {
        match self.phase {
            Phase::Greeting(_) | Phase::Asked => self.opened.saturating_add(HANDSHAKE_MAX),
            _ => self.heard.saturating_add(SILENT_MAX),
        }
    }

    fn say(&mut self, message: Option<ToServer>) {
        if let Some(ToServer::SetFrequency { frequency }) = message
            && let Ok(frequency) = Frequency::new(u64::from(frequency))
        {
            self.ask(GuiRequest::SetFrequency(frequency));
        }
    }

    fn ask(&mut self, request: GuiRequest) {
        self.outbox.write(|out| write_gui_request(out, request));
    }

    fn world(&self) -> Option<&GuiWorld> {
        match &self.phase {
            Phase::Loading(world, _) | Phase::Live(world, _) => Some(world),
            _ => None,
        }
    }

    fn world_mut(&mut self) -> Option<&mut GuiWorld> {
        match &mut self.phase {
            Phase::Loading(world, _) | Phase::Live(world, _) => Some(world),
            _ => None,
        }
    }
}

/// Whether an event is none of those with which a server first describes its world.
fn is_change(event: &GuiEvent<'_>) -> bool {
    !matches!(
        event,
        GuiEvent::Tile { .. }
            | GuiEvent::Team(_)
            | GuiEvent::Joined { .. }
            | GuiEvent::Inventory { .. }
            | GuiEvent::Level { .. }
            | GuiEvent::EggLaid { .. }
            | GuiEvent::RitualStarted { .. }
    )
}

/// How long an action of seven units is shown to take.
fn action_span(frequency: Frequency) -> GameSpan {
    let longest = i128::from(ACTION_MAX.as_nanos()) * i128::from(frequency.get());
    GameSpan::from_units(7).min(GameSpan::from_nanounits(longest))
}

/// How far the display is behind, in nanoseconds: such an action, and a little.
fn delay_ns(frequency: Frequency) -> i64 {
    let action_ns = action_span(frequency).as_nanounits() / i128::from(frequency.get());
    i64::try_from(action_ns)
        .unwrap_or(i64::MAX)
        .saturating_add(JITTER.as_nanos())
}
