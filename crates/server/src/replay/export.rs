//! `replay export`: all that happened, an event a line, as JSON with flat fields for tables (`pandas.read_json(…,
//! lines=True)`).
//!
//! The names of fields and events are a promise to scripts: they change with a line in the changelog.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use trantor_game::journal::Ending;
use trantor_game::replay::Replayed;
use trantor_game::{Carry, Game, GameEvent, GameInput, LeaveCause, MoveKind, PaceChange, Replay, Reply};
use trantor_model::{AgentId, Counts, Resource, TeamId, Tile};
use trantor_runtime::standard_error;
use trantor_time::GameTime;

use super::{NOTHING_YET, Worst, line, piece_file};
use crate::options::cli::PROGRAM;

/// Everything recorded lies before it.
const END_OF_TIME: GameTime = GameTime::from_nanounits(i128::MAX);

pub(super) fn run(files: &[PathBuf]) -> io::Result<Worst> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut worst = Worst::Good;
    for file in files {
        let (how, why) = match export(file, &mut out)? {
            Ok(Ending::Closed) => continue,
            Ok(ending @ Ending::CutOff { whole_bytes, why }) => (
                Worst::of(ending),
                format!("told to its last whole record, at byte {whole_bytes}, where {why}"),
            ),
            Err(found) => found,
        };
        standard_error::say(format_args!("{PROGRAM}: {}: {why}", file.display()));
        worst = worst.max(how);
    }
    out.flush()?;
    Ok(worst)
}

/// Tells one piece, and answers how it ends. The inner error is about the piece, the outer about the lines.
fn export(file: &Path, out: &mut impl Write) -> io::Result<Result<Ending, (Worst, String)>> {
    match piece_file::read(file) {
        Ok(bytes) => tell(bytes, out),
        Err(error) => Ok(Err((Worst::Unreadable, error.why()))),
    }
}

/// Tells the piece in `bytes`, as far as it can be played.
///
/// # Errors
/// What `out` says.
pub fn export_bytes(bytes: impl Into<Arc<[u8]>>, out: &mut impl Write) -> io::Result<()> {
    tell(bytes, out).map(drop)
}

fn tell(bytes: impl Into<Arc<[u8]>>, out: &mut impl Write) -> io::Result<Result<Ending, (Worst, String)>> {
    let mut replay = match Replay::open(bytes) {
        Ok(replay) => replay,
        Err(error) if error.is_of_begun() => return Ok(Err((Worst::Good, NOTHING_YET.to_owned()))),
        Err(error) => return Ok(Err((Worst::Unreadable, error.to_string()))),
    };
    loop {
        let replayed = match replay.step(END_OF_TIME) {
            Ok(Some(replayed)) => replayed,
            Ok(None) => return Ok(Ok(replay.ending().expect("the entries are used up"))),
            Err(divergence) => return Ok(Err((Worst::Different, divergence.to_string()))),
        };
        let (at, steps) = (replay.game().now(), replay.game().steps());
        if let Replayed::Input(input) = &replayed {
            let value = input_value(replay.game(), input);
            line(out, &stamped(value, at, steps))?;
        }
        while let Some(event) = replay.poll_event() {
            let value = event_value(replay.game(), &event);
            line(out, &stamped(value, at, steps))?;
        }
    }
}

fn stamped(mut value: Value, at: GameTime, steps: u64) -> Value {
    value["units"] = at.as_units_f64().into();
    value["deadlines"] = steps.into();
    value
}

fn input_value(game: &Game, input: &GameInput) -> Value {
    match input {
        GameInput::Join { team } => json!({ "event": "join_asked", "team": team_name(game, *team) }),
        GameInput::Leave { agent, cause } => {
            json!({ "event": "leave", "agent": agent.0, "cause": cause_name(*cause) })
        }
        GameInput::Command { agent, command } => {
            let kind = command
                .kind()
                .map_or_else(|| "unknown".to_owned(), |kind| snake(&format!("{kind:?}")));
            json!({ "event": "command", "agent": agent.0, "command": kind })
        }
        GameInput::Pace(PaceChange::Frequency(frequency)) => {
            json!({ "event": "frequency", "frequency": frequency.get() })
        }
        GameInput::Pace(PaceChange::Paused) => json!({ "event": "paused" }),
        GameInput::Pace(PaceChange::Resumed) => json!({ "event": "resumed" }),
        GameInput::Pace(PaceChange::Stepped) => json!({ "event": "stepped" }),
        GameInput::Pace(PaceChange::WaitEnded) => json!({ "event": "wait_ended" }),
        GameInput::Admin(action) => json!({ "event": "operator", "action": format!("{action:?}") }),
    }
}

