//! A session with any Zappy server, as one of its text viewers.
//!
//! The server is asked for what it does not send by itself, and sent nothing that a text viewer may not say.
//! Its clock is unknown; game time counts from when we joined, at the speed it names. Servers describe their world in
//! any order: what comes before the world is shown waits, and the order makes no difference. What lines mean for the world is
//! [`crate::text_world`]'s.

use std::collections::BTreeMap;

use trantor_model::{AgentId, Direction, Tile};
use trantor_protocol::limits::{ANSWER_BYTES_MAX, LINE_BYTES_MAX};
use trantor_protocol::text::{
    Cut, GRAPHIC_WORD, GuiEvent, GuiRequest, LineCutter, parse_gui_event, parse_tiles,
};
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, RealSpan, RealTime};

use crate::clock_sync::{ClockEstimate, ServerTime};
use crate::control::Controls;
use crate::display_clock::{Anchor, DisplayClock};
use crate::error::ProtocolError;
use crate::interface::{ClientEvent, ClientStats};
use crate::motion::ShownWorld;
use crate::readable::readable_bytes;
use crate::scene::LinkState;
use crate::session::Session;
use crate::text_world::TextWorld;
use crate::timeline::Snapshot;

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

/// Bytes kept of what a server sends before its world is shown: the largest map, and everybody on it. What is above is left out.
const EARLY_BYTES_MAX: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct TextSession {
    cutter: LineCutter,
    /// Requests for a speed that were answered, each by one line.
    answers: u64,
    /// Game time since we joined, by our own clock.
    game: GameClock,
    /// Once the size of the map was received. It is being received itself until it has a timeline.
    world: Option<Box<TextWorld>>,
    /// What was received before the world is shown.
    early: Early,
    /// When the last tile came that was new.
    tile_at: RealTime,
    /// When the map is asked for again, once the world is shown.
    poll_at: RealTime,
    keep_alive_at: RealTime,
    /// When the request that waits for its answer was sent.
    asked: Option<RealTime>,
    rtt: RealSpan,
}

impl TextSession {
    pub fn new(now: RealTime) -> Self {
        let frequency = Frequency::new(100).expect("100 is a frequency");
        Self {
            // Some servers send the whole map as one line.
            cutter: LineCutter::with_max(ANSWER_BYTES_MAX),
            answers: 0,
            game: GameClock::new(now, GameTime::ZERO, frequency),
            world: None,
            early: Early::default(),
            tile_at: RealTime::MAX,
            poll_at: RealTime::MAX,
            keep_alive_at: RealTime::MAX,
            asked: None,
            rtt: RealSpan::ZERO,
        }
    }

    pub fn start(&mut self, session: &mut Session, now: RealTime) {
        session.controls = Controls::new(true);
        session.write_first_line(GRAPHIC_WORD);
        self.keep_alive_at = now.saturating_add(ASK_AFTER);
    }

    pub fn read(
        &mut self,
        mut bytes: &[u8],
        session: &mut Session,
        now: RealTime,
    ) -> Result<(), ProtocolError> {
        let mut cutter = std::mem::take(&mut self.cutter);
        let mut result = Ok(());
        while result.is_ok()
            && let Some(cut) = cutter.next(&mut bytes)
        {
            session.stats.messages_in = session.stats.messages_in.saturating_add(1);
            match cut {
                Cut::Line(line) => result = self.line(line, session, now),
                Cut::TooLong => not_understood(session),
            }
        }
        self.cutter = cutter;
        if let Some(world) = &mut self.world {
            world.settle();
            show_changes(world, session);
        }
        result
    }

