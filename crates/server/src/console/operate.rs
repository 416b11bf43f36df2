//! What the commands of the console do to an engine, and what is answered.
//!
//! Needs nothing but the engine, so that a console can be tried on a manual clock. Saving and ending are the
//! server's, in [`super`].

use std::cmp::Reverse;

use trantor_engine::Engine;
use trantor_game::{Delays, Game, GameConfig, Lag, LagTotals};
use trantor_model::control::STEP_UNITS_MAX;
use trantor_model::lag::{self, LagChange};
use trantor_model::names::nearest;
use trantor_model::{AdminAction, AgentId, Control, Direction, Level, Resource, Step, Tile};
use trantor_play::minds::OperatorView;
use trantor_play::view::{Client, ClientKind, ConnId, LockStepState, PaceState};
use trantor_time::link::LinkCounts;
use trantor_time::{GameTime, RealTime};

use super::commands::{self, Line};
use super::{Answer, picture};
use trantor_play::words::{self, team_named};

/// Connections in one list: more than a person reads, and a millisecond of the loop's time to write.
const CLIENTS_SHOWN_MAX: usize = 1_000;

/// Links in one list: a screen of a large terminal.
const LINKS_SHOWN_MAX: usize = 50;

/// Carries out a line at `now`.
///
/// # Errors
/// Why it was not done; nothing has changed then.
pub fn carry_out(engine: &mut Engine, line: &Line<'_>, now: RealTime) -> Answer {
    if let Some(request) = time_request(line, engine.is_paused()) {
        control(engine, request, now)?;
        return Ok(pace(engine));
    }
    if let Some(request) = agent_request(line) {
        return control(engine, request, now).map(|()| String::new());
    }
    if let Some(conn) = disconnected(line) {
        return match engine.disconnect(conn, now) {
            true => Ok(String::new()),
            false => Err(format!("there is no connection {conn}")),
        };
    }
    if let Some(actions) = game_actions(engine.game(), line) {
        for action in actions? {
            control(engine, Control::Act(action), now)?;
        }
        return Ok(what_has_changed(engine.game(), line).unwrap_or_default());
    }
    answer(engine, line).unwrap_or_else(|| wrong_arguments(line))
}

/// What to type instead, and the known word that one of the arguments may have meant.
fn wrong_arguments(line: &Line<'_>) -> Answer {
    let literal = line.usage.split(|letter: char| !letter.is_ascii_lowercase());
    let resources = Resource::ALL.map(Resource::name).into_iter();
    let resources = resources.filter(|_| line.usage.contains("RESOURCE"));
    let literal = literal.skip(1);
    let known: Vec<&str> = literal.filter(|word| word.len() > 1).chain(resources).collect();
    let misspelt = line.arguments.iter().find_map(|word| {
        let meant = nearest(word, known.iter().copied());
        meant.filter(|meant| !meant.eq_ignore_ascii_case(word))
    });
    Err(match misspelt {
        Some(meant) => format!("did you mean {meant}? type: {}", line.usage),
        None => format!("type: {}", line.usage),
    })
}

/// Reads a line of a scenario, which has the commands about the game, and may ask for what is around it.
pub fn scenario_line(seen: &dyn OperatorView, line: &str) -> Result<(Vec<Control>, String), String> {
    let Some(line) = commands::parse(line)? else {
        return Ok(Default::default());
    };
    let rate = match (line.name, &line.arguments[..]) {
        ("tick rate", [hertz]) => number(hertz).map(Control::SetFrequency),
        _ => None,
    };
    if let Some(request) = rate.or_else(|| agent_request(&line)) {
        return Ok((vec![request], String::new()));
    }
    if let Some(actions) = game_actions(seen.game(), &line) {
        return Ok((actions?.into_iter().map(Control::Act).collect(), String::new()));
    }
    let answer = view_answer(seen, &line).unwrap_or_else(|| wrong_arguments(&line))?;
    Ok((Vec::new(), answer))
}

fn control(engine: &mut Engine, request: Control, now: RealTime) -> Result<(), String> {
    engine
        .control(request, now)
        .map_err(|refusal| refusal.to_string())
}

