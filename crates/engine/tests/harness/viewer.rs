//! A viewer of ours, as dull as can be: it believes nothing, and copies the world word for word.
//!
//! Every rule of the wire that a viewer can see broken is an assertion here.

use std::collections::BTreeMap;

use trantor_game::World;
use trantor_model::{AgentId, CommandKind, Counts, EggId, MapSize, TeamId, Tile};
use trantor_protocol::wire::{
    ActionState, AgentState, Change, ClientHello, ClockAnchor, EggState, FrameCutter, History, RecordingInfo,
    RitualState, ServerHello, ServerStats, SnapshotPart, ToClient, ToServer, WIRE_VERSION, read_frame,
    write_frame,
};
use trantor_time::GameTime;

/// What it knows.
pub struct Viewer {
    cutter: FrameCutter,
    greeting: Vec<u8>,
    pub hello: Option<ServerHello>,
    /// The copy, complete between end marks.
    pub copy: Option<Copy>,
    loading: Option<Copy>,
    /// Stream time, and all it has been.
    pub stream_us: Option<i64>,
    pub last_tick: Option<(u64, i64)>,
    open_tick: Option<u64>,
    last_at: GameTime,
    pub sent: u64,
    pub acked: u64,
    /// Pieces processed and not credited.
    pub uncredited: u32,
    /// Whether it credits pieces by itself.
    pub credits: bool,
    pub clock: Option<ClockAnchor>,
    pub clocks: u32,
    pub stats: Vec<ServerStats>,
    pub refused: Vec<(u64, String)>,
    pub goodbye: Option<String>,
    /// The time-line of what it watches, if that is a recording, and how often that was moved.
    /// What happened before, as told last.
    pub history: Option<History>,
    pub recording: Option<RecordingInfo>,
    pub jumps: u32,
    pub probes: Vec<(u64, i64)>,
    /// What it was told of the agent it watches, in order.
    pub waiting: Vec<(AgentId, Vec<Option<CommandKind>>)>,
    pub snapshots: u32,
    pub parts: u32,
    pub changes: u64,
    pub skipped: u64,
    /// Everything it was told, in order, when wanted.
    pub log: Option<Vec<ToClient>>,
    /// What it wants to say.
    pub to_send: Vec<u8>,
}

/// The world as told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copy {
    pub ground: Vec<Counts>,
    pub agents: BTreeMap<AgentId, AgentState>,
    pub eggs: BTreeMap<EggId, EggState>,
    pub rituals: Vec<RitualState>,
    pub winner: Option<TeamId>,
    size: Option<MapSize>,
}

impl Viewer {
    pub fn new() -> Self {
        let mut viewer = Self {
            cutter: FrameCutter::new::<ToClient>(),
            greeting: Vec::new(),
            hello: None,
            copy: None,
            loading: None,
            stream_us: None,
            last_tick: None,
            open_tick: None,
            last_at: GameTime::ZERO,
            sent: 0,
            acked: 0,
            uncredited: 0,
            credits: true,
            clock: None,
            clocks: 0,
            stats: Vec::new(),
            refused: Vec::new(),
            goodbye: None,
            recording: None,
            history: None,
            jumps: 0,
            probes: Vec::new(),
            waiting: Vec::new(),
            snapshots: 0,
            parts: 0,
            changes: 0,
            skipped: 0,
            log: None,
            to_send: b"TRANTOR\n".to_vec(),
        };
        viewer.say(&ToServer::Hello(ClientHello {
            version: WIRE_VERSION,
            program: "dull".to_owned(),
        }));
        viewer
    }

    /// Puts a message behind what it wants to say; answers its number.
    pub fn say(&mut self, message: &ToServer) -> u64 {
        write_frame(&mut self.to_send, message).expect("a short message");
        self.sent += 1;
        self.sent
    }

    /// Whether everything it said was processed.
    pub fn is_acked(&self) -> bool {
        self.acked == self.sent
    }

