//! `replay export`: all that happened, an event a line, as JSON with flat fields for tables (`pandas.read_json(…,
//! lines=True)`).
//!
//! The names of fields and events are a promise to scripts, kept in `docs/replay-events.md`: they change with a line in the
//! changelog.

use std::fmt::Debug;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};
use trantor_game::replay::Replayed;
use trantor_game::{Game, GameEvent, GameInput, PaceChange, Replay, Stamp};
use trantor_model::{
    AdminAction, AgentId, Change, Command, CommandKind, Counts, InventoryChange, Percept, Resource, TeamId,
    lag,
};
use trantor_protocol::text::{Dialect, write_percept};
use trantor_runtime::standard_error;
use trantor_time::GameTime;
use trantor_time::link::{Delivery, Loss};

use super::verify::{Checked, Outcome};
use super::{Worst, files, line};
use crate::archive::PIECES;
use crate::options::PROGRAM;

/// Everything recorded lies before it.
const END_OF_TIME: GameTime = GameTime::from_nanounits(i128::MAX);

/// Tells all `files`, of which some were `named` one by one. What `verify` would say of one that is not whole and good is
/// said on standard error.
pub(super) fn run(files: &[PathBuf], named: &[PathBuf]) -> io::Result<Worst> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut worst = Worst::Good;
    let mut before: Option<Checked> = None;
    for file in files {
        let outcome = match files::read(file) {
            Ok(bytes) => tell(bytes, &run_of(file), &mut out)?,
            Err(error) => Outcome::Unreadable(error.to_string()),
        };
        let mut checked = Checked::new(file.clone(), outcome);
        checked.look_back(before.as_ref(), named);
        worst = worst.max(checked.outcome.worst());
        if !checked.outcome.is_whole() {
            let what = checked.outcome.in_words();
            standard_error::say(format_args!("{PROGRAM}: {}: {what}", file.display()));
        }
        before = Some(checked);
    }
    out.flush()?;
    Ok(worst)
}

/// What the lines of a file have as their run: the directory of its pieces, or the file itself.
fn run_of(file: &Path) -> String {
    let is_piece = file
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(PIECES.prefix));
    let run = match file.parent() {
        Some(run) if is_piece && run != Path::new("") => run,
        _ => file,
    };
    run.to_string_lossy().into_owned()
}

/// Tells the piece in `bytes`, as far as it can be played.
pub fn export_bytes(bytes: impl Into<Arc<[u8]>>, out: &mut impl Write) -> io::Result<()> {
    tell(bytes, "", out).map(drop)
}

fn tell(bytes: impl Into<Arc<[u8]>>, run: &str, out: &mut impl Write) -> io::Result<Outcome> {
    let mut replay = match Replay::open(bytes) {
        Ok(replay) => replay,
        Err(error) => return Ok(Outcome::of_unopened(&error)),
    };
    let begins = replay.game.snapshot().digest();
    loop {
        let replayed = match replay.step(END_OF_TIME) {
            Ok(Some(replayed)) => replayed,
            Ok(None) => return Ok(Outcome::of_rest(replay, begins)),
            Err(divergence) => return Ok(Outcome::Different(divergence)),
        };
        let stamp = Stamp {
            steps: replay.game.steps(),
            at: replay.game.now(),
        };
        if let Replayed::Input(input) = &replayed {
            let value = input_value(&replay.game, input);
            line(out, &stamped(value, stamp, run))?;
        }
        while let Some(event) = replay.game.poll_event() {
            for value in event_values(&replay.game, &event) {
                line(out, &stamped(value, stamp, run))?;
            }
        }
    }
}

fn stamped(mut value: Value, stamp: Stamp, run: &str) -> Value {
    value["units"] = stamp.at.as_units_f64().into();
    value["deadlines"] = stamp.steps.into();
    value["run"] = run.into();
    value
}

fn input_value(game: &Game, input: &GameInput) -> Value {
    match input {
        GameInput::Join { team } => {
            json!({ "event": "join_asked", "team": team_name(game, team.0.into()) })
        }
        GameInput::Leave { .. } => named(game, input, "event"),
        GameInput::Command { agent, command } => {
            let kind = command
                .kind()
                .map_or_else(|| "unknown".to_owned(), |kind| word(&kind));
            let mut value = json!({ "event": "command", "agent": agent.0, "command": kind });
            match command {
                Command::Take(resource) | Command::Set(resource) => {
                    value["resource"] = resource.name().into()
                }
                Command::Broadcast(text) => value["text"] = words(text).into(),
                // It takes its time, and is answered ko.
                Command::Refused(_) => value["refused"] = true.into(),
                _ => {}
            }
            value
        }
        GameInput::Pace(PaceChange::Frequency(frequency)) => {
            json!({ "event": "frequency", "frequency": frequency.get() })
        }
        GameInput::Pace(change) => named(game, change, "event"),
        GameInput::Admin(action) => {
            let mut value = match action {
                AdminAction::SetLag { lag } => {
                    json!({ "action": "set_lag", "lag": lag::show(lag.as_ref()) })
                }
                AdminAction::SetTeamLag { team, lag } => json!({
                    "action": "set_team_lag", "team": team_name(game, team.0.into()),
                    "lag": lag.as_ref().map(|lag| lag::show(lag.as_ref())),
                }),
                _ => named(game, action, "action"),
            };
            value["event"] = "operator".into();
            value
        }
    }
}

