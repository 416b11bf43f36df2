//! What the engine costs per command, from bytes in to bytes out, without sockets.
//!
//! `cargo bench -p trantor-engine --bench loaded_pass` takes some seconds. All agents have their queues full at all
//! times; the map is 100 × 100, and the clock a manual one, so that nothing is waited for. Good
//! is a small part of what a command costs in the kernel's sockets (some microseconds): no matter how many
//! watch, the engine must not be what limits a server.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use trantor_engine::{ConnId, Engine, EngineConfig, Input};
use trantor_game::{GameConfig, Rules};
use trantor_model::{AdminAction, Control, MapSize};
use trantor_protocol::wire::{ClientHello, ToServer, WIRE_VERSION, write_frame};
use trantor_time::{Frequency, RealSpan, RealTime};

/// Agents, text viewers, frame viewers. The last rows are a stream of a tournament: few play, many watch.
const ROWS: [(u32, u32, u32); 8] = [
    (1_000, 0, 0),
    (1_000, 1, 0),
    (1_000, 0, 1),
    (1_000, 10, 0),
    (1_000, 0, 10),
    (1_000, 10, 10),
    (100, 1_000, 0),
    (100, 0, 1_000),
];

/// What agents send, over and over: what a forager does, with a word to the team now and then.
const LINES: [&[u8]; 7] = [
    b"Forward\n",
    b"Take food\n",
    b"Look\n",
    b"Left\n",
    b"Inventory\n",
    b"Take linemate\n",
    b"Forward\n",
];

fn main() {
    println!(
        "| agents | text viewers | frame viewers | commands | ns per command | MB out per second of game |"
    );
    println!("|---|---|---|---|---|---|");
    for (agents, text_viewers, viewers) in ROWS {
        let (commands, took_ns, bytes) = run(agents, text_viewers, viewers);
        println!(
            "| {agents} | {text_viewers} | {viewers} | {commands} | {} | {:.1} |",
            took_ns / commands,
            bytes as f64 / 1e6 / SECONDS as f64
        );
    }
}

/// Seconds of real time played, at 1,000 units a second.
const SECONDS: i64 = 2;

/// How long all viewers together may take to be sent the world: a thousand of 220 KB, in pieces of 4 KiB 100 µs apart.
const GREETING_SPAN: RealSpan = RealSpan::from_secs(8);

fn run(agents: u32, text_viewers: u32, viewers: u32) -> (u64, u64, u64) {
    let mut config = EngineConfig::new(GameConfig {
        size: MapSize::new(100, 100).expect("a size of a map"),
        teams: vec!["a".to_owned()],
        places_per_team: agents,
        seed: 1,
        rules: Rules::default(),
    });
    config.frequency = Frequency::new(1_000).expect("a frequency");
    let mut now = RealTime::ZERO;
    let mut engine = Engine::new(config, now);
    let mut hello = b"TRANTOR\n".to_vec();
    let message = ToServer::Hello(ClientHello {
        version: WIRE_VERSION,
        program: "bench".to_owned(),
    });
    write_frame(&mut hello, &message).expect("a short message");
    let conn = |slot| ConnId { slot, generation: 0 };
    engine.begin_pass(now);
    for slot in 0..agents + text_viewers + viewers {
        engine.handle(
            Input::Opened {
                conn: conn(slot),
                peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            },
            now,
        );
        let bytes = match slot {
            slot if slot < agents => &b"a\n"[..],
            slot if slot < agents + text_viewers => b"GRAPHIC\n",
            _ => &hello,
        };
        engine.handle(
            Input::Bytes {
                conn: conn(slot),
                bytes,
            },
            now,
        );
    }
    let fed = Control::Act(AdminAction::SetHunger { enabled: false });
    engine.control(fed, now).expect("the game allows it");
    for slot in 0..agents {
        for turn in 0..10 {
            let line = LINES[(slot as usize + turn) % LINES.len()];
            engine.handle(
                Input::Bytes {
                    conn: conn(slot),
                    bytes: line,
                },
                now,
            );
        }
    }
    flush(&mut engine, |_| {});
    // Viewers are sent the world piece by piece, one after another; meanwhile the game stands still.
    engine.control(Control::Pause, now).expect("it goes");
    let greeted_at = now + GREETING_SPAN;
    while let Some(wake) = engine.poll_timeout().filter(|wake| *wake <= greeted_at) {
        now = now.max(wake);
        engine.begin_pass(now);
        engine.fire_next(now);
        flush(&mut engine, |_| {});
    }
    now = greeted_at;
    engine.begin_pass(now);
    engine.control(Control::Resume, now).expect("it stands still");

    let began = Instant::now();
    let until = now + RealSpan::from_secs(SECONDS);
    let commands_before = engine.stats(now).counters.commands;
    let bytes_before = engine.stats(now).counters.bytes_out;
    let mut answered = Vec::new();
    while let Some(wake) = engine.poll_timeout().filter(|wake| *wake <= until) {
        now = now.max(wake);
        engine.begin_pass(now);
        for (turn, slot) in answered.drain(..).enumerate() {
            let line = LINES[(slot as usize + turn) % LINES.len()];
            engine.handle(
                Input::Bytes {
                    conn: conn(slot),
                    bytes: line,
                },
                now,
            );
        }
        // As the server does: at most 64 deadlines between two flushes.
        for _ in 0..64 {
            if engine.fire_next(now).is_none() {
                break;
            }
        }
        while engine.poll_output().is_some() {}
        flush(&mut engine, |slot| {
            answered.extend((slot < agents).then_some(slot))
        });
    }
    let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let counters = engine.stats(now).counters;
    (
        counters.commands - commands_before,
        took_ns,
        counters.bytes_out - bytes_before,
    )
}

/// Takes every piece that waits, and says to whom it went.
fn flush(engine: &mut Engine, mut written: impl FnMut(u32)) {
    while let Some(conn) = engine.next_dirty() {
        loop {
            let count = engine.unsent(conn).len();
            if count == 0 {
                break;
            }
            engine.sent(conn, count);
            written(conn.slot);
        }
    }
}