    pub fn handle_timeout(&mut self, session: &mut Session, now: RealTime) {
        if self.keep_alive_at <= now {
            self.keep_alive_at = now.saturating_add(KEEP_ALIVE);
            self.asked.get_or_insert(now);
            session.ask(GuiRequest::MapSize);
            // A server that sends nothing by itself is asked for everything.
            if self.world.is_none() {
                session.ask(GuiRequest::Frequency);
                session.ask(GuiRequest::Teams);
                session.ask(GuiRequest::Map);
            }
            if let Some(world) = self.loading(session) {
                let missing = world.tiles_missing;
                let received = world.latest.ground().len() - missing;
                if missing > 0 && received <= TILES_TRICKLE_MAX {
                    session.ask(GuiRequest::Map);
                }
            }
        }
        if self.loading_ends_at(session) <= now {
            self.open(session, now);
        }
        if self.poll_at <= now
            && let Some(world) = &self.world
        {
            let tiles = world.latest.ground().len() as i64;
            self.poll_at = now.saturating_add(MAP_POLL + MAP_POLL_PER_TILE * tiles);
            session.ask(GuiRequest::Map);
        }
    }

    pub fn next_timeout(&self, session: &Session) -> RealTime {
        let loading_ends_at = self.loading_ends_at(session);
        self.keep_alive_at.min(loading_ends_at).min(self.poll_at)
    }

    pub fn link(&self, session: &Session) -> LinkState {
        let Some(world) = self.loading(session) else {
            return LinkState::Live;
        };
        let of = world.latest.ground().len();
        LinkState::Loading {
            tiles: (of - world.tiles_missing) as u32,
            of: of as u32,
        }
    }

    /// Unlike what is shown, it goes on after a victory: a recording may be moved back.
    pub fn newest_world(&self, session: &Session) -> Option<ShownWorld> {
        let world = self.world.as_ref().filter(|_| session.timeline.is_some())?;
        Some(world.latest.clone())
    }

    pub fn count(&self, stats: &mut ClientStats) {
        stats.clock = ClockEstimate {
            rtt_best_ns: self.rtt.as_nanos(),
            rtt_last_ns: self.rtt.as_nanos(),
            ..ClockEstimate::default()
        };
        stats.ignored = self.world.as_ref().map_or(0, |world| world.ignored);
    }

    fn line(&mut self, line: &[u8], session: &mut Session, now: RealTime) -> Result<(), ProtocolError> {
        if self.world.is_none() && line.trim_ascii() == b"ko" {
            return Err(match session.config.token {
                None => ProtocolError::NoTextViewers,
                Some(_) => ProtocolError::TokenRefused,
            });
        }
        let mut is_map = false;
        for (tile, ground) in parse_tiles(line) {
            is_map = true;
            self.event(GuiEvent::Tile { tile, ground }, session, now);
        }
        if is_map {
            if self.world.is_none() {
                self.keep(line, session, now);
            }
            return Ok(());
        }
        let understood = match line.len() {
            ..=LINE_BYTES_MAX => parse_gui_event(line),
            _ => None,
        };
        match understood {
            Some(GuiEvent::MapSize(size)) => {
                if let Some(asked) = self.asked.take() {
                    self.rtt = now.since(asked);
                }
                match &mut self.world {
                    None => {
                        self.world = Some(Box::new(TextWorld::new(size)));
                        session.is_joined = true;
                        self.tile_at = now;
                        self.keep_alive_at = now.saturating_add(ASK_AFTER);
                        for line in self.early.take_map() {
                            for (tile, ground) in parse_tiles(&line) {
                                self.event(GuiEvent::Tile { tile, ground }, session, now);
                            }
                        }
                    }
                    // A map does not change while it is watched.
                    Some(world) if world.latest.size() != size => world.ignore(&"another map"),
                    Some(_) => {}
                }
            }
            Some(GuiEvent::Frequency(frequency)) => self.frequency(frequency, session, now),
            Some(GuiEvent::BadParameter) if session.numbers.in_flight() > 0 => {
                self.answered(session);
                session.push(ClientEvent::Refused {
                    reason: "the server refused that speed".to_owned(),
                });
            }
            Some(GuiEvent::Message(text)) => session.announce(readable_bytes(text)),
            // The lines that other servers add to the protocol are no errors.
            Some(GuiEvent::BadParameter | GuiEvent::UnknownRequest) | None => not_understood(session),
            Some(event) => {
                // An event: the world was sent before it.
                let loading = self.loading(session);
                if self.early.is_change(&event) && loading.is_some_and(|world| world.tiles_missing == 0) {
                    self.open(session, now);
                }
                if session.timeline.is_some() {
                    self.event(event, session, now);
                } else {
                    self.early.note(&event);
                    self.keep(line, session, now);
                }
            }
        }
        Ok(())
    }

