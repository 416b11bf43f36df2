//! A server without rules, a link and a client, all on one manual clock.
//!
//! The server keeps time as a real one does (deadlines in game time, ticks on a grid of real time, anchors at
//! once) and has no rules: a test says what happens when. It is written against the protocol alone, so that a
//! mistake in the client is not repeated here.

use std::collections::{BTreeMap, VecDeque};

use trantor_client::{Client, ClientConfig, ClientEvent, Language, Scene};
use trantor_model::{AgentId, AgentView, CommandKind, Counts, Direction, Level, MapSize, TeamId, Tile};
use trantor_protocol::wire::{
    ActionState, AgentState, Change, ClockAnchor, FrameCutter, History, ServerHello, SnapshotPart, StepKind,
    ToClient, ToServer, WIRE_VERSION, read_frame, write_frame,
};
use trantor_time::{Frequency, GameClock, GameSpan, GameTime, RealTime};

pub const MILLI: i64 = 1_000_000;
pub const SECOND: i64 = 1_000 * MILLI;
/// The server's tick.
pub const TICK: i64 = 50 * MILLI;

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
    /// Sent before the world.
    pub history: Option<History>,
    pub game: GameClock,
    pub agents: BTreeMap<AgentId, AgentState>,
    pub ground: Vec<Counts>,
    /// What will happen.
    script: BTreeMap<(GameTime, u64), Change>,
    scripted: u64,
    /// What happened since the last tick.
    happened: Vec<(GameTime, Change)>,
    reference: i64,
    next_tick: i64,
    tick_number: u64,
    text_read: bool,
    cutter: FrameCutter,
    received: u64,
    /// Pieces of the snapshot that wait for credit.
    pieces: VecDeque<SnapshotPart>,
    credit: u32,
    joined: bool,
    watched: bool,
    out: Vec<u8>,
    pub requests: Vec<ToServer>,
}