/// Commands about the speed and the course of time, which are answered with the pace of the game.
fn time_request(line: &Line<'_>, is_paused: bool) -> Option<Control> {
    Some(match (line.name, &line.arguments[..]) {
        ("pause", []) => match is_paused {
            true => Control::Resume,
            false => Control::Pause,
        },
        ("tick rate", [hertz]) => Control::SetFrequency(number(hertz)?),
        ("tick freeze", []) => Control::Pause,
        ("tick unfreeze", []) => Control::Resume,
        ("tick step", []) => Control::Step(Step::Units(1)),
        ("tick step", [word]) if word.eq_ignore_ascii_case("event") => Control::Step(Step::Event),
        ("tick step", [word]) if word.eq_ignore_ascii_case("action") => Control::Step(Step::Action),
        ("tick step", [units]) => {
            let units = number(units).filter(|units| (1..=STEP_UNITS_MAX).contains(units))?;
            Control::Step(Step::Units(units))
        }
        ("tick sprint", [units]) => Control::Sprint(number(units)?),
        ("seek", [unit]) => Control::Seek(GameTime::from_units(i64::from(number::<u32>(unit)?))),
        ("start", []) => Control::Start,
        _ => return None,
    })
}

/// Commands that change agents, connections and rules, and are answered with nothing.
fn agent_request(line: &Line<'_>) -> Option<Control> {
    let action = match (line.name, &line.arguments[..]) {
        ("kick", [agent]) => return Some(Control::Kick(agent_id(agent)?)),
        ("say", [_, ..]) => return Some(Control::Say(line.rest.as_bytes().to_vec())),
        ("end", []) => AdminAction::EndMatch,
        ("tp", [agent, x, y, facing @ ..]) => AdminAction::Teleport {
            agent: agent_id(agent)?,
            tile: tile(x, y)?,
            facing: match facing {
                [] => None,
                [facing] => Some(direction(facing)?),
                _ => return None,
            },
        },
        ("setlevel", [agent, level]) => AdminAction::SetLevel {
            agent: agent_id(agent)?,
            level: Level::new(number(level)?).ok()?,
        },
        ("setinventory", [agent, name, count]) => AdminAction::SetInventory {
            agent: agent_id(agent)?,
            resource: resource(name)?,
            count: number(count)?,
        },
        ("kill", [agent]) => AdminAction::Kill {
            agent: agent_id(agent)?,
        },
        ("hunger", [word]) => AdminAction::SetHunger {
            enabled: switch(word, "on", "off")?,
        },
        ("nofood", [word]) => AdminAction::SetHunger {
            enabled: switch(word, "false", "true")?,
        },
        ("refill", [word]) => AdminAction::SetRefill {
            enabled: switch(word, "on", "off")?,
        },
        ("norefill", [word]) => AdminAction::SetRefill {
            enabled: switch(word, "false", "true")?,
        },
        _ => return None,
    };
    Some(Control::Act(action))
}

/// The connection that a line disconnects, if it names one.
pub(super) fn disconnected(line: &Line<'_>) -> Option<ConnId> {
    match (line.name, &line.arguments[..]) {
        ("kick", [word, conn]) if word.eq_ignore_ascii_case("connection") => connection(conn),
        _ => None,
    }
}

/// Commands that change the game in ways that depend on it; an error says what it does not have.
fn game_actions(game: &Game, line: &Line<'_>) -> Option<Result<Vec<AdminAction>, String>> {
    let config = game.config();
    let action = match (line.name, &line.arguments[..]) {
        ("settile", [name, count, x, y]) => {
            let (tile, resource, count) = (tile(x, y)?, resource(name)?, number(count)?);
            must_contain(game, tile).map(|()| {
                let mut ground = *game.world().ground(tile);
                ground[resource] = count;
                AdminAction::SetGround { tile, ground }
            })
        }
        ("team", [word, team]) => {
            let is_open = switch(word, "open", "close")?;
            team_named(config, team).map(|team| match is_open {
                true => AdminAction::OpenTeam { team },
                false => AdminAction::CloseTeam { team },
            })
        }
        ("end", [word]) => match team_named(config, word) {
            Ok(team) => Ok(AdminAction::EndMatchWith { winner: Some(team) }),
            Err(_) if word.eq_ignore_ascii_case("draw") => Ok(AdminAction::EndMatchWith { winner: None }),
            Err(unknown) => Err(unknown),
        },
        ("egg", [team, x, y]) => {
            let tile = tile(x, y)?;
            team_named(config, team).map(|team| AdminAction::LayEgg { team, tile })
        }
        ("lag", [_, ..]) => {
            let change = lag::read_change(line.rest).map_err(|error| error.to_string());
            return Some(change.and_then(|change| lag_actions(config, &change)));
        }
        _ => return None,
    };
    Some(action.map(|action| vec![action]))
}

