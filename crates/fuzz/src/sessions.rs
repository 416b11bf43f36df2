//! A whole engine with several peers that send anything at any time.
//!
//! An input is a list of steps: two bytes for peer and action, then the payload. With assertions on, the engine checks its
//! invariants after each step.

use std::net::{IpAddr, Ipv4Addr};

use trantor_engine::{ConnId, Engine, EngineConfig, Input, Output};
use trantor_game::{GameConfig, Rules};
use trantor_model::MapSize;
use trantor_protocol::wire::{ClientHello, ToServer, WIRE_VERSION, write_frame};
use trantor_time::{RealSpan, RealTime};

const PEERS: usize = 6;

/// Deadlines fired in one pass.
const FIRED_MAX: usize = 64;

struct Play {
    engine: Engine,
    now: RealTime,
    open: [bool; PEERS],
    generations: [u32; PEERS],
    /// Bytes sent to peer 0.
    received: Vec<u8>,
}

pub(crate) fn play(data: &[u8]) {
    let mut play = Play::new();
    let mut rest = data;
    while let [step, size, after @ ..] = rest {
        let peer = usize::from(step >> 3) % PEERS;
        let (bytes, next) = after.split_at(after.len().min(usize::from(*size)));
        match step & 7 {
            0 => play.open(peer),
            1 => play.close(peer),
            2 => play.pass(RealSpan::from_millis(i64::from(*size))),
            // Five of eight actions send bytes.
            _ => play.send(peer, bytes),
        }
        rest = if step & 7 > 2 { next } else { after };
    }
    play.pass(RealSpan::from_secs(100));
}

impl Play {
    fn new() -> Self {
        let mut config = EngineConfig::new(GameConfig {
            size: MapSize::new(3, 3).expect("a size of a map"),
            teams: vec!["red".to_owned(), "blue".to_owned()],
            places_per_team: 2,
            seed: 1,
            rules: Rules::default(),
        });
        config.limits.connections_max = PEERS as u32 - 1;
        config.limits.requests_per_second = 20;
        config.limits.violations_max = 3;
        let now = RealTime::from_nanos(1);
        Self {
            engine: Engine::new(config, now),
            now,
            open: [false; PEERS],
            generations: [0; PEERS],
            received: Vec::new(),
        }
    }

    fn conn(&self, peer: usize) -> ConnId {
        ConnId {
            slot: peer as u32,
            generation: self.generations[peer],
        }
    }

    fn open(&mut self, peer: usize) {
        if !self.open[peer] {
            self.open[peer] = true;
            let conn = self.conn(peer);
            let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
            self.engine.handle(Input::Opened { conn, peer: from }, self.now);
            self.drain_outputs();
        }
    }

    fn close(&mut self, peer: usize) {
        if self.open[peer] {
            let conn = self.conn(peer);
            self.engine.handle(Input::Closed { conn }, self.now);
            self.forget(peer);
            self.drain_outputs();
        }
    }

    fn send(&mut self, peer: usize, bytes: &[u8]) {
        if self.open[peer] {
            let conn = self.conn(peer);
            self.engine.handle(Input::Bytes { conn, bytes }, self.now);
            self.drain_outputs();
        }
    }

    fn pass(&mut self, span: RealSpan) {
        self.now = self.now.saturating_add(span);
        self.engine.begin_pass(self.now);
        for _ in 0..FIRED_MAX {
            if self.engine.fire_next(self.now).is_none() {
                break;
            }
        }
        self.drain_outputs();
        // Odd peers do not read.
        while let Some(conn) = self.engine.next_dirty() {
            if conn.slot % 2 == 0 {
                self.read(conn);
            }
        }
        self.drain_outputs();
    }

    fn read(&mut self, conn: ConnId) {
        loop {
            let bytes = self.engine.unsent(conn);
            let count = bytes.len();
            if count == 0 {
                return;
            }
            if conn.slot == 0 {
                self.received.extend_from_slice(bytes);
            }
            self.engine.sent(conn, count);
        }
    }

    fn drain_outputs(&mut self) {
        while let Some(output) = self.engine.poll_output() {
            if let Output::Close { conn, .. } = output {
                self.forget(conn.slot as usize);
            }
        }
        while self.engine.poll_operator_line().is_some() {}
    }

    fn forget(&mut self, peer: usize) {
        self.open[peer] = false;
        self.generations[peer] += 1;
    }
}

/// Bytes that a viewer receives after the greeting at the start of a game.
pub(crate) fn viewer_stream() -> Vec<u8> {
    let mut play = Play::new();
    play.open(0);
    play.pass(RealSpan::ZERO);
    let greeting = play.received.len();
    play.send(0, &viewer_hello());
    play.open(1);
    play.send(1, b"red\nForward\nLook\nBroadcast hi\n");
    for _ in 0..10 {
        play.pass(RealSpan::from_millis(50));
    }
    play.received.split_off(greeting)
}

fn viewer_hello() -> Vec<u8> {
    let mut bytes = b"TRANTOR\n".to_vec();
    let hello = ToServer::Hello(ClientHello {
        version: WIRE_VERSION,
        program: "fuzz".to_owned(),
    });
    write_frame(&mut bytes, &hello).expect("a hello is short");
    bytes
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let open = |peer: u8| vec![peer << 3, 0];
    let wait = |ms: u8| vec![2, ms];
    let send = |peer: u8, bytes: &[u8]| [&[peer << 3 | 3, bytes.len() as u8], bytes].concat();
    let players = [
        open(0),
        send(0, b"red\nForward\nTake food\nLook\nInventory\nFork\n"),
        open(2),
        send(2, b"blue\nBroadcast hello\nEject\nIncantation\nConnect_nbr\n"),
        wait(200),
        open(3),
        send(3, b"red\nLook\nLook\nLook\n"),
        wait(255),
        vec![1, 0],
        wait(255),
    ]
    .concat();
    let viewers = [
        open(0),
        send(0, b"GRAPHIC\nmct\nbct 1 1\ntna\nppo 0\nsst 300\nsgt\nfoo\n"),
        open(1),
        send(1, b"GRAPHIC\nmct\nmct\nmct\n"),
        open(2),
        send(2, &viewer_hello()),
        open(4),
        send(4, b"ADMIN\nhelp\ntick query\n"),
        wait(100),
        send(2, &[1, 0, 0, 0, 4]),
        wait(100),
    ]
    .concat();
    vec![players, viewers]
}
