//! What peers received before a kill, held against what the journal shows.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::{Result, ensure};
use trantor_engine::{ConnId, Engine, EngineConfig, Input, PlaybackStart};
use trantor_game::{GameEvent, Replay, Reply};
use trantor_model::{AgentId, Resource};
use trantor_protocol::text::{AiLine, Dialect, write_ai_line};
use trantor_server::playback::load;
use trantor_server::replay::{pieces_in, read};
use trantor_time::{GameTime, RealSpan, RealTime};

use super::players::Received;

/// The longest that a recording of a second is shown for, everything that is sent in pieces included.
const SHOWN_FOR: RealSpan = RealSpan::from_secs(60);

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
    for line in to_viewer(run)? {
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

/// What a text viewer is sent that watches the recording from its beginning to its end.
fn to_viewer(run: &Path) -> Result<Received> {
    let recording = load(&[run.to_owned()])?;
    let config = EngineConfig::new(recording.config().clone());
    let start = PlaybackStart {
        at: recording.begin(),
        follows_speed: true,
        is_paused: false,
    };
    let mut now = RealTime::ZERO;
    let mut engine = Engine::play(config, &recording, start, now)?;
    let conn = ConnId {
        slot: 0,
        generation: 0,
    };
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    engine.begin_pass(now);
    engine.handle(Input::Opened { conn, peer }, now);
    engine.handle(
        Input::Bytes {
            conn,
            bytes: b"GRAPHIC\n",
        },
        now,
    );
    let mut bytes = Vec::new();
    let until = now + SHOWN_FOR;
    loop {
        while engine.next_dirty().is_some() {
            loop {
                let unsent = engine.unsent(conn).to_vec();
                if unsent.is_empty() {
                    break;
                }
                engine.sent(conn, unsent.len());
                bytes.extend(unsent);
            }
        }
        while engine.poll_output().is_some() {}
        let Some(at) = engine.poll_timeout().filter(|at| *at < until) else {
            break;
        };
        now = at.max(now);
        engine.begin_pass(now);
        while engine.poll_timeout().is_some_and(|at| at <= now) && engine.fire_next(now).is_some() {}
    }
    Ok(bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect())
}
