//! A server without rules, a link and a client, all on one manual clock.
//!
//! The server keeps time as a real one does (deadlines in game time, ticks on a grid of real time, anchors at
//! once) and has no rules: a test schedules what happens. It is written against the protocol alone, so that a
//! mistake in the client is not repeated here.

use std::collections::{BTreeMap, VecDeque};

use trantor_client::{Client, ClientConfig, ClientEvent, Language, Scene};
use trantor_model::{AgentId, AgentView, CommandKind, Counts, Direction, Level, MapSize, TeamId, Tile};
use trantor_protocol::wire::{
    ActionState, AgentState, Change, ClockAnchor, FrameCutter, ServerHello, SnapshotPart, ToClient, ToServer,
    WIRE_VERSION, read_frame, write_frame,
};
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, RealTime};

pub const MILLI: i64 = 1_000_000;
pub const SECOND: i64 = 1_000 * MILLI;
/// The server's tick.
pub const TICK: i64 = 50 * MILLI;

/// A client of frames.
pub fn client() -> Client {
    let config = ClientConfig {
        language: Language::Frames,
        program: "test".to_owned(),
        token: None,
    };
    Client::new(config, RealTime::ZERO)
}

/// An agent of the first team that does nothing.
pub fn agent(id: u32, tile: Tile) -> AgentState {
    AgentState {
        view: AgentView {
            id: AgentId(id),
            team: TeamId(0),
            tile,
            facing: Direction::North,
            level: Level::FIRST,
            inventory: Counts::ZERO,
        },
        action: None,
        food_ends: None,
    }
}

/// An agent begins a step ahead.
pub fn forward(agent: AgentId, start: GameTime, refused: bool) -> Change {
    let (kind, end) = (CommandKind::Forward, start + GameSpan::from_units(7));
    let action = ActionState {
        kind,
        start,
        end,
        refused,
    };
    Change::ActionStarted { agent, action }
}

/// One direction of a link: bytes arrive in order, each piece after its own delay.
pub struct Link {
    least: i64,
    more: i64,
    seed: u64,
    under_way: VecDeque<(i64, Vec<u8>)>,
}

impl Link {
    pub fn new(least: i64, more: i64, seed: u64) -> Self {
        Self {
            least,
            more,
            seed,
            under_way: VecDeque::new(),
        }
    }

    /// Changes how long what is sent from now on takes.
    pub fn set_delay(&mut self, least: i64, more: i64) {
        (self.least, self.more) = (least, more);
    }

    fn send(&mut self, now: i64, bytes: Vec<u8>) {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let extra = if self.more > 0 {
            (self.seed >> 33) as i64 % self.more
        } else {
            0
        };
        let last = self.under_way.back().map_or(0, |(at, _)| *at);
        self.under_way
            .push_back((last.max(now + self.least + extra), bytes));
    }

    fn next(&self) -> i64 {
        self.under_way.front().map_or(i64::MAX, |(at, _)| *at)
    }

    fn receive(&mut self, now: i64) -> Option<Vec<u8>> {
        (self.next() <= now).then(|| self.under_way.pop_front().unwrap().1)
    }
}

/// A server with a clock and without rules.
pub struct Server {
    pub size: MapSize,
    pub teams: Vec<String>,
    pub game: GameClock,
    pub agents: BTreeMap<AgentId, AgentState>,
    pub ground: Vec<Counts>,
    /// What will happen.
    script: BTreeMap<(GameTime, usize), Change>,
    /// What happened since the last tick.
    happened: Vec<(GameTime, Change)>,
    /// When the viewer joined.
    reference: Option<i64>,
    next_tick: i64,
    tick_number: u64,
    cutter: FrameCutter,
    received: u64,
    out: Vec<u8>,
    pub requests: Vec<ToServer>,
}

impl Server {
    pub fn new(size: MapSize, frequency: u64) -> Self {
        Self {
            size,
            teams: vec!["red".to_owned()],
            game: GameClock::new(RealTime::ZERO, GameTime::ZERO, Frequency::new(frequency).unwrap()),
            agents: BTreeMap::new(),
            ground: vec![Counts::ZERO; size.area()],
            script: BTreeMap::new(),
            happened: Vec::new(),
            reference: None,
            next_tick: TICK,
            tick_number: 0,
            cutter: FrameCutter::new::<ToServer>(),
            received: 0,
            out: b"WELCOME\n".to_vec(),
            requests: Vec::new(),
        }
    }

