//! The longest that the engine holds its caller while text viewers are told of a large world, without sockets.
//!
//! `cargo bench -p trantor-engine --bench longest_call` takes some seconds. Ten thousand agents, as many eggs and as many
//! elevations under way on a million tiles: a viewer begins to watch, a recording of it is moved, and a viewer that sees the past
//! begins to watch. Good is what nobody who plays would notice, some tenths of a millisecond. What moves the game itself to another
//! moment is told apart: a jump loads a state.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trantor_engine::{
    AdminRequest, ConnId, Control, Engine, EngineConfig, Fired, FiredKind, Input, PlaybackStart,
};
use trantor_game::replay::{IndexedPiece, Recording};
use trantor_game::{AdminAction, GameConfig, Rules};
use trantor_model::{AgentId, Counts, MapSize, Resource};
use trantor_time::{GameTime, RealSpan, RealTime};

const AGENTS: u32 = 10_000;

/// How long the viewer that sees the past sees it.
const DELAY: RealSpan = RealSpan::from_secs(10);

fn main() {
    println!("| what | longest call, µs |");
    println!("|---|---|");
    let (recording, told) = play(RealSpan::ZERO);
    println!("| a viewer begins to watch | {} |", told.as_micros());
    let (_, told) = play(DELAY);
    println!(
        "| a viewer that sees the past begins to watch | {} |",
        told.as_micros()
    );

    let mut now = RealTime::ZERO;
    let start = PlaybackStart {
        at: recording.end(),
        follows_speed: false,
        is_paused: true,
    };
    let config = EngineConfig::new(game(RealSpan::ZERO).game);
    let mut engine = Engine::play(config, &recording, start, now).expect("it was recorded just now");
    engine.begin_pass(now);
    open(&mut engine, 0, b"GRAPHIC\n", now);
    run(&mut engine, &mut now, RealSpan::from_secs(2));
    let began = Instant::now();
    recording
        .seek(GameTime::from_units(5))
        .expect("it was recorded just now");
    let game_took = began.elapsed();
    let began = Instant::now();
    engine.seek(GameTime::from_units(5), now).expect("a recording");
    let took = began.elapsed();
    println!(
        "| the recording is moved: the state alone | {} |",
        game_took.as_micros()
    );
    println!("| the recording is moved | {} |", took.as_micros());
    let told = run(&mut engine, &mut now, RealSpan::from_secs(2));
    println!("| what is different is told | {} |", told.as_micros());
}

fn game(delay: RealSpan) -> EngineConfig {
    let mut config = EngineConfig::new(GameConfig {
        size: MapSize::new(1_000, 1_000).expect("a size of a map"),
        teams: vec!["a".to_owned()],
        places_per_team: 2 * AGENTS,
        seed: 1,
        rules: Rules::default(),
    });
    config.spectator_delay = delay;
    config.control = Control::Nobody;
    config
}

/// A game that a viewer comes to: its recording, and the longest call from then on.
fn play(delay: RealSpan) -> (Arc<Recording>, Duration) {
    let mut now = RealTime::ZERO;
    let mut engine = Engine::new(game(delay), now);
    engine.start_recording();
    engine.begin_pass(now);
    for slot in 0..AGENTS {
        open(&mut engine, slot, b"a\n", now);
    }
    run(&mut engine, &mut now, RealSpan::from_millis(100));
    let mut stone = Counts::ZERO;
    stone[Resource::Linemate] = 1;
    for slot in 0..AGENTS {
        let tile = engine
            .game()
            .world()
            .agent(AgentId(slot))
            .expect("it lives")
            .tile();
        let action = AdminAction::SetGround { tile, ground: stone };
        engine
            .admin(AdminRequest::Act(action), now)
            .expect("the game allows it");
    }
    for slot in 0..AGENTS {
        say(&mut engine, slot, b"Incantation\n", now);
    }
    run(&mut engine, &mut now, RealSpan::from_millis(100));
    let at_once = open(&mut engine, AGENTS, b"GRAPHIC\n", now);
    let later = run(&mut engine, &mut now, delay + RealSpan::from_secs(2));
    let pieces = engine.stop_recording();
    let bytes: Vec<u8> = pieces.into_iter().flat_map(|journal| journal.bytes).collect();
    let piece = IndexedPiece::new(&bytes[..]).expect("a piece");
    let recording = Recording::join(vec![piece]).expect("it is the only one");
    (Arc::new(recording), at_once.max(later))
}

fn conn(slot: u32) -> ConnId {
    ConnId { slot, generation: 0 }
}

/// Connects a peer, which says something; answers how long that took.
fn open(engine: &mut Engine, slot: u32, bytes: &[u8], now: RealTime) -> Duration {
    let began = Instant::now();
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    engine.handle(
        Input::Opened {
            conn: conn(slot),
            peer,
        },
        now,
    );
    began.elapsed().max(say(engine, slot, bytes, now))
}

fn say(engine: &mut Engine, slot: u32, bytes: &[u8], now: RealTime) -> Duration {
    let began = Instant::now();
    let conn = conn(slot);
    engine.handle(Input::Bytes { conn, bytes }, now);
    let took = began.elapsed();
    flush(engine);
    took
}

/// Runs passes for so long on a clock of its own; answers the longest call.
fn run(engine: &mut Engine, now: &mut RealTime, span: RealSpan) -> Duration {
    let until = *now + span;
    let mut longest = Duration::ZERO;
    while let Some(wake) = engine.poll_timeout().filter(|wake| *wake <= until) {
        *now = wake.max(*now);
        let began = Instant::now();
        engine.begin_pass(*now);
        longest = longest.max(began.elapsed());
        loop {
            let began = Instant::now();
            let fired = engine.fire_next(*now);
            let took = began.elapsed();
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
        flush(engine);
    }
    *now = until;
    longest
}

/// Everybody reads all there is.
fn flush(engine: &mut Engine) {
    while let Some(conn) = engine.next_dirty() {
        while let count @ 1.. = engine.unsent(conn).len() {
            engine.sent(conn, count);
        }
    }
    while engine.poll_output().is_some() {}
}
