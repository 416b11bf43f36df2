//! An engine on a manual clock, and peers that note what they receive.
//!
//! A pass here is what it is in the server: take the game time, hand in what was read, carry out what is due,
//! write what waits. Nothing sleeps.

#![expect(unreachable_pub, reason = "one place for what the tests share")]

mod operator;
mod options;
pub mod script;
pub mod text_world;
pub mod viewer;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use trantor_engine::{ConnId, Engine, EngineConfig, FiredKind, Input, Output};
use trantor_game::replay::{IndexedPiece, Recording};
use trantor_game::{GameConfig, Replay, Rules};
use trantor_model::{AdminAction, AgentId, Control, Counts, MapSize, Refusal, Tile};

use trantor_time::{GameTime, RealSpan, RealTime};

use viewer::{Viewer, show};

/// Bytes read at once of a peer that had to wait, as the server does.
const READ_BYTES: usize = 4 * 1024;

/// An engine and its peers.
pub struct Bench {
    pub engine: Engine,
    pub now: RealTime,
    pub peers: Vec<Peer>,
    /// What was received since it was last taken.
    pub received: Vec<Received>,
    /// How often a viewer's copy was compared with the world.
    pub copies_compared: u64,
    /// Whether peers that connect are counted.
    pub counts_next: bool,
    slots_freed: Vec<u32>,
    /// By slot, how often it was taken before.
    generations: Vec<u32>,
}

/// The other end of a connection.
pub struct Peer {
    pub name: String,
    pub conn: ConnId,
    /// Whether its output is a stream of lines, to be shown line by line and not write by write.
    pub is_stream: bool,
    /// Bytes of a stream behind the last line feed.
    pub partial: Vec<u8>,
    /// First words of lines that are not shown.
    pub hidden: Vec<String>,
    /// Whether transcripts show only the size of its output.
    pub is_counted: bool,
    pub is_open: bool,
    /// Whether it takes what is written to it.
    pub is_reading: bool,
    /// Whether the engine wants its input.
    pub is_read: bool,
    /// What it has said while the engine did not.
    pub backlog: Vec<u8>,
    /// Whether it hangs up when the server has nothing more to say.
    pub hangs_up: bool,
    /// What it knows, if it is a frame viewer.
    pub viewer: Option<Box<Viewer>>,
    /// Whether the messages of a frame viewer are noted as if they were lines.
    pub is_shown: bool,
}

/// One thing that a peer received, in one write or, for streams, one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub game: GameTime,
    pub real: RealTime,
    pub peer: usize,
    pub what: Arrival,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    Bytes(Vec<u8>),
    EndOfStream,
    Closed(&'static str),
}

/// A game on a map of this size with teams `a` and `b`, and everything as by default.
pub fn game_config(width: u32, height: u32, places: u32) -> GameConfig {
    GameConfig {
        size: MapSize::new(width, height).expect("a size of a map"),
        teams: vec!["a".to_owned(), "b".to_owned()],
        places_per_team: places,
        seed: 1,
        rules: Rules::default(),
    }
}

impl Bench {
    pub fn new(config: EngineConfig) -> Self {
        let now = RealTime::from_nanos(1_000_000_000);
        Self::around(Engine::new(config, now), now)
    }

    /// An engine as it is at `now`.
    pub fn around(engine: Engine, now: RealTime) -> Self {
        Self {
            engine,
            now,
            peers: Vec::new(),
            received: Vec::new(),
            copies_compared: 0,
            counts_next: false,
            slots_freed: Vec::new(),
            generations: Vec::new(),
        }
    }

    /// The place of a peer in the list of peers: the last that had this name.
    pub fn peer(&self, name: &str) -> usize {
        self.peers
            .iter()
            .rposition(|peer| peer.name == name)
            .unwrap_or_else(|| panic!("there is no peer {name}"))
    }

    /// The name of the peer behind a connection.
    pub fn name_of(&self, conn: ConnId) -> &str {
        self.peer_of(conn)
            .map_or("an unknown peer", |peer| &self.peers[peer].name)
    }

