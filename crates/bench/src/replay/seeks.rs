//! Time of a seek: from the viewer's request to the last byte of the world.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::{Result, ensure};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_engine::{CloseCause, ConnId, Engine, EngineConfig, Input, PlaybackStart};
use trantor_protocol::wire::{ClientHello, ToServer, WIRE_VERSION, WIRE_WORD, write_frame};
use trantor_runtime::RealClock;
use trantor_server::playback::load;
use trantor_time::{Clock, GameSpan, RealSpan, RealTime};

use crate::figures::Runs;

/// Seeks, each to a random instant.
const JUMPS: u32 = 1_000;

/// The only viewer.
const CONN: ConnId = ConnId {
    slot: 0,
    generation: 0,
};

/// Opens a recording and seeks in it for one viewer. Returns the time of the first, and of each seek in milliseconds.
pub(super) fn measure(folder: &Path) -> Result<(RealSpan, Runs)> {
    let clock = RealClock::new();
    let began = clock.now();
    let recording = load(&[folder.to_owned()])?;
    let opened = clock.now().since(began);
    let start = PlaybackStart {
        at: recording.begin(),
        follows_speed: true,
        is_paused: true,
    };
    let config = EngineConfig::new(recording.config().clone());
    let now = clock.now();
    let mut engine = Engine::play(config, &recording, start, now)?;
    join(&mut engine, now)?;

    let mut seeks_ms = Vec::new();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let length_nu = (recording.end() - recording.begin()).as_nanounits();
    for _ in 0..JUMPS {
        let part = i128::from(random.next_u32());
        let at = recording.begin() + GameSpan::from_nanounits(length_nu * part / i128::from(u32::MAX));
        let asked = clock.now();
        let bytes = say(&mut engine, Vec::new(), &ToServer::Seek { at }, asked)?;
        seeks_ms.push(clock.now().since(asked).as_millis_f64());
        ensure!(engine.game_now() == at && bytes > 0, "a seek was not answered");
        // A new viewer has full credit for snapshot parts.
        let cause = CloseCause::EndOfStream;
        engine.handle(Input::Closed { conn: CONN, cause }, asked);
        join(&mut engine, clock.now())?;
    }
    Ok((opened, seeks_ms.into_iter().collect()))
}

/// Connects a viewer, which receives the world.
fn join(engine: &mut Engine, now: RealTime) -> Result<()> {
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    engine.begin_pass(now);
    engine.handle(Input::Opened { conn: CONN, peer }, now);
    let hello = ToServer::Hello(ClientHello {
        version: WIRE_VERSION,
        program: "bench".to_owned(),
    });
    say(engine, format!("{WIRE_WORD}\n").into_bytes(), &hello, now)?;
    Ok(())
}

/// Hands in a message behind `bytes`, and takes all that is written because of it; answers how many bytes.
fn say(engine: &mut Engine, mut bytes: Vec<u8>, message: &ToServer, now: RealTime) -> Result<usize> {
    write_frame(&mut bytes, message)?;
    engine.begin_pass(now);
    let conn = CONN;
    engine.handle(Input::Bytes { conn, bytes: &bytes }, now);
    while engine.fire_next(now).is_some() {}
    let mut taken = 0;
    while !engine.unsent(conn).is_empty() {
        let count = engine.unsent(conn).len();
        engine.sent(conn, count);
        taken += count;
    }
    Ok(taken)
}