/// The lines of an event.
fn event_values(game: &Game, event: &GameEvent) -> Vec<Value> {
    match event {
        GameEvent::To { agent, percept } => vec![percept_value(*agent, percept)],
        GameEvent::Seen(change) => change_values(game, change),
        // A replay has a line for each recipient instead.
        GameEvent::HeardByAll { .. } => Vec::new(),
    }
}

fn change_values(game: &Game, change: &Change) -> Vec<Value> {
    let team = |team: TeamId| team_name(game, team.0.into());
    vec![match change {
        // The input says it of all agents.
        Change::Hunger { .. } => return Vec::new(),
        Change::Joined { agent, egg, .. } => json!({
            "event": "joined", "agent": agent.id.0, "team": team(agent.team), "egg": egg.0,
            "level": agent.level.get(), "x": agent.tile.x, "y": agent.tile.y,
        }),
        Change::Died { agent } => json!({ "event": "died", "agent": agent.0 }),
        Change::Left { agent, cause } => json!({ "event": "left", "agent": agent.0, "cause": word(cause) }),
        Change::ActionStarted { agent, action } => {
            let started = json!({
                "event": "action_started", "agent": agent.0, "command": word(&action.kind),
                "ends_units": action.end.as_units_f64(), "refused": action.refused,
            });
            if action.kind == CommandKind::Fork && !action.refused {
                return vec![json!({ "event": "fork_started", "agent": agent.0 }), started];
            }
            started
        }
        Change::Moved {
            agent,
            tile,
            facing,
            how,
        } => json!({
            "event": "moved", "agent": agent.0, "x": tile.x, "y": tile.y, "facing": word(facing), "how": word(how),
        }),
        Change::Carried {
            agent,
            resource,
            taken,
            tile,
            inventory,
            ..
        } => {
            let event = if *taken { "took" } else { "put" };
            let value = json!({
                "event": event, "agent": agent.0, "resource": resource.name(), "x": tile.x, "y": tile.y,
            });
            with_counts(value, inventory)
        }
        Change::Inventory {
            agent,
            tile,
            inventory,
            why,
            ..
        } => {
            let event = match why {
                InventoryChange::Ate => "ate",
                InventoryChange::Set => "inventory_set",
            };
            let value = json!({ "event": event, "agent": agent.0, "x": tile.x, "y": tile.y });
            with_counts(value, inventory)
        }
        Change::Said { agent, text } => json!({ "event": "said", "agent": agent.0, "text": words(text) }),
        Change::Sent {
            agent,
            tile,
            deliveries,
            ..
        } => {
            let hearers = deliveries
                .iter()
                .map(|(to, delivery)| delivery_value(*to, *delivery));
            json!({
                "event": "transmitted", "agent": agent.0, "x": tile.x, "y": tile.y, "hearers": hearers.collect::<Value>(),
            })
        }
        Change::Ejected { agent } => json!({ "event": "ejected", "agent": agent.0 }),
        Change::EggLaid { egg, layer } => json!({
            "event": "egg_laid", "egg": egg.egg.0, "team": team(egg.team), "x": egg.tile.x, "y": egg.tile.y,
            "agent": layer.map(|layer| layer.0),
        }),
        Change::EggMatured { egg } => json!({ "event": "egg_matured", "egg": egg.0 }),
        Change::EggDestroyed { egg } => json!({ "event": "egg_destroyed", "egg": egg.0 }),
        Change::ElevationStarted(elevation) => json!({
            "event": "elevation_started", "x": elevation.tile.x, "y": elevation.tile.y, "level": elevation.level.get(),
            "agents": numbers(&elevation.participants), "ends_units": elevation.end.as_units_f64(),
        }),
        Change::ElevationEnded {
            tile,
            level,
            success,
            participants,
            ..
        } => json!({
            "event": "elevation_ended", "x": tile.x, "y": tile.y, "level": level.get(), "success": success,
            "agents": numbers(participants),
        }),
        Change::LevelChanged { agent, level } => {
            json!({ "event": "level", "agent": agent.0, "level": level.get() })
        }
        Change::Ground { tile, ground, why } => {
            let value = json!({ "event": "ground", "x": tile.x, "y": tile.y, "why": word(why) });
            with_counts(value, ground)
        }
        Change::Refilled => json!({ "event": "refilled" }),
        Change::Won { team: winner, .. } => json!({ "event": "won", "team": team(*winner) }),
    }]
}