    /// Connects a peer from the machine itself.
    pub fn open(&mut self, name: &str) -> usize {
        self.open_from(name, IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    pub fn open_from(&mut self, name: &str, from: IpAddr) -> usize {
        self.open_as(name, from, None, false)
    }

    pub fn open_as(
        &mut self,
        name: &str,
        from: IpAddr,
        viewer: Option<Box<Viewer>>,
        is_shown: bool,
    ) -> usize {
        let slot = self.slots_freed.pop().unwrap_or_else(|| {
            self.generations.push(0);
            self.generations.len() as u32 - 1
        });
        let conn = ConnId {
            slot,
            generation: self.generations[slot as usize],
        };
        self.peers.push(Peer {
            name: name.to_owned(),
            conn,
            is_stream: false,
            partial: Vec::new(),
            hidden: Vec::new(),
            is_counted: self.counts_next,
            is_open: true,
            is_reading: true,
            is_read: true,
            backlog: Vec::new(),
            hangs_up: true,
            viewer,
            is_shown,
        });
        self.pass(|engine, now| engine.handle(Input::Opened { conn, peer: from }, now));
        self.peers.len() - 1
    }

    pub fn send(&mut self, peer: usize, bytes: &[u8]) {
        let conn = self.peers[peer].conn;
        let is_alias_free = self.engine.config().game.team_named(b"GRAPHICAL").is_none();
        self.peers[peer].is_stream |= match bytes.split(|byte| matches!(byte, b'\r' | b'\n' | b' ')).next() {
            Some(b"GRAPHIC" | b"TRANTOR" | b"ADMIN") => true,
            Some(b"GRAPHICAL") => is_alias_free,
            _ => false,
        };
        if !self.peers[peer].is_read {
            self.peers[peer].backlog.extend_from_slice(bytes);
            return;
        }
        self.pass(|engine, now| engine.handle(Input::Bytes { conn, bytes }, now));
    }

    /// Hands in bytes of a peer at this instant, outside a pass.
    pub fn hand_in(&mut self, peer: usize, bytes: &[u8]) {
        let conn = self.peers[peer].conn;
        self.engine.handle(Input::Bytes { conn, bytes }, self.now);
    }

    /// Connects a peer and lets it say its first line.
    pub fn join(&mut self, name: &str, word: &str) -> usize {
        let peer = self.open(name);
        self.send(peer, format!("{word}\n").as_bytes());
        peer
    }

    pub fn close(&mut self, peer: usize) {
        self.hang_up(peer);
        self.pass(|_, _| {});
    }

    pub fn control(&mut self, request: Control) -> Result<(), Refusal> {
        let mut answer = Ok(());
        self.pass(|engine, now| answer = engine.control(request, now));
        answer
    }

    pub fn disconnect(&mut self, conn: ConnId) -> bool {
        let mut is_there = false;
        self.pass(|engine, now| is_there = engine.disconnect(conn, now));
        is_there
    }

    pub fn act(&mut self, action: AdminAction) {
        self.control(Control::Act(action)).expect("the game allows it");
    }

    /// No ground, no refill: what then lies there was put there.
    pub fn make_bare(&mut self) {
        self.act(AdminAction::SetRefill { enabled: false });
        let size = self.engine.config().game.size;
        for index in 0..size.area() {
            self.act(AdminAction::SetGround {
                tile: size.tile_at(index),
                ground: Counts::ZERO,
            });
        }
    }

    pub fn put_agent(&mut self, agent: u32, x: u16, y: u16, facing: trantor_model::Direction) {
        let tile = Tile { x, y };
        self.act(AdminAction::Teleport {
            agent: AgentId(agent),
            tile,
            facing: Some(facing),
        });
    }

    /// Runs passes whenever something is due, up to and with `until`, and ends there.
    pub fn run_until(&mut self, until: RealTime) {
        while let Some(wake) = self.engine.poll_timeout().filter(|wake| *wake <= until) {
            assert!(
                wake >= self.now,
                "no work is left over: {wake:?} at {:?}",
                self.now
            );
            self.now = wake;
            self.pass(|_, _| {});
        }
        if until > self.now {
            self.now = until;
            self.pass(|_, _| {});
        }
    }

    pub fn run_for(&mut self, span: RealSpan) {
        self.run_until(self.now + span);
    }

    /// Runs up to and with a moment of game time.
    ///
    /// # Panics
    /// If game time does not get there by itself.
    pub fn run_until_game(&mut self, until: GameTime) {
        let real = self.engine.game_clock().real_at(until).expect("game time moves");
        self.run_until(real.max(self.now));
    }

    /// One pass; `input` hands in what was read.
    pub fn pass(&mut self, input: impl FnOnce(&mut Engine, RealTime)) {
        self.engine.begin_pass(self.now);
        input(&mut self.engine, self.now);
        // As a shell does: nothing is asked for where nothing is due.
        while self.engine.poll_timeout().is_some_and(|at| at <= self.now)
            && let Some(fired) = self.engine.fire_next(self.now)
        {
            if fired.kind == FiredKind::Tick {
                self.compare_copies();
            }
        }
        self.after_pass();
        self.let_viewers_speak();
    }

    /// Carries out outputs and takes what waits to be written.
    pub fn after_pass(&mut self) {
        let from = self.received.len();
        loop {
            while let Some(conn) = self.engine.next_dirty() {
                if let Some(peer) = self.peer_of(conn) {
                    self.take_writes(peer);
                }
            }
            if let Some(output) = self.engine.poll_output() {
                self.carry_out(output);
            } else if !self.read_backlog() {
                break;
            }
        }
        // The order of peers within one pass cannot be seen from outside.
        self.received[from..].sort_by_key(|received| received.peer);
    }

    /// Hands in a piece of what a peer has said while it was not read, if one is read again.
    fn read_backlog(&mut self) -> bool {
        let is_waiting = |peer: &&mut Peer| peer.is_open && peer.is_read && !peer.backlog.is_empty();
        let Some(peer) = self.peers.iter_mut().find(is_waiting) else {
            return false;
        };
        let piece = READ_BYTES.min(peer.backlog.len());
        let (conn, bytes) = (peer.conn, peer.backlog.drain(..piece).collect::<Vec<u8>>());
        self.engine.handle(Input::Bytes { conn, bytes: &bytes }, self.now);
        true
    }

    /// Takes what waits to be written to a peer, if it reads.
    pub fn take_writes(&mut self, peer: usize) {
        let conn = self.peers[peer].conn;
        while self.peers[peer].is_reading {
            let bytes = self.engine.unsent(conn).to_vec();
            if bytes.is_empty() {
                break;
            }
            self.engine.sent(conn, bytes.len());
            self.receive_bytes(peer, bytes);
        }
    }

    /// Ends the recording; answers its bytes.
    fn journal(&mut self) -> Vec<u8> {
        let untaken = std::iter::from_fn(|| self.engine.poll_journal()).collect::<Vec<_>>();
        let taken = untaken.into_iter().chain(self.engine.stop_recording());
        taken.flat_map(|taken| taken.bytes).collect()
    }

    /// Ends the recording, which can be shown then.
    pub fn stop_recording(&mut self) -> Arc<Recording> {
        let piece = IndexedPiece::new(&self.journal()[..], 0).expect("a piece");
        Arc::new(Recording::join(vec![piece]).expect("it is the only one"))
    }

    /// Ends the recording: its journal replays to the same game.
    pub fn assert_replays(&mut self) {
        let digest = self.engine.game().digest();
        let verified = Replay::open(self.journal()).expect("a whole piece").verify();
        assert_eq!(verified.expect("it replays").game.digest(), digest);
    }

    /// Goes on with another engine, to which no peer is connected.
    pub fn replace_engine(&mut self, engine: Engine) {
        for peer in 0..self.peers.len() {
            if self.peers[peer].is_open {
                self.free(peer);
            }
        }
        self.engine = engine;
    }

    /// What was received since it was last taken.
    pub fn take_received(&mut self) -> Vec<Received> {
        std::mem::take(&mut self.received)
    }

    /// The lines one peer received since it was last asked, as text.
    pub fn lines(&mut self, peer: usize) -> Vec<String> {
        let (mine, others): (Vec<_>, Vec<_>) = self
            .received
            .drain(..)
            .partition(|received| received.peer == peer);
        self.received = others;
        mine.iter().map(|received| received.what.to_string()).collect()
    }

    fn receive_bytes(&mut self, index: usize, bytes: Vec<u8>) {
        let peer = &mut self.peers[index];
        if let Some(viewer) = &mut peer.viewer {
            for message in viewer.receive(&bytes) {
                let shown = show(&message);
                let peer = &self.peers[index];
                if peer.is_shown && !peer.hides(shown.as_bytes()) {
                    self.receive(index, Arrival::Bytes(format!("{shown}\n").into_bytes()));
                }
            }
            return;
        }
        if !peer.is_stream {
            if !peer.hides(&bytes) {
                self.receive(index, Arrival::Bytes(bytes));
            }
            return;
        }
        let mut received = std::mem::take(&mut peer.partial);
        received.extend_from_slice(&bytes);
        for line in received.split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                self.peers[index].partial = line.to_vec();
            } else if !self.peers[index].hides(line) {
                self.receive(index, Arrival::Bytes(line.to_vec()));
            }
        }
    }