    /// An agent that is there from the start.
    pub fn place(&mut self, id: u32, x: u16, y: u16, facing: Direction) {
        let mut state = agent(id, Tile { x, y });
        state.view.facing = facing;
        self.agents.insert(AgentId(id), state);
    }

    /// Something that will happen at game time `at`.
    pub fn schedule(&mut self, at: GameTime, change: Change) {
        self.script.insert((at, self.script.len()), change);
    }

    /// The agent walks `steps` tiles ahead, one after the other, from game time `from`. Returns when each ends.
    pub fn walk(&mut self, id: u32, from: GameTime, steps: u32) -> Vec<GameTime> {
        let agent = AgentId(id);
        let AgentView { mut tile, facing, .. } = self.agents[&agent].view;
        let step = |number: u32| {
            let start = from + GameSpan::from_units(7 * i64::from(number));
            let end = start + GameSpan::from_units(7);
            self.schedule(start, forward(agent, start, false));
            tile = self.size.step(tile, facing);
            let forced = false;
            let moved = Change::Moved {
                agent,
                tile,
                facing,
                forced,
            };
            self.schedule(end, moved);
            end
        };
        (0..steps).map(step).collect()
    }

    fn send(&mut self, message: &ToClient) {
        write_frame(&mut self.out, message).unwrap();
    }

    /// An instant as it travels, rounded up.
    fn micros(&self, at: i64) -> i64 {
        (at - self.reference.unwrap() + 999).div_euclid(1_000)
    }

    fn send_clock(&mut self, now: i64) {
        let real_us = self.micros(now);
        let real = RealTime::from_nanos(self.reference.unwrap() + real_us * 1_000);
        self.send(&ToClient::Clock(ClockAnchor {
            real_us,
            game: self.game.now(real),
            frequency: self.game.frequency(),
            paused: self.game.is_paused(),
        }));
    }

    fn next(&self) -> i64 {
        let first = self.script.first_key_value();
        let script = first.and_then(|((at, _), _)| self.game.real_at(*at));
        script.map_or(i64::MAX, RealTime::as_nanos).min(self.next_tick)
    }

    fn catch_up(&mut self, now: i64) {
        let game_now = self.game.now(RealTime::from_nanos(now));
        while let Some(entry) = self.script.first_entry()
            && entry.key().0 <= game_now
        {
            let ((at, _), change) = entry.remove_entry();
            self.happened.push((at, change));
        }
    }

    fn run(&mut self, now: i64) {
        self.catch_up(now);
        while self.next_tick <= now {
            self.next_tick += TICK;
            if self.reference.is_some() {
                self.tick();
            }
        }
    }

    fn tick(&mut self) {
        let number = self.tick_number;
        self.send(&ToClient::TickBegin { number, skipped: 0 });
        for (at, change) in std::mem::take(&mut self.happened) {
            let changes = vec![change];
            self.send(&ToClient::Changes { at, changes });
        }
        self.tick_number += 1;
        self.send(&ToClient::TickEnd { number });
    }

    fn receive(&mut self, now: i64, bytes: &[u8]) {
        let mut bytes = bytes.strip_prefix(b"TRANTOR\n").unwrap_or(bytes);
        let mut messages: Vec<ToServer> = vec![];
        while let Some(frame) = self.cutter.next(&mut bytes).unwrap() {
            messages.push(read_frame(frame).unwrap());
        }
        for message in messages {
            self.received += 1;
            self.handle(now, message);
        }
        let number = self.received;
        self.send(&ToClient::Ack { number });
    }