fn event_value(game: &Game, event: &GameEvent) -> Value {
    match event {
        GameEvent::Reply { agent, reply } => reply_value(*agent, reply),
        GameEvent::Heard {
            agent,
            direction,
            text,
        } => json!({ "event": "heard", "agent": agent.0, "direction": direction, "text": words(text) }),
        GameEvent::PushedFrom { agent, direction } => {
            json!({ "event": "pushed_from", "agent": agent.0, "direction": direction })
        }
        GameEvent::Joined { agent, egg } => on(
            agent.tile,
            json!({
                "event": "joined", "agent": agent.id.0, "team": team_name(game, agent.team), "egg": egg.0,
                "level": agent.level.get(),
            }),
        ),
        GameEvent::Died { agent } => json!({ "event": "died", "agent": agent.0 }),
        GameEvent::Left { agent, cause } => {
            json!({ "event": "left", "agent": agent.0, "cause": cause_name(*cause) })
        }
        GameEvent::ActionStarted {
            agent,
            kind,
            end,
            refused,
            ..
        } => json!({
            "event": "action_started", "agent": agent.0, "command": snake(&format!("{kind:?}")),
            "ends_units": end.as_units_f64(), "refused": refused,
        }),
        GameEvent::Moved {
            agent,
            tile,
            facing,
            how,
        } => on(
            *tile,
            json!({
                "event": "moved", "agent": agent.0, "facing": snake(&format!("{facing:?}")),
                "how": match how {
                    MoveKind::Walked => "walked",
                    MoveKind::Turned => "turned",
                    MoveKind::Pushed => "pushed",
                    MoveKind::Placed => "placed",
                },
            }),
        ),
        GameEvent::Took(carry) => carry_value("took", carry),
        GameEvent::Put(carry) => carry_value("put", carry),
        GameEvent::Ate {
            agent,
            tile,
            inventory,
        } => on(
            *tile,
            with(json!({ "event": "ate", "agent": agent.0 }), inventory),
        ),
        GameEvent::InventorySet {
            agent,
            tile,
            inventory,
        } => on(
            *tile,
            with(json!({ "event": "inventory_set", "agent": agent.0 }), inventory),
        ),
        GameEvent::Said { agent, text } => json!({ "event": "said", "agent": agent.0, "text": words(text) }),
        GameEvent::Ejected { agent } => json!({ "event": "ejected", "agent": agent.0 }),
        GameEvent::ForkStarted { agent } => json!({ "event": "fork_started", "agent": agent.0 }),
        GameEvent::EggLaid {
            egg,
            layer,
            team,
            tile,
        } => on(
            *tile,
            json!({
                "event": "egg_laid", "egg": egg.0, "agent": layer.map(|layer| layer.0),
                "team": team_name(game, *team),
            }),
        ),
        GameEvent::EggMatured { egg } => json!({ "event": "egg_matured", "egg": egg.0 }),
        GameEvent::EggDestroyed { egg } => json!({ "event": "egg_destroyed", "egg": egg.0 }),
        GameEvent::RitualStarted {
            tile,
            level,
            participants,
            end,
            ritual: _,
        } => on(
            *tile,
            json!({
                "event": "elevation_started", "level": level.get(), "agents": numbers(participants),
                "ends_units": end.as_units_f64(),
            }),
        ),
        GameEvent::RitualEnded {
            tile,
            level,
            success,
            participants,
            ritual: _,
        } => on(
            *tile,
            json!({
                "event": "elevation_ended", "level": level.get(), "agents": numbers(participants),
                "success": success,
            }),
        ),
        GameEvent::LevelChanged { agent, level } => {
            json!({ "event": "level", "agent": agent.0, "level": level.get() })
        }
        GameEvent::GroundChanged { tile, ground, why } => on(
            *tile,
            with(
                json!({ "event": "ground", "why": snake(&format!("{why:?}")) }),
                ground,
            ),
        ),
        GameEvent::Refilled => json!({ "event": "refilled" }),
        GameEvent::Won { team } => json!({ "event": "won", "team": team_name(game, *team) }),
    }
}

fn reply_value(agent: AgentId, reply: &Reply) -> Value {
    let mut value = json!({ "event": "reply", "agent": agent.0 });
    value["reply"] = match reply {
        Reply::Ok => "ok",
        Reply::Ko => "ko",
        Reply::Look(_) => "look",
        Reply::Inventory { .. } => "inventory",
        Reply::ConnectNbr(_) => "connect_nbr",
        Reply::ElevationUnderway => "elevation_underway",
        Reply::CurrentLevel(_) => "current_level",
    }
    .into();
    match reply {
        Reply::Inventory { inventory, .. } => with(value, inventory),
        Reply::ConnectNbr(places) => {
            value["places"] = (*places).into();
            value
        }
        Reply::CurrentLevel(level) => {
            value["level"] = level.get().into();
            value
        }
        Reply::Ok | Reply::Ko | Reply::Look(_) | Reply::ElevationUnderway => value,
    }
}

fn carry_value(what: &str, carry: &Carry) -> Value {
    let value = json!({ "event": what, "agent": carry.agent.0, "resource": carry.resource.name() });
    on(carry.tile, with(value, &carry.inventory))
}

/// Adds where it was.
fn on(tile: Tile, mut value: Value) -> Value {
    value["x"] = tile.x.into();
    value["y"] = tile.y.into();
    value
}

/// Adds counts under the names of their resources.
fn with(mut value: Value, counts: &Counts) -> Value {
    let names = (0..Resource::COUNT).filter_map(Resource::from_index);
    for (resource, count) in names.zip(counts.0) {
        value[resource.name()] = count.into();
    }
    value
}

fn numbers(agents: &[AgentId]) -> Vec<u32> {
    agents.iter().map(|agent| agent.0).collect()
}

/// Whoever makes a recording may have a team ask to join that the game does not have, which the game refuses.
fn team_name(game: &Game, team: TeamId) -> &str {
    let name = game.config().teams.get(usize::from(team.0));
    name.map_or("unknown", String::as_str)
}

fn cause_name(cause: LeaveCause) -> &'static str {
    match cause {
        LeaveCause::Disconnected => "disconnected",
        LeaveCause::Dismissed => "dismissed",
    }
}

fn words(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// `ConnectNbr` as `connect_nbr`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for (place, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_scripts_like_them() {
        assert_eq!(snake("ConnectNbr"), "connect_nbr");
        assert_eq!(snake("North"), "north");
    }
}