/// What is answered to a command of [`game_actions`] that was carried out, if there is something to be seen.
fn what_has_changed(game: &Game, line: &Line<'_>) -> Option<String> {
    match (line.name, &line.arguments[..]) {
        ("settile", [_, _, x, y]) => describe(game, tile(x, y)?).ok(),
        ("lag", _) => Some(lag_lines(game)),
        _ => None,
    }
}

/// Commands that ask about the game.
fn game_answer(game: &Game, line: &Line<'_>) -> Option<Answer> {
    Some(match (line.name, &line.arguments[..]) {
        ("map", []) => Ok(picture::of(game.world(), None)),
        ("map", [name]) => Ok(picture::of(game.world(), Some(resource(name)?))),
        ("tile", [x, y]) => describe(game, tile(x, y)?),
        ("lag", []) => Ok(lag_lines(game) + &lag_totals(game)),
        ("lag links", []) => Ok(lag_links(game, None)),
        ("lag links", [agent]) => Ok(lag_links(game, Some(agent_id(agent)?))),
        _ => return None,
    })
}

/// Commands that ask about the game and what is around it.
fn view_answer(seen: &dyn OperatorView, line: &Line<'_>) -> Option<Answer> {
    Some(match (line.name, &line.arguments[..]) {
        ("tick query", []) => Ok(pace(seen)),
        ("mind list", []) => Ok(list_minds(seen)),
        ("clients", []) => clients(seen, None),
        ("clients", [team]) => clients(seen, Some(team)),
        _ => return game_answer(seen.game(), line),
    })
}

/// All other commands; `None` if the arguments are wrong.
fn answer(engine: &mut Engine, line: &Line<'_>) -> Option<Answer> {
    Some(match (line.name, &line.arguments[..]) {
        ("help", []) => Ok(commands::HELP.to_owned()),
        ("help", [word]) => commands::help(word),
        ("mind remove", [team]) => remove_minds(engine, team, None),
        ("mind remove", [team, count]) => remove_minds(engine, team, Some(number(count)?)),
        _ => return view_answer(engine, line),
    })
}

/// What changes the lag in a game; the teams without settings of their own first.
pub(crate) fn lag_actions(config: &GameConfig, change: &LagChange) -> Result<Vec<AdminAction>, String> {
    let of_all = change.all.map(|lag| Ok(AdminAction::SetLag { lag }));
    let of_teams = change.teams.iter().map(|(name, lag)| {
        let (team, lag) = (team_named(config, name)?, *lag);
        Ok(AdminAction::SetTeamLag { team, lag })
    });
    of_all.into_iter().chain(of_teams).collect()
}

/// The settings as they can be typed again, and what a preset stands for.
fn lag_lines(game: &Game) -> String {
    let line = |team: &str, lag: Option<&Lag>| {
        let shown = lag::show(lag);
        match lag.map(lag::show_settings) {
            Some(settings) if settings != shown => format!("lag {team}{shown} ({settings})\n"),
            _ => format!("lag {team}{shown}\n"),
        }
    };
    let (world, teams) = (game.world(), &game.config().teams);
    let own = world
        .own_lags()
        .map(|(team, lag)| line(&format!("{}:", teams[usize::from(team.0)]), lag));
    std::iter::once(line("", world.lag())).chain(own).collect()
}

/// What became of the messages on all links, if there were any.
fn lag_totals(game: &Game) -> String {
    let LagTotals {
        counts,
        crowded_out,
        links,
        delays,
    } = game.world().lag_totals();
    if counts.sent == 0 {
        return String::new();
    }
    let totals = link_line(&counts, &delays);
    format!("{totals}; crowded out {crowded_out}, links {links}\n")
}

