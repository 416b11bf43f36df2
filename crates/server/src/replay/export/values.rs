//! Inputs and events as JSON.

use serde_json::{Value, json};
use trantor_game::{AdminAction, Carry, Game, GameEvent, GameInput, LeaveCause, MoveKind, PaceChange, Reply};
use trantor_model::{AgentId, Command, Counts, Resource, Sight, TeamId, Tile};
use trantor_protocol::text::{AiLine, Dialect, write_ai_line};

pub(super) fn input_value(game: &Game, input: &GameInput) -> Value {
    match input {
        GameInput::Join { team } => json!({ "event": "join_asked", "team": team_name(game, *team) }),
        GameInput::Leave { agent, cause } => {
            json!({ "event": "leave", "agent": agent.0, "cause": cause_name(*cause) })
        }
        GameInput::Command { agent, command } => {
            let kind = command
                .kind()
                .map_or_else(|| "unknown".to_owned(), |kind| snake(&format!("{kind:?}")));
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
        GameInput::Pace(PaceChange::Paused) => json!({ "event": "paused" }),
        GameInput::Pace(PaceChange::Resumed) => json!({ "event": "resumed" }),
        GameInput::Pace(PaceChange::Stepped) => json!({ "event": "stepped" }),
        GameInput::Pace(PaceChange::WaitEnded) => json!({ "event": "wait_ended" }),
        GameInput::Admin(action) => operator_value(game, action),
    }
}

fn operator_value(game: &Game, action: &AdminAction) -> Value {
    let mut value = match action {
        AdminAction::Teleport { agent, tile, facing } => {
            let facing = facing.map(|facing| snake(&format!("{facing:?}")));
            on(
                *tile,
                json!({ "action": "teleport", "agent": agent.0, "facing": facing }),
            )
        }
        AdminAction::SetLevel { agent, level } => {
            json!({ "action": "set_level", "agent": agent.0, "level": level.get() })
        }
        AdminAction::SetInventory {
            agent,
            resource,
            count,
        } => json!({
            "action": "set_inventory", "agent": agent.0, "resource": resource.name(), "count": count,
        }),
        AdminAction::SetGround { tile, ground } => on(*tile, with(json!({ "action": "set_ground" }), ground)),
        AdminAction::Kill { agent } => json!({ "action": "kill", "agent": agent.0 }),
        AdminAction::LayEgg { team, tile } => on(
            *tile,
            json!({ "action": "lay_egg", "team": team_name(game, *team) }),
        ),
        AdminAction::SetHunger { enabled } => json!({ "action": "set_hunger", "enabled": enabled }),
        AdminAction::SetRefill { enabled } => json!({ "action": "set_refill", "enabled": enabled }),
        AdminAction::SetLag { lag } => json!({ "action": "set_lag", "enabled": lag.is_some() }),
        AdminAction::EndMatch => json!({ "action": "end_match" }),
    };
    value["event"] = "operator".into();
    value
}

pub(super) fn event_value(game: &Game, event: &GameEvent) -> Value {
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
    let mut value = match reply {
        Reply::Ok => json!({ "reply": "ok" }),
        Reply::Ko => json!({ "reply": "ko" }),
        Reply::Look(sights) => json!({ "reply": "look", "sight": sight_line(sights) }),
        Reply::Inventory { inventory, .. } => with(json!({ "reply": "inventory" }), inventory),
        Reply::ConnectNbr(places) => json!({ "reply": "connect_nbr", "places": places }),
        Reply::ElevationUnderway => json!({ "reply": "elevation_underway" }),
        Reply::CurrentLevel(level) => json!({ "reply": "current_level", "level": level.get() }),
    };
    value["event"] = "reply".into();
    value["agent"] = agent.0.into();
    value
}

/// As the line of the protocol.
fn sight_line(sights: &[Sight]) -> String {
    let mut line = Vec::new();
    write_ai_line(&mut line, Dialect::Epitech, &AiLine::Look(sights));
    words(line.trim_ascii_end())
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

/// A recording may have a team ask to join that the game does not have, which the game refuses.
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