fn numbers(agents: &[AgentId]) -> Vec<u32> {
    agents.iter().map(|agent| agent.0).collect()
}

/// A variant without fields by the name that scripts know.
fn word(variant: &impl Debug) -> String {
    snake(&format!("{variant:?}"))
}

fn with_counts(mut value: Value, counts: &Counts) -> Value {
    for resource in Resource::ALL {
        value[resource.name()] = counts[resource].into();
    }
    value
}

fn delivery_value(to: AgentId, delivery: Delivery) -> Value {
    let outcome = match delivery {
        Delivery::Arrives { at, again_at } => {
            let mut value = json!({ "to": to.0, "outcome": "arrives", "at_units": at.as_units_f64() });
            if let Some(again_at) = again_at {
                value["again_at_units"] = again_at.as_units_f64().into();
            }
            return value;
        }
        Delivery::Lost(Loss::Chance) => "lost",
        Delivery::Lost(Loss::OutOfRange) => "out_of_range",
        Delivery::Lost(Loss::LineFull) => "line_full",
    };
    json!({ "to": to.0, "outcome": outcome })
}

/// The fields of a variant, with its name as the field `key`.
fn named(game: &Game, variant: &impl Serialize, key: &str) -> Value {
    let value = serde_json::to_value(variant).expect("names, numbers and lists can always be written");
    let (variant, fields) = match value {
        Value::Object(variant) => variant.into_iter().next().unwrap_or_default(),
        Value::String(name) => (name, Value::Null),
        _ => Default::default(),
    };
    let mut line = Map::new();
    line.insert(key.to_owned(), snake(&variant).into());
    if let Value::Object(fields) = fields {
        fields
            .into_iter()
            .for_each(|(name, value)| put(game, &mut line, &name, value));
    }
    line.into()
}

/// Adds a field under the name that scripts know; a tile by its coordinates, and counts by their resources.
fn put(game: &Game, line: &mut Map<String, Value>, name: &str, value: Value) {
    let (name, value) = match (name, value) {
        ("tile", Value::Object(tile)) => return line.extend(tile),
        ("ground", Value::Array(counts)) => {
            let names = Resource::ALL.map(|resource| resource.name().to_owned());
            return line.extend(names.into_iter().zip(counts));
        }
        ("winner", Value::Null) => ("winner", Value::Null),
        (name @ ("team" | "winner"), team) => {
            (name, team_name(game, team.as_u64().unwrap_or(u64::MAX)).into())
        }
        (name, Value::String(word)) => (name, snake(&word).into()),
        other => other,
    };
    line.insert(name.to_owned(), value);
}

fn percept_value(agent: AgentId, percept: &Percept) -> Value {
    let mut value = match percept {
        Percept::Message { direction, text } => {
            json!({ "event": "heard", "direction": direction, "text": words(text) })
        }
        Percept::Pushed { direction } => json!({ "event": "pushed_from", "direction": direction }),
        Percept::Ok => json!({ "reply": "ok" }),
        Percept::Ko => json!({ "reply": "ko" }),
        Percept::Look(_) => json!({ "reply": "look", "sight": line_of(percept) }),
        Percept::Inventory { inventory, .. } => with_counts(json!({ "reply": "inventory" }), inventory),
        Percept::Places(places) => json!({ "reply": "connect_nbr", "places": places }),
        Percept::ElevationUnderway => json!({ "reply": "elevation_underway" }),
        Percept::Level(level) => json!({ "reply": "current_level", "level": level.get() }),
    };
    if !percept.is_of_others() {
        value["event"] = "reply".into();
    }
    value["agent"] = agent.0.into();
    value
}

/// As the line of the protocol.
fn line_of(percept: &Percept) -> String {
    let mut line = Vec::new();
    write_percept(&mut line, Dialect::Epitech, percept);
    words(line.trim_ascii_end())
}

/// A recording may have a team ask to join that the game does not have, which the game refuses.
fn team_name(game: &Game, team: u64) -> &str {
    if team == u64::from(TeamId::DRAW.0) {
        return "draw";
    }
    let team = usize::try_from(team).unwrap_or(usize::MAX);
    let name = game.config().teams.get(team);
    name.map_or("unknown", String::as_str)
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