    fn handle(&mut self, now: i64, message: ToServer) {
        match message {
            ToServer::Hello(_) => return self.join(now),
            ToServer::Probe { token } => {
                let server_us = self.micros(now);
                return self.send(&ToClient::ProbeReply { token, server_us });
            }
            ToServer::Credit { .. } => return,
            _ => {}
        }
        self.catch_up(now);
        let real = RealTime::from_nanos(now);
        match &message {
            ToServer::SetFrequency { frequency } => {
                let frequency = Frequency::new(u64::from(*frequency)).unwrap();
                self.game.set_frequency(real, frequency);
            }
            ToServer::Pause => self.game.pause(real),
            ToServer::Resume => self.game.resume(real),
            other => panic!("no test sends {other:?}"),
        }
        self.catch_up(now);
        self.send_clock(now);
        self.requests.push(message);
    }

    /// Sends the whole world as it is at the start; nothing is scheduled before a viewer has joined.
    fn join(&mut self, now: i64) {
        self.reference = Some(now);
        self.tick_number = 8;
        let last = self.next_tick - TICK;
        self.send(&ToClient::Hello(ServerHello {
            version: WIRE_VERSION,
            program: "pretended".to_owned(),
            since_reference_us: 0,
            tick_period_us: (TICK / 1_000) as u32,
            last_tick: Some((7, (last - now) / 1_000)),
            next_tick_us: (self.next_tick - now) / 1_000,
            size: self.size,
            teams: self.teams.clone(),
            may_control: true,
            delay_ms: 0,
        }));
        self.send_clock(now);
        let tiles = self.ground.clone();
        let agents = self.agents.values().cloned().collect();
        let at = self.game.now(RealTime::from_nanos(now));
        self.send(&ToClient::Snapshot(SnapshotPart::Ground { first: 0, tiles }));
        self.send(&ToClient::Snapshot(SnapshotPart::Agents(agents)));
        self.send(&ToClient::SnapshotEnd { at });
    }
}

/// Both ends and all between.
pub struct Universe {
    pub now: i64,
    pub server: Server,
    pub client: Client,
    pub up: Link,
    pub down: Link,
    pub events: Vec<ClientEvent>,
    /// How much faster the viewer's clock goes than the server's, in millionths.
    pub clock_off_ppm: i64,
}

impl Universe {
    /// A link with these delays each way: the least, and how much more at most.
    pub fn new(server: Server, least: i64, more: i64) -> Self {
        Self {
            now: 0,
            server,
            client: client(),
            up: Link::new(least, more, 1),
            down: Link::new(least, more, 2),
            events: vec![],
            clock_off_ppm: 0,
        }
    }

    /// What the viewer's clock shows.
    pub fn real(&self) -> RealTime {
        let off = i128::from(self.now) * i128::from(self.clock_off_ppm) / 1_000_000;
        RealTime::from_nanos(self.now + off as i64)
    }

    /// Lets time pass until `until`; the client looks for due work each millisecond.
    pub fn run_until(&mut self, until: i64) {
        loop {
            self.deliver();
            if self.now == until {
                break;
            }
            let next = [self.up.next(), self.down.next(), self.server.next()];
            let latest = until.min(self.now + MILLI);
            self.now = next.into_iter().fold(latest, i64::min).max(self.now + 1);
        }
    }

    /// Lets time pass, and draws `frames` frames at `hertz`.
    pub fn frames(
        &mut self,
        hertz: i64,
        frames: i64,
        scene: &mut Scene,
        mut look: impl FnMut(&mut Self, &Scene),
    ) {
        let start = self.now;
        for frame in 1..=frames {
            self.run_until(start + frame * SECOND / hertz);
            self.client.scene(self.real(), scene);
            look(self, scene);
        }
    }

    fn deliver(&mut self) {
        let now = self.real();
        self.server.run(self.now);
        while let Some(bytes) = self.up.receive(self.now) {
            self.server.receive(self.now, &bytes);
        }
        while let Some(bytes) = self.down.receive(self.now) {
            self.client.handle(&bytes, now);
        }
        self.client.handle_timeout(now);
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
        let unsent = self.client.unsent().to_vec();
        if !unsent.is_empty() {
            self.client.sent(unsent.len());
            self.up.send(self.now, unsent);
        }
        let out = std::mem::take(&mut self.server.out);
        if !out.is_empty() {
            self.down.send(self.now, out);
        }
    }
}