    /// Keeps a line until the world is shown.
    fn keep(&mut self, line: &[u8], session: &mut Session, now: RealTime) {
        if !self.early.keep(self.game.now(now), line) {
            not_understood(session);
        }
    }

    /// Something that is so in the world.
    fn event(&mut self, event: GuiEvent<'_>, session: &mut Session, now: RealTime) {
        session.stats.changes_in = session.stats.changes_in.saturating_add(1);
        if let Some(world) = &mut self.world {
            let missing = world.tiles_missing;
            world.set_now(self.game.now(now), action_span(self.game.frequency()));
            world.take(event);
            if world.tiles_missing < missing {
                self.tile_at = now;
            }
            show_changes(world, session);
        }
    }

    /// The server named its speed, perhaps as an answer.
    fn frequency(&mut self, frequency: Frequency, session: &mut Session, now: RealTime) {
        self.game.set_frequency(now, frequency);
        session.controls.confirm(frequency, false);
        if session.numbers.in_flight() > 0 {
            self.answered(session);
        }
        session.clock.anchor(self.anchor(now));
        session.clock.aim(delay_ns(frequency));
    }

    /// The oldest request for a speed was answered.
    fn answered(&mut self, session: &mut Session) {
        self.answers += 1;
        if let Err(error) = session.ack(self.answers) {
            log::debug!("an answer of the server is not counted: {error}");
        }
    }

    /// The world is complete: it is shown from now on.
    fn open(&mut self, session: &mut Session, now: RealTime) {
        let Some(world) = &mut self.world else { return };
        let early = std::mem::take(&mut self.early);
        session.stats.changes_in = session.stats.changes_in.saturating_add(early.tell(world));
        let Some(world) = &self.world else { return };
        session.clock = DisplayClock::new(delay_ns(self.game.frequency()));
        session.clock.anchor(self.anchor(now));
        session.push(ClientEvent::Welcome {
            program: String::new(),
            teams: world.teams.iter().map(|name| name.to_string()).collect(),
            size: world.latest.size(),
            may_control: true,
            ticks: 0,
        });
        session.show(Snapshot {
            world: world.latest.clone(),
            ground_copy: Vec::new(),
            at: self.game.now(now),
            teams: world.teams.clone(),
            history: None,
        });
        // What is missing is asked for at once.
        self.poll_at = match world.tiles_missing {
            0 => now.saturating_add(MAP_POLL),
            _ => now,
        };
    }

    fn anchor(&self, now: RealTime) -> Anchor {
        Anchor {
            at: ServerTime::from_nanos(now.as_nanos()),
            game: self.game.now(now),
            frequency: self.game.frequency(),
            paused: false,
        }
    }

    /// The world while it is being received.
    fn loading(&self, session: &Session) -> Option<&TextWorld> {
        self.world.as_deref().filter(|_| session.timeline.is_none())
    }

    fn loading_ends_at(&self, session: &Session) -> RealTime {
        let Some(world) = self.loading(session) else {
            return RealTime::MAX;
        };
        // Other lines do not move this end: servers send something all the time.
        let at_latest = self.tile_at.saturating_add(LOADING_MAX);
        match world.tiles_missing {
            0 => at_latest.min(session.received.saturating_add(COMPLETE_AFTER)),
            _ => at_latest,
        }
    }
}

/// What a text server sent before its world is shown, in whatever order: some send agents before the map, or what an agent
/// carries before the agent. All of it is read when the world is shown, in the one order in which each line finds what it is
/// about.
#[derive(Debug, Default)]
struct Early {
    /// Lines as they came, and when.
    lines: Vec<(GameTime, Box<[u8]>)>,
    bytes: usize,
    /// Agents that some line announces, and where.
    agents: BTreeMap<AgentId, (Tile, Direction)>,
}