    fn receive(&mut self, peer: usize, what: Arrival) {
        self.received.push(Received {
            game: self.engine.game_now(),
            real: self.now,
            peer,
            what,
        });
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::ShutdownWrite { conn } => {
                if let Some(peer) = self.peer_of(conn) {
                    self.receive(peer, Arrival::EndOfStream);
                    if self.peers[peer].hangs_up {
                        self.hang_up(peer);
                    }
                }
            }
            Output::Close { conn, reason } => {
                if let Some(peer) = self.peer_of(conn) {
                    self.receive(peer, Arrival::Closed(reason.name()));
                    self.free(peer);
                }
            }
            Output::Reading { conn, is_wanted } => {
                if let Some(peer) = self.peer_of(conn) {
                    self.peers[peer].is_read = is_wanted;
                }
            }
            Output::Won { .. } => {}
        }
    }

    /// Closes a peer's connection at this instant, outside a pass.
    pub fn hang_up(&mut self, peer: usize) {
        if self.peers[peer].is_open {
            let conn = self.peers[peer].conn;
            self.engine.handle(Input::Closed { conn }, self.now);
            self.free(peer);
        }
    }

    fn free(&mut self, peer: usize) {
        let peer = &mut self.peers[peer];
        peer.is_open = false;
        let slot = peer.conn.slot;
        self.generations[slot as usize] += 1;
        self.slots_freed.push(slot);
    }

    fn peer_of(&self, conn: ConnId) -> Option<usize> {
        self.peers
            .iter()
            .position(|peer| peer.conn == conn && peer.is_open)
    }
}

impl std::fmt::Display for Arrival {
    /// Bytes as text, without the last line feed; what is not printable as `\n`, `\r`, `\xHH`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = match self {
            Self::Bytes(bytes) => bytes,
            Self::EndOfStream => return write!(f, "[end]"),
            Self::Closed(reason) => return write!(f, "[closed: {reason}]"),
        };
        let (text, end) = match bytes.strip_suffix(b"\n") {
            Some(text) => (text, ""),
            None => (&bytes[..], "[no line feed]"),
        };
        for &byte in text {
            match byte {
                b'\\' => write!(f, "\\\\")?,
                b'\n' => write!(f, "\\n")?,
                b'\r' => write!(f, "\\r")?,
                b' '..=b'~' => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        write!(f, "{end}")
    }
}