/// The busiest links, or those of an agent.
fn lag_links(game: &Game, agent: Option<AgentId>) -> String {
    let links = game.world().links();
    let is_wanted = |id: AgentId| agent.is_none_or(|agent| agent == id);
    let mut links: Vec<_> = links
        .filter(|&(from, to, ..)| is_wanted(from) || is_wanted(to))
        .collect();
    let count = links.len();
    let busiest =
        |&(from, to, counts, _): &(AgentId, AgentId, &LinkCounts, &Delays)| (Reverse(counts.sent), from, to);
    if count > LINKS_SHOWN_MAX {
        links.select_nth_unstable_by_key(LINKS_SHOWN_MAX, busiest);
        links.truncate(LINKS_SHOWN_MAX);
    }
    links.sort_unstable_by_key(busiest);
    let mut text = String::new();
    for (from, to, counts, delays) in links {
        text += &format!("{} to {}: {}\n", from.0, to.0, link_line(counts, delays));
    }
    if count > LINKS_SHOWN_MAX {
        let more = count - LINKS_SHOWN_MAX;
        text += &format!("and {more} more with fewer messages; lag links AGENT lists those of one agent\n");
    }
    text + &format!("links: {count}\n")
}

fn link_line(counts: &LinkCounts, delays: &Delays) -> String {
    let LinkCounts {
        sent,
        delivered,
        lost,
        out_of_range,
        line_full,
        duplicated,
        in_flight,
    } = counts;
    let [p50, p99] = [50, 99].map(|percent| delays.percentile(percent).as_units_f64());
    format!(
        "sent {sent}, delivered {delivered}, lost {lost}, out of range {out_of_range}, line full {line_full}, copied \
         {duplicated}, in flight {in_flight}, delay {p50:.1} units (p50), {p99:.1} (p99)"
    )
}

fn pace(seen: &dyn OperatorView) -> String {
    let PaceState {
        frequency,
        lock_step,
        is_started,
        is_paused,
        sprint_until,
        now,
        slipped,
    } = seen.pace();
    let state = match (is_started, is_paused, sprint_until) {
        (false, _, _) => "not started yet".to_owned(),
        (true, true, _) => "frozen".to_owned(),
        (true, false, Some(until)) => format!("sprinting to unit {}", until.whole_units()),
        (true, false, None) => "running".to_owned(),
    };
    let speed = match lock_step {
        None => match frequency {
            Some(frequency) => format!("{} units/s, {state}", frequency.get()),
            None => "without a clock".to_owned(),
        },
        Some(_) if !is_started => format!("in lock-step, {state}"),
        Some(LockStepState::Gathering { free }) => {
            format!("in lock-step, waiting for {free} more players; start begins without them")
        }
        Some(LockStepState::Frozen) => "in lock-step, frozen".to_owned(),
        Some(LockStepState::Playing { awaited }) => {
            format!("in lock-step, waiting for {awaited} players")
        }
    };
    let mut text = format!("{speed}, at unit {}\n", now.whole_units());
    if let Some(slipped) = slipped {
        let units = slipped.as_units_f64();
        text += &format!("{units:.0} units were given up: the machine could not keep up\n");
    }
    text
}

fn clients(seen: &dyn OperatorView, team: Option<&str>) -> Answer {
    let game = seen.game();
    let team = team.map(|name| team_named(game.config(), name)).transpose()?;
    let is_wanted = |client: &Client| match (team, client.kind) {
        (None, _) => true,
        (Some(team), ClientKind::Agent(agent)) => {
            game.world().agent(agent).map(|agent| agent.team) == Some(team)
        }
        (Some(_), _) => false,
    };
    let mut text = String::new();
    let mut count = 0;
    for client in seen.clients().into_iter().filter(is_wanted) {
        count += 1;
        if count > CLIENTS_SHOWN_MAX {
            continue;
        }
        let what = match client.kind {
            ClientKind::Agent(agent) => agent_line(game, agent),
            ClientKind::Waiting => "waits for the start".to_owned(),
            ClientKind::Greeted => "has not said what it is".to_owned(),
            ClientKind::TextViewer => "watches in text".to_owned(),
            ClientKind::Viewer => "watches".to_owned(),
            ClientKind::Operator => "operates".to_owned(),
            ClientKind::Leaving => "is leaving".to_owned(),
        };
        let (conn, peer) = (client.conn.to_string(), client.peer.to_string());
        text += &format!("{conn:8} {peer:15} {what}");
        if client.may_control && matches!(client.kind, ClientKind::TextViewer | ClientKind::Viewer) {
            text.push_str(", may control");
        }
        if client.unread_bytes > 0 {
            text += &format!(", has {} bytes unread", client.unread_bytes);
        }
        text.push('\n');
    }
    let connections = count;
    let agents = game.world().agents();
    let minds: Vec<(AgentId, &str)> = agents
        .filter(|agent| team.is_none_or(|team| agent.team == team))
        .filter_map(|agent| Some((agent.id, seen.mind_of(agent.id)?)))
        .collect();
    for (agent, mind) in &minds {
        count += 1;
        if count <= CLIENTS_SHOWN_MAX {
            text += &format!("mind     {mind:15} {}\n", agent_line(game, *agent));
        }
    }
    if count > CLIENTS_SHOWN_MAX {
        let more = count - CLIENTS_SHOWN_MAX;
        text += &format!("and {more} more; clients TEAM lists one team\n");
    }
    if !minds.is_empty() {
        text += &format!("minds: {}\n", minds.len());
    }
    Ok(text + &format!("connections: {connections}\n"))
}