impl Server {
    pub fn new(size: MapSize, frequency: u64) -> Self {
        Self {
            size,
            teams: vec!["red".to_owned()],
            history: None,
            game: GameClock::new(RealTime::ZERO, GameTime::ZERO, Frequency::new(frequency).unwrap()),
            agents: BTreeMap::new(),
            ground: vec![Counts::ZERO; size.area()],
            script: BTreeMap::new(),
            scripted: 0,
            happened: Vec::new(),
            reference: 0,
            next_tick: TICK,
            tick_number: 0,
            text_read: false,
            cutter: FrameCutter::new::<ToServer>(),
            received: 0,
            pieces: VecDeque::new(),
            credit: 20,
            joined: false,
            watched: false,
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
        self.scripted += 1;
        self.script.insert((at, self.scripted), change);
    }

    /// The agent walks `steps` tiles ahead, one after the other, from game time `from`. Answers when each ends.
    pub fn walk(&mut self, id: u32, from: GameTime, steps: u32) -> Vec<GameTime> {
        let AgentView { mut tile, facing, .. } = self.agents[&AgentId(id)].view;
        let mut ends = vec![];
        let mut start = from;
        for _ in 0..steps {
            let end = start + GameSpan::from_units(7);
            let agent = AgentId(id);
            let kind = CommandKind::Forward;
            self.schedule(
                start,
                Change::ActionStarted {
                    agent,
                    action: ActionState {
                        kind,
                        start,
                        end,
                        refused: false,
                    },
                },
            );
            tile = self.size.step(tile, facing);
            let forced = false;
            self.schedule(
                end,
                Change::Moved {
                    agent,
                    tile,
                    facing,
                    forced,
                },
            );
            ends.push(end);
            start = end;
        }
        ends
    }

    pub fn set_frequency(&mut self, now: i64, frequency: u64) {
        self.catch_up(now);
        self.game
            .set_frequency(RealTime::from_nanos(now), Frequency::new(frequency).unwrap());
        self.send_clock(now);
    }

    pub fn pause(&mut self, now: i64) {
        self.catch_up(now);
        self.game.pause(RealTime::from_nanos(now));
        self.send_clock(now);
    }

    /// The machine slept for so long, and its clock with it.
    pub fn was_suspended(&mut self, for_ns: i64) {
        self.reference += for_ns;
        self.next_tick += for_ns;
    }

    pub fn resume(&mut self, now: i64) {
        self.game.resume(RealTime::from_nanos(now));
        self.send_clock(now);
    }

    fn step(&mut self, now: i64, step: StepKind) {
        match step {
            StepKind::Unit => {
                self.game.step_unit();
            }
            StepKind::Event | StepKind::Action => {
                if let Some(((at, _), _)) = self.script.first_key_value() {
                    self.game.step_to(*at);
                }
            }
        }
        self.catch_up(now);
        self.send_clock(now);
    }

    fn us(&self, now: i64) -> i64 {
        (now - self.reference) / 1_000
    }

    fn send(&mut self, message: &ToClient) {
        write_frame(&mut self.out, message).unwrap();
    }

    fn send_clock(&mut self, now: i64) {
        if !self.joined {
            return;
        }
        // The wire has microseconds: the anchor is what the clock showed at a whole one.
        let real_us = self.us(now);
        let real = RealTime::from_nanos(self.reference + real_us * 1_000);
        let (anchor_real, anchor_game) = self.game.anchor();
        let frequency = self.game.frequency();
        let game = if self.game.is_paused() {
            anchor_game
        } else {
            let ns = i128::from(real.as_nanos() - anchor_real.as_nanos());
            GameTime::from_nanounits(anchor_game.as_nanounits() + ns * i128::from(frequency.get()))
        };
        let game = game.max(GameTime::ZERO);
        let paused = self.game.is_paused();
        self.send(&ToClient::Clock(ClockAnchor {
            real_us,
            game,
            frequency,
            paused,
        }));
    }

    fn next(&self) -> i64 {
        let script = self
            .script
            .first_key_value()
            .and_then(|((at, _), _)| self.game.real_at(*at))
            .map_or(i64::MAX, |at| at.as_nanos());
        script.min(self.next_tick)
    }

    fn catch_up(&mut self, now: i64) {
        let game_now = self.game.now(RealTime::from_nanos(now));
        while let Some(entry) = self.script.first_entry() {
            if entry.key().0 > game_now {
                break;
            }
            let at = entry.key().0;
            let change = entry.remove();
            if let Change::Moved {
                agent, tile, facing, ..
            } = change
            {
                let agent = self.agents.get_mut(&agent).unwrap();
                (agent.view.tile, agent.view.facing) = (tile, facing);
                agent.action = None;
            }
            if let Change::ActionStarted { agent, action } = change {
                self.agents.get_mut(&agent).unwrap().action = Some(action);
            }
            if self.watched {
                self.happened.push((at, change));
            }
        }
    }

    fn run(&mut self, now: i64) {
        self.catch_up(now);
        while self.next_tick <= now {
            self.next_tick += TICK;
            if self.joined {
                self.tick(now);
            }
        }
    }

    fn tick(&mut self, now: i64) {
        let number = self.tick_number;
        self.send(&ToClient::TickBegin { number, skipped: 0 });
        let mut happened = std::mem::take(&mut self.happened).into_iter().peekable();
        while let Some((at, change)) = happened.next() {
            let mut changes = vec![change];
            while let Some((_, change)) = happened.next_if(|(other, _)| *other == at) {
                changes.push(change);
            }
            self.send(&ToClient::Changes { at, changes });
        }
        self.tick_number += 1;
        self.send(&ToClient::TickEnd { number });
        self.feed_snapshot(now);
    }

    fn feed_snapshot(&mut self, now: i64) {
        while self.credit > 0
            && let Some(piece) = self.pieces.pop_front()
        {
            self.credit -= 1;
            self.send(&ToClient::Snapshot(piece));
            if self.pieces.is_empty() {
                // The agents as they are now: nothing was sent since.
                self.catch_up(now);
                self.watched = true;
                let agents = self.agents.values().cloned().collect();
                self.send(&ToClient::Snapshot(SnapshotPart::Agents(agents)));
                self.credit = self.credit.saturating_sub(1);
                let at = self.game.now(RealTime::from_nanos(now));
                self.send(&ToClient::SnapshotEnd { at });
            }
        }
    }

    fn receive(&mut self, now: i64, bytes: &[u8]) {
        let mut bytes = bytes;
        if !self.text_read {
            let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
            assert_eq!(&bytes[..end], b"TRANTOR");
            self.text_read = true;
            bytes = &bytes[end + 1..];
        }
        let mut cutter = std::mem::replace(&mut self.cutter, FrameCutter::new::<ToServer>());
        while let Some(frame) = cutter.next(&mut bytes).unwrap() {
            let message: ToServer = read_frame(frame).unwrap();
            self.received += 1;
            self.handle(now, message);
        }
        self.cutter = cutter;
        let number = self.received;
        self.send(&ToClient::Ack { number });
    }

    fn handle(&mut self, now: i64, message: ToServer) {
        match message.clone() {
            ToServer::Hello(_) => {
                self.reference = now;
                self.joined = true;
                let last = self.next_tick - TICK;
                self.tick_number = 8;
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
                if let Some(history) = self.history.clone() {
                    self.send(&ToClient::History(history));
                }
                let runs = self.ground.chunks(64).enumerate();
                self.pieces = runs
                    .map(|(run, tiles)| SnapshotPart::Ground {
                        first: run as u32 * 64,
                        tiles: tiles.to_vec(),
                    })
                    .collect();
            }
            ToServer::Probe { token } => {
                let server_us = self.us(now);
                self.send(&ToClient::ProbeReply { token, server_us });
            }
            ToServer::Credit { items } => self.credit += items,
            ToServer::Goodbye => {}
            ToServer::Watch { agent } => {
                // It answers at once, with something to tell agents apart by.
                if let Some(agent) = agent {
                    let commands = vec![None; agent.0 as usize];
                    self.send(&ToClient::Waiting { agent, commands });
                }
            }
            request => {
                self.requests.push(request.clone());
                match request {
                    ToServer::SetFrequency { frequency } => self.set_frequency(now, u64::from(frequency)),
                    ToServer::Pause => self.pause(now),
                    ToServer::Resume => self.resume(now),
                    ToServer::Step(step) => self.step(now, step),
                    _ => unreachable!("the others were handled"),
                }
            }
        }
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
        let config = ClientConfig {
            language: Language::Frames,
            program: "test".to_owned(),
            token: None,
        };
        Self {
            now: 0,
            server,
            client: Client::new(config, RealTime::ZERO),
            up: Link::new(least, more, 1),
            down: Link::new(least, more, 2),
            events: vec![],
            clock_off_ppm: 0,
        }
    }

    /// What the viewer's clock shows.
    pub fn real(&self) -> RealTime {
        RealTime::from_nanos(self.viewer_clock(self.now))
    }

    fn viewer_clock(&self, now: i64) -> i64 {
        now + (i128::from(now) * i128::from(self.clock_off_ppm) / 1_000_000) as i64
    }

    /// When the viewer's clock shows `at`, or a little later.
    fn when_it_shows(&self, at: RealTime) -> i64 {
        let at = at.as_nanos();
        let about = i128::from(at) * 1_000_000 / i128::from(1_000_000 + self.clock_off_ppm);
        let about = i64::try_from(about).unwrap_or(i64::MAX);
        (about..)
            .take(3)
            .find(|&now| self.viewer_clock(now) >= at)
            .unwrap_or(about)
    }

    /// Lets time pass until `until`.
    pub fn run_until(&mut self, until: i64) {
        loop {
            self.deliver();
            let timeout = self
                .client
                .next_timeout()
                .map_or(i64::MAX, |at| self.when_it_shows(at));
            let next = [self.up.next(), self.down.next(), self.server.next(), timeout];
            let next = next.into_iter().min().unwrap();
            if next > until {
                break;
            }
            self.now = self.now.max(next);
        }
        self.now = until;
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
