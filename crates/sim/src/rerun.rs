//! The recording of a run shown to viewers, who move about in it with operators.
//!
//! The same host, network and peers as in the run, around an engine that the journal moves. Whatever is asked for, a
//! viewer's world equals the world at each tick of which it was sent all; and the end is the end of the run.

use std::sync::Arc;

use trantor_engine::{AdminRequest, Engine, EngineConfig, PlaybackStart};
use trantor_game::replay::Recording;
use trantor_time::{Clock, GameSpan, GameTime, RealTime};

use crate::plan::Plan;
use crate::rng::Rng;
use crate::universe::Universe;

/// Shows `recording`; answers how often a viewer's world was compared.
pub(crate) fn watch(recording: &Arc<Recording>, rng: &mut Rng) -> Result<u64, String> {
    let config = EngineConfig::new(recording.config().clone());
    let plan = Plan::of_playback(config.clone(), rng);
    let start = PlaybackStart {
        at: moment(recording, rng),
        follows_speed: rng.one_in(2),
        is_paused: rng.one_in(4),
    };
    let now = RealTime::from_nanos(1_000_000_000);
    let engine = Engine::play(config, recording, start, now).map_err(|error| error.to_string())?;
    let mut universe = Universe::playing(engine, plan, rng, now);
    let in_recording = |reason| format!("in a recording {reason}");
    universe.run_to_calm().map_err(in_recording)?;
    universe.host.ask(AdminRequest::Seek(recording.end()));
    universe.run_until(universe.clock.now()).map_err(in_recording)?;
    let (last, _) = recording
        .seek(recording.end())
        .map_err(|error| error.to_string())?;
    match universe.host.engine.game().digest() == last.digest() {
        true => Ok(universe.worlds_compared()),
        false => Err("a recording that is shown ends otherwise than it was".to_owned()),
    }
}

/// Any moment of the recording, and now and then one outside.
fn moment(recording: &Recording, rng: &mut Rng) -> GameTime {
    let length_nu = (recording.end() - recording.begin()).as_nanounits();
    let part = i128::from(rng.between(0, 1_100));
    recording.begin() + GameSpan::from_nanounits(length_nu * part / 1_000)
}
