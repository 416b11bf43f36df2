//! Compares the lines that peers received before a kill with a replay of the journal.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use trantor_engine::EngineConfig;
use trantor_game::{GameEvent, Reply};
use trantor_model::{AgentId, Resource};
use trantor_protocol::text::{AiLine, Dialect, write_ai_line};
use trantor_server::playback::load;
use trantor_server::replay::pieces_in;
use trantor_sim::replayed::lines_to_text_viewer;

use super::aftermath::{next_deadline, replays};
use super::peers::Received;

/// Prefix of a missing line in an error message.
const LINE_SHOWN_BYTES: usize = 80;

/// Checks that the replay sends every line that the agents, in the order of their joins, and the viewer received. Returns the
/// number of lines.
pub(super) fn check(run: &Path, agents: &[Received], viewer: &Received) -> Result<usize> {
    let shown = to_agents(run)?;
    for (number, received) in agents.iter().enumerate() {
        let shown = shown.get(number).map_or(&[][..], Vec::as_slice);
        let same = received
            .iter()
            .zip(shown)
            .take_while(|(one, other)| one == other)
            .count();
        let missing = received
            .get(same)
            .map(|line| &line[..line.len().min(LINE_SHOWN_BYTES)]);
        ensure!(
            missing.is_none(),
            "agent {number} received {} lines, and the journal shows {same} of them, but not {:?}",
            received.len(),
            missing.map(String::from_utf8_lossy),
        );
    }
    let mut shown: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let recording = load(&[run.to_owned()])?;
    let config = EngineConfig::new(recording.config().clone());
    for (_, line) in lines_to_text_viewer(&recording, config).map_err(anyhow::Error::msg)? {
        *shown.entry(line).or_default() += 1;
    }
    // Lines about the shutdown are not in the journal.
    let end = viewer.iter().position(|line| line.starts_with(b"seg "));
    let until = end.map_or(viewer.len(), |place| place + 1);
    for line in &viewer[..until] {
        let left = shown.get_mut(line).filter(|left| **left > 0);
        *left.with_context(|| {
            let line = String::from_utf8_lossy(line);
            format!("the viewer received what the journal does not show: {line}")
        })? -= 1;
    }
    Ok(agents.iter().map(Vec::len).sum::<usize>() + until)
}

/// Lines to each agent in a run, in the order of their births.
fn to_agents(run: &Path) -> Result<Vec<Received>> {
    let (mut born, mut lines) = (Vec::new(), Vec::<Received>::new());
    for replay in replays(&pieces_in(&[run.to_owned()])?) {
        let mut replay = replay?;
        while next_deadline(&mut replay)? {
            while let Some(event) = replay.poll_event() {
                if let GameEvent::Joined { agent, .. } = &event {
                    born.push(agent.id);
                    lines.push(Vec::new());
                }
                if let Some((agent, line)) = line_of(&event)
                    && let Some(place) = born.iter().position(|other| *other == agent)
                {
                    lines[place].push(line);
                }
            }
        }
    }
    Ok(lines)
}

/// The line that an event is for an agent.
fn line_of(event: &GameEvent) -> Option<(AgentId, Vec<u8>)> {
    let (agent, line) = match event {
        GameEvent::Reply { agent, reply } => {
            let line = match reply {
                Reply::Ok => AiLine::Ok,
                Reply::Ko => AiLine::Ko,
                Reply::Look(sights) => AiLine::Look(sights),
                Reply::Inventory { inventory, .. } => AiLine::Inventory {
                    inventory,
                    life_units: inventory[Resource::Food],
                },
                Reply::ConnectNbr(places) => AiLine::ConnectNbr(*places),
                Reply::ElevationUnderway => AiLine::ElevationUnderway,
                Reply::CurrentLevel(level) => AiLine::CurrentLevel(*level),
            };
            (agent, line)
        }
        GameEvent::Heard {
            agent,
            direction,
            text,
        } => {
            let direction = *direction;
            (agent, AiLine::Message { direction, text })
        }
        GameEvent::PushedFrom { agent, direction } => {
            let direction = *direction;
            (agent, AiLine::Ejected { direction })
        }
        GameEvent::Died { agent } => (agent, AiLine::Dead),
        _ => return None,
    };
    let mut bytes = Vec::new();
    write_ai_line(&mut bytes, Dialect::default(), &line);
    Some((*agent, bytes))
}
