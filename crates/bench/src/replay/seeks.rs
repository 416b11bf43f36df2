//! How long it takes until a viewer has the world of another moment: from its request to the last byte of the answer.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::Result;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use trantor_engine::{ConnId, Engine, EngineConfig, Input, PlaybackStart};
use trantor_protocol::wire::{ClientHello, ToServer, WIRE_VERSION, WIRE_WORD, write_frame};
use trantor_runtime::RealClock;
use trantor_server::playback::load;
use trantor_time::{Clock, GameSpan, RealSpan, RealTime};

use crate::samples::Samples;

/// Jumps, each to a moment drawn at random.
const JUMPS: u32 = 1_000;

/// What was measured.
pub(super) struct Seeks {
    /// From the files to a recording that can be shown.
    pub(super) opened: RealSpan,
    pub(super) samples: Samples,
}

/// Opens a recording and jumps about in it, with one viewer watching.
pub(super) fn measure(folder: &Path) -> Result<Seeks> {
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
    let conn = ConnId {
        slot: 0,
        generation: 0,
    };
    join(&mut engine, conn, now)?;

    let mut samples = Samples::new();
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let length_nu = (recording.end() - recording.begin()).as_nanounits();
    for _ in 0..JUMPS {
        let part = i128::from(random.next_u32());
        let at = recording.begin() + GameSpan::from_nanounits(length_nu * part / i128::from(u32::MAX));
        let asked = clock.now();
        let bytes = say(&mut engine, conn, Vec::new(), &ToServer::Seek { at }, asked)?;
        samples.record(clock.now().since(asked));
        anyhow::ensure!(engine.game_now() == at && bytes > 0, "a jump was not answered");
        // What was sent was read: the credit for its pieces is whole again.
        engine.handle(
            Input::Closed {
                conn,
                cause: trantor_engine::CloseCause::EndOfStream,
            },
            asked,
        );
        join(&mut engine, conn, clock.now())?;
    }
    Ok(Seeks { opened, samples })
}

/// A viewer comes, and is sent the world.
fn join(engine: &mut Engine, conn: ConnId, now: RealTime) -> Result<()> {
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    engine.begin_pass(now);
    engine.handle(Input::Opened { conn, peer }, now);
    let hello = ToServer::Hello(ClientHello {
        version: WIRE_VERSION,
        program: "bench".to_owned(),
    });
    say(engine, conn, format!("{WIRE_WORD}\n").into_bytes(), &hello, now)?;
    Ok(())
}

/// Hands in a message behind `bytes`, and takes all that is written because of it; answers how many bytes.
fn say(
    engine: &mut Engine,
    conn: ConnId,
    mut bytes: Vec<u8>,
    message: &ToServer,
    now: RealTime,
) -> Result<usize> {
    write_frame(&mut bytes, message)?;
    engine.begin_pass(now);
    engine.handle(Input::Bytes { conn, bytes: &bytes }, now);
    while engine.fire_next(now).is_some() {}
    let mut taken = 0;
    loop {
        let count = engine.unsent(conn).len();
        if count == 0 {
            return Ok(taken);
        }
        engine.sent(conn, count);
        taken += count;
    }
}
