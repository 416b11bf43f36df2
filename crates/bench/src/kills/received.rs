//! What peers received before a kill, held against what the journal shows.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, ensure};
use trantor_engine::EngineConfig;
use trantor_game::{GameEvent, Replay, Reply};
use trantor_model::{AgentId, Resource};
use trantor_protocol::text::{AiLine, Dialect, write_ai_line};
use trantor_server::playback::load;
use trantor_server::replay::{pieces_in, read};
use trantor_sim::replayed::lines_to_text_viewer;
use trantor_time::GameTime;

use super::players::Received;

/// Bytes of a line that are shown where one is missing: enough to know it by.
const LINE_SHOWN_BYTES: usize = 80;

/// Checks that the run shows every line that the agents, in the order in which they were born, and the viewer received.
/// Answers how many lines those are.
pub(super) fn check(run: &Path, agents: &[Received], viewer: &Received) -> Result<usize> {
    let shown = to_agents(run)?;
    for (number, received) in agents.iter().enumerate() {
        let shown = shown.get(number).map_or(&[][..], Vec::as_slice);
        ensure!(
            shown.starts_with(received),
            "agent {number} received {} lines, and the journal shows {} of them: {:?}",
            received.len(),
            received
                .iter()
                .zip(shown)
                .take_while(|(one, other)| one == other)
                .count(),
            received
                .last()
                .map(|line| String::from_utf8_lossy(&line[..line.len().min(LINE_SHOWN_BYTES)])),
        );
    }
    let mut shown: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let recording = load(&[run.to_owned()])?;
    let config = EngineConfig::new(recording.config().clone());
    let to_viewer = lines_to_text_viewer(&recording, config).map_err(anyhow::Error::msg)?;
    for (_, line) in to_viewer {
        *shown.entry(line).or_default() += 1;
    }
    // What a server says of its end is no part of the game.
    let is_end = |line: &Vec<u8>| line.starts_with(b"seg ");
    let until = viewer
        .iter()
        .position(is_end)
        .map_or(viewer.len(), |place| place + 1);
    for line in &viewer[..until] {
        let left = shown.get_mut(line).filter(|left| **left > 0);
        ensure!(
            left.is_some(),
            "the viewer received what the journal does not show: {}",
            String::from_utf8_lossy(line)
        );
        left.into_iter().for_each(|left| *left -= 1);
    }
    Ok(agents.iter().map(Vec::len).sum::<usize>() + until)
}

/// What each agent is sent in a run, in the order in which they are born.
fn to_agents(run: &Path) -> Result<Vec<Received>> {
    let (mut born, mut lines) = (Vec::new(), Vec::<Received>::new());
    for file in pieces_in(&[run.to_owned()])? {
        let mut replay = match Replay::open(read(&file)?) {
            Err(error) if error.is_of_begun() => continue,
            opened => opened?,
        };
        while replay.step(GameTime::from_nanounits(i128::MAX))?.is_some() {
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
        GameEvent::Reply { agent, reply } => (
            agent,
            match reply {
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
            },
        ),
        GameEvent::Heard {
            agent,
            direction,
            text,
        } => (
            agent,
            AiLine::Message {
                direction: *direction,
                text,
            },
        ),
        GameEvent::PushedFrom { agent, direction } => (
            agent,
            AiLine::Ejected {
                direction: *direction,
            },
        ),
        GameEvent::Died { agent } => (agent, AiLine::Dead),
        _ => return None,
    };
    let mut bytes = Vec::new();
    write_ai_line(&mut bytes, Dialect::default(), &line);
    Some((*agent, bytes))
}
