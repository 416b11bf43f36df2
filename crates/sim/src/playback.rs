//! Plays the recording of a run to viewers, while operators seek in it.
//!
//! Server, network and peers are those of the run; the journal drives the engine. A viewer's world must equal the server's at
//! each tick that it was sent, and the playback must end as the run did.

use std::sync::Arc;

use trantor_engine::{AdminRequest, Engine, EngineConfig, PlaybackStart};
use trantor_game::replay::Recording;
use trantor_time::{Clock, GameSpan, GameTime, RealTime};

use crate::plan::{Plan, Role};
use crate::rng::Rng;
use crate::simulation::Simulation;

/// Plays `recording`; returns the number of compared worlds.
pub(crate) fn check_playback(recording: &Arc<Recording>, rng: &mut Rng) -> Result<u64, String> {
    let config = EngineConfig::new(recording.config().clone());
    let plan = Plan::of_playback(config.clone(), rng);
    let start = PlaybackStart {
        at: draw_instant(recording, rng),
        follows_speed: rng.one_in(2),
        is_paused: rng.one_in(4),
    };
    let now = RealTime::from_nanos(1_000_000_000);
    let engine = Engine::play(config, recording, start, now).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::playing(engine, plan, rng, now);
    let in_recording = |reason| format!("in playback: {reason}");
    simulation.run_until_settled().map_err(in_recording)?;
    simulation.server.ask(AdminRequest::Seek(recording.end()));
    simulation
        .run_until(simulation.clock.now())
        .map_err(in_recording)?;
    let (last, _) = recording
        .seek(recording.end())
        .map_err(|error| error.to_string())?;
    match simulation.server.engine().game().digest() == last.digest() {
        true => Ok([Role::Viewer, Role::TextViewer]
            .map(|role| simulation.worlds_compared(role))
            .iter()
            .sum()),
        false => Err("the playback ends in another state than the recording".to_owned()),
    }
}

/// A random instant of the recording, sometimes past its end.
fn draw_instant(recording: &Recording, rng: &mut Rng) -> GameTime {
    let length_nu = (recording.end() - recording.begin()).as_nanounits();
    let part = i128::from(rng.between(0, 1_100));
    recording.begin() + GameSpan::from_nanounits(length_nu * part / 1_000)
}