    pub fn hear(&mut self, mut bytes: &[u8]) {
        while !self.greeting.ends_with(b"\n") && !bytes.is_empty() {
            self.greeting.push(bytes[0]);
            bytes = &bytes[1..];
        }
        while let Some(frame) = self.cutter.next(&mut bytes).expect("frames of accepted length") {
            let message: ToClient = read_frame(frame).expect("a message of this version");
            if let Some(log) = &mut self.log {
                log.push(message.clone());
            }
            self.take(message);
        }
    }

    fn take(&mut self, message: ToClient) {
        assert!(self.goodbye.is_none(), "nothing comes after a goodbye");
        let is_first = self.hello.is_none();
        match message {
            ToClient::Hello(hello) => {
                assert!(is_first, "a hello comes once");
                self.last_tick = hello.last_tick;
                self.hello = Some(hello);
            }
            ToClient::Refused { number, reason } => {
                assert!(
                    number > self.acked && number <= self.sent,
                    "a refusal comes before its acknowledgement"
                );
                self.refused.push((number, reason));
            }
            ToClient::Goodbye { reason } => self.goodbye = Some(reason),
            _ if is_first => panic!("{message:?} before the hello"),
            ToClient::Waiting { agent, commands } => {
                assert!(self.open_tick.is_some(), "what waits comes within a tick");
                self.waiting.push((agent, commands));
            }
            ToClient::ProbeReply { token, server_us } => self.probes.push((token, server_us)),
            ToClient::Snapshot(part) => {
                self.parts += 1;
                self.uncredited += 1;
                let size = self.hello.as_ref().map(|hello| hello.size);
                self.loading
                    .get_or_insert_with(|| Copy {
                        size,
                        ..Copy::default()
                    })
                    .load(part);
                if self.credits {
                    self.credit(1);
                }
            }
            ToClient::SnapshotEnd { at } => {
                self.advance(at);
                self.snapshots += 1;
                self.copy = self.loading.take();
                let copy = self.copy.as_ref().expect("a snapshot has pieces");
                assert_eq!(
                    Some(copy.ground.len()),
                    copy.size.map(MapSize::area),
                    "all tiles came"
                );
            }
            ToClient::TickBegin { number, skipped } => self.begin_tick(number, skipped),
            ToClient::TickEnd { number } => {
                assert_eq!(
                    self.open_tick.take(),
                    Some(number),
                    "the tick that ends is the one that began"
                );
            }
            ToClient::StreamTime { instant_us } => self.move_stream(instant_us),
            ToClient::Changes { at, changes } => {
                assert!(self.open_tick.is_some(), "changes come within a tick");
                assert!(self.loading.is_none(), "no change comes into a snapshot");
                assert!(!changes.is_empty(), "a message of changes has some");
                self.advance(at);
                let copy = self.copy.as_mut().expect("changes come after a snapshot");
                for change in changes {
                    self.changes += 1;
                    copy.apply(change);
                }
            }
            ToClient::Ack { number } => {
                assert!(number > self.acked, "an acknowledgement is greater than the last");
                assert!(number <= self.sent, "nothing is acknowledged that was not sent");
                self.acked = number;
            }
            ToClient::Clock(anchor) => self.set_clock(anchor),
            ToClient::Recording(info) => {
                assert!(self.recording.is_none(), "a recording is told once");
                assert!(
                    self.clock.is_some() && self.parts == 0,
                    "right after the first clock"
                );
                self.recording = Some(info);
            }
            ToClient::History(history) => self.history = Some(history),
            ToClient::Sought(anchor) => {
                assert!(self.recording.is_some(), "only a recording is moved");
                assert_eq!(self.open_tick, None, "between ticks");
                self.set_clock(anchor);
                self.last_at = GameTime::ZERO;
                let size = self.hello.as_ref().map(|hello| hello.size);
                self.loading = Some(Copy {
                    size,
                    ..Copy::default()
                });
                self.jumps += 1;
            }
            ToClient::Stats(stats) => self.stats.push(stats),
        }
    }