impl Early {
    /// Keeps a line; `false` if there are too many.
    fn keep(&mut self, at: GameTime, line: &[u8]) -> bool {
        let bytes = self.bytes + line.len() + size_of::<(GameTime, Box<[u8]>)>();
        let has_room = bytes <= EARLY_BYTES_MAX;
        if has_room {
            self.bytes = bytes;
            self.lines.push((at, line.into()));
        }
        has_room
    }

    fn note(&mut self, event: &GuiEvent<'_>) {
        if let GuiEvent::Joined {
            agent, tile, facing, ..
        } = event
        {
            self.agents.insert(*agent, (*tile, *facing));
        }
    }

    /// Whether an event is none of those with which a server first describes its world.
    fn is_change(&self, event: &GuiEvent<'_>) -> bool {
        match event {
            // Some servers describe an agent by that as well.
            GuiEvent::Position { agent, tile, facing } => {
                let announced = self.agents.get(agent);
                announced.is_some_and(|announced| *announced != (*tile, *facing))
            }
            event => order(event) == Order::Change,
        }
    }

    /// Takes out what describes the map, which was of no use before its size.
    fn take_map(&mut self) -> Vec<Box<[u8]>> {
        let is_map = |line: &[u8]| parse_tiles(line).next().is_some();
        let (map, others) = std::mem::take(&mut self.lines)
            .into_iter()
            .partition(|(_, line)| is_map(line));
        self.lines = others;
        let map: Vec<(GameTime, Box<[u8]>)> = map;
        map.into_iter().map(|(_, line)| line).collect()
    }

    /// Tells the world all that was kept; answers how many lines.
    fn tell(self, world: &mut TextWorld) -> u64 {
        let mut events: Vec<(GameTime, GuiEvent<'_>)> = self
            .lines
            .iter()
            .filter_map(|(at, line)| Some((*at, parse_gui_event(line)?)))
            // What an agent picks up or puts down is counted in the lines that follow, of which the map's are read already.
            .filter(|(_, event)| !matches!(event, GuiEvent::Took { .. } | GuiEvent::Put { .. }))
            .collect();
        events.sort_by_key(|(_, event)| order(event));
        // Teams have their numbers, and with them their colours, by name: the order of lines says nothing.
        let mut teams: Vec<&[u8]> = events.iter().filter_map(|(_, event)| team_of(event)).collect();
        teams.sort_unstable();
        for team in teams {
            world.take(GuiEvent::Team(team));
        }
        let count = events.len() as u64;
        for (at, event) in events {
            world.set_now(at, GameSpan::ZERO);
            world.take(event);
        }
        world.settle();
        world.changes.clear();
        count
    }
}

/// When a line is read of those that came before the world is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Map,
    Agents,
    OfAgents,
    Eggs,
    Elevations,
    /// In the order in which they came.
    Change,
}

fn order(event: &GuiEvent<'_>) -> Order {
    match event {
        GuiEvent::Tile { .. } | GuiEvent::Team(_) => Order::Map,
        GuiEvent::Joined { .. } => Order::Agents,
        GuiEvent::Inventory { .. } | GuiEvent::Level { .. } => Order::OfAgents,
        GuiEvent::EggLaid { .. } => Order::Eggs,
        GuiEvent::ElevationStarted { .. } => Order::Elevations,
        _ => Order::Change,
    }
}

fn team_of<'a>(event: &GuiEvent<'a>) -> Option<&'a [u8]> {
    match event {
        GuiEvent::Team(name) => Some(name),
        GuiEvent::Joined { team, .. } => Some(team),
        _ => None,
    }
}

/// One of the two sides said something that the other does not know.
fn not_understood(session: &mut Session) {
    session.stats.ignored_lines = session.stats.ignored_lines.saturating_add(1);
}

/// Has decoded changes shown when they are due; those before the world is shown are part of it.
fn show_changes(world: &mut TextWorld, session: &mut Session) {
    let changes = std::mem::take(&mut world.changes);
    let Some(timeline) = &mut session.timeline else {
        return;
    };
    timeline.set_teams(&world.teams);
    for (at, change) in changes {
        if let Err(error) = timeline.push(at, change) {
            world.ignore(&error);
        }
    }
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
