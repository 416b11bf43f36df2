//! The longest that the engine holds its caller while viewers are sent a large world, without sockets.
//!
//! `cargo bench -p trantor-engine --bench longest_call` takes some seconds. Ten thousand agents, as many eggs and as many
//! elevations under way on a million tiles: a viewer of either kind begins to watch, of the present or of the past, and a
//! recording of it is moved. Good is what no player would notice, some tenths of a millisecond. What moves the game itself to another
//! moment is measured apart: a jump loads a state.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trantor_engine::{ConnId, ControlAccess, Engine, EngineConfig, Fired, FiredKind, Input, PlaybackStart};
use trantor_game::replay::{IndexedPiece, Recording};
use trantor_game::{GameConfig, Rules};
use trantor_model::{AdminAction, AgentId, Control, Counts, MapSize, Resource};
use trantor_protocol::wire::{
    ClientHello, FrameCutter, ToClient, ToServer, WIRE_VERSION, read_frame, write_frame,
};
use trantor_time::{GameTime, RealSpan, RealTime};

/// Side of the map, and agents.
const LARGE: (u32, u32) = (1_000, 10_000);

/// As `LARGE`, of a game that a thousand watch.
const SMALL: (u32, u32) = (100, 1_000);

/// How long the viewer that sees the past sees it.
const DELAY: RealSpan = RealSpan::from_secs(10);

/// Interval at which a frame viewer gives credit back.
const CREDITS_EVERY: RealSpan = RealSpan::from_millis(1);

fn main() {
    println!("| what | longest call, µs |");
    println!("|---|---|");
    let mut recording = None;
    for (name, kind) in [("a text viewer", Kind::Text), ("a frame viewer", Kind::Frames)] {
        let (recorded, longest) = play(LARGE, kind, RealSpan::ZERO);
        println!("| {name} begins to watch | {} |", longest.as_micros());
        let (_, longest) = play(LARGE, kind, DELAY);
        println!("| {name} begins to watch the past | {} |", longest.as_micros());
        recording = Some(recorded);
    }
    seek(&recording.expect("there are two kinds"), 1);
    let (recording, _) = play(SMALL, Kind::Text, RealSpan::ZERO);
    seek(&recording, 1_000);
}

/// A viewer's way to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Frames,
}

/// A game that is being watched.
struct Watched {
    engine: Engine,
    now: RealTime,
    /// The place of the viewer.
    viewer: u32,
    kind: Kind,
    frames: FrameCutter,
    /// Pieces that the viewer has not given credit back for.
    pieces: u32,
    /// What all passes took.
    spent: Duration,
}

fn game((side, agents): (u32, u32), delay: RealSpan) -> EngineConfig {
    let mut config = EngineConfig::new(GameConfig {
        size: MapSize::new(side, side).expect("a size of a map"),
        teams: vec!["a".to_owned()],
        places_per_team: 2 * agents,
        seed: 1,
        rules: Rules::default(),
    });
    config.spectator_delay = delay;
    config.control = ControlAccess::Off;
    config
}

/// A game that a viewer comes to: its recording, and the longest call from then on.
fn play(size: (u32, u32), kind: Kind, delay: RealSpan) -> (Arc<Recording>, Duration) {
    let (now, agents) = (RealTime::ZERO, size.1);
    let mut game = Watched::new(Engine::new(game(size, delay), now), agents, kind);
    game.engine.start_recording();
    game.engine.begin_pass(now);
    for slot in 0..agents {
        game.open(slot, b"a\n");
    }
    game.run(RealSpan::from_millis(100));
    let mut stone = Counts::ZERO;
    stone[Resource::Linemate] = 1;
    for slot in 0..agents {
        let agent = game.engine.game().world().agent(AgentId(slot));
        let tile = agent.expect("it lives").tile;
        let action = AdminAction::SetGround { tile, ground: stone };
        game.engine
            .control(Control::Act(action), game.now)
            .expect("the game allows it");
    }
    for slot in 0..agents {
        game.say(slot, b"Incantation\n");
    }
    game.run(RealSpan::from_millis(100));
    let at_once = game.begin_to_watch();
    let later = game.run(delay + RealSpan::from_secs(2));
    let pieces = game.engine.stop_recording();
    let bytes: Vec<u8> = pieces.into_iter().flat_map(|journal| journal.bytes).collect();
    let piece = IndexedPiece::new(&bytes[..], 0).expect("a piece");
    let recording = Recording::join(vec![piece]).expect("it is the only one");
    (Arc::new(recording), at_once.max(later))
}