    fn set_clock(&mut self, anchor: ClockAnchor) {
        assert!(
            self.clock.is_none_or(|last| last.real_us <= anchor.real_us),
            "anchors do not go back"
        );
        self.clock = Some(anchor);
        self.clocks += 1;
    }

    /// Gives credit back for pieces.
    pub fn credit(&mut self, items: u32) {
        self.uncredited -= items;
        self.say(&ToServer::Credit { items });
    }

    /// The begin mark's instant is the last one plus a period for each instant, run or skipped.
    fn begin_tick(&mut self, number: u64, skipped: u64) {
        let hello = self.hello.as_ref().expect("a hello came");
        assert_eq!(self.open_tick, None, "ticks do not nest");
        let period_us = i64::from(hello.tick_period_us);
        let instant_us = match self.last_tick {
            Some((last, instant_us)) => {
                assert_eq!(number, last + 1, "numbers rise by one");
                instant_us + period_us * (1 + skipped as i64)
            }
            None => {
                assert_eq!(number, 0, "the first tick has number 0");
                hello.next_tick_us + period_us * skipped as i64
            }
        };
        self.move_stream(instant_us);
        self.last_tick = Some((number, instant_us));
        self.open_tick = Some(number);
        self.skipped += skipped;
    }

    fn move_stream(&mut self, to_us: i64) {
        assert!(
            self.stream_us.is_none_or(|from_us| from_us < to_us),
            "stream time increases: {:?} to {to_us}",
            self.stream_us
        );
        self.stream_us = Some(to_us);
    }

    fn advance(&mut self, at: GameTime) {
        assert!(
            at >= self.last_at,
            "game time never goes back: {:?} to {at:?}",
            self.last_at
        );
        self.last_at = at;
    }

    /// Whether it is within a tick.
    pub fn is_in_tick(&self) -> bool {
        self.open_tick.is_some()
    }

    /// Whether it has a whole copy and no other is on its way.
    pub fn is_complete(&self) -> bool {
        self.copy.is_some() && self.loading.is_none() && self.open_tick.is_none()
    }
}

impl Copy {
    fn load(&mut self, part: SnapshotPart) {
        match part {
            SnapshotPart::Ground { first, tiles } => {
                assert_eq!(first as usize, self.ground.len(), "tiles come in order");
                self.ground.extend(tiles);
            }
            SnapshotPart::Agents(agents) => {
                self.agents
                    .extend(agents.into_iter().map(|agent| (agent.view.id, agent)));
            }
            SnapshotPart::Eggs(eggs) => self.eggs.extend(eggs.into_iter().map(|egg| (egg.egg, egg))),
            SnapshotPart::Rituals(rituals) => self.rituals.extend(rituals),
            SnapshotPart::Winner(team) => self.winner = Some(team),
        }
    }

    fn agent(&mut self, id: AgentId) -> &mut AgentState {
        self.agents
            .get_mut(&id)
            .unwrap_or_else(|| panic!("agent {} is known", id.0))
    }

    fn ground(&mut self, tile: Tile) -> &mut Counts {
        let index = self.size.expect("a hello came").index_of(tile);
        &mut self.ground[index]
    }

