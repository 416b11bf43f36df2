//! Plays the recording of a run, and compares with what viewers receive of it.
//!
//! A text viewer without delay received the same lines while the game ran. Viewers that watch while operators seek must have
//! the server's world at each tick that they were sent, and the playback must end as the run did; its server, network and
//! peers are those of a run, and the journal drives the engine.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use trantor_engine::{ConnId, Engine, EngineConfig, Input, PlaybackStart};
use trantor_game::replay::Recording;
use trantor_model::Control;
use trantor_time::{Clock, GameSpan, GameTime, RealTime};

use crate::plan::Plan;
use crate::rng::Rng;
use crate::simulation::{START, Simulation};

/// Number of game deadlines fired when the line was sent, and the line with its line feed.
pub type ReplayedLine = (u64, Vec<u8>);

/// All lines that a playback from begin to end sends to a text viewer.
///
/// # Errors
/// If the recording cannot be played.
pub fn lines_to_text_viewer(recording: &Arc<Recording>, config: EngineConfig) -> Result<Vec<ReplayedLine>> {
    let start = PlaybackStart {
        at: recording.begin(),
        follows_speed: true,
        is_paused: true,
    };
    let mut now = RealTime::ZERO;
    let mut engine = Engine::play(config, recording, start, now)?;
    let (slot, generation) = (0, 0);
    let conn = ConnId { slot, generation };
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let bytes = b"GRAPHIC\n";
    engine.begin_pass(now);
    engine.handle(Input::Opened { conn, peer }, now);
    engine.handle(Input::Bytes { conn, bytes }, now);
    let mut lines = Vec::new();
    let mut has_world = false;
    loop {
        loop {
            let unsent = engine.unsent(conn).to_vec();
            let steps = engine.game().steps();
            let cut = unsent.split_inclusive(|byte| *byte == b'\n');
            lines.extend(cut.map(|line| (steps, line.to_vec())));
            engine.sent(conn, unsent.len());
            if unsent.is_empty() && engine.fire_next(now).is_none() {
                break;
            }
        }
        while engine.poll_output().is_some() {}
        // The playback is paused at its end, and at its start until the viewer has the whole world.
        let is_waiting = engine.game_clock().is_paused() && engine.is_up_to_date(conn);
        // A recording without length cannot be resumed.
        let is_over = is_waiting && (has_world || engine.control(Control::Resume, now).is_err());
        has_world |= is_waiting;
        let Some(wake) = engine.poll_timeout().filter(|_| !is_over) else {
            return Ok(lines);
        };
        now = now.max(wake);
        engine.begin_pass(now);
    }
}

/// Lines that a text viewer received after it first had the whole world.
#[derive(Debug)]
pub(crate) struct Received {
    lines: Vec<Vec<u8>>,
    /// Deadlines fired at that point.
    from_steps: u64,
    /// At the last point with nothing in flight: deadlines fired, and lines received.
    last: (u64, usize),
}

impl Received {
    /// For a viewer that is up to date at `steps`.
    pub(crate) fn from(steps: u64) -> Self {
        Self {
            lines: Vec::new(),
            from_steps: steps,
            last: (steps, 0),
        }
    }

    pub(crate) fn push(&mut self, line: &[u8]) {
        if is_compared(line) {
            self.lines.push([line, b"\n"].concat());
        }
    }

    /// The viewer is up to date at `steps`.
    pub(crate) fn note_all_until(&mut self, steps: u64) {
        self.last = (steps, self.lines.len());
    }
}

/// Checks that viewers received what the recording sends, line by line. Returns the number of compared lines.
pub(crate) fn check_lines(
    received: &[Received],
    recording: &Arc<Recording>,
    live: &EngineConfig,
) -> Result<u64> {
    let config = EngineConfig {
        dialect: live.dialect,
        gui_ids: live.gui_ids,
        ..EngineConfig::new(recording.config().clone())
    };
    let mut replayed = lines_to_text_viewer(recording, config)?;
    replayed.retain(|(_, line)| is_compared(line));
    let mut compared = 0;
    for Received {
        lines,
        from_steps,
        last: (last_steps, last_lines),
    } in received
    {
        // A recording ends with the victory.
        let victory = lines.iter().position(|line| line.starts_with(b"seg "));
        let lines = &lines[..victory.map_or(lines.len(), |index| index + 1)];
        // Inputs between two deadlines may have sent lines before or after that point.
        let places = |steps: u64| {
            let place = |steps| replayed.partition_point(|(at, _)| *at < steps);
            place(steps)..=place(steps + 1)
        };
        let same_from = |from: usize| {
            let pairs = lines.iter().zip(&replayed[from..]);
            pairs.take_while(|(line, (_, other))| *line == other).count()
        };
        let until_last = lines.len().min(*last_lines);
        let fits =
            |from| same_from(from) == lines.len() && places(*last_steps).contains(&(from + until_last));
        if !places(*from_steps).any(fits) {
            let from = places(*from_steps).max_by_key(|from| same_from(*from));
            let (from, same) = from.map_or((0, 0), |from| (from, same_from(from)));
            let shown = |line: Option<&Vec<u8>>| line.map(|line| String::from_utf8_lossy(line).into_owned());
            bail!(
                "after {same} lines of {} a text viewer received {:?} where the journal sends {:?}",
                lines.len(),
                shown(lines.get(same)),
                shown(replayed.get(from + same).map(|(_, line)| line)),
            );
        }
        compared += lines.len() as u64;
    }
    Ok(compared)
}

/// Whether the journal determines a line and its time. It does not for messages, speeds, answers to requests and the
/// ground, which is compared with the world instead.
fn is_compared(line: &[u8]) -> bool {
    !matches!(&line[..line.len().min(4)], b"msz " | b"bct " | b"sgt " | b"smg ")
}

/// Plays `recording` to viewers; returns the number of compared worlds.
pub(crate) fn check_worlds(recording: &Arc<Recording>, rng: &mut Rng) -> Result<u64> {
    let config = EngineConfig::new(recording.config().clone());
    let plan = Plan::of_playback(config.clone(), rng);
    let start = PlaybackStart {
        at: draw_instant(recording, rng),
        follows_speed: rng.one_in(2),
        is_paused: rng.one_in(4),
    };
    let engine = Engine::play(config, recording, start, START)?;
    let mut simulation = Simulation::around(engine, plan);
    let mut play = || -> Result<()> {
        simulation.run_until_settled()?;
        simulation.server.ask(Control::Seek(recording.end()));
        simulation.run_until(simulation.clock.now())?;
        let (last, _) = recording.seek(recording.end())?;
        ensure!(
            simulation.server.engine().game().digest() == last.digest(),
            "it ends in another state than the recording"
        );
        simulation.leave_all();
        Ok(())
    };
    play().context("in playback")?;
    Ok(simulation.worlds_compared.iter().sum())
}

/// A random instant of the recording, sometimes past its end.
fn draw_instant(recording: &Recording, rng: &mut Rng) -> GameTime {
    let length_nu = (recording.end() - recording.begin()).as_nanounits();
    let part = i128::from(rng.between(0, 1_100));
    recording.begin() + GameSpan::from_nanounits(length_nu * part / 1_000)
}