/// Shows a recording to so many text viewers, and goes from its end to its beginning.
fn seek(recording: &Arc<Recording>, viewers: u32) {
    let start = PlaybackStart {
        at: recording.end(),
        follows_speed: false,
        is_paused: true,
    };
    let config = EngineConfig::new(recording.config().clone());
    let engine = Engine::play(config, recording, start, RealTime::ZERO).expect("it was recorded just now");
    let mut game = Watched::new(engine, 0, Kind::Text);
    game.engine.begin_pass(game.now);
    for viewer in 0..viewers {
        game.open(viewer, b"GRAPHIC\n");
    }
    game.run(RealSpan::from_secs(8));

    let to = GameTime::from_units(5);
    let began = Instant::now();
    recording.seek(to).expect("it was recorded just now");
    let state = began.elapsed();
    println!(
        "| {viewers} watch, a seek: the state alone | {} |",
        state.as_micros()
    );
    let began = Instant::now();
    game.engine
        .control(Control::Seek(to), game.now)
        .expect("a recording");
    let moved = began.elapsed();
    println!("| {viewers} watch, a seek | {} |", moved.as_micros());
    game.spent = Duration::ZERO;
    let longest = game.run(RealSpan::from_secs(8));
    println!(
        "| {viewers} watch, the difference is sent | {} |",
        longest.as_micros()
    );
    println!(
        "| {viewers} watch, all of the difference | {} |",
        game.spent.as_micros()
    );
}

fn conn(slot: u32) -> ConnId {
    ConnId { slot, generation: 0 }
}

fn put_frame(bytes: &mut Vec<u8>, message: &ToServer) {
    write_frame(bytes, message).expect("a short message fits a frame");
}

impl Watched {
    /// A game without a viewer.
    fn new(engine: Engine, viewer: u32, kind: Kind) -> Self {
        Self {
            engine,
            now: RealTime::ZERO,
            viewer,
            kind,
            frames: FrameCutter::new::<ToClient>(),
            pieces: 0,
            spent: Duration::ZERO,
        }
    }

    /// The viewer comes; answers how long the longest call took.
    fn begin_to_watch(&mut self) -> Duration {
        let mut greeting = match self.kind {
            Kind::Text => b"GRAPHIC\n".to_vec(),
            Kind::Frames => b"TRANTOR\n".to_vec(),
        };
        if self.kind == Kind::Frames {
            let hello = ClientHello {
                version: WIRE_VERSION,
                program: "longest_call".to_owned(),
            };
            put_frame(&mut greeting, &ToServer::Hello(hello));
        }
        self.open(self.viewer, &greeting)
    }

    /// Connects a peer, which says something; answers how long the longest call took.
    fn open(&mut self, slot: u32, bytes: &[u8]) -> Duration {
        let began = Instant::now();
        let (conn, peer) = (conn(slot), IpAddr::V4(Ipv4Addr::LOCALHOST));
        self.engine.handle(Input::Opened { conn, peer }, self.now);
        // The greeting of the server is not the viewer's to read.
        let took = began.elapsed();
        self.flush(false);
        took.max(self.say(slot, bytes))
    }

    fn say(&mut self, slot: u32, bytes: &[u8]) -> Duration {
        let began = Instant::now();
        let conn = conn(slot);
        self.engine.handle(Input::Bytes { conn, bytes }, self.now);
        let took = began.elapsed();
        self.flush(true);
        took
    }

    /// Runs passes for so long on a clock of its own; answers the longest call.
    fn run(&mut self, span: RealSpan) -> Duration {
        let until = self.now + span;
        let mut longest = Duration::ZERO;
        while self.now < until {
            let credit_at = until.min(self.now + CREDITS_EVERY);
            while let Some(wake) = self.engine.poll_timeout().filter(|wake| *wake <= credit_at) {
                self.now = wake.max(self.now);
                longest = longest.max(self.pass());
            }
            self.now = credit_at;
            longest = longest.max(self.give_credit());
        }
        longest
    }

    /// One pass; answers its longest call.
    fn pass(&mut self) -> Duration {
        let began = Instant::now();
        self.engine.begin_pass(self.now);
        let mut longest = began.elapsed();
        loop {
            let call_began = Instant::now();
            let fired = self.engine.fire_next(self.now);
            let took = call_began.elapsed();
            match fired {
                // What the rules take is another matter: ten thousand elevations end at one moment, and the stones come again.
                Some(Fired {
                    kind: FiredKind::Game(_) | FiredKind::Recorded,
                    ..
                }) => {}
                Some(_) => longest = longest.max(took),
                None => break,
            }
        }
        self.flush(true);
        self.spent += began.elapsed();
        longest
    }

    /// The viewer gives back credit for all that it was sent; returns how long the call took.
    fn give_credit(&mut self) -> Duration {
        let items = std::mem::take(&mut self.pieces);
        if items == 0 {
            return Duration::ZERO;
        }
        let mut bytes = Vec::new();
        put_frame(&mut bytes, &ToServer::Credit { items });
        self.say(self.viewer, &bytes)
    }

    /// All peers read everything; the frame viewer gives credit back if it `counts`.
    fn flush(&mut self, counts: bool) {
        while let Some(to) = self.engine.next_dirty() {
            while let count @ 1.. = self.engine.unsent(to).len() {
                if counts && self.kind == Kind::Frames && to == conn(self.viewer) {
                    let mut bytes = self.engine.unsent(to);
                    while let Some(frame) = self.frames.next(&mut bytes).expect("frames of this version") {
                        let message = read_frame(frame).expect("a message of this version");
                        self.pieces += u32::from(matches!(message, ToClient::Snapshot(_)));
                    }
                }
                self.engine.sent(to, count);
            }
        }
        while self.engine.poll_output().is_some() {}
    }
}