    fn remove_agent(&mut self, id: AgentId) {
        assert!(self.agents.remove(&id).is_some(), "who goes was there");
        for ritual in &mut self.rituals {
            ritual.participants.retain(|participant| *participant != id);
        }
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Joined {
                agent,
                egg,
                food_ends,
            } => {
                assert!(self.eggs.remove(&egg).is_some(), "who hatches had an egg");
                let state = AgentState {
                    view: agent,
                    action: None,
                    food_ends,
                };
                assert!(
                    self.agents.insert(agent.id, state).is_none(),
                    "numbers are not reused"
                );
            }
            Change::Died { agent } | Change::Left { agent } => self.remove_agent(agent),
            Change::ActionStarted { agent, action } => self.agent(agent).action = Some(action),
            Change::Moved {
                agent, tile, facing, ..
            } => {
                let view = &mut self.agent(agent).view;
                (view.tile, view.facing) = (tile, facing);
            }
            Change::Carried {
                agent,
                inventory,
                ground,
                ..
            } => {
                let view = &mut self.agent(agent).view;
                view.inventory = inventory;
                let tile = view.tile;
                *self.ground(tile) = ground;
            }
            Change::Inventory {
                agent,
                inventory,
                food_ends,
            } => {
                let agent = self.agent(agent);
                agent.view.inventory = inventory;
                agent.food_ends = food_ends;
            }
            Change::Said { .. } | Change::Ejected { .. } => {}
            Change::Won { team } => self.winner = Some(team),
            Change::EggLaid { egg, .. } => {
                assert!(self.eggs.insert(egg.egg, egg).is_none(), "numbers are not reused");
            }
            Change::EggDestroyed { egg } => {
                assert!(self.eggs.remove(&egg).is_some(), "what breaks was there")
            }
            Change::RitualStarted(ritual) => self.rituals.push(ritual),
            Change::RitualEnded { tile, level, .. } => {
                // Two of one level on one tile end in the order of their ends.
                let ended = self
                    .rituals
                    .iter()
                    .enumerate()
                    .filter(|(_, ritual)| (ritual.tile, ritual.level) == (tile, level))
                    .min_by_key(|(_, ritual)| ritual.end)
                    .map(|(index, _)| index);
                self.rituals.remove(ended.expect("what ends was begun"));
            }
            Change::LevelChanged { agent, level } => self.agent(agent).view.level = level,
            Change::Ground { tile, ground } => *self.ground(tile) = ground,
        }
    }

    /// Compares the copy with the world itself.
    pub fn assert_same(&self, world: &World, now: GameTime) {
        let size = world.size();
        for index in 0..size.area() {
            let tile = size.tile_at(index);
            assert_eq!(self.ground[index], *world.ground(tile), "{tile:?}");
        }
        // Who comes after the end of a match is told who was there then, and all are gone.
        if world.winner().is_none() || world.agents().len() > 0 {
            self.assert_same_agents(world, now);
        }
        let eggs: Vec<_> = world.eggs().map(|egg| (egg.id, egg.team, egg.tile)).collect();
        let copied: Vec<_> = self
            .eggs
            .values()
            .map(|egg| (egg.egg, egg.team, egg.tile))
            .collect();
        assert_eq!(copied, eggs);
        let mut rituals: Vec<_> = world
            .rituals()
            .map(|it| (it.end(), it.tile(), it.level(), it.participants().to_vec()))
            .collect();
        let mut copied: Vec<_> = self
            .rituals
            .iter()
            .map(|it| (it.end, it.tile, it.level, it.participants.clone()))
            .collect();
        rituals.sort();
        copied.sort();
        assert_eq!(copied, rituals);
    }

    /// Compares the agents.
    fn assert_same_agents(&self, world: &World, now: GameTime) {
        assert_eq!(self.agents.len(), world.agents().len(), "as many agents");
        for agent in world.agents() {
            let copy = &self.agents[&agent.id()];
            assert_eq!(copy.view, agent.view());
            // Once a team has won nobody eats any more.
            assert!(
                copy.food_ends == agent.food_ends() || world.winner().is_some(),
                "food of agent {}: {:?} instead of {:?}",
                agent.id().0,
                copy.food_ends,
                agent.food_ends()
            );
            match agent.action() {
                Some(action) => {
                    assert_eq!(
                        copy.action,
                        Some(ActionState {
                            kind: action.kind,
                            start: action.start,
                            end: action.end,
                            refused: action.refused,
                        }),
                        "what it does"
                    );
                }
                None => {
                    let ended = copy.action.is_none_or(|action| action.end <= now);
                    assert!(
                        ended,
                        "agent {} does nothing at {now:?}: {:?}",
                        agent.id().0,
                        copy.action
                    );
                }
            }
        }
    }
}
