//! A run that ended goes on, from its journal and from a save alike.
//!
//! Both are played on by the same agents for a while. They must come to the same state, and so must the journal of it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use trantor_engine::{ConnId, Engine, EngineConfig, Input};
use trantor_game::journal::Ending;
use trantor_game::replay::Recording;
use trantor_game::{Game, Replay, Snapshot};
use trantor_time::{Frequency, RealSpan, RealTime};

use crate::actors::Verdict;

/// How long it goes on: some hundreds of units, in which food is eaten and the ground is filled again.
const GOES_ON_FOR: RealSpan = RealSpan::from_millis(300);

/// What each agent says.
const SAID: &[u8] = b"Forward\nTake food\nRight\nLook\nFork\nBroadcast on\n";

/// Goes on with what was recorded and with what was `played`.
pub(crate) fn check(recording: &Arc<Recording>, played: &Game) -> Verdict {
    if played.winner().is_some() {
        // A recording is shown until the victory.
        return Ok(());
    }
    let (replayed, _) = recording
        .seek(recording.end())
        .map_err(|error| error.to_string())?;
    let saved = Snapshot::decode(&played.snapshot().encode())
        .and_then(Game::restore)
        .map_err(|error| format!("the end of the run cannot be restored: {error}"))?;
    let (from_journal, from_save) = (go_on(replayed)?, go_on(saved)?);
    match from_journal == from_save {
        true => Ok(()),
        false => Err(format!(
            "resumed from its journal the game comes to {from_journal:016x}, from a save to {from_save:016x}"
        )),
    }
}

/// Goes on with a game; answers the digest of where it comes to.
fn go_on(game: Game) -> Result<u64, String> {
    let mut now = RealTime::from_nanos(1_000_000_000);
    let mut config = EngineConfig::new(game.config().clone());
    config.frequency = Frequency::new(1_000).map_err(|error| error.to_string())?;
    let teams = config.game.teams.clone();
    let mut engine = Engine::resume(config, game, now);
    engine.start_recording();
    engine.begin_pass(now);
    for (slot, team) in (0..).zip(&teams) {
        let conn = ConnId { slot, generation: 0 };
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        engine.handle(Input::Opened { conn, peer }, now);
        let said = [team.as_bytes(), b"\n", SAID].concat();
        engine.handle(Input::Bytes { conn, bytes: &said }, now);
    }
    let until = now + GOES_ON_FOR;
    let mut journal = Vec::new();
    loop {
        engine.begin_pass(now);
        while engine.fire_next(now).is_some() {}
        while engine.poll_output().is_some() {}
        while let Some(piece) = engine.poll_journal() {
            journal.extend(piece.bytes);
        }
        if now == until {
            break;
        }
        // The last pass carries out what the engine did not wake up for.
        now = engine.poll_timeout().map_or(until, |wake| wake.clamp(now, until));
    }
    for piece in engine.stop_recording() {
        journal.extend(piece.bytes);
    }
    let verified = Replay::open(journal)
        .map_err(|error| format!("the journal of a resumed game cannot be opened: {error}"))?
        .verify()
        .map_err(|error| format!("the journal of a resumed game is played otherwise: {error}"))?;
    let (played, replayed) = (engine.game().digest(), verified.game.digest());
    match verified.ending == Ending::Closed && played == replayed {
        true => Ok(played),
        false => Err(format!(
            "a resumed game ended as {played:016x}, its replay as {replayed:016x}, {:?}",
            verified.ending
        )),
    }
}