fn list_minds(seen: &dyn OperatorView) -> String {
    let (config, groups) = (seen.game().config(), seen.mind_groups());
    let mut text = String::new();
    for group in groups.iter().filter(|group| group.count > 0) {
        let (asked, living, decisions) = (words::shown(config, group), group.living, group.decisions);
        text += &format!("{asked}: {living} living, {decisions} decisions\n");
    }
    let living: u32 = groups.iter().map(|group| group.living).sum();
    text + &format!("minds: {living}\n")
}

fn remove_minds(engine: &mut Engine, team: &str, count: Option<u32>) -> Answer {
    let team = team_named(engine.game().config(), team)?;
    Ok(format!("removed: {}\n", engine.remove_minds(team, count)))
}

fn agent_line(game: &Game, id: AgentId) -> String {
    let Some(agent) = game.world().agent(id) else {
        return format!("agent {}", id.0);
    };
    let (team, at) = (&game.config().teams[usize::from(agent.team.0)], agent.tile);
    format!(
        "agent {} of {team}, level {} at {} {}",
        id.0,
        agent.level.get(),
        at.x,
        at.y
    )
}

fn describe(game: &Game, at: Tile) -> Answer {
    must_contain(game, at)?;
    let world = game.world();
    let ground = world.ground(at);
    let resources: Vec<String> = Resource::ALL
        .into_iter()
        .map(|resource| format!("{} {}", resource.name(), ground[resource]))
        .collect();
    let mut text = format!("{}\n", resources.join(", "));
    for &id in world.agents_on(at) {
        text += &format!("{}\n", agent_line(game, id));
    }
    for egg in world.eggs_on(at).iter().filter_map(|&id| world.egg(id)) {
        let team = &game.config().teams[usize::from(egg.team.0)];
        text += &format!("egg {} of {team}\n", egg.id.0);
    }
    Ok(text)
}

fn must_contain(game: &Game, at: Tile) -> Result<(), String> {
    let size = game.world().size();
    if size.contains(at) {
        return Ok(());
    }
    Err(format!(
        "the map has columns 0 to {} and rows 0 to {}",
        size.width() - 1,
        size.height() - 1
    ))
}

fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| word.parse().ok())?
}

/// Numbers of agents are written with or without `#`, as viewers do.
fn agent_id(word: &str) -> Option<AgentId> {
    number(word.strip_prefix('#').unwrap_or(word)).map(AgentId)
}

fn tile(x: &str, y: &str) -> Option<Tile> {
    Some(Tile {
        x: number(x)?,
        y: number(y)?,
    })
}

/// By name, or by its number on the wire.
fn resource(word: &str) -> Option<Resource> {
    let by_name = Resource::ALL
        .into_iter()
        .find(|resource| resource.name().eq_ignore_ascii_case(word));
    by_name.or_else(|| Resource::from_index(number(word)?))
}

fn direction(word: &str) -> Option<Direction> {
    match word.to_lowercase().as_str() {
        "n" | "north" => Some(Direction::North),
        "e" | "east" => Some(Direction::East),
        "s" | "south" => Some(Direction::South),
        "w" | "west" => Some(Direction::West),
        _ => None,
    }
}

/// As [`ConnId`] shows itself: `3.0`.
fn connection(word: &str) -> Option<ConnId> {
    let (slot, generation) = word.split_once('.')?;
    Some(ConnId {
        slot: number(slot)?,
        generation: number(generation)?,
    })
}

fn switch(word: &str, yes: &str, no: &str) -> Option<bool> {
    let is = |other: &str| word.eq_ignore_ascii_case(other);
    (is(yes) || is(no)).then(|| is(yes))
}
