//! A server in lock-step on a manual clock, and the agents at it: minds behind connections whose bytes are cut at random.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use trantor_engine::minds::{Mind, MindKind, Spelled};
use trantor_engine::{CloseCause, ConnId, Engine, EngineConfig, Input, Output};
use trantor_game::replay::Replayed;
use trantor_game::{Game, GameConfig, GameInput, PaceChange, Replay};
use trantor_strategy::agent_seed;
use trantor_time::{Frequency, GameTime, RealTime};

use super::{CAP, ms};

/// Numbers that look like chance; the same ones for the same seed.
struct Dice(u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// An agent behind a connection: a mind, and what it has said that is still on its way.
pub(crate) struct Peer {
    pub(crate) conn: ConnId,
    team: String,
    /// How it thinks, once it is born.
    kind: Option<MindKind>,
    mind: Option<Spelled<Box<dyn Mind>>>,
    pub(crate) is_open: bool,
    partial: Vec<u8>,
    pub(crate) lines: Vec<String>,
    under_way: VecDeque<(RealTime, Vec<u8>)>,
}

/// An engine on a manual clock, and slow agents.
pub(crate) struct Table {
    pub(crate) engine: Engine,
    pub(crate) now: RealTime,
    pub(crate) peers: Vec<Peer>,
    dice: Dice,
}

impl Table {
    pub(crate) fn new(config: GameConfig, frequency: u64, dice: u64) -> Self {
        let now = RealTime::ZERO;
        let config = EngineConfig {
            frequency: Frequency::new(frequency).unwrap(),
            lock_step: Some(CAP),
            ..EngineConfig::new(config)
        };
        let mut engine = Engine::new(config, now);
        engine.start_recording();
        Self {
            engine,
            now,
            peers: Vec::new(),
            dice: Dice(dice),
        }
    }

    /// A table at which a saved game goes on.
    pub(crate) fn resumed(game: Game) -> Self {
        let mut table = Self::new(game.config().clone(), 100, 1);
        let config = table.engine.config().clone();
        table.engine = Engine::resume(config, game, table.now);
        table.engine.start_recording();
        table
    }

    /// Connects somebody who asks for a place in a team, and answers its number among the peers.
    pub(crate) fn join(&mut self, team: &str, kind: Option<MindKind>) -> usize {
        let conn = ConnId {
            slot: u32::try_from(self.peers.len()).unwrap(),
            generation: 0,
        };
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        self.engine.begin_pass(self.now);
        self.engine.handle(Input::Opened { conn, peer }, self.now);
        self.peers.push(Peer {
            conn,
            team: team.to_owned(),
            kind,
            mind: None,
            is_open: true,
            partial: Vec::new(),
            lines: Vec::new(),
            under_way: VecDeque::new(),
        });
        let number = self.peers.len() - 1;
        self.send(number, &format!("{team}\n"));
        number
    }

    /// Every place of the start is taken by a mind, in an order that is left to chance.
    pub(crate) fn seat(&mut self, kinds: &[MindKind]) {
        let config = self.engine.config().game.clone();
        let teams = config.teams.iter().zip(kinds);
        let mut wanted: Vec<_> = teams
            .flat_map(|team| std::iter::repeat_n(team, config.places_per_team as usize))
            .collect();
        while !wanted.is_empty() {
            let (team, kind) = wanted.swap_remove(self.dice.below(wanted.len() as u64) as usize);
            self.join(team, Some(*kind));
        }
    }

    pub(crate) fn send(&mut self, number: usize, text: &str) {
        let conn = self.peers[number].conn;
        let bytes = text.as_bytes();
        self.engine.handle(Input::Bytes { conn, bytes }, self.now);
        self.hear();
    }

    /// What the mind has to say sets out, and takes its time.
    pub(crate) fn think(&mut self, number: usize) {
        let peer = &mut self.peers[number];
        let Some(mind) = &mut peer.mind else { return };
        let mut line = Vec::new();
        while mind.say(&mut line) {}
        for piece in line.chunks(7) {
            let earliest = peer.under_way.back().map_or(self.now, |(at, _)| *at);
            let at = earliest + ms(i64::try_from(self.dice.below(30)).unwrap());
            peer.under_way.push_back((at, piece.to_vec()));
        }
    }

    /// Everything the engine has to tell is read at once.
    pub(crate) fn hear(&mut self) {
        while let Some(conn) = self.engine.next_dirty() {
            let number = conn.slot as usize;
            loop {
                let bytes = self.engine.unsent(conn).to_vec();
                if bytes.is_empty() {
                    break;
                }
                self.engine.sent(conn, bytes.len());
                self.peers[number].partial.extend(bytes);
                while let Some(end) = self.peers[number].partial.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.peers[number].partial.drain(..=end).collect();
                    self.hear_line(number, &line[..end]);
                }
            }
        }
        while let Some(output) = self.engine.poll_output() {
            match output {
                Output::Close { conn, .. } => self.peers[conn.slot as usize].is_open = false,
                Output::ShutdownWrite { conn } => {
                    self.peers[conn.slot as usize].is_open = false;
                    let cause = CloseCause::EndOfStream;
                    self.engine.handle(Input::Closed { conn, cause }, self.now);
                }
                _ => {}
            }
        }
    }

    pub(crate) fn hear_line(&mut self, number: usize, line: &[u8]) {
        let seed = self.engine.config().game.seed;
        let peer = &mut self.peers[number];
        let text = String::from_utf8_lossy(line).into_owned();
        peer.lines.push(text.clone());
        let Some(kind) = peer.kind else { return };
        // The greeting, the places left and the size of the map come first.
        match (peer.lines.len(), &mut peer.mind) {
            (2, _) => {
                let team = peer.team.as_bytes();
                let mind = kind.awaken(team, agent_seed(seed, team, text.parse().unwrap(), 0));
                peer.mind = Some(Spelled::new(mind));
            }
            (3, _) => self.think(number),
            (_, Some(mind)) => {
                mind.hear(line);
                self.think(number);
            }
            _ => {}
        }
    }

    /// One pass: hands in what has arrived, in any order of the agents, then fires a few deadlines.
    pub(crate) fn pass(&mut self, until: GameTime) {
        self.engine.begin_pass(self.now);
        let first = self.dice.below(self.peers.len() as u64) as usize;
        for turn in 0..self.peers.len() {
            let number = (first + turn) % self.peers.len();
            while let Some((at, _)) = self.peers[number].under_way.front()
                && *at <= self.now
            {
                let (_, bytes) = self.peers[number].under_way.pop_front().unwrap();
                if self.peers[number].is_open {
                    let conn = self.peers[number].conn;
                    self.engine.handle(Input::Bytes { conn, bytes: &bytes }, self.now);
                }
            }
        }
        for _ in 0..=self.dice.below(6) {
            let due = self.engine.game().next_deadline();
            if due.is_none_or(|due| due > until) || self.engine.fire_next(self.now).is_none() {
                break;
            }
            if self.dice.below(2) == 0 {
                self.hear();
            }
        }
        self.hear();
    }

    /// Plays until nothing is left to be done up to that game time, and answers the digest then.
    pub(crate) fn play(&mut self, until: i64) -> u64 {
        let until = GameTime::from_units(until);
        loop {
            self.pass(until);
            let is_quiet = self.peers.iter().all(|peer| peer.under_way.is_empty());
            let is_done = self.engine.game().next_deadline().is_none_or(|due| due > until);
            if is_quiet && is_done {
                let mut game = self.engine.game().clone();
                game.advance_to(until);
                return game.digest();
            }
            self.now += ms(i64::try_from(self.dice.below(12)).unwrap());
        }
    }

    /// Lets the engine do all it can at this instant.
    pub(crate) fn rest(&mut self) {
        self.engine.begin_pass(self.now);
        while self.engine.fire_next(self.now).is_some() {}
        self.hear();
    }

    pub(crate) fn units(&self) -> i128 {
        self.engine.game().now().whole_units()
    }

    /// How many agents live.
    pub(crate) fn living(&self) -> usize {
        self.engine.game().world().agents().len()
    }

    /// Ends the game and replays it: it verifies, and ends in the same state. Answers how often the game no longer
    /// waited.
    pub(crate) fn replayed(mut self) -> usize {
        let digest = self.engine.game().digest();
        let bytes: Vec<u8> = self
            .engine
            .stop_recording()
            .into_iter()
            .flat_map(|journal| journal.bytes)
            .collect();
        let mut replay = Replay::open(bytes.clone()).unwrap();
        let mut given_up = 0;
        while let Some(replayed) = replay.step(GameTime::from_units(1_000_000)).unwrap() {
            let ended = Replayed::Input(GameInput::Pace(PaceChange::WaitEnded));
            given_up += usize::from(replayed == ended);
        }
        assert_eq!(replay.game().digest(), digest);
        Replay::open(bytes).unwrap().verify().unwrap();
        given_up
    }
}
